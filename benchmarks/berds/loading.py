"""Retrievers by name over a corpus: those of the paper, and those of your own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from benchmarks.berds.corpora import PassageStream, open_stream
from benchmarks.berds.own import own_retriever
from benchmarks.berds.retrievers import (
    DenseStore,
    OutputFile,
    PerQuestion,
    Reordered,
    Retriever,
    StoreRetriever,
    StreamedRetriever,
    cosine_scores,
)
from benchmarks.berds.streamed import DenseStream
from benchmarks.berds.tart import TartFull
from benchmarks.core.encoders import ENCODERS, TransformersEncoder, encoder_spec
from perspective_rag import (
    BM25Store,
    CachedEmbedder,
    ConfigError,
    Corpus,
    CorpusError,
    OnnxMiniLM,
)
from perspective_rag.commands.user_retriever import load_object
from perspective_rag.extend import Embedder
from perspective_rag_scale import SentenceTransformerEmbedder
from perspective_rag_train.append_log import slug

MINILM = "minilm"
UAE = "WhereIsAI/UAE-Large-V1"
NAMES = ("bm25", MINILM, f"bm25+{MINILM}", *ENCODERS, "tart-full", "web", "st:MODEL")


def check_retriever(name: str) -> None:
    """Raises ConfigError for what is no retriever, before a corpus is read for it: an unknown name
    with the nearest one, a module or factory that is not there, a file that does not exist.
    """
    if name.endswith(".jsonl"):
        if not Path(name).is_file():
            raise ConfigError(f"{name}: there is no such file of retrieval output")
        return
    first, plus, _ = name.partition("+")
    if plus:
        check_retriever(first)
    if first.partition("=")[0] in NAMES or first.startswith("st:"):
        return
    if ":" in first:
        load_object(first)
        return
    raise _unknown(name)


def _unknown(name: str) -> ConfigError:
    near = get_close_matches(name.partition("=")[0], NAMES, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return ConfigError(
        f"unknown retriever {name!r}; {hint}known: {', '.join(NAMES)}, FIRST+EMBEDDER, "
        "module:factory, or a .jsonl file of retrieval output"
    )


@dataclass
class Loader:
    """Makes retrievers over one corpus; what several of them need is made once.

    ``corpus`` is a specification of ``open_stream``, or empty where the retrievers bring their own.
    ``streamed`` never takes the corpus into memory. ``web`` makes the store of a question.
    ``on_query`` is called after each search, ``on_passages`` with every block that is embedded.
    """

    corpus: str
    cache: Path
    streamed: bool = False
    web: PerQuestion | None = None
    on_query: Callable[[], None] = lambda: None
    on_passages: Callable[[int], None] = lambda count: None
    _embedders: dict[str, Embedder] = field(default_factory=dict)

    @cached_property
    def stream(self) -> PassageStream:
        """The corpus as a stream; raises ConfigError where none was given."""
        if not self.corpus:
            raise ConfigError("this retriever searches a corpus: give --corpus")
        return open_stream(self.corpus)

    @cached_property
    def passages(self) -> Corpus:
        """The corpus in memory; raises CorpusError for an empty one."""
        found = Corpus(list(self.stream.passages()))
        if not len(found):
            raise CorpusError(f"{self.corpus} holds no passages")
        return found

    @property
    def identity(self) -> str:
        """16 hexadecimal digits that change with the corpus; empty without one."""
        identity = self.stream.identity if self.corpus else ""
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16] if identity else ""

    def embedder(self, name: str) -> Embedder:
        """``minilm``, a name of ``ENCODERS``, or a sentence-transformers id, with ``st:`` or not.

        Passages are embedded once and kept.
        """
        if name not in self._embedders:
            own = self._uncached(name)
            label = str(getattr(own, "name", name))
            path = self.cache / f"embeddings-{slug(label)}.sqlite"
            self._embedders[name] = CachedEmbedder(own, path, model_name=label)
        return self._embedders[name]

    @staticmethod
    def available(name: str) -> bool:
        """Whether the packages that an embedder of ``embedder`` needs are installed."""
        own = name == MINILM or name.partition("=")[0] in ENCODERS
        return own or find_spec("sentence_transformers") is not None

    def retriever(self, name: str) -> Retriever:
        """A retriever by one of ``NAMES``, a ``FIRST+EMBEDDER`` of them (FIRST's top 100 in the
        order of the second), ``module:factory``, or a file of retrieval output.
        """
        if name.endswith(".jsonl"):
            return OutputFile(Path(name))
        if name == "bm25":
            return self._bm25()
        if name == "web":
            if self.web is None:
                raise ConfigError("the retriever 'web' needs --search-url or a serper.dev key")
            return self.web
        if name.startswith("tart-full"):
            scorer = TartFull(name.partition("=")[2] or None)
            return Reordered("tart-full", self.retriever("contriever-msmarco"), scorer.scores)
        first, plus, second = name.partition("+")
        if plus:
            embedder = self.embedder(second)
            return Reordered(
                name,
                self.retriever(first),
                cosine_scores(embedder),
                embedder,
                on_query=self.on_query,
            )
        if name == MINILM or name.partition("=")[0] in ENCODERS or name.startswith("st:"):
            return self._dense(name)
        if ":" in name:
            own = own_retriever(name, lambda: list(self.passages.passages))
            own.on_query = self.on_query
            return own
        raise _unknown(name)

    def _bm25(self) -> Retriever:
        if self.streamed:
            return StreamedRetriever("bm25", self.stream)
        corpus = self.passages
        store = BM25Store.cached(
            corpus.passages, self.cache, fingerprint=corpus.fingerprint, plain=True
        )
        return StoreRetriever("bm25", store, on_query=self.on_query)

    def _dense(self, name: str) -> Retriever:
        embedder = self._uncached(name)
        spec = encoder_spec(name) if name.partition("=")[0] in ENCODERS else None
        dense = DenseStream(
            self.stream,
            embedder,
            self.cache,
            model_name=str(getattr(embedder, "name", name)),
            spec=spec,
            on_progress=self.on_passages,
        )
        label = name.partition("=")[0]
        if self.streamed:
            return StreamedRetriever(label, self.stream, dense)
        store = DenseStore(dense, self.passages.passages)
        return StoreRetriever(label, store, self.embedder(name), on_query=self.on_query)

    def _uncached(self, name: str) -> Embedder:
        if name == MINILM:
            return OnnxMiniLM()
        if name.partition("=")[0] in ENCODERS:
            return TransformersEncoder(name, encoder_spec(name))
        return SentenceTransformerEmbedder(name.removeprefix("st:"))
