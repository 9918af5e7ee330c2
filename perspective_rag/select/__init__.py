"""The choice of k of n candidates: one algorithm a file."""
