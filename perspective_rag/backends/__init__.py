"""Embedders, stores and language models."""
