"""What each way of searching costs as the corpus grows, from 10,000 vectors to 10,000,000."""

import os

# One OpenMP thread where nothing else is said: idle ones spin, and would be counted.
os.environ.setdefault("OMP_NUM_THREADS", "1")
