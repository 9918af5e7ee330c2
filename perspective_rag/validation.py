"""Options and components at the edge: one message for each kind of mistake."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.text import valid


def is_number(value: Any) -> bool:
    """True for whole and floating-point numbers of Python and numpy; a bool is not one."""
    numbers = (int, float, np.integer, np.floating)
    return isinstance(value, numbers) and not isinstance(value, bool)


def count(name: str, value: Any, *, least: int = 1) -> int:
    """``value`` as an int; raises ConfigError when it is not a whole number from ``least`` on."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ConfigError(f"{name} must be a whole number, at least {least}; got {value!r}")
    return int(value)


def between(name: str, value: Any, low: float = 0.0, high: float = 1.0) -> float:
    """``value`` as a float; raises ConfigError when it is not a number in [low, high]."""
    if not is_number(value) or not low <= value <= high:
        raise ConfigError(f"{name} must be a number in [{low:g}, {high:g}]; got {value!r}")
    return float(value)


def valid_fields(value: Any, *names: str) -> None:
    """Makes these texts of an immutable value ``text.valid`` while it is made."""
    for name in names:
        given = getattr(value, name)
        if isinstance(given, str) and not given.isascii():
            object.__setattr__(value, name, valid(given))


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a component is called, what it must have, and what makes one of a function."""

    title: str
    members: tuple[str, ...]
    wrapper: str = ""
    hint: str = ""


_STORE = _Kind(
    "a Store",
    ("takes_vector", "search", "asearch"),
    "CallableStore",
    "NumpyStore, FaissStore and BM25Store are ready-made; langchain_perspective_rag.LangChainStore "
    "and llama_index.retrievers.perspective_rag.LlamaIndexStore wrap their frameworks' stores",
)
_EMBEDDER = _Kind(
    "an Embedder",
    ("embed_queries", "embed_passages"),
    "CallableEmbedder",
    "OnnxMiniLM() is ready-made; LangChainEmbedder and LlamaIndexEmbedder wrap their frameworks' "
    "models",
)
_LLM = _Kind(
    "an LLM",
    ("name", "complete", "acomplete"),
    "CallableLLM",
    "OpenAICompatibleLLM reaches a model by its name and base_url; LangChainLLM and LlamaIndexLLM "
    "wrap their frameworks' models",
)
_JUDGE = _Kind(
    "a Judge",
    ("name", "threshold", "judge"),
    "CallableJudge",
    "CrossEncoderJudge() is the one that comes with the package",
)
_KINDS = {
    "store": _STORE,
    "embedder": _EMBEDDER,
    "embeddings": _EMBEDDER,
    "llm": _LLM,
    "judge": _JUDGE,
    "second_judge": _Kind(
        "a SecondJudge",
        ("name", "second_listing", "read_again"),
        hint="larger_judge() is the one of the distribution perspective-rag-judge",
    ),
    "extractor": _Kind("an Extractor", ("extract",), "CallableExtractor"),
    "expander": _Kind("an Expander", ("expand",)),
    "answerer": _Kind("an Answerer", ("answer",)),
    "selector": _Kind("a Selector", ("select",), hint="PlainFirst() is the default"),
    "fallback": _Kind("an Extractor", ("extract",), "CallableExtractor"),
    "options": _Kind(
        "PipelineOptions", ("override", "to_dict"), hint="PipelineOptions.from_dict reads a mapping"
    ),
    "telemetry": _Kind("a Telemetry", ("observe",), hint="OpenTelemetry(), for example"),
    "limiter": _Kind("a Limiter", ("acquire", "aacquire"), hint="Limiter(32), for example"),
}


def check_components(**given: Any) -> None:
    """``check_component`` for each parameter; None is fine, but for the store."""
    for parameter, value in given.items():
        if value is not None or parameter == "store":
            check_component(parameter, value)


def check_component(parameter: str, value: T, *, framework: str = "") -> T:
    """``value``, if it can be the component that ``parameter`` asks for.

    ``parameter`` is a key of ``_KINDS``; ``framework`` names what else is accepted there, such as
    "a LangChain model". Raises ConfigError that says what was given and what to pass instead.
    """
    kind = _KINDS[parameter]
    lacking = [name for name in kind.members if not hasattr(value, name)]
    if not lacking and not isinstance(value, type):
        return value
    wanted = f"{framework}, or {kind.title} of perspective_rag" if framework else kind.title
    raise ConfigError(
        f"{parameter} must be {wanted} (an object with {_listed(kind.members)}); "
        f"got {_given(value, lacking, kind)}"
    )


def _given(value: Any, lacking: list[str], kind: _Kind) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}: pass an instance, {value.__name__}(...)"
    if inspect.isroutine(value) or isinstance(value, functools.partial):
        name = getattr(value, "__name__", "function")
        shown = "function" if name == "<lambda>" else name
        advice = f": wrap it, {kind.wrapper}({shown})" if kind.wrapper else ""
        return f"the function {name}{advice}"
    hint = f". {kind.hint}" if kind.hint else ""
    if value is None or isinstance(value, (str, bytes, bool, int, float, list, tuple, dict)):
        shown = repr(value)
        return (shown if len(shown) <= 60 else f"{shown[:57]}...") + hint
    name = type(value).__name__
    article = "an" if name[:1].lower() in "aeiou" else "a"
    return f"{article} {name}, which lacks {_listed(lacking)}{hint}"


def _listed(names: list[str] | tuple[str, ...]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
