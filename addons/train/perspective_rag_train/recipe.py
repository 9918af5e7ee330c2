"""A recipe: a judge's whole training in stages, read from a TOML file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

from perspective_rag import ConfigError, MissingDependency
from perspective_rag_train.data import Augmentation
from perspective_rag_train.hard_cases import HardSource
from perspective_rag_train.loop import TrainingConfig
from perspective_rag_train.toml_file import read_toml

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
    """One run of training; it starts from the model the stage before it left.

    With ``questions``, files of whole questions, a step shows one question and some of the other
    pairs (see ``TrainingConfig.others_each``).
    """

    name: str
    data: tuple[PairSource, ...]
    neutral: tuple[NeutralSource, ...] = ()
    hard: tuple[HardSource, ...] = ()
    questions: tuple[str, ...] = ()
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
        return _recipe(read_toml(file, extra="judge"), str(file.name))


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
    hard = [
        _made(HardSource, each, f"{place}, hard") for each in _tables(left.pop("hard", []), place)
    ]
    questions = tuple(left.pop("questions", ()))
    augmentation = _made(Augmentation, left.pop("augmentation", {}), f"{place}, augmentation")
    name = left.pop("name", None)
    if not name or not data:
        raise ConfigError(f"{place}: a stage needs a name and at least one [[stage.data]]")
    allowed = {each.name for each in fields(TrainingConfig)} - {"base", "augmentation"}
    if unknown := set(left) - allowed:
        raise ConfigError(f"{place}: {_unknown(unknown, allowed)}")
    _made(TrainingConfig, {"base": "the stage before", **left}, place)  # names a wrong value now
    return Stage(name, tuple(data), tuple(neutral), tuple(hard), questions, left, augmentation)


def _tables(found: Any, place: str) -> Sequence[Mapping[str, Any]]:
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ConfigError(f"{place}: expected one or more [[tables]], got {found!r}")
    return found


def _made(kind: type[T], values: Mapping[str, Any], place: str) -> T:
    """A table as its dataclass, with every value checked against its type.

    Raises ConfigError that names the place, the key and what was expected.
    """
    try:
        from pydantic import ConfigDict, ValidationError, create_model
    except ImportError as error:
        raise MissingDependency("judge", "reading a recipe") from error
    types = get_type_hints(kind)
    keys: dict[str, Any] = {
        each.name: (types[each.name], ... if _is_needed(each) else None)
        for each in fields(kind)  # type: ignore[arg-type]
    }
    strict = ConfigDict(strict=True, extra="forbid")
    frozen = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    try:
        create_model(kind.__name__, __config__=strict, **keys).model_validate(frozen)
        return kind(**frozen)
    except ValidationError as error:
        raise ConfigError(f"{place}: {_said(error.errors(), keys)}") from error
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from error


def _is_needed(key: Field[Any]) -> bool:
    return key.default is MISSING and key.default_factory is MISSING


def _said(errors: Sequence[Mapping[str, Any]], keys: Iterable[str]) -> str:
    """Which keys are unknown, else which are missing, else the first value that is wrong."""
    found: dict[str, list[str]] = {}
    for each in errors:
        found.setdefault(each["type"], []).append(".".join(map(str, each["loc"])))
    if unknown := found.get("extra_forbidden"):
        return _unknown(unknown, keys)
    if missing := found.get("missing"):
        return f"{', '.join(missing)} is missing"
    expected = errors[0]["msg"].removeprefix("Input should be ")
    key = ".".join(map(str, errors[0]["loc"]))
    return f"{key} must be {expected}, got {errors[0]['input']!r:.80}"


def _unknown(keys: Iterable[str], allowed: Iterable[str]) -> str:
    listed = ", ".join(sorted(allowed))
    return f"unknown {', '.join(sorted(keys))}; expected some of {listed}"
