"""Judges of your own: data sets, training, calibration of what was trained, and many verdicts."""

from perspective_rag_train.many import judge_many

__all__ = ["judge_many"]
