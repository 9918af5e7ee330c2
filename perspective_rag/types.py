"""The values that flow through the library: immutable, plain, and free of any framework."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError
from perspective_rag.redaction import redacted, scrubbed
from perspective_rag.text import printable, valid
from perspective_rag.validation import as_text, is_number, json_ready, valid_fields

Stance = Literal["support", "oppose"]

Kind = Literal[
    "sides", "alternatives", "open", "factual", "personal", "request", "chat", "not-english"
]
"""What a question was understood to be.

"sides": one claim or several, each with a side for and one against (or the one side asked for);
"alternatives": named answers, of three or more several may hold; "open": people answer it
differently but its wording names no answers. The others invite no perspectives: "factual" has one
answer to look up, "personal" is the asker's own affair, "request" a task, a sum or code, "chat"
small talk, and "not-english" cannot be read by rule.
"""


@dataclass(frozen=True, slots=True)
class Perspective:
    """One side of a question: something a passage can support.

    Attributes:
        id: Tells it from the other perspectives of the question.
        text: States the perspective in a sentence.
        stance: "support" or "oppose": the side it takes towards ``claim``. None: it is no side of a
            claim.
        claim: The claim it accepts or denies, so that one judgement serves both sides. None: no
            claim.
        weight: Above 0: how much its coverage counts in the selection, relative to the others.
        share: In [0, 1]: minimum fraction of the k passages that should support it.

    Raises:
        ConfigError: id or text is no string, or a number is outside its range.
    """

    id: str
    text: str
    stance: Stance | None = None
    claim: str | None = None
    weight: float = 1.0
    share: float = 0.0

    def __post_init__(self) -> None:
        valid_fields(self, "id", "text", "claim")
        if not isinstance(self.id, str) or not isinstance(self.text, str):
            raise ConfigError(f"id and text of a perspective must be strings; got {self!r:.200}")
        numbers = is_number(self.weight) and is_number(self.share)
        if not (numbers and 0.0 < self.weight < math.inf and 0.0 <= self.share <= 1.0):
            raise ConfigError(f"weight must be above 0 and share in [0, 1]; got {self!r}")


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a question was understood to be.

    Attributes:
        root: The question without the perspective it carries ("find a claim that opposes: X" has
            root X).
        perspectives: Its perspectives, with different ids.
        instruction: What was split off from the question. None: nothing.
        kind: The sort of question. "sides", "alternatives" and "open" invite perspectives;
            "factual", "personal", "request", "chat" and "not-english" do not.
        reading: Tells a person how it was understood ("I understood: ..."); empty where no rule
            read it.
        exclusive: True where the perspectives contradict each other, as the two sides of a claim
            do, so that no passage can support both; aspects and named answers need not.
        misspelt: The root as it was typed, where its spelling was mended: it is searched too. Else
            empty.

    Raises:
        ConfigError: The root is no string, the kind is unknown, or two perspectives share an id.
    """

    root: str
    perspectives: tuple[Perspective, ...] = ()
    instruction: str | None = None
    kind: Kind = "open"
    reading: str = ""
    exclusive: bool = False
    misspelt: str = ""

    def __post_init__(self) -> None:
        valid_fields(self, "root", "instruction", "reading", "misspelt")
        given = self.perspectives
        if not isinstance(self.root, str):
            raise ConfigError(f"the root of an Extraction must be a string; got {self.root!r:.200}")
        if self.kind not in get_args(Kind):
            raise ConfigError(f"kind must be one of {get_args(Kind)}; got {self.kind!r:.80}")
        sound = isinstance(given, (list, tuple)) and all(isinstance(p, Perspective) for p in given)
        if not sound or len({p.id for p in given}) < len(given):
            raise ConfigError(
                f"an Extraction takes Perspectives with different ids; got {given!r:.200}"
            )
        object.__setattr__(self, "perspectives", tuple(given))

    @property
    def invites_perspectives(self) -> bool:
        """False for a question that is searched as it is, and judged for no side."""
        return self.kind in ("sides", "alternatives", "open")


