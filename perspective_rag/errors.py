"""The errors of the library.

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

from collections.abc import Iterable
from difflib import get_close_matches


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
