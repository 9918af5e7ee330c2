"""The numbers of the PIR paper (Zhao et al. 2024), in percent, on its full data."""

from __future__ import annotations

from collections.abc import Mapping

TASKS = ("agnews", "story", "perspectrum", "ambigqa", "allsides", "exfever")
"""The tasks in the paper's order."""

TITLES: Mapping[str, str] = {
    "agnews": "AGNews",
    "story": "StoryAnalogy",
    "perspectrum": "Perspectrum",
    "ambigqa": "AmbigQA",
    "allsides": "AllSides",
    "exfever": "Ex-FEVER",
    "condambigqa": "CondAmbigQA",
}

TABLE_2: Mapping[str, tuple[float, ...]] = {
    "BM25": (9.1, 71.3, 39.1, 23.8, 17.6, 53.7, 35.8),
    "DPR": (8.0, 45.3, 35.3, 55.9, 7.8, 47.1, 33.2),
    "SimCSE-sup": (11.0, 86.1, 52.1, 53.3, 10.8, 52.4, 44.3),
    "SimCSE-unsup": (10.4, 76.4, 50.0, 48.1, 13.0, 53.0, 41.8),
    "Contriever": (3.5, 9.1, 10.4, 1.5, 2.8, 1.9, 4.9),
    "TART": (1.0, 12.3, 9.2, 0.8, 1.7, 21.8, 7.8),
}
"""p-Recall@5 of retrievers on ``TASKS``, then the average."""

TABLE_8: Mapping[str, tuple[float, ...]] = {
    "none": (11.0, 86.1, 52.1, 53.3, 10.8, 52.4, 44.3),
    "add": (19.3, 84.0, 50.6, 53.4, 15.2, 52.0, 45.8),
    "add+": (21.1, 68.8, 32.7, 53.2, 2.3, 46.7, 37.5),
    "concat": (6.5, 84.2, 53.6, 45.9, 29.6, 52.7, 45.4),
    "concat+": (10.8, 85.6, 52.0, 52.1, 10.0, 52.2, 43.8),
    "cast": (4.6, 83.3, 51.7, 43.5, 26.4, 52.6, 43.7),
    "cast+": (6.1, 86.6, 55.3, 52.9, 22.8, 52.5, 46.0),
    "dual-sum": (20.1, 81.1, 48.5, 53.1, 15.8, 51.5, 45.0),
    "tri-sum": (17.4, 85.0, 50.5, 53.6, 14.0, 51.9, 45.4),
    "pap": (5.3, 86.2, 55.4, 52.9, 23.4, 52.6, 46.0),
    "pap+": (7.3, 86.7, 55.2, 53.8, 23.1, 52.6, 46.4),
}
"""p-Recall@5 of methods with SimCSE-sup on ``TASKS``, then the average."""

TABLES_3_AND_10: Mapping[str, tuple[float, float, float, float, float]] = {
    "BM25": (55.6, 44.4, 27.9, 44.3, 27.9),
    "DPR": (55.5, 44.5, 29.4, 37.6, 32.9),
    "SimCSE-sup": (58.8, 41.2, 32.0, 41.2, 26.8),
    "SimCSE-unsup": (59.2, 40.8, 26.1, 39.6, 34.2),
    "Contriever": (66.1, 33.9, 28.6, 42.9, 28.6),
    "TART": (55.6, 51.9, 33.3, 66.7, 0.0),
    "INSTRUCTOR-base": (57.0, 43.0, 33.7, 38.5, 27.8),
    "INSTRUCTOR-large": (56.1, 43.9, 33.0, 39.7, 27.3),
}
"""Shares among successful root queries: support and undermine; left, right and center."""

TABLE_6: Mapping[str, float] = {
    "agnews": 78.0,
    "story": 65.9,
    "perspectrum": 68.6,
    "ambigqa": 70.2,
    "allsides": 66.4,
    "exfever": 68.6,
}
"""Extraction of perspectives by GPT-3.5-Turbo, "QA-F1"."""

TABLE_9: Mapping[str, tuple[float, float, float, float]] = {
    "SimCSE-base-sup": (46.0, 1.7, 46.4, 2.1),
    "SimCSE-base-unsup": (42.0, 0.2, 42.5, 0.7),
    "SimCSE-large-sup": (46.9, 1.7, 47.6, 2.4),
    "SimCSE-large-unsup": (44.8, 0.6, 45.1, 0.9),
}
"""PAP and its gain over no method, PAP+ and its gain, average p-Recall@5."""
