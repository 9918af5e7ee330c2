"""The pipeline's options as fields of a retriever, each of which a chain can configure."""

from __future__ import annotations

from typing import Any

from langchain_core.retrievers import BaseRetriever

from perspective_rag import PipelineOptions
from perspective_rag.extend import OPTION_NAMES, CoveragePolicy, FusionName, RerankName

_DEFAULT = PipelineOptions()


class OptionFields(BaseRetriever):
    """A retriever with a field for every option of ``perspective_rag.PipelineOptions``."""

    k: int = _DEFAULT.k
    """Documents returned."""
    fetch_k: int = _DEFAULT.fetch_k
    """Documents fetched for each query."""
    mmr_lambda: float = _DEFAULT.mmr_lambda
    """In [0, 1]; 1.0 = relevance alone, lower = more diversity."""
    projection: Any = _DEFAULT.projection
    """How a query's vector is changed by its perspective."""
    rerank: RerankName = _DEFAULT.rerank
    """"stance": what takes the side that the question asks for comes first."""
    fusion: FusionName = _DEFAULT.fusion
    """How the rankings of the queries become one."""
    discover: int = _DEFAULT.discover
    """Perspectives to take from the documents where the question names none."""
    max_queries: int = _DEFAULT.max_queries
    """Maximum number of searches for one question."""
    judge_k: int = _DEFAULT.judge_k
    """Maximum number of documents judged."""
    reread_k: int = _DEFAULT.reread_k
    """Maximum number of documents that the larger judge reads again."""
    coverage: CoveragePolicy = _DEFAULT.coverage
    """"annotate", "require" or "off"."""
    coverage_weight: float = _DEFAULT.coverage_weight
    """How much support counts against relevance in the choice."""
    min_support: float | None = _DEFAULT.min_support
    """Probability from which a document is listed as support."""
    relevance_floor: float | None = _DEFAULT.relevance_floor
    """Cosine to the question below which a document is not about it."""
    calibration: Any = _DEFAULT.calibration
    """What ``perspective-rag calibrate`` found: a file, or its values."""
    drop_unrelated: bool = _DEFAULT.drop_unrelated
    """Return fewer than ``k`` documents rather than one that is not about the question."""
    max_per_source: int | None = _DEFAULT.max_per_source
    """Maximum number of documents of one source."""
    guard_searches: int = _DEFAULT.guard_searches
    """Maximum number of further searches for what stayed uncovered."""
    guard_seconds: float = _DEFAULT.guard_seconds
    """Seconds into the request after which the guard starts no search."""
    timeout: float | None = _DEFAULT.timeout
    """Seconds for one call to a model or store."""
    max_concurrency: int = _DEFAULT.max_concurrency
    """Calls of one request at a time."""
    strict: bool = _DEFAULT.strict
    """Raise instead of degrading."""

    @property
    def options(self) -> PipelineOptions:
        """All options together; raises ConfigError for one that cannot be used."""
        return PipelineOptions(**{name: getattr(self, name) for name in OPTION_NAMES})
