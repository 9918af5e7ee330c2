"""Queries to rankings, in the caller's store."""
