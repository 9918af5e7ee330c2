"""Reading a corpus, cutting it into passages, and keeping its embeddings."""

from perspective_rag.local.corpus.dense_index import build_dense_index, open_dense_index
from perspective_rag.local.corpus.embedding_cache import CachedEmbedder
from perspective_rag.local.corpus.loading import Corpus
from perspective_rag.local.corpus.readers import ReadProblem, read_corpus
from perspective_rag.local.corpus.splitting import split_text

__all__ = [
    "CachedEmbedder",
    "Corpus",
    "ReadProblem",
    "build_dense_index",
    "open_dense_index",
    "read_corpus",
    "split_text",
]
