"""What a judge knows about the passages that a search brings."""
