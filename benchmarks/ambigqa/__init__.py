"""``python -m benchmarks.ambigqa``: answers to ambiguous questions from one retrieved passage (PIR
Section 3.3, Table 5).
"""
