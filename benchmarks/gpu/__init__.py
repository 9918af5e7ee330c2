"""What a GPU gives: embedding, judging and search beside the physical limits."""
