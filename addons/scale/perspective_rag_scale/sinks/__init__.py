"""Stores that ``perspective-rag index --to`` fills, one client each."""
