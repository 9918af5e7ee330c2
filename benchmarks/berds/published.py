"""What the papers report, to stand beside what is measured. All in percent, judge: Mistral-7B.

Chen and Choi, "Open-World Evaluation for Retrieving Diverse Perspectives", its first and its later
version. Keys of a row: (corpus, retriever). The corpora are not the one measured here, so rows are
beside each other to compare differences between approaches, not levels.
"""

from __future__ import annotations

from collections.abc import Mapping

Row = tuple[float | None, ...]

WIKI, SPHERE, WEB = "Wikipedia", "Sphere", "Google Search output"

BASE_COLUMNS = ("arguana", "kialo", "opinionqa", "average")
"""Precision and MRecall in turn for each; at k = 5 Precision@1 of the average follows."""

# Table 3 of both versions; the rows of Tart and NV-Embed-v2 are in the later one alone.
K5: Mapping[tuple[str, str], Row] = {
    (WIKI, "BM25"): (22.27, 10.8, 23.82, 10.85, 10.39, 2.95, 18.83, 8.20, 21.72),
    (WIKI, "DPR"): (18.88, 7.73, 19.48, 7.62, 13.63, 3.29, 17.33, 6.21, 20.22),
    (WIKI, "Contriever"): (35.79, 19.2, 32.97, 15.63, 23.99, 8.28, 30.92, 14.37, 36.85),
    (WIKI, "Tart"): (37.84, 21.07, 33.97, 16.80, 25.36, 8.40, 32.39, 15.42, 38.62),
    (WIKI, "NV-Embed-v2"): (40.69, 23.20, 38.99, 22.27, 28.80, 8.13, 36.16, 17.87, 43.15),
    (SPHERE, "BM25"): (44.96, 27.6, 43.33, 24.16, 50.11, 22.45, 46.13, 24.74, 51.26),
    (SPHERE, "DPR"): (10.80, 4.00, 13.85, 5.43, 8.34, 2.15, 11.00, 3.86, 11.65),
    (SPHERE, "Contriever"): (58.21, 38.27, 54.96, 28.94, 52.77, 24.72, 55.31, 30.64, 58.67),
    (SPHERE, "Tart"): (65.47, 43.60, 56.47, 32.80, 63.25, 31.60, 61.73, 36.00, 65.16),
    (SPHERE, "NV-Embed-v2"): (69.84, 43.87, 66.85, 40.31, 64.94, 34.35, 67.21, 39.51, 71.27),
    (WEB, "BM25"): (35.15, 21.07, 35.43, 22.61, 41.27, 21.09, 37.28, 21.59, 43.02),
    (WEB, "Contriever"): (52.32, 27.6, 50.31, 28.94, 48.91, 22.79, 50.51, 26.44, 57.56),
    (WEB, "Tart"): (53.33, 30.13, 50.48, 27.87, 50.83, 24.67, 51.55, 27.56, 59.07),
    (WEB, "NV-Embed-v2"): (62.40, 39.87, 64.19, 37.60, 56.88, 28.67, 61.16, 35.38, 67.87),
}

