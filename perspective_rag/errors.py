"""The errors of the library, and the checks of values that raise them.

::

    PerspectiveRAGError
    ├── ConfigError(ValueError)          an option, a value or an input that cannot be used
    ├── MissingDependency(ImportError)   names the extra and the pip line
    ├── CapabilityError                  the store cannot do what was asked; what to pass instead
    ├── RetrievalError                   every search failed; __cause__ is the first failure
    ├── LLMError                         the model's server failed
    │   └── LLMReplyError                an unusable reply; carries it and the prompt's name
    ├── JudgeError                       strict mode only; otherwise a recorded degradation
    ├── CorpusError                      an unusable corpus or index; names the file
    ├── EngineError                      the cluster that the work ran on failed
    └── CoverageError                    policy "require": a perspective stayed uncovered; it
                                         carries the result, and so stands in ``guard.require``
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np


class PerspectiveRAGError(Exception):
    """Base of every error of this library."""


class ConfigError(PerspectiveRAGError, ValueError):
    """An option, a value or an input that cannot be used."""


class MissingDependency(PerspectiveRAGError, ImportError):
    """A package that an optional feature needs is not installed.

    Args:
        extra: The extra of ``perspective-rag`` that brings it.
        purpose: What needs it; the message begins with this.
    """

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs an optional dependency: pip install 'perspective-rag[{extra}]'"
        )
        self.extra = extra


class CapabilityError(PerspectiveRAGError):
    """The store or model cannot do what was asked; the message says what to pass instead."""


class RetrievalError(PerspectiveRAGError):
    """Every search of a request failed; ``__cause__`` is the first failure."""


class LLMError(PerspectiveRAGError):
    """The language model's server failed or did not answer in time."""


class LLMReplyError(LLMError):
    """A reply of a language model that cannot be used.

    Args:
        message: What is wrong with it.
        reply: The reply; the first 500 characters are kept.
        prompt: The name of the prompt that led to it.
    """

    def __init__(self, message: str, *, reply: str, prompt: str) -> None:
        super().__init__(f"{message} (prompt {prompt!r}, reply starts {reply[:80]!r})")
        self.reply = reply[:500]
        self.prompt = prompt


class JudgeError(PerspectiveRAGError):
    """A judge failed in strict mode."""


class CorpusError(PerspectiveRAGError):
    """A corpus or a stored index cannot be used."""


class EngineError(PerspectiveRAGError):
    """The cluster that the work ran on failed; what was written before is kept."""


_CUT_OFF = (
    "relevance_floor says from which cosine a passage is about the question, and "
    "drop_unrelated=True leaves out what is not"
)
_ELSEWHERE = dict.fromkeys(("score_threshold", "similarity_cutoff", "min_score"), _CUT_OFF)
"""What other libraries call an option that has no counterpart of a similar name here."""


def unknown_name(name: str, known: Iterable[str], kind: str) -> ConfigError:
    """Makes the error for a name that does not exist.

    Args:
        name: What was given.
        known: The names that exist.
        kind: What it names, e.g. "option".

    Returns:
        The error to raise; it names what does the same here, else the nearest name that exists.
    """
    if name in _ELSEWHERE:
        return ConfigError(f"unknown {kind} {name!r}; {_ELSEWHERE[name]}")
    options = sorted(known)
    near = get_close_matches(name, options, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(options)}"
    return ConfigError(f"unknown {kind} {name!r}; {hint}")


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
