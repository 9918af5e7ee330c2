"""Reading a corpus, cutting it into passages, and keeping its embeddings."""

from perspective_rag.local.corpus.embedding import CachedEmbedder
from perspective_rag.local.corpus.loading import Corpus
from perspective_rag.local.corpus.readers import ReadProblem, read_corpus
from perspective_rag.local.corpus.splitting import split_text

__all__ = [
    "CachedEmbedder",
    "Corpus",
    "ReadProblem",
    "read_corpus",
    "split_text",
]
