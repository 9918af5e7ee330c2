"""Ready-made parts: the local pipeline, judges by name."""
