"""A configuration to validate: a TOML file or flags, checked before anything runs.

[run]           the options of the command line: retriever, corpus, questions, judge, selector, ...
[pipeline]      options of the pipeline that is validated (perspective_rag.PipelineOptions)
[thresholds]    what it must reach; beyond one the exit status is 1
[prices]        what a pair or call costs, for the estimate
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.berds.approaches import APPROACHES, PIPELINE
from benchmarks.berds.deciding import RULES
from benchmarks.berds.questions import SPLITS
from perspective_rag import ConfigError, MissingDependency, PipelineOptions
from perspective_rag.errors import unknown_name
from perspective_rag.options import resolve_aliases

VALIDATED = "pipeline"
_MEASURED_AT = ("k", "strict", "coverage")


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from ``low`` to ``high``; ``whole`` ones only, where it is set."""

    low: float
    high: float = math.inf
    whole: bool = False

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        if self.high == math.inf:
            return f"{kind}, at least {self.low:g}"
        return f"{kind} in [{self.low:g}, {self.high:g}]"

    def holds(self, value: Any) -> bool:
        """True for a number of the range; a truth value is none."""
        right = isinstance(value, int if self.whole else (int, float))
        return right and not isinstance(value, bool) and self.low <= value <= self.high


THRESHOLDS: Mapping[str, Range] = {
    "min_coverage": Range(0, 1),
    "min_precision": Range(0, 1),
    "min_coverage_gain": Range(-1, 1),
    "min_precision_gain": Range(-1, 1),
    "max_lean": Range(0, 1),
    "max_sycophancy": Range(0, 1),
    "max_seconds": Range(0),
    "max_judged_pairs": Range(0),
    "max_degradations": Range(0, whole=True),
}
"""MRecall@5 and Precision@5 and what they gain over plain top k, the distance of the lean from
even, how far the wording decides the side, seconds and pairs a question, degradations in all."""

PRICES: Mapping[str, Range] = {
    "judge_pair": Range(0),
    "selector_pair": Range(0),
    "llm_call": Range(0),
}

_TEXT, _TEXTS, _SWITCH = "a text", "a text or a list of texts", "true or false"
_SHARE, _COUNT = Range(0, 1), Range(1, whole=True)
_RUN: Mapping[str, Any] = {
    "questions": _TEXT,
    "dataset": _TEXTS,
    "split": SPLITS,
    "limit": _COUNT,
    "corpus": _TEXT,
    "streamed": _SWITCH,
    "retriever": _TEXTS,
    "approach": APPROACHES,
    "verdict": APPROACHES[1:],
    "judge": _TEXT,
    "decision": RULES,
    "selector": _TEXT,
    "force_same_judge": _SWITCH,
    "llm": _TEXT,
    "mmr_embedder": _TEXT,
    "mmr_weight": _SHARE,
    "tuning_share": _SHARE,
    "tuning_limit": _COUNT,
    "depth": Range(10, 100, whole=True),
    "no_sycophancy": _SWITCH,
    "as_published": _SWITCH,
    "search_url": _TEXT,
    "serper_key_file": _TEXT,
    "pages": _COUNT,
    "out": _TEXT,
    "figures": _TEXT,
    "no_figures": _SWITCH,
    "cache": _TEXT,
    "seed": Range(0, whole=True),
    "strict": _SWITCH,
}
_SECTIONS = ("run", "pipeline", "thresholds", "prices")


@dataclass(frozen=True, slots=True)
class Validation:
    """What is validated and what it must reach; ``verdict`` None validates nothing."""

    verdict: str | None = None
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    prices: Mapping[str, float] = field(default_factory=dict)

    def approaches(self, given: Sequence[str] | None) -> tuple[str, ...]:
        """The approaches to run: those given, with what is validated and what it is held against;
        without any, these two alone, or all where nothing is validated.
        """
        if self.verdict is None:
            return tuple(dict.fromkeys(given or APPROACHES))
        return tuple(dict.fromkeys(("default", self.verdict, *(given or ()))))

    def plan(
        self, estimate: Any, questions: Sequence[Any], retrievers: Sequence[str], options: Any
    ) -> list[str]:
        """What will run and what it costs at most; nothing where nothing is validated."""
        if self.verdict is None:
            return []
        settings = ", ".join(f"{name} = {value}" for name, value in self.pipeline.items())
        calls = len(questions) * (2 if options.llm else 0)
        cost = (
            estimate.judge_pairs * self.prices.get("judge_pair", 0.0)
            + estimate.selector_pairs * self.prices.get("selector_pair", 0.0)
            + calls * self.prices.get("llm_call", 0.0)
        )
        limits = ", ".join(f"{name} = {value:g}" for name, value in self.thresholds.items())
        priced = f"at most {cost:,.2f}" if self.prices else "no prices given, so none computed"
        return [
            f"Validated: {self.verdict!r} over {', '.join(retrievers)} against its own top k; "
            f"{settings or 'default options'}",
            f"Judged by {options.judge}, selected by {options.selector}; at most {calls} calls of "
            f"a language model; cost: {priced}",
            f"Thresholds: {limits or 'none'}",
        ]


