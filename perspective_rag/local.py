"""The default path: a pipeline over a corpus that runs on this machine alone, without torch or a
server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perspective_rag.corpus import CachedEmbedder, Corpus, build_dense_index
from perspective_rag.judge.cascade import CascadeJudge
from perspective_rag.judge.cross_encoder import CrossEncoderJudge
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.protocols import Embedder, Judge

Progress = Callable[[int, int], None]


def local_pipeline(
    corpus: Corpus,
    *,
    cache: str | Path | None = None,
    dense: bool = False,
    embedder: Embedder | None = None,
    judge: Judge | None = None,
    on_progress: Progress | None = None,
    **options: Any,
) -> PerspectivePipeline:
    """A pipeline over a corpus with the package's own embedder and judge, both int8 on ONNX
    Runtime.

    By default passages are found by BM25 and ordered by cosine, with embeddings made as they are
    needed: it answers at once; the same embeddings rule out what has nothing to do with a
    perspective before the judge reads it. ``dense=True`` embeds the whole corpus first (about 100
    passages a second on two cores) and searches by vector; ``on_progress`` is called with passages
    done and in all. ``cache`` is a folder in which the indexes and embeddings are kept, by content
    and model; None keeps nothing. ``options`` are the pipeline's, its ``extractor`` and
    ``expander`` among them.
    """
    if embedder is None:
        from perspective_rag.backends.onnx_minilm import OnnxMiniLM

        embedder = OnnxMiniLM()
    name = str(getattr(embedder, "name", type(embedder).__name__))
    kept = Path(cache) if cache is not None else None
    folder = kept / corpus.fingerprint[:16] if kept is not None else None
    if dense:
        from perspective_rag.backends.faiss_index import FaissStore

        embeddings = build_dense_index(
            corpus.passages,
            embedder,
            folder / f"dense-{_short(name)}" if folder else None,
            model_name=name,
            on_progress=on_progress,
        )
        store: Any = FaissStore(corpus.passages, embeddings)
    else:
        from perspective_rag.backends.bm25_index import BM25Store

        store = BM25Store.cached(corpus, folder) if folder else BM25Store(corpus.passages)
        file = kept / f"embeddings-{_short(name)}.sqlite" if kept is not None else None
        embedder = CachedEmbedder(embedder, file, model_name=name)
    if judge is None:
        vectors = store if dense else None
        judge = CascadeJudge(CrossEncoderJudge(), embedder=embedder, store=vectors)
    return PerspectivePipeline(store, embedder=embedder, judge=judge, **options)


def _short(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:12]
