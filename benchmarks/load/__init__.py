"""A served chain under load: more and more questions at once, for a bounded time, on loopback."""
