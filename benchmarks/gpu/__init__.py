"""What a GPU gives: embedding, judging, search, projection and MMR beside the physical limits."""