# The table for k = 10 (number 17 in the first version, 16 in the later one).
K10: Mapping[tuple[str, str], Row] = {
    (WIKI, "BM25"): (19.81, 19.33, 20.58, 16.67, 9.13, 5.67, 16.51, 13.89),
    (WIKI, "DPR"): (17.35, 14.67, 18.17, 13.57, 12.03, 6.35, 15.85, 11.53),
    (WIKI, "Contriever"): (32.37, 31.07, 30.71, 26.10, 21.50, 13.83, 28.19, 23.67),
    (WIKI, "Tart"): (34.53, 35.47, 31.53, 26.53, 23.40, 15.07, 29.82, 25.69),
    (WIKI, "NV-Embed-v2"): (36.87, 36.67, 35.89, 32.13, 26.52, 14.53, 33.09, 27.78),
    (SPHERE, "BM25"): (42.44, 43.20, 41.54, 37.34, 44.09, 33.67, 42.69, 38.07),
    # Arguana repeats BM25's OpinionQA cell, so it and the average made with it are left out.
    (SPHERE, "DPR"): (None, None, 13.51, 12.40, 8.16, 6.12, None, None),
    (SPHERE, "Contriever"): (55.89, 55.07, 53.89, 43.28, 48.61, 38.66, 52.80, 45.67),
    (SPHERE, "Tart"): (65.44, 59.87, 56.45, 44.80, 63.08, 41.33, 61.66, 48.67),
    (SPHERE, "NV-Embed-v2"): (68.03, 64.00, 64.74, 54.39, 60.63, 48.07, 64.47, 55.49),
    (WEB, "BM25"): (33.0, 36.40, 34.92, 38.50, 33.81, 29.25, 33.91, 34.72),
    (WEB, "Contriever"): (48.65, 44.53, 47.95, 44.32, 42.73, 35.49, 46.44, 41.45),
    (WEB, "Tart"): (51.43, 45.33, 49.99, 43.20, 45.69, 35.07, 49.04, 41.20),
    (WEB, "NV-Embed-v2"): (59.17, 55.87, 61.61, 51.60, 50.32, 40.13, 57.03, 49.20),
}

# Precision and MRecall at 5, averages: default, + re-ranking, + query expansion (Table 4/5).
APPROACHES: Mapping[tuple[str, str], Row] = {
    (WIKI, "BM25"): (18.83, 8.20, 18.66, 8.03, 21.31, 10.39),
    (WIKI, "DPR"): (17.33, 6.21, 16.62, 6.06, 17.78, 6.65),
    (WIKI, "Contriever"): (30.92, 14.37, 27.89, 15.54, 33.23, 14.84),
    (SPHERE, "BM25"): (46.13, 24.74, 45.43, 25.38, 44.16, 26.24),
    (SPHERE, "DPR"): (11.00, 3.86, 8.16, 2.60, 6.20, 2.01),
    (SPHERE, "Contriever"): (55.31, 30.64, 54.39, 33.55, 54.91, 33.74),
    (WEB, "BM25"): (37.28, 21.59, 36.75, 21.18, 44.87, 24.96),
    (WEB, "Contriever"): (50.51, 26.44, 49.33, 26.56, 52.60, 24.83),
}

# Mean size of the set that takes all perspectives, and MRecall@100 (Table 5/17).
SIZES: Mapping[tuple[str, str], Row] = {
    (WIKI, "BM25"): (29.8, 41.5),
    (WIKI, "DPR"): (30.9, 36.7),
    (WIKI, "Contriever"): (24.7, 55.6),
    (SPHERE, "BM25"): (20.8, 77.3),
    (SPHERE, "DPR"): (37.4, 48.9),
    (SPHERE, "Contriever"): (17.8, 83.1),
    (WEB, "BM25"): (21.0, 72.1),
    (WEB, "Contriever"): (18.2, 76.2),
}

# MRecall over the union of all retrievers' top 100 (Table 6): the three sets and their average.
UNION: Mapping[str, Row] = {
    WIKI: (71.87, 61.24, 55.10, 62.74),
    SPHERE: (92.80, 85.27, 89.46, 89.18),
    WEB: (82.67, 82.69, 77.66, 81.01),
}

# The weight of MMR that was best on the development questions (Table 7/8).
LAMBDAS: Mapping[tuple[str, str], float] = {
    (WIKI, "BM25"): 0.99,
    (WIKI, "DPR"): 0.95,
    (WIKI, "Contriever"): 0.75,
    (SPHERE, "BM25"): 0.99,
    (SPHERE, "DPR"): 0.99,
    (SPHERE, "Contriever"): 0.95,
    (WEB, "BM25"): 0.95,
    (WEB, "Contriever"): 0.95,
}
