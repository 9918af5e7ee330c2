"""Pages and search results from the web."""
