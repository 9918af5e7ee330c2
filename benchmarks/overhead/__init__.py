"""What wrapping a store costs, beside the same searches made bare."""

import os

# Asks for one BLAS thread, which can only be asked for before numpy is loaded.
from benchmarks.latency import ONE_BLAS_THREAD as ONE_BLAS_THREAD

# FAISS cannot share out a single query, but its idle OpenMP threads spin: bare searches, made one
# after the other in one thread, would look dearer than the same searches wrapped.
os.environ.setdefault("OMP_NUM_THREADS", "1")
