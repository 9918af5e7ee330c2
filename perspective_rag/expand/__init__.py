"""Perspectives to queries."""
