"""The order of candidates before they are judged."""
