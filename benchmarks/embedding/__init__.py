"""How many passages a second are embedded, beside sentence-transformers with the same model."""
