"""The knobs of the pipeline: one meaning each, validated once, serialisable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from perspective_rag.checks import between, count, is_number
from perspective_rag.errors import ConfigError, unknown_name

PROJECTIONS = tuple(
    "none pap pap+ add add+ concat concat+ cast cast+ dual-sum tri-sum adaptive".split()
)
COVERAGE_POLICIES = ("annotate", "require", "off")
FUSIONS = ("rrf", "round-robin")
RERANKS = ("none", "stance")

# Names other libraries use for the same knob, in the same direction.
ALIASES = {
    "lambda_mult": "relevance_weight",
    "mmr_threshold": "relevance_weight",
    "similarity_top_k": "k",
    "top_k": "k",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions:
    """Every option of a request, at construction and, by the same name, at each call.

    - ``k``: passages returned, at least 1.
    - ``fetch_k``: passages fetched for each query (at least ``k``). More: better coverage, slower.
    - ``relevance_weight`` in [0, 1]: 1.0 = relevance alone, lower = more diversity (MMR's lambda).
    - ``projection``: how a query is turned towards its perspective: a row of ``projection``, or
      "adaptive", chosen for each query from what it finds; see ``adaptive``.
    - ``rerank``: "stance" puts first, among ``judge_k`` candidates, what takes the side that the
      question asks for (see ``rerank``); "none" leaves that to the choice of k.
    - ``fusion``: how the rankings of several queries are merged, "rrf" or "round-robin".
    - ``discover``: where the wording of a question names no perspectives, so many statements at
      most are taken from the passages themselves (see ``discover``); 0 = none. Costs a search and
      some judging.
    - ``max_queries``: queries searched at most, the question itself included.
    - ``judge_k``: candidates judged at most. More: better coverage, slower.
    - ``coverage``: "annotate" reports what stayed uncovered, "require" raises CoverageError, "off"
      neither judges nor guards.
    - ``coverage_weight`` in [0, 1]: how much judged support counts against relevance when k are
      chosen. 0.0 = relevance alone; the guard still swaps in what is missing.
    - ``min_support`` in [0, 1]: probability from which a passage counts as supporting; None = the
      judge's own threshold.
    - ``guard_searches``: further searches for uncovered perspectives at most; 0 = none.
    - ``guard_seconds``: the guard starts no further search this many seconds into the request.
    - ``timeout``: seconds for one call to a model or store, from when it begins; None = no limit.
    - ``max_concurrency``: calls of one request at a time; ``Gate`` limits all requests together.
    - ``strict``: what would degrade raises instead.
    """

    k: int = 5
    fetch_k: int = 50
    relevance_weight: float = 1.0
    projection: str = "none"
    rerank: str = "none"
    fusion: str = "rrf"
    discover: int = 0
    max_queries: int = 12
    judge_k: int = 25
    coverage: str = "annotate"
    coverage_weight: float = 0.8
    min_support: float | None = None
    guard_searches: int = 2
    guard_seconds: float = 10.0
    timeout: float | None = 60.0
    max_concurrency: int = 8
    strict: bool = False

    def __post_init__(self) -> None:
        for name in ("k", "fetch_k", "max_queries", "max_concurrency"):
            count(name, getattr(self, name))
        for name in ("discover", "judge_k", "guard_searches"):
            count(name, getattr(self, name), least=0)
        between("relevance_weight", self.relevance_weight)
        between("coverage_weight", self.coverage_weight)
        between("guard_seconds", self.guard_seconds, high=float("inf"))
        if self.min_support is not None:
            between("min_support", self.min_support)
        if self.timeout is not None and not (is_number(self.timeout) and self.timeout > 0):
            raise ConfigError(f"timeout must be seconds above 0 or None, got {self.timeout!r}")
        _one_of("projection", self.projection, PROJECTIONS)
        _one_of("rerank", self.rerank, RERANKS)
        _one_of("fusion", self.fusion, FUSIONS)
        _one_of("coverage", self.coverage, COVERAGE_POLICIES)
        if not isinstance(self.strict, bool):
            raise ConfigError(f"strict must be True or False, got {self.strict!r}")

    def override(self, **changes: Any) -> PipelineOptions:
        """A copy with some options changed; aliases are understood, unknown names raise with a
        suggestion.
        """
        return replace(self, **resolve_aliases(changes)) if changes else self

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PipelineOptions:
        """Options from ``to_dict``'s form or a config file; raises ConfigError for an unknown name
        or a bad value.
        """
        return cls(**resolve_aliases(values))


OPTION_NAMES = tuple(field.name for field in fields(PipelineOptions))


def resolve_aliases(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same options under their own names; raises ConfigError for unknown names and for one
    option given twice.
    """
    resolved: dict[str, Any] = {}
    for given, value in values.items():
        name = ALIASES.get(given, given)
        if name not in OPTION_NAMES:
            raise unknown_name(given, (*OPTION_NAMES, *ALIASES), "option")
        if name in resolved:
            raise ConfigError(f"{name} is given twice: {given!r} is another name for it")
        resolved[name] = value
    return resolved


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        error = unknown_name(str(value), allowed, name)
        raise ConfigError(f"{error}; allowed: {', '.join(allowed)}")
