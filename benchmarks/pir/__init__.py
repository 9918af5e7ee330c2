"""Perspective-aware retrieval: the PIR benchmark (Zhao et al. 2024) for any retriever and method.

``tasks`` reads the data, ``retrievers`` and ``embedding`` make vectors, ``methods`` turn them into
scores, ``metrics`` says what a ranking is worth, ``running`` puts them together.
"""
