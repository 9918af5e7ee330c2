"""Values checked at the edge, and made ready for JSON."""

from __future__ import annotations

import copy
import functools
import inspect
import json
import math
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.text import valid

# Deeper values than any writer of JSON takes.
_DEEPEST = 100


def from_json(text: str | bytes) -> Any:
    """The value of a JSON text; raises ValueError for what is none, and for what is nested so deep
    that it cannot be read.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def json_ready(value: Any, *, _depth: int = 0) -> Any:
    """The value as None, booleans, numbers, strings, lists and dictionaries.

    What is no finite number becomes None, keys become strings, anything else its ``str``; so does
    what is nested deeper than 100.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if _depth < _DEEPEST:
        if isinstance(value, Mapping):
            return {as_text(k): json_ready(each, _depth=_depth + 1) for k, each in value.items()}
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, (list, tuple, Set)):
            return [json_ready(each, _depth=_depth + 1) for each in value]
    return as_text(value)


def as_text(value: Any) -> str:
    """``str(value)``; where the value's own code fails, the name of its type."""
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def copy_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Copies metadata, so that changes in the copy stay there.

    Args:
        metadata: May hold anything, a lock or an open file too.

    Returns:
        A deep copy; a value that cannot be copied is shared.
    """
    try:
        return copy.deepcopy(dict(metadata))
    except Exception:  # whatever a value's own code raises; value by value, the rest is copied
        return {key: _copy(value) for key, value in metadata.items()}


def _copy(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # shared with the caller, as the plain retriever would
        return value


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
    """Checks that a value has the methods of the component that a parameter asks for.

    Args:
        parameter: The parameter's name: "store", "embedder", "embeddings", "llm", "judge",
            "second_judge", "extractor", "expander", "answerer", "selector", "fallback", "options",
            "telemetry" or "limiter".
        value: What was given.
        framework: What else is accepted, for the error, e.g. "a LangChain model".

    Returns:
        ``value``.

    Raises:
        ConfigError: It does not fit; the error says what was given and what to pass instead.
    """
    kind = _KINDS[parameter]
    lacking = [name for name in kind.members if not hasattr(value, name)]
    if not lacking and not isinstance(value, type):
        return value
    wanted = f"{framework}, or {kind.title} of perspective_rag" if framework else kind.title
    raise ConfigError(
        f"{parameter} must be {wanted} (an object with {_join(kind.members)}); "
        f"got {_describe(value, lacking, kind)}"
    )


def _describe(value: Any, lacking: list[str], kind: _Kind) -> str:
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
    return f"{article} {name}, which lacks {_join(lacking)}{hint}"


def _join(names: list[str] | tuple[str, ...]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
