"""A retriever to audit: ``perspective-rag audit questions.txt --retriever mine:make``.

Put your own in its place: return a LangChain retriever or vector store, a LlamaIndex retriever or
index, a Store of this library, or a function of (text, k) that returns texts.
"""

from __future__ import annotations

from perspective_rag import BM25Store, Corpus


def make() -> BM25Store:
    """Keyword search over the sample debates."""
    return BM25Store(Corpus.example().passages)
