"""The default path: a pipeline over a corpus that runs on this machine alone, without torch or a
server.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perspective_rag.errors import ConfigError
from perspective_rag.flow.limiter import Limiter
from perspective_rag.flow.request import Telemetry
from perspective_rag.judge.cascade import CascadeJudge
from perspective_rag.judge.cross_encoder import CrossEncoderJudge
from perspective_rag.judge.llm_list import LLMListJudge
from perspective_rag.local.corpus import CachedEmbedder, Corpus, build_dense_index
from perspective_rag.local.judges import second_judge_of
from perspective_rag.options import Options, PipelineOptions
from perspective_rag.perspectives.find import SkipIf
from perspective_rag.perspectives.llm import LLMExtractor
from perspective_rag.perspectives.reading import RuleExtractor
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.protocols import (
    LLM,
    Answerer,
    Embedder,
    Expander,
    Extractor,
    Judge,
    SecondJudge,
    Selector,
)
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.types import DedupKey

if TYPE_CHECKING:
    from typing_extensions import Unpack

Progress = Callable[[int, int], None]


class LocalArguments(Options, total=False):
    """The pipeline's further arguments."""

    extractor: Extractor | None
    expander: Expander | None
    answerer: Answerer | None
    selector: Selector | None
    limiter: Limiter | None
    telemetry: Telemetry | None
    skip_if: SkipIf | None
    dedup_key: DedupKey | None
    options: PipelineOptions | None


def local_pipeline(
    corpus: Corpus,
    *,
    cache: str | Path | None = None,
    dense: bool = False,
    embedder: Embedder | None = None,
    judge: Judge | None = None,
    llm: LLM | None = None,
    llm_judge: Judge | None = None,
    second_judge: SecondJudge | None = None,
    on_progress: Progress | None = None,
    **options: Unpack[LocalArguments],
) -> PerspectivePipeline:
    """A pipeline over a corpus with the package's own embedder and judge.

    Both run on ONNX Runtime, int8. By default passages are found by BM25 and ordered by cosine,
    with embeddings made as they are needed: it answers at once. The same embeddings rule out what
    has nothing to do with a perspective before the judge reads it.

    Args:
        corpus: The passages.
        cache: A folder in which indexes and embeddings are kept, by content and model. None:
            nothing is kept.
        dense: Embed the whole corpus first (about 100 passages a second on two cores) and search by
            vector.
        embedder: Embeds instead of the package's own.
        judge: Judges instead of the package's own.
        llm: A language model that is asked twice a question: for its sides (``LLMExtractor``) and
            for the verdicts on all candidates (``LLMListJudge``), with rules and the package's
            judge to fall back on. An ``extractor`` or ``judge`` of your own takes its place.
        llm_judge: Is asked again about the pairs that the package's judge leaves uncertain, such as
            an ``LLMJudge``: a call for each, which is dear (see ``CascadeJudge``).
        second_judge: Reads again what the package's judge would list (``reread_k``). None: the
            larger judge, where the distribution ``perspective-rag-judge`` is installed.
        on_progress: With ``dense``, called with the number of passages embedded and of all
            passages.
        **options: Further arguments and options of ``PerspectivePipeline``, such as ``extractor``
            or ``k``.

    Returns:
        The pipeline.

    Raises:
        ConfigError: ``llm_judge`` is given together with ``judge``, or an option cannot be used.
        MissingDependency: What a part runs on is not installed.
    """
    if judge is not None and llm_judge is not None:
        raise ConfigError(
            "llm_judge is asked after the package's judge; with a judge of your own pass "
            "judge=CascadeJudge(judge, llm_judge=...)"
        )
    if embedder is None:
        from perspective_rag.local.onnx_minilm import OnnxMiniLM

        embedder = OnnxMiniLM()
    name = str(getattr(embedder, "name", type(embedder).__name__))
    kept = Path(cache) if cache is not None else None
    folder = kept / corpus.fingerprint[:16] if kept is not None else None
    model = fingerprint(name, digits=12)
    if dense:
        from perspective_rag.local.indexes import FaissStore

        embeddings = build_dense_index(
            corpus,
            embedder,
            folder / f"dense-titled-{model}" if folder else None,
            model_name=name,
            on_progress=on_progress,
        )
        store: Any = FaissStore(corpus.passages, embeddings)
    else:
        from perspective_rag.local.bm25 import BM25Store

        store = (
            BM25Store(corpus.passages)
            if folder is None
            else BM25Store.cached(corpus.passages, folder, fingerprint=corpus.fingerprint)
        )
        file = kept / f"embeddings-{model}.sqlite" if kept is not None else None
        embedder = CachedEmbedder(embedder, file, model_name=name)
    if judge is None:
        second_judge = second_judge or second_judge_of("default", llm or llm_judge)
        vectors = store if dense else None
        judge = CascadeJudge(
            CrossEncoderJudge(), embedder=embedder, store=vectors, llm_judge=llm_judge
        )
        judge = list_judge(llm, judge, llm_judge)
    return PerspectivePipeline(
        store,
        embedder=embedder,
        judge=judge,
        second_judge=second_judge,
        **with_sides(llm, options),
    )


def list_judge(llm: LLM | None, judge: Judge, llm_judge: Judge | None = None) -> Judge:
    """The language model as judge, with the package's behind it, unless it is asked by pairs."""
    if llm is None or llm_judge is not None:
        return judge
    return LLMListJudge(llm, fallback=judge)


def with_sides(llm: LLM | None, options: LocalArguments) -> LocalArguments:
    """The pipeline's arguments, with the language model to name the sides where nothing else is to
    do it.
    """
    if llm is None or options.get("extractor") is not None:
        return options
    return {**options, "extractor": LLMExtractor(llm, fallback=RuleExtractor())}