def arguments_of(path: Path) -> list[str]:
    """A configuration file as the arguments of the command line.

    Paths are as seen from the folder the command is run in. Raises ConfigError that names the
    section, the key, the nearest right spelling or the allowed range.
    """
    document = _loaded(path)
    for section, values in document.items():
        if section.replace("-", "_") in _RUN:
            raise ConfigError(f"{path}: {section!r} is a key of the section [run]: put it there")
        if section not in _SECTIONS:
            raise ConfigError(f"{path}: {unknown_name(section, _SECTIONS, 'section')}")
        if not isinstance(values, dict):
            raise ConfigError(f"{path}: [{section}] must be a section of keys, got {values!r:.60}")
    arguments = []
    for name, value in document.get("run", {}).items():
        arguments += _run_arguments(f"{path} [run]", name, value)
    pipeline = document.get("pipeline", {})
    _checked_pipeline(pipeline, f"{path} [pipeline]: ")
    arguments += [f"--option={name}={json.dumps(value)}" for name, value in pipeline.items()]
    for section, flag, known in (
        ("thresholds", "threshold", THRESHOLDS),
        ("prices", "price", PRICES),
    ):
        for name, value in document.get(section, {}).items():
            _checked(f"{path} [{section}]", name, value, known)
            arguments.append(f"--{flag}={name}={value}")
    if "verdict" not in document.get("run", {}):
        arguments.append(f"--verdict={VALIDATED}")
    return arguments


def validation_of(options: argparse.Namespace) -> Validation:
    """What the options ask to be validated; raises ConfigError for a name or value that is wrong.

    An option of the pipeline or a threshold without ``--verdict`` validates the pipeline.
    """
    pipeline = {name: _parsed(value) for name, value in _pairs(options.option, "--option")}
    _checked_pipeline(pipeline, "--option: ")
    thresholds = _numbers(options.threshold, "--threshold", THRESHOLDS)
    prices = _numbers(options.price, "--price", PRICES)
    asked = pipeline or thresholds
    verdict = options.verdict or (VALIDATED if asked else None)
    if pipeline and verdict != VALIDATED:
        raise ConfigError(f"the options are those of {VALIDATED!r}: validate it, not {verdict!r}")
    if verdict is not None and verdict not in PIPELINE and not options.no_sycophancy:
        raise ConfigError(
            f"{verdict!r} is not asked in other words: add no_sycophancy (--no-sycophancy), or "
            f"validate one of {', '.join(PIPELINE)}"
        )
    if verdict is not None and options.selector == "none" and verdict != "pipeline, no judge":
        raise ConfigError(
            f"{verdict!r} needs a judge that selects: give a selector, or validate "
            "'pipeline, no judge'"
        )
    return Validation(verdict, resolve_aliases(pipeline), thresholds, prices)


def _loaded(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError as error:
            raise MissingDependency("bench", "reading TOML on Python 3.10") from error
    try:
        found: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    return found


def _run_arguments(place: str, name: str, value: Any) -> list[str]:
    key = name.replace("-", "_")
    if key not in _RUN:
        raise ConfigError(f"{place}: {unknown_name(key, _RUN, 'key')}")
    allowed, flag = _RUN[key], f"--{key.replace('_', '-')}"
    if isinstance(allowed, tuple):
        several = value if isinstance(value, list) and key == "approach" else [value]
        for each in several:
            if each not in allowed:
                error = unknown_name(str(each), allowed, key)
                raise ConfigError(f"{place}: {error}; allowed: {', '.join(allowed)}")
        return [f"{flag}={each}" for each in several]
    texts = value if isinstance(value, list) and allowed == _TEXTS else [value]
    right = (
        isinstance(value, bool)
        if allowed == _SWITCH
        else allowed.holds(value)
        if isinstance(allowed, Range)
        else bool(texts) and all(isinstance(each, str) and each for each in texts)
    )
    if not right:
        raise ConfigError(f"{place}: {key} must be {allowed}, got {value!r}")
    if allowed == _SWITCH:
        return [flag] if value else []
    return [f"{flag}={each}" for each in texts]


def _checked(place: str, name: str, value: Any, known: Mapping[str, Range]) -> None:
    if name not in known:
        raise ConfigError(f"{place}: {unknown_name(name, known, 'key')}")
    if not known[name].holds(value):
        raise ConfigError(f"{place}: {name} must be {known[name]}, got {value!r}")


def _checked_pipeline(given: Mapping[str, Any], place: str) -> None:
    try:
        resolved = resolve_aliases(given)
        for name in _MEASURED_AT:
            if name in resolved:
                raise ConfigError(f"{name} is set by the benchmark and cannot be validated")
        PipelineOptions.from_dict(resolved)
    except ConfigError as error:
        raise ConfigError(f"{place}{error}") from error


def _numbers(
    given: Sequence[str] | None, flag: str, known: Mapping[str, Range]
) -> dict[str, float]:
    found = {}
    for name, value in _pairs(given, flag):
        number = _parsed(value)
        _checked(flag, name, number, known)
        found[name] = number
    return found


def _pairs(given: Sequence[str] | None, flag: str) -> list[tuple[str, str]]:
    pairs = []
    for each in given or ():
        name, found, value = each.partition("=")
        if not found:
            raise ConfigError(f"{flag} takes NAME=VALUE, got {each!r}")
        pairs.append((name.strip(), value.strip()))
    return pairs


def _parsed(value: str) -> Any:
    """A number, truth value or null as JSON has it; anything else is a text."""
    try:
        return json.loads(value)
    except ValueError:
        return value
