"""How long a question takes, and where the time goes.

One BLAS thread is asked for here, because it can only be asked for before numpy is loaded: with
more, two implementations of one algorithm would be compared by how well they share the cores.
"""

import os
import sys

BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

if "numpy" not in sys.modules:
    for _name in BLAS_THREADS:
        os.environ.setdefault(_name, "1")
    ONE_BLAS_THREAD = os.environ["OPENBLAS_NUM_THREADS"] == "1"
else:
    ONE_BLAS_THREAD = False
