"""The same work in this process and on a Ray cluster whose workers are killed."""
