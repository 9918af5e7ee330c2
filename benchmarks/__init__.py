"""Measurements of the library, run from the checkout: ``python -m benchmarks.coverage --help``."""
