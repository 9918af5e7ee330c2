"""The choice of k candidates that cover every side, and the search for what is missing."""