Vector = NDArray[np.floating[Any]]  # (d,)
Matrix = NDArray[np.floating[Any]]  # (n, d), or support: (n_passages, n_perspectives)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that can be retrieved.

    Halves of surrogate pairs in id and text become U+FFFD: models and files cannot take them.

    Attributes:
        id: Tells it from other passages; may be empty, see ``passage_key``.
        text: What is read and shown.
        metadata: Anything known of it. "title", "source", "url" and "author" are read.
        source: Your own object, such as a LangChain document, a LlamaIndex node or a database row:
            it is never read and is handed back untouched.
    """

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    source: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        valid_fields(self, "id", "text")

    @property
    def title(self) -> str:
        """The title in the metadata, or an empty string."""
        given = self.metadata.get("title")
        try:
            if not given:
                return ""
        except Exception:  # as of an array: its own code has no answer
            return valid(as_text(given))
        return valid(as_text(given))

    @property
    def titled(self) -> str:
        """The title and the text, as an encoder reads them.

        The text alone where it has no title or begins with it.
        """
        title = self.title.strip()
        if not title or self.text.lstrip().startswith(title):
            return self.text
        return f"{title}{'' if title[-1] in '.?!' else '.'} {self.text}"


@dataclass(frozen=True, slots=True)
class Query:
    """A text to search with.

    Attributes:
        text: What is searched for.
        perspective: Id of the perspective it was written for. None: the question itself.
    """

    text: str
    perspective: str | None = None

    def __post_init__(self) -> None:
        valid_fields(self, "text")


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a store found.

    Attributes:
        passage: The passage.
        score: Higher is better. None: the store gives no scores.
        embedding: Its vector, shape (d,), where the store hands it out.
    """

    passage: Passage
    score: float | None = None
    embedding: Vector | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Proof:
    """The words of a passage that prove its side: ``text[start:end]``.

    Attributes:
        start: First character.
        end: The character after the last.
    """

    start: int
    end: int

    def of(self, passage: Passage) -> str:
        """The words themselves.

        Args:
            passage: The passage that they stand in.

        Returns:
            A part of its text.
        """
        return passage.text[self.start : self.end]

    def in_printable(self, passage: Passage) -> tuple[int, int] | None:
        """Where the words stand in the text as it is shown, without what cannot be printed.

        Args:
            passage: The passage that they stand in.

        Returns:
            Start and end in characters. None where what is not printable cuts through the words.
        """
        before, words = printable(passage.text[: self.start]), printable(self.of(passage))
        if not words or not printable(passage.text).startswith(before + words):
            return None
        return len(before), len(before) + len(words)

    def to_dict(self, passage: Passage) -> dict[str, Any]:
        """Where the words stand, and the words, as JSON-ready values.

        Args:
            passage: The passage that they stand in.

        Returns:
            "start", "end" and "text".
        """
        return {"start": self.start, "end": self.end, "text": self.of(passage)}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage on its way to the result, with the score of every stage it went through.

    Attributes:
        passage: The passage.
        score: The score of the last stage that ordered it, higher is better.
        scores: All scores by name: ``fused``; ``relevance``, the cosine to the question; ``plain``,
            1 / its place in the ranking of the question alone (absent where the question did not
            find it); ``selected``, the value of the pick; ``search:<query>``, what the store said.
        found_by: The queries that found it, first the one that brought it.
        support: P(the passage supports a perspective), by perspective id; one that was not judged
            is absent.
        embedding: Its vector, shape (d,). None: not known.
        proofs: The words that prove the support, by perspective id, where the judge quoted them.
    """

    passage: Passage
    score: float
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    found_by: tuple[str, ...] = ()
    support: Mapping[str, float] = field(default_factory=dict, hash=False)
    embedding: Vector | None = field(default=None, repr=False, compare=False)
    proofs: Mapping[str, Proof] = field(default_factory=dict, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """The candidate as JSON-ready values, without its embedding."""
        values: dict[str, Any] = json_ready(
            {
                "id": self.passage.id,
                "text": self.passage.text,
                "metadata": self.passage.metadata,
                "score": self.score,
                "scores": self.scores,
                "found_by": self.found_by,
                "support": self.support,
                "proofs": {
                    name: proof.to_dict(self.passage) for name, proof in self.proofs.items()
                },
            }
        )
        return values


@dataclass(frozen=True, slots=True)
class Selection:
    """Chosen candidates, in the order picked.

    Args:
        indices: Their places among the candidates, from 0.
        scores: Their scores at the pick, higher is better.
    """

    indices: Sequence[int]
    scores: Sequence[float]


@dataclass(frozen=True, slots=True)
class Degradation:
    """Something that failed or was left out, and what was done instead.

    It is recorded in ``Trace.degradations``; in strict mode the error is raised instead. Message
    and error hold no secrets: whatever makes one, they are redacted.

    Attributes:
        stage: The step it happened in, such as "judge".
        message: What failed, and what was done instead.
        error: The error behind it. None: there was none.
    """

    stage: str
    message: str
    error: Exception | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", redacted(self.message))
        if self.error is not None:
            object.__setattr__(self, "error", scrubbed(self.error))

    def to_dict(self) -> dict[str, str]:
        """Stage, message and error as text."""
        return {
            "stage": self.stage,
            "message": self.message,
            "error": repr(self.error) if self.error else "",
        }


@dataclass(frozen=True, slots=True)
class Trace:
    """What one request did: its calls, seconds and tokens, and what went wrong.

    Attributes:
        queries: What was searched for.
        calls: Number of calls to models and stores, by stage.
        seconds: Seconds, by stage.
        counts: Named quantities such as ``judged_pairs`` and ``embedded_texts``.
        prompt_tokens: Tokens that language models read.
        completion_tokens: Tokens that language models wrote.
        degradations: What failed or was left out, in the order it happened.
        decisions: What the pipeline chose by itself, and why.
    """

    queries: tuple[Query, ...] = ()
    calls: Mapping[str, int] = field(default_factory=dict, hash=False)
    seconds: Mapping[str, float] = field(default_factory=dict, hash=False)
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    degradations: tuple[Degradation, ...] = ()
    decisions: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)

    def to_dict(self) -> dict[str, Any]:
        """The trace as JSON-ready values."""
        return {
            "queries": [asdict(q) for q in self.queries],
            "calls": dict(self.calls),
            "seconds": {stage: round(value, 6) for stage, value in self.seconds.items()},
            "counts": dict(self.counts),
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "degradations": [d.to_dict() for d in self.degradations],
            "decisions": json_ready(self.decisions),
        }


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a language model.

    Attributes:
        name: Name of the prompt file.
        user: The user's text.
        system: The system text; empty: none.
        schema: A JSON schema that the reply must follow. None: any text.
        choices: The only replies allowed; empty: any.
        max_tokens: Maximum number of tokens of the reply.
        temperature: 0 = the likeliest reply, higher = more varied ones.
        seed: With the temperature, makes equal requests give equal replies where the server can.
    """

    name: str
    user: str
    system: str = ""
    schema: Mapping[str, Any] | None = field(default=None, hash=False)
    choices: tuple[str, ...] = ()
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 13

    def __post_init__(self) -> None:
        valid_fields(self, "user", "system")


@dataclass(frozen=True, slots=True)
class Completion:
    """A language model's reply.

    Attributes:
        text: The reply.
        prompt_tokens: Tokens read; 0 where the server does not say.
        completion_tokens: Tokens written; 0 where the server does not say.
        choice_probabilities: The probability of each of the prompt's choices, where the server gave
            log-probabilities.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    choice_probabilities: Mapping[str, float] | None = field(default=None, hash=False)
