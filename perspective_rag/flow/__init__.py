"""Steps, and the drivers that carry them out in threads or on an event loop."""
