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
from perspective_rag.local.corpus.embedding import CachedEmbedder, embedded
from perspective_rag.local.corpus.loading import Corpus
from perspective_rag.local.wrapping import second_judge_of
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
    KeepsEmbeddings,
    SecondJudge,
    Selector,
    Store,
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
    check_judges(judge, llm_judge)  # before anything is embedded
    if embedder is None:
        from perspective_rag.local.onnx_minilm import OnnxMiniLM

        embedder = OnnxMiniLM()
    name = str(getattr(embedder, "name", type(embedder).__name__))
    kept = Path(cache) if cache is not None else None
    embeddings = (
        None if kept is None else kept / f"embeddings-{fingerprint(name, digits=12)}.sqlite"
    )
    store: Any
    if dense:
        from perspective_rag.local.stores import FaissStore

        total = len(corpus)
        source = (
            embedder
            if embeddings is None
            else CachedEmbedder(embedder, embeddings, model_name=name, max_passages=0)
        )
        store = FaissStore(
            corpus.passages,
            embedded(
                corpus.passages,
                source,
                on_batch=None if on_progress is None else lambda done: on_progress(done, total),
            ),
        )
    else:
        from perspective_rag.local.stores import BM25Store

        store = (
            BM25Store(corpus.passages)
            if kept is None
            else BM25Store.cached(
                corpus.passages,
                kept / corpus.fingerprint[:16],
                fingerprint=corpus.fingerprint,
            )
        )
        embedder = CachedEmbedder(embedder, embeddings, model_name=name)
    return pipeline_over(
        store,
        embedder,
        vectors=store if dense else None,
        judge=judge,
        llm=llm,
        llm_judge=llm_judge,
        second_judge=second_judge,
        **options,
    )


def pipeline_over(
    store: Store,
    embedder: Embedder,
    *,
    vectors: KeepsEmbeddings | None = None,
    judge: Judge | None = None,
    llm: LLM | None = None,
    llm_judge: Judge | None = None,
    second_judge: SecondJudge | None = None,
    **options: Unpack[LocalArguments],
) -> PerspectivePipeline:
    """The pipeline over a store with the package's own judge.

    ``vectors`` gives the judge the embeddings of passages. Everything else is as for
    ``local_pipeline``.
    """
    check_judges(judge, llm_judge)
    if judge is None:
        second_judge = second_judge or second_judge_of("default", llm or llm_judge)
        judge = CascadeJudge(
            CrossEncoderJudge(), embedder=embedder, store=vectors, llm_judge=llm_judge
        )
        if llm_judge is None:
            judge = list_judge(llm, judge)
    if llm is not None and options.get("extractor") is None:
        options = {**options, "extractor": LLMExtractor(llm, fallback=RuleExtractor())}
    return PerspectivePipeline(
        store, embedder=embedder, judge=judge, second_judge=second_judge, **options
    )


def check_judges(judge: Judge | None, llm_judge: Judge | None) -> None:
    """Raises ConfigError where both are given."""
    if judge is not None and llm_judge is not None:
        raise ConfigError(
            "llm_judge is asked after the package's judge; with a judge of your own pass "
            "judge=CascadeJudge(judge, llm_judge=...)"
        )


def list_judge(llm: LLM | None, judge: Judge) -> Judge:
    """The language model as judge of whole lists, with ``judge`` behind it, where there is one."""
    return judge if llm is None else LLMListJudge(llm, fallback=judge)
