"""Projection, choice of k, coverage and fusion: arrays in, arrays out."""
