"""Trains the larger judge: it reads a passage beside two opposing statements in one pass.

``python -m perspective_rag_train.two_sided train --data DATA --base MPNET --folder RUN`` starts or
resumes; ``assess`` and ``export`` read the run's last checkpoint.
"""
