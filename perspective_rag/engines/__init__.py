"""Where batches are worked on: in this process, or on the workers of a Ray cluster."""
