"""A text store in memory: BM25 by the bm25s package."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag.backends.filters import indexable, passing
from perspective_rag.checks import count
from perspective_rag.corpus.loading import Corpus
from perspective_rag.errors import MissingDependency
from perspective_rag.threads import in_thread
from perspective_rag.types import Hit, Passage, Vector

_log = logging.getLogger(__name__)


class BM25Store:
    """Passages by BM25 (Lucene's variant, k1 1.5, b 0.75) on words of two letters or more.

    English stop words are left out, words are not stemmed. Only passages that share a word with the
    query are found; ``filter`` is a predicate on passages or a mapping of metadata fields to
    values. Raises ConfigError for no passages or repeated ids, MissingDependency without bm25s.
    """

    takes_vector = False

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._bm25s = _bm25s()
        self._passages = indexable(passages)
        self._index: Any = None
        tokens = self._bm25s.tokenize(
            [passage.text for passage in self._passages], stopwords="en", show_progress=False
        )
        if tokens.vocab:  # bm25s cannot index texts without a single word
            self._index = self._bm25s.BM25()
            self._index.index(tokens, show_progress=False)

    @classmethod
    def cached(cls, corpus: Corpus, folder: str | os.PathLike[str]) -> BM25Store:
        """The store of a corpus from ``folder``, made and kept there when it is not in it yet.

        The index of each corpus lies in a folder named by its fingerprint; one that cannot be read
        is made anew.
        """
        bm25s = _bm25s()
        kept = Path(folder) / f"bm25-{corpus.fingerprint}"
        store = cls.__new__(cls)
        store._bm25s = bm25s
        store._passages = indexable(corpus.passages)
        if kept.is_dir():
            try:
                store._index = bm25s.BM25.load(kept, show_progress=False)
                if store._index.scores["num_docs"] == len(store._passages):
                    return store
            except Exception as error:  # whatever a damaged file makes of bm25s
                _log.warning("%s cannot be read and is made anew: %r", kept, error)
            shutil.rmtree(kept, ignore_errors=True)
        store = cls(corpus.passages)
        if store._index is not None:
            store._keep(kept)
        return store

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """The k best passages, best first; fewer when fewer share a word with ``text``."""
        wanted = count("k", k)
        kept = passing(self._passages, filter)
        [words] = self._bm25s.tokenize(
            [text], stopwords="en", return_ids=False, show_progress=False
        )
        known = [] if self._index is None else self._index.get_tokens_ids([w for w in words if w])
        if not known:
            return []
        scores = self._index.get_scores_from_ids(known)
        positions = np.flatnonzero(scores) if kept is None else kept[scores[kept] > 0]
        best = positions[np.argsort(-scores[positions], kind="stable")[:wanted]]
        return [Hit(self._passages[i], float(scores[i])) for i in best]

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """``search`` in a thread."""
        return await in_thread(self.search, text, vector, k=k, filter=filter)

    def __len__(self) -> int:
        return len(self._passages)

    def _keep(self, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Written beside its place and moved there whole: a folder of that name is always complete.
        new = Path(tempfile.mkdtemp(prefix=folder.name, dir=folder.parent))
        try:
            self._index.save(new, show_progress=False)
            new.rename(folder)
        except FileExistsError:
            shutil.rmtree(new)
        except OSError:
            shutil.rmtree(new, ignore_errors=True)
            if not folder.is_dir():  # else another process was first
                raise


def _bm25s() -> Any:
    try:
        import bm25s
    except ImportError as error:
        raise MissingDependency("local", "searching with BM25") from error
    return bm25s
