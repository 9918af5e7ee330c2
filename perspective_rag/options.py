"""The options of the pipeline: one meaning each, validated once, serialisable."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from perspective_rag.errors import ConfigError, between, count, is_number, unknown_name
from perspective_rag.protocols import Projection
from perspective_rag.storage.files import replace_file
from perspective_rag.text import from_json
from perspective_rag.types import ListingRule, RelevanceFloor

if TYPE_CHECKING:  # typing has it from Python 3.11 on; nothing needs it while running
    from typing_extensions import Unpack

FORMAT = 1
"""Of the file of a calibration."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Floor and thresholds for an encoder and a judge on one corpus.

    ``perspective-rag calibrate`` makes one.

    Attributes:
        encoder: The name of the encoder.
        judge: The name of the judge.
        floor: The cosines of this encoder from which a passage is about the question.
        scale: What stands for the packaged encoder's floor among this encoder's cosines: a judge
            that counts relevance reads it on that scale.
        listing: When a passage is listed under one of two sides that contradict each other. None:
            as the judge says.
        provenance: How all that was found, and how sure it is.
    """

    encoder: str
    judge: str
    floor: RelevanceFloor
    scale: RelevanceFloor
    listing: ListingRule | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)

    @classmethod
    def of(cls, given: Calibration | Mapping[str, Any] | str | Path) -> Calibration:
        """A calibration from what stands for one.

        Args:
            given: A calibration, what ``to_dict`` returned, or the path of a file that ``save``
                wrote.

        Returns:
            The calibration.

        Raises:
            ConfigError: It is no calibration, cannot be read, or is of another format.
        """
        if isinstance(given, Calibration):
            return given
        name, stored = "calibration", given
        if isinstance(given, (str, Path)):
            name = str(given)
            try:
                stored = from_json(Path(given).read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f"calibration {name!r} cannot be read: {error}; "
                    "perspective-rag calibrate writes such a file"
                ) from error
        if not isinstance(stored, Mapping):
            raise ConfigError(f"calibration must be a file or a mapping, got {given!r:.80}")
        if stored.get("format") != FORMAT:
            raise ConfigError(
                f"{name}: format {stored.get('format')!r} is not {FORMAT}: "
                "make it again with perspective-rag calibrate"
            )
        try:
            if not isinstance(provenance := stored.get("provenance") or {}, Mapping):
                raise TypeError(f"provenance must be a mapping, got {provenance!r:.40}")
            return cls(
                str(stored["encoder"]),
                str(stored["judge"]),
                RelevanceFloor(**stored["floor"]),
                RelevanceFloor(**stored["scale"]),
                ListingRule(**stored["listing"]) if stored.get("listing") else None,
                provenance,
            )
        except (KeyError, TypeError) as error:
            raise ConfigError(f"{name} is no calibration: {error!r}") from error

    def to_dict(self) -> dict[str, Any]:
        """The calibration as JSON-ready values."""
        return {
            "format": FORMAT,
            "encoder": self.encoder,
            "judge": self.judge,
            "floor": asdict(self.floor),
            "scale": asdict(self.scale),
            "listing": asdict(self.listing) if self.listing else None,
            "provenance": dict(self.provenance),
        }

    def save(self, path: str | Path) -> None:
        """Writes the file that ``of`` reads.

        Args:
            path: The file; one that is there is replaced.
        """
        replace_file(Path(path), json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n")


ProjectionName = Literal[
    "none",
    "pap",
    "pap+",
    "add",
    "add+",
    "concat",
    "concat+",
    "cast",
    "cast+",
    "dual-sum",
    "tri-sum",
    "adaptive",
]
CoveragePolicy = Literal["annotate", "require", "off"]
FusionName = Literal["seats", "rrf", "round-robin"]

PROJECTIONS: tuple[str, ...] = get_args(ProjectionName)
COVERAGE_POLICIES: tuple[str, ...] = get_args(CoveragePolicy)
FUSIONS: tuple[str, ...] = get_args(FusionName)

# Names other libraries use for the same knob, in the same direction.
ALIASES = {
    "lambda_mult": "mmr_lambda",
    "relevance_weight": "mmr_lambda",
    "mmr_threshold": "mmr_lambda",
    "similarity_top_k": "k",
    "top_k": "k",
}


class ChoiceOptions(TypedDict, total=False):
    """The options of ``PipelineOptions`` that judge and choose among given passages, as keywords.

    For editors and type checkers, like ``Options``.
    """

    k: int
    mmr_lambda: float
    discover: int
    judge_k: int
    reread_k: int
    coverage: CoveragePolicy
    coverage_weight: float
    min_support: float | None
    relevance_floor: float | None
    calibration: Calibration | Mapping[str, Any] | str | Path | None
    drop_unrelated: bool
    max_per_source: int | None
    timeout: float | None
    max_concurrency: int
    strict: bool
    # Names that other libraries use for k and mmr_lambda: see ALIASES.
    top_k: int
    similarity_top_k: int
    lambda_mult: float
    mmr_threshold: float
    relevance_weight: float


class Options(ChoiceOptions, total=False):
    """Every option of ``PipelineOptions``, as keywords: ``**options: Unpack[Options]``.

    For editors and type checkers; ``PipelineOptions`` says what each one means.
    """

    fetch_k: int
    projection: ProjectionName | Projection
    fusion: FusionName
    max_queries: int
    guard_searches: int
    guard_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions:
    """Every option of a request, at construction and, by the same name, at each call.

    Attributes:
        k: Passages returned, at least 1.
        fetch_k: Passages fetched for each query, never fewer than ``k``. More: better coverage,
            slower.
        mmr_lambda: In [0, 1]. 1.0 = relevance alone, lower = more diversity (MMR's lambda).
        projection: How a query's vector is changed by its perspective: "none", a method of PIR
            (Section 3.1) such as "pap", "adaptive" (chosen for each query from what it finds), or a
            ``Projection`` of your own.
        fusion: How the rankings of several queries become one pool. "seats": the question and each
            perspective fill equal shares of what is judged, each in its own order; "rrf":
            reciprocal ranks added up, the question's twice; "round-robin": the queries in turn.
        discover: Maximum number of statements taken from the passages as perspectives where the
            wording of the question names none; 0 = none. Costs a search and some judging.
        max_queries: Maximum number of queries, the question itself and the guard's included.
        judge_k: Maximum number of candidates judged; 0 = nothing is judged. More: better coverage,
            slower.
        reread_k: Maximum number of texts that the second judge, where there is one, reads again:
            what is about to be listed and what nearly is. 0 = none; the larger judge was measured
            with 12. More: better coverage, slower.
        coverage: "annotate" reports what stayed uncovered, "require" raises CoverageError, "off"
            neither judges nor guards.
        coverage_weight: In [0, 1]: how much judged support counts against relevance when k are
            chosen. 0.0 = relevance alone, but for what is listed under a perspective that lacks it.
        min_support: In [0, 1]: probability from which a passage is listed as support. Higher: fewer
            passages are listed, and more of them support. None = what the judge says of itself.
        relevance_floor: In [-1, 1]: cosine to the question below which a passage is not about it,
            and is neither judged nor listed. None = what the embedder says of itself; -1 = no
            floor.
        calibration: What ``perspective-rag calibrate`` found for your encoder and corpus: its file,
            or a ``Calibration``. ``min_support`` and ``relevance_floor`` go before it. None = what
            judge and embedder say of themselves.
        drop_unrelated: Return fewer than ``k`` passages rather than one that is not about the
            question.
        max_per_source: Maximum number of passages of one source (``metadata["source"]``, else
            "url", else the title); the next best take the other places. None = no limit.
        guard_searches: Maximum number of further searches for uncovered perspectives; 0 = none.
        guard_seconds: The guard starts no further search this many seconds into the request.
        timeout: Seconds for one call to a model or store, from when it begins; None = no limit.
        max_concurrency: Calls of one request at a time; ``Limiter`` limits all requests together.
        strict: Raise instead of degrading.

    Raises:
        ConfigError: A value is outside its range, or the calibration cannot be read.
    """

    k: int = 5
    fetch_k: int = 50
    mmr_lambda: float = 1.0
    projection: ProjectionName | Projection = "none"
    fusion: FusionName = "seats"
    discover: int = 0
    max_queries: int = 12
    judge_k: int = 25
    reread_k: int = 12
    coverage: CoveragePolicy = "annotate"
    coverage_weight: float = 0.9
    min_support: float | None = None
    relevance_floor: float | None = None
    calibration: Calibration | Mapping[str, Any] | str | Path | None = None
    drop_unrelated: bool = False
    max_per_source: int | None = None
    guard_searches: int = 2
    guard_seconds: float = 10.0
    timeout: float | None = 60.0
    max_concurrency: int = 8
    strict: bool = False

    def __post_init__(self) -> None:
        for name in ("k", "fetch_k", "max_queries", "max_concurrency"):
            count(name, getattr(self, name))
        for name in ("discover", "judge_k", "reread_k", "guard_searches"):
            count(name, getattr(self, name), least=0)
        if self.max_per_source is not None:
            count("max_per_source", self.max_per_source)
        between("mmr_lambda", self.mmr_lambda)
        between("coverage_weight", self.coverage_weight)
        between("guard_seconds", self.guard_seconds, high=float("inf"))
        if self.min_support is not None:
            between("min_support", self.min_support)
        if self.timeout is not None and not (is_number(self.timeout) and self.timeout > 0):
            raise ConfigError(f"timeout must be seconds above 0 or None, got {self.timeout!r}")
        if isinstance(self.projection, str):
            _one_of("projection", self.projection, PROJECTIONS)
        elif isinstance(self.projection, type) or not isinstance(self.projection, Projection):
            raise ConfigError(f"projection must be a name or a Projection, got {self.projection!r}")
        _one_of("fusion", self.fusion, FUSIONS)
        _one_of("coverage", self.coverage, COVERAGE_POLICIES)
        if self.relevance_floor is not None:
            between("relevance_floor", self.relevance_floor, low=-1.0)
        if self.calibration is not None:
            object.__setattr__(self, "calibration", Calibration.of(self.calibration))
        for name in ("strict", "drop_unrelated"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} must be True or False, got {getattr(self, name)!r}")

    def __repr__(self) -> str:
        """The options that are not the default."""
        default = PipelineOptions()
        given = {name: getattr(self, name) for name in OPTION_NAMES}
        changed = [f"{n}={v!r}" for n, v in given.items() if v != getattr(default, n)]
        return f"PipelineOptions({', '.join(changed)})"

    @property
    def calibrated(self) -> Calibration | None:
        """The calibration, read from its file."""
        return None if self.calibration is None else Calibration.of(self.calibration)

    def override(self, **changes: Unpack[Options]) -> PipelineOptions:
        """A copy with some options changed.

        Args:
            **changes: Options by name; the names that other libraries use for ``k`` and
                ``mmr_lambda`` are understood (``top_k``, ``lambda_mult``, ...).

        Returns:
            The new options.

        Raises:
            ConfigError: A name is unknown (the message suggests one) or a value cannot be used.
        """
        return replace(self, **resolve_aliases(changes)) if changes else self

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON-ready values; a projection of your own is written as its name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        if not isinstance(self.projection, str):
            values["projection"] = self.projection.name
        if (calibration := self.calibrated) is not None:
            values["calibration"] = calibration.to_dict()
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PipelineOptions:
        """Options from what ``to_dict`` wrote, or from a config file.

        Args:
            values: Options by name; those left out keep their defaults.

        Returns:
            The options.

        Raises:
            ConfigError: A name is unknown or a value cannot be used.
        """
        return cls(**resolve_aliases(values))


OPTION_NAMES = tuple(field.name for field in fields(PipelineOptions))


def changed_options(
    options: PipelineOptions | None,
    changes: Mapping[str, Any],
    *,
    parameters: Iterable[str] = (),
    without: Iterable[str] = (),
) -> PipelineOptions:
    """Applies the options that a wrapper was given beside parameters of its own.

    Args:
        options: Where to start; None: the defaults.
        changes: Options by name or alias, with their values.
        parameters: Names of the wrapper's own parameters, suggested for a misspelt name.
        without: Options that have no effect in this wrapper, because it searches nothing.

    Returns:
        The options with the changes.

    Raises:
        ConfigError: A name is unknown or in ``without``, or a value is not allowed.
    """
    unused = set(without)
    names = {name for name in (*OPTION_NAMES, *ALIASES) if name not in unused}
    for name in changes:
        if name in unused:
            raise ConfigError(f"{name} has no effect here: nothing is searched")
        if name not in names:
            raise unknown_name(name, (*names, *parameters), "option")
    return (options or PipelineOptions()).override(**changes)


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
