"""What wrapping a store costs, beside the same searches made bare."""

# Asks for one BLAS thread, which can only be asked for before numpy is loaded.
from benchmarks.latency import ONE_BLAS_THREAD as ONE_BLAS_THREAD
