"""Rankings of several queries into one list of candidates."""
