"""Queries to one ranked list of candidates, in the caller's store."""
