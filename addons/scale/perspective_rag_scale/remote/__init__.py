"""Judges and embedders that a model server runs."""
