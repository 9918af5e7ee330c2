"""A configuration to validate: a TOML file or flags, checked before anything runs.

[run]           the options of the command line: retriever, corpus, questions, judge, selector, ...
[pipeline]      options of the pipeline that is validated (perspective_rag.PipelineOptions)
[thresholds]    what it must reach; beyond one the exit status is 1
[prices]        what a pair or call costs, for the estimate
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.berds.approaches import APPROACHES, PIPELINE
from benchmarks.berds.schema import SECTIONS, Prices, Run, Thresholds
from benchmarks.core.schema import Strict, checked
from perspective_rag import ConfigError, PipelineOptions
from perspective_rag.extend import unknown_name
from perspective_rag.options import resolve_aliases
from perspective_rag_train.toml_file import read_toml

VALIDATED = "pipeline"
_MEASURED_AT = ("k", "strict", "coverage")


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
    document = read_toml(path, extra="bench")
    for section, values in document.items():
        if section.replace("-", "_") in Run.model_fields:
            raise ConfigError(f"{path}: {section!r} is a key of the section [run]: put it there")
        if section not in SECTIONS:
            raise ConfigError(f"{path}: {unknown_name(section, SECTIONS, 'section')}")
        if not isinstance(values, dict):
            raise ConfigError(f"{path}: [{section}] must be a section of keys, got {values!r:.60}")
    given = {name.replace("-", "_"): value for name, value in document.get("run", {}).items()}
    run = checked(Run, given, f"{path} [run]")
    arguments = [each for name in given for each in _flags(name, getattr(run, name))]
    pipeline = document.get("pipeline", {})
    _checked_pipeline(pipeline, f"{path} [pipeline]: ")
    arguments += [f"--option={name}={json.dumps(value)}" for name, value in pipeline.items()]
    for section, flag, model in (
        ("thresholds", "threshold", Thresholds),
        ("prices", "price", Prices),
    ):
        limits = document.get(section, {})
        checked(model, limits, f"{path} [{section}]")
        arguments += [f"--{flag}={name}={value}" for name, value in limits.items()]
    if "verdict" not in given:
        arguments.append(f"--verdict={VALIDATED}")
    return arguments


def validation_of(options: argparse.Namespace) -> Validation:
    """What the options ask to be validated; raises ConfigError for a name or value that is wrong.

    An option of the pipeline or a threshold without ``--verdict`` validates the pipeline.
    """
    pipeline = {name: _parsed(value) for name, value in _pairs(options.option, "--option")}
    _checked_pipeline(pipeline, "--option: ")
    thresholds = _numbers(options.threshold, "--threshold", Thresholds)
    prices = _numbers(options.price, "--price", Prices)
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


def _flags(name: str, value: Any) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag] if value else []
    return [f"{flag}={each}" for each in (value if isinstance(value, list) else [value])]


def _checked_pipeline(given: Mapping[str, Any], place: str) -> None:
    try:
        resolved = resolve_aliases(given)
        for name in _MEASURED_AT:
            if name in resolved:
                raise ConfigError(f"{name} is set by the benchmark and cannot be validated")
        PipelineOptions.from_dict(resolved)
    except ConfigError as error:
        raise ConfigError(f"{place}{error}") from error


def _numbers(given: Sequence[str] | None, flag: str, model: type[Strict]) -> dict[str, float]:
    found = {name: _parsed(value) for name, value in _pairs(given, flag)}
    checked(model, found, flag)
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
    """A number, truth value or null as JSON has it; anything else is a string."""
    try:
        return json.loads(value)
    except ValueError:
        return value
