"""What runs on one machine without services, and ready-made pipelines of it."""
