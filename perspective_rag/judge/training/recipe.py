"""A recipe: a judge's whole training in stages, read from a TOML file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.judge.training.data import Augmentation
from perspective_rag.judge.training.loop import TrainingConfig

RECIPES = Path(__file__).parent / "recipes"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PairSource:
    """Labelled pairs from ``file`` (a name or a pattern like ``folder/*.jsonl.gz``).

    Of these, ``sources`` keeps only the named sources and ``without`` leaves sources out; ``caps``
    bounds the rows of single sources, ``cap`` those of every other source, ``rows`` those of all
    together; rows are drawn by the recipe's seed. ``repeat`` shows each pair that often in an
    epoch, ``weight`` multiplies its loss, ``smoothing`` is the label smoothing (for labels made by
    rule), ``max_characters`` cuts documents at a word's end.
    """

    file: str
    rows: int | None = None
    sources: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    cap: int | None = None
    caps: Mapping[str, int] = field(default_factory=dict)
    repeat: int = 1
    weight: float = 1.0
    smoothing: float | None = None
    max_characters: int | None = None
    licence: str = "not stated"


@dataclass(frozen=True, slots=True)
class NeutralSource:
    """Pairs labelled neutral by rule, made for the statements of the stage's own pairs.

    ``kind`` "retrieved": passages of the files ``passages`` that BM25 finds for a statement,
    ``each`` of the best ``top``. "other topic": arguments among the stage's pairs that BM25 finds
    for a statement and that belong to another topic. "random": ``rows`` pairs of any statement and
    any document. ``statements`` bounds how many statements get some, ``from_sources`` whose.
    ``passage_sources`` keeps passages of these sources, ``min_characters`` drops shorter ones,
    ``exclude`` drops those whose text occurs in the files it names.
    """

    kind: Literal["retrieved", "other topic", "random"]
    passages: tuple[str, ...] = ()
    passage_sources: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    from_sources: tuple[str, ...] = ()
    statements: int = 2600
    top: int = 25
    each: int = 5
    rows: int = 5000
    min_characters: int = 150
    max_characters: int = 600
    weight: float = 1.0
    smoothing: float = 0.1
    licence: str = "not stated"

    def __post_init__(self) -> None:
        if self.kind not in ("retrieved", "other topic", "random"):
            raise ConfigError(
                f"kind of neutral pairs must be 'retrieved', 'other topic' or 'random', "
                f"got {self.kind!r}"
            )
        if self.kind == "retrieved" and not self.passages:
            raise ConfigError("neutral pairs of kind 'retrieved' need passages = [files]")


@dataclass(frozen=True, slots=True)
class Stage:
    """One run of training; it starts from the model the stage before it left."""

    name: str
    data: tuple[PairSource, ...]
    neutral: tuple[NeutralSource, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    augmentation: Augmentation = field(default_factory=Augmentation)

    def config(self, base: str, seed: int) -> TrainingConfig:
        """The stage's training configuration from a base."""
        return TrainingConfig(
            **{"base": base, "seed": seed, **self.options, "augmentation": self.augmentation}
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a judge is made: base, stages, and the development pairs that decide its settings.

    ``development_rows`` of these are drawn to assess the model during training; temperature,
    neutral bias and threshold are set on all. ``max_tokens`` and ``max_words`` (window) are those
    of the judge; ``calibration_words``: see ``export``.
    """

    name: str
    base: str
    development: tuple[PairSource, ...]
    stages: tuple[Stage, ...]
    seed: int = 13
    base_licence: str = "not stated"
    development_rows: int = 1200
    max_tokens: int = 224
    max_words: int = 60
    calibration_words: int = 0

    @classmethod
    def read(cls, path: str | Path) -> Recipe:
        """The recipe in a TOML file, or the one of that name that comes with the package.

        Raises ConfigError that names the key that is missing or unknown.
        """
        file = Path(path)
        if not file.is_file():
            file = RECIPES / f"{path}.toml"
        if not file.is_file():
            known = ", ".join(sorted(each.stem for each in RECIPES.glob("*.toml")))
            raise ConfigError(f"recipe {str(path)!r} is neither a file nor one of: {known}")
        return _recipe(_toml(file), str(file.name))


def _toml(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError as error:
            raise MissingDependency("judge", "reading a recipe") from error
    try:
        values: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    return values


def _recipe(values: dict[str, Any], place: str) -> Recipe:
    stages = [
        _stage(stage, f"{place}, stage {number}")
        for number, stage in enumerate(_tables(values.pop("stage", []), f"{place}: stage"), 1)
    ]
    development = [
        _made(PairSource, each, f"{place}, development")
        for each in _tables(values.pop("development", []), f"{place}: development")
    ]
    if not stages or not development:
        raise ConfigError(f"{place}: a recipe needs at least one [[stage]] and one [[development]]")
    return _made(Recipe, {**values, "stages": stages, "development": development}, place)


def _stage(values: Mapping[str, Any], place: str) -> Stage:
    left = dict(values)
    data = [
        _made(PairSource, each, f"{place}, data") for each in _tables(left.pop("data", []), place)
    ]
    neutral = [
        _made(NeutralSource, each, f"{place}, neutral")
        for each in _tables(left.pop("neutral", []), place)
    ]
    augmentation = _made(Augmentation, left.pop("augmentation", {}), f"{place}, augmentation")
    name = left.pop("name", None)
    if not name or not data:
        raise ConfigError(f"{place}: a stage needs a name and at least one [[stage.data]]")
    allowed = {each.name for each in fields(TrainingConfig)} - {"base", "augmentation"}
    _only(left, allowed, place)
    return Stage(name, tuple(data), tuple(neutral), left, augmentation)


def _tables(found: Any, place: str) -> Sequence[Mapping[str, Any]]:
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ConfigError(f"{place}: expected one or more [[tables]], got {found!r}")
    return found


def _made(kind: type[T], values: Mapping[str, Any], place: str) -> T:
    names = fields(kind)  # type: ignore[arg-type]
    _only(values, {each.name for each in names}, place)
    needed = [n.name for n in names if n.default is MISSING and n.default_factory is MISSING]
    if missing := [name for name in needed if name not in values]:
        raise ConfigError(f"{place}: {', '.join(missing)} is missing")
    frozen = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    try:
        return kind(**frozen)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from error


def _only(values: Mapping[str, Any], allowed: set[str], place: str) -> None:
    if unknown := sorted(set(values) - allowed):
        raise ConfigError(
            f"{place}: unknown {', '.join(unknown)}; expected some of {', '.join(sorted(allowed))}"
        )
