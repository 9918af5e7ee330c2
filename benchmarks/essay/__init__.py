"""``python -m benchmarks.essay``: essays that are to take a stance, from retrieved passages (PIR
Section 3.3, Table 5).
"""
