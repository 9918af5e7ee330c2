"""What the packaged judge shows over the sample debates, held against limits."""
