"""The coverage guard: a second search for what is missing."""
