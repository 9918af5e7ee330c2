"""What embedding and judging a large corpus takes, computed from measured rates."""
