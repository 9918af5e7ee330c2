"""The values that flow through the library: immutable, plain, and free of any framework."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError, is_number
from perspective_rag.redaction import redacted, scrubbed
from perspective_rag.text import as_text, json_ready, nfkc, printable, valid, valid_fields

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


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What a selector chooses from: n candidates in the order of relevance, and m perspectives.

    Attributes:
        relevance: Shape (n,), higher is better, by the place in that order.
        support: Shape (n, m), P(candidate supports perspective); NaN where it was not judged.
        listed: Shape (n, m), which of these are shown as support.
        quotas: m counts: how many of the chosen should be listed under each perspective.
        weights: Shape (m,), higher = that perspective matters more.
        plain: Shape (n,), the place of a candidate in a plain search with the question, from 1;
            infinite where that did not find it.
        overlaps: For each candidate, the others that share a good part of its text.
        cosines: Shape (n,), cosine to the question; NaN where it is not known.
        nearness: Shape (n, m), cosine to each perspective; NaN where it is not known.
        embeddings: Shape (n, d), NaN rows where one is not known; None where none is.
        coverage_weight: The option of that name, in [0, 1]; higher = support counts more against
            relevance.
    """

    relevance: Vector
    support: Matrix
    listed: NDArray[np.bool_]
    quotas: Sequence[int]
    weights: Vector
    plain: Vector
    overlaps: Sequence[frozenset[int]]
    cosines: Vector
    nearness: Matrix
    embeddings: Matrix | None
    coverage_weight: float

    def plain_order(self) -> list[int]:
        """Lists the candidates in the order of plain search, those it did not find last."""
        order: list[int] = np.argsort(self.plain, kind="stable").tolist()
        return order


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


DedupKey = str | Callable[[Passage], Any]
"""A metadata key, or a function: passages for which it gives the same are one passage."""


def passage_key(passage: Passage) -> str:
    """The identity of a passage: its id, else a hash of where it is from and what it says.

    Key = the id, if it holds more than whitespace; else "sha256:" + SHA-256(length of source,
    source, text), where source is ``metadata["source"]`` as text (absent, None and "" are the same)
    and text is taken in one Unicode form (NFKC), case and kind of whitespace.

    Nothing else of the metadata counts, so it may hold anything. The same text from two sources
    stays two passages, and both can be cited.

    Args:
        passage: Any passage.

    Returns:
        The key; passages with equal keys are one.
    """
    if passage.id and str(passage.id).strip():
        return str(passage.id)
    given = passage.metadata.get("source")
    source = "" if given is None else as_text(given)
    # The length keeps ("a", "bc") and ("ab", "c") apart.
    content = f"{len(source)}:{source}{normalised_text(passage.text)}"
    return "sha256:" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def identity_by(dedup_key: DedupKey | None) -> Callable[[Passage], str]:
    """The identity of passages as ``dedup_key`` says, or as ``passage_key`` does.

    A passage for which it gives None or nothing but whitespace keeps its ``passage_key``. Raises
    ConfigError for what is neither a text nor a function.
    """
    if dedup_key is None:
        return passage_key
    if not callable(dedup_key) and not (isinstance(dedup_key, str) and dedup_key):
        raise ConfigError(
            f"dedup_key must be a metadata key or a function of the passage, got {dedup_key!r}"
        )

    def identity(passage: Passage) -> str:
        own = dedup_key(passage) if callable(dedup_key) else passage.metadata.get(dedup_key)
        if own is None or not as_text(own).strip():
            return passage_key(passage)
        return f"dedup_key:{own}"  # not to be taken for the id of another

    return identity


def source_of(passage: Passage) -> str:
    """Where a passage is from: ``metadata["source"]``, else its "url", else its title, else the
    passage itself.
    """
    for name in ("source", "url"):
        given = passage.metadata.get(name)
        if given is not None and as_text(given).strip():
            return as_text(given).strip()
    return passage.title.strip() or f"passage:{passage_key(passage)}"


def voice_of(passage: Passage) -> str | None:
    """Who speaks in a passage: its author, else its address, else its debate; None: not known.

    A "source" counts where it is an address: the name of a collection is no voice, thousands may
    speak in it.
    """
    metadata = passage.metadata
    for name in ("author", "authors", "url", "link", "debate", "source"):
        given = metadata.get(name)
        text = "" if given is None else as_text(given).strip()
        if text and (name != "source" or text.lower().startswith(("http://", "https://"))):
            return f"{name}:{text}"
    return None


def normalised_text(text: str) -> str:
    """Text in one Unicode form (NFKC), case and kind of whitespace."""
    return " ".join(nfkc(nfkc(text).casefold()).split())


@dataclass(frozen=True, slots=True)
class RelevanceFloor:
    """The cosines to the question, of one encoder, below which nothing is about it.

    A passage below ``passage`` is not about the question; where no candidate reaches ``topic``, the
    corpus says nothing about it. Higher: more is left out.
    """

    passage: float
    topic: float

    def __post_init__(self) -> None:
        if not -1.0 <= self.passage <= self.topic <= 1.0:
            raise ConfigError(f"expected -1 <= passage <= topic <= 1, got {self!r}")

    def moved(self, cosines: NDArray[np.floating[Any]], to: RelevanceFloor) -> NDArray[np.float64]:
        """Cosines of this encoder on the scale of another, along the line through both floors.

        Shape kept, cut to [-1, 1]; NaN where ``passage`` and ``topic`` are one: that is no line.
        """
        values = np.asarray(cosines, dtype=np.float64)
        if self == to:
            return values
        if self.topic == self.passage:
            return np.full_like(values, np.nan)
        slope = (to.topic - to.passage) / (self.topic - self.passage)
        return np.asarray(np.clip(to.passage + slope * (values - self.passage), -1.0, 1.0))


PACKAGED = RelevanceFloor(0.35, 0.55)
"""Of the encoder that comes with the package, to whose cosines judges are set.

Measured on the questions of ``benchmarks.sides``, passages read with their titles (without): over
their own passages 100% (98%) reach the topic floor, over a corpus that lacks their topics 9% (9%)
do; 99% (96%) of the passages that take a side reach the passage floor, and 75% (73%) of those that
take none.
"""


Verdict = Literal["clear", "leaning", "mixed", "silent", "unsorted"]
"""What a passage says of a perspective, by the judge.

clear: it supports it; leaning: perhaps; mixed: it seems to argue for and against; silent: surely
nothing; unsorted: the judge cannot tell, or did not read it. ``State`` says what people are told.
"""

State = Literal["takes a side", "argues both ways", "takes no side", "not sorted", "not judged"]
"""How a passage stands to the perspectives of a question.

takes a side: it is listed under a perspective; argues both ways: for and against one; takes no
side: it is about the question, and the judge is sure that it supports no perspective; not sorted:
the judge cannot tell; not judged: there was no judge, or nothing to judge.
"""


SILENT = 0.03
"""P(support) of every perspective below which a passage surely takes no side.

Of passages about the question, by the packaged judge: right for 52 of 52 below 0.03, for 84 of 89
below 0.05, for 144 of 162 below 0.1.
"""


@dataclass(frozen=True, slots=True)
class ListingRule:
    """When a passage is listed as support of a perspective, and what is said of it otherwise.

    - "clear", and listed: P(support) >= ``threshold``, and at least ``lead`` above P(support) of
      every perspective that contradicts it.
    - "mixed": it and a contradicting perspective both reach ``leaning``, and neither leads.
    - "leaning": P(support) >= ``leaning`` otherwise, and no contradicting perspective is ahead.
    - "silent": P(support) < ``silent``, or what contradicts it is clear.
    - "unsorted": all else.

    Attributes:
        threshold: In [0, 1]: P(support) from which a passage is listed. Higher: fewer passages are
            listed, and more of them support.
        leaning: In [0, ``threshold``]: P(support) from which a passage leans to a perspective.
        lead: In [0, 1]: how far P(support) must be above that of a contradicting perspective.
            Higher: fewer passages are listed, and more of them support.
        silent: In [0, 1]: P(support) below which a passage takes no side. Higher: more passages are
            said to take none, wrongly more often.

    Raises:
        ConfigError: A number is outside its range.
    """

    threshold: float
    leaning: float
    lead: float = 0.0
    silent: float = SILENT

    def __post_init__(self) -> None:
        ordered = 0.0 <= self.leaning <= self.threshold <= 1.0
        if not (ordered and 0.0 <= self.lead <= 1.0 and 0.0 <= self.silent <= 1.0):
            raise ConfigError(
                "expected 0 <= leaning <= threshold <= 1, lead and silent in [0, 1]; got "
                f"leaning={self.leaning!r}, threshold={self.threshold!r}, lead={self.lead!r}, "
                f"silent={self.silent!r}"
            )

    def listing_from(self, threshold: float) -> ListingRule:
        """The same rule with another threshold.

        Args:
            threshold: P(support) from which a passage is listed, in [0, 1].

        Returns:
            The rule; ``leaning`` is lowered to the threshold where it was above.
        """
        return replace(self, threshold=threshold, leaning=min(self.leaning, threshold))

    def moved(self, support: NDArray[np.floating[Any]], to: ListingRule) -> NDArray[np.float64]:
        """Moves probabilities from this rule's scale to that of another.

        ``silent``, ``leaning`` and ``threshold`` fall on the other's; what lies between is linear.

        Args:
            support: Probabilities in [0, 1], of any shape; NaN stays NaN.
            to: The rule to whose scale they are moved.

        Returns:
            Probabilities of the same shape.
        """
        own, wanted = (
            [0.0, min(r.silent, r.leaning), r.leaning, r.threshold, 1.0] for r in (self, to)
        )
        return np.asarray(np.interp(support, own, wanted), dtype=np.float64)

    def verdicts(
        self, support: NDArray[np.floating[Any]], contradicts: NDArray[np.bool_] | None = None
    ) -> NDArray[np.str_]:
        """The verdict on every passage and perspective.

        Args:
            support: P(support), shape (n_passages, n_perspectives); NaN = not judged, and
                "unsorted".
            contradicts: Which perspectives contradict each other, shape (n_perspectives,
                n_perspectives). None: none.

        Returns:
            "clear", "leaning", "mixed", "silent" or "unsorted", in the shape of ``support``.
        """
        known = np.where(np.isnan(support), 0.0, support)
        rivals = np.full_like(known, -np.inf)
        if contradicts is not None:
            for column in range(known.shape[1]):
                others = known[:, contradicts[column]]
                rivals[:, column] = others.max(axis=1, initial=-np.inf)
        ahead = known - rivals
        leans, rival_leans = known >= self.leaning, rivals >= self.leaning
        leads = _leads(ahead, self.lead)
        result = np.full(known.shape, "unsorted", dtype="<U8")
        result[~np.isnan(support) & (known < self.silent)] = "silent"
        result[leans & (ahead >= 0.0)] = "leaning"
        result[leans & rival_leans & ~leads & ~_leads(-ahead, self.lead)] = "mixed"
        clear = ~np.isnan(support) & (known >= self.threshold) & leads
        if contradicts is not None:
            result[clear.astype(int) @ contradicts.astype(int) > 0] = "silent"
        result[clear] = "clear"
        return result


def _leads(ahead: NDArray[np.floating[Any]], lead: float) -> NDArray[np.bool_]:
    return (ahead >= lead) & (ahead > 0.0)  # a tie is no lead, however small the lead asked for


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """Which perspectives a set of passages supports: those under which any passage is listed.

    Attributes:
        perspectives: The perspectives of the question.
        support: P(support) in [0, 1], shape (n_passages, n_perspectives), rows in the order of the
            passages; NaN where the judge gave no answer.
        rule: When a passage is listed.
        contradicts: Which perspectives contradict each other, shape (n_perspectives,
            n_perspectives). None: none.
        related: Which passages are about the question, shape (n_passages,). None: all.
        scale: What the encoder's cosines mean (``Calibration.scale``). None: unknown.
        judged: False where no judge looked at the passages, or there was no perspective to look
            for.
    """

    perspectives: tuple[Perspective, ...]
    support: Matrix
    rule: ListingRule
    contradicts: NDArray[np.bool_] | None = None
    related: NDArray[np.bool_] | None = None
    scale: RelevanceFloor | None = None
    judged: bool = True

    @property
    def threshold(self) -> float:
        """The P(support) from which a passage is listed."""
        return self.rule.threshold

    @property
    def verdicts(self) -> NDArray[np.str_]:
        """The ``Verdict`` on every passage and perspective, shape (n_passages, n_perspectives)."""
        return self.rule.verdicts(self.support, self.contradicts)

    @property
    def listed(self) -> NDArray[np.bool_]:
        """Which passage is listed under which perspective, shape (n_passages, n_perspectives)."""
        return np.asarray(self.verdicts == "clear")

    @property
    def states(self) -> tuple[State, ...]:
        """How each passage stands to the perspectives, in the order of the passages.

        "takes a side", "argues both ways", "takes no side", "not sorted" (the judge cannot tell) or
        "not judged".
        """
        if not self.judged or not self.perspectives:
            unjudged: list[State] = ["not judged"] * len(self.support)
            return tuple(unjudged)
        verdicts = self.verdicts
        states = np.full(len(verdicts), "not sorted", dtype="<U16")
        silent = (verdicts == "silent").all(axis=1)
        states[silent if self.related is None else silent & self.related] = "takes no side"
        states[(verdicts == "mixed").any(axis=1)] = "argues both ways"
        states[(verdicts == "clear").any(axis=1)] = "takes a side"
        found: list[State] = states.tolist()
        return tuple(found)

    @property
    def covered(self) -> tuple[Perspective, ...]:
        """Perspectives that at least one passage supports."""
        return self._those(self.listed.any(axis=0))

    @property
    def missing(self) -> tuple[Perspective, ...]:
        """Perspectives that were judged on every passage about the question and found in none."""
        return self._those(~self.listed.any(axis=0) & ~self._gaps())

    @property
    def unjudged(self) -> tuple[Perspective, ...]:
        """Perspectives not found so far, with passages that could not be judged."""
        return self._those(~self.listed.any(axis=0) & self._gaps())

    def _gaps(self) -> NDArray[np.bool_]:
        gaps = np.isnan(self.support)
        if self.related is not None and self.related.any():  # else nothing was read
            gaps = gaps & self.related[:, None]
        return np.asarray(gaps.any(axis=0))

    def _those(self, there: Any) -> tuple[Perspective, ...]:
        return tuple(p for p, so in zip(self.perspectives, there.tolist(), strict=True) if so)

    @property
    def complete(self) -> bool:
        """True when the passages were judged and every perspective is covered."""
        return self.judged and len(self.covered) == len(self.perspectives)

    @property
    def next_queries(self) -> tuple[str, ...]:
        """What to search for next: the text of every perspective that is not covered.

        Empty when a research agent can stop.
        """
        covered = {each.id for each in self.covered}
        return tuple(each.text for each in self.perspectives if each.id not in covered)

    @property
    def contradicting(self) -> NDArray[np.bool_]:
        """Which passages are listed under perspectives that contradict each other.

        Shape (n_passages, n_passages).
        """
        listed = self.listed.astype(int)
        if self.contradicts is None:
            return np.zeros((len(listed), len(listed)), dtype=bool)
        return np.asarray(listed @ self.contradicts.astype(int) @ listed.T > 0)

    def to_dict(self) -> dict[str, Any]:
        """The coverage as JSON-ready values; NaN becomes None."""
        return {
            "judged": self.judged,
            "rule": asdict(self.rule),
            "covered": [p.id for p in self.covered],
            "missing": [p.id for p in self.missing],
            "unjudged": [p.id for p in self.unjudged],
            "next_queries": list(self.next_queries),
            "support": [[None if math.isnan(v) else float(v) for v in row] for row in self.support],
            "verdicts": self.verdicts.tolist(),
            "states": list(self.states),
        }


@dataclass(frozen=True, slots=True, eq=False)
class RetrievalResult:
    """The passages for a question, best first, with proof of which perspective each supports.

    ``print(result)`` shows it in a few lines.

    Attributes:
        question: The question as it was asked, in single spaces.
        candidates: The chosen passages with their scores, best first.
        perspectives: The perspectives of the question.
        coverage: Which of them the passages support. ``coverage.judged`` is False where no judge
            looked at the passages or the question invites no perspectives; None, given for it, says
            so.
        trace: What the request did and cost, and what failed.
        reading: Tells a person how the question was understood ("I understood: ..."); empty where
            nobody read it.
        kind: What sort of question it is.
        related: Which candidates are about the question, shape (n_candidates,). None: not known.
        caution: Tells a person what a question in another language than English gets; empty:
            nothing to say.
        reported: Which candidates, by their wording, only tell what others say and take no side
            themselves, shape (n_candidates,). None: nothing was judged.
        says_nothing: True where the corpus holds nothing about the question: no passage is near to
            it, and none holds half of the words of its topic.
    """

    question: str
    candidates: tuple[Candidate, ...]
    perspectives: tuple[Perspective, ...]
    coverage: Coverage
    trace: Trace
    reading: str = ""
    kind: Kind = "open"
    related: NDArray[np.bool_] | None = None
    caution: str = ""
    reported: NDArray[np.bool_] | None = None
    says_nothing: bool = False

    def __post_init__(self) -> None:
        if self.coverage is None:
            unknown = np.full((len(self.candidates), len(self.perspectives)), np.nan)
            rule = ListingRule(0.5, 0.5)
            coverage = Coverage(
                self.perspectives, unknown, rule, related=self.related, judged=False
            )
            object.__setattr__(self, "coverage", coverage)

    @property
    def passages(self) -> list[Passage]:
        """The passages alone, best first."""
        return [candidate.passage for candidate in self.candidates]

    def supporting(self, perspective: Perspective) -> list[Candidate]:
        """The candidates listed as support of a perspective.

        Args:
            perspective: One of the result's.

        Returns:
            The candidates, strongest support first.

        Raises:
            ConfigError: The perspective is not the result's.
        """
        return self.with_verdict("clear", perspective)

    def with_verdict(self, verdict: Verdict, perspective: Perspective) -> list[Candidate]:
        """The same as ``places``, but the candidates themselves."""
        return [self.candidates[place] for place in self.places(verdict, perspective)]

    def places(self, verdict: Verdict, perspective: Perspective) -> list[int]:
        """Where the candidates with a verdict on a perspective stand in ``candidates``.

        Args:
            verdict: "clear", "leaning", "mixed", "silent" or "unsorted".
            perspective: One of the result's.

        Returns:
            Their indices, strongest support first.

        Raises:
            ConfigError: The perspective is not the result's.
        """
        ids = [each.id for each in self.perspectives]
        if perspective.id not in ids:
            raise ConfigError(f"the result has the perspectives {ids}, not {perspective.id!r}")
        column = self.coverage.verdicts[:, ids.index(perspective.id)]
        found = np.flatnonzero(column == verdict).tolist()
        strength = [c.support.get(perspective.id, 0.0) for c in self.candidates]
        return sorted(found, key=lambda place: -strength[place])

    def supports(self, candidate: Candidate) -> list[Perspective]:
        """The perspectives under which a candidate is listed.

        Args:
            candidate: One of the result's own.

        Returns:
            The perspectives, in the result's order.

        Raises:
            ConfigError: The candidate is not the result's own.
        """
        verdicts = self.verdicts_on(candidate)
        return [each for each in self.perspectives if verdicts.get(each.id) == "clear"]

    def verdicts_on(self, candidate: Candidate) -> dict[str, Verdict]:
        """The verdicts on a candidate.

        Args:
            candidate: One of the result's own; an equal copy is not.

        Returns:
            The verdict by perspective id; empty where nothing was judged.

        Raises:
            ConfigError: The candidate is not the result's own.
        """
        if not self.coverage.judged:
            return {}
        # Not by equality: two passages without ids may be equal, and stand on different sides.
        place = next((i for i, own in enumerate(self.candidates) if own is candidate), None)
        if place is None:
            raise ConfigError(f"not a candidate of this result: {candidate!r:.200}")
        row = self.coverage.verdicts[place].tolist()
        return {each.id: verdict for each, verdict in zip(self.perspectives, row, strict=True)}

    @property
    def mixed(self) -> list[Candidate]:
        """The candidates that argue for and against, in their order."""
        rows = (self.coverage.verdicts == "mixed").any(axis=1)
        return [c for c, there in zip(self.candidates, rows, strict=True) if there]

    @property
    def contradictions(self) -> list[tuple[int, int]]:
        """The places of candidates that contradict each other by the judge, each pair once."""
        pairs = np.argwhere(np.triu(self.coverage.contradicting, 1)).tolist()
        return [(first, second) for first, second in pairs]

    @property
    def single_source(self) -> tuple[Perspective, ...]:
        """The perspectives that are covered by passages of one author, address or debate alone.

        Only where that of every passage is known (``identity.voice_of``).
        """
        voices = [
            {voice_of(candidate.passage) for candidate in self.supporting(each)}
            for each in self.perspectives
        ]
        pairs = zip(self.perspectives, voices, strict=True)
        return tuple(p for p, own in pairs if len(own) == 1 and None not in own)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as JSON-ready values."""
        return {
            "question": self.question,
            "kind": self.kind,
            "reading": self.reading,
            "caution": self.caution,
            "says_nothing": self.says_nothing,
            "related": None if self.related is None else self.related.tolist(),
            "reported": None if self.reported is None else self.reported.tolist(),
            "perspectives": json_ready([asdict(p) for p in self.perspectives]),
            "candidates": [c.to_dict() for c in self.candidates],
            "coverage": self.coverage.to_dict(),
            "contradictions": [list(pair) for pair in self.contradictions],
            "single_source": [each.id for each in self.single_source],
            "trace": self.trace.to_dict(),
        }

    def __repr__(self) -> str:
        """``RetrievalResult('Should ...?', 5 passages, 2 of 2 perspectives covered)``."""
        parts = [repr(_shortened(self.question, 60)), _number_of(len(self.candidates), "passage")]
        sides = _number_of(len(self.perspectives), "perspective")
        if self.coverage.judged:
            parts.append(f"{len(self.coverage.covered)} of {sides} covered")
        elif self.perspectives:
            parts.append(f"{sides} not judged")
        if self.trace.degradations:
            parts.append(_number_of(len(self.trace.degradations), "degradation"))
        return f"RetrievalResult({', '.join(parts)})"

    def __str__(self) -> str:
        """A line for the question, each perspective, passage and degradation."""
        lines = [self.question]
        words: dict[str, str] = {}
        if self.coverage.judged:
            for word in ("covered", "missing", "unjudged"):
                words |= {each.id: word for each in getattr(self.coverage, word)}
        for each in self.perspectives:
            lines.append(f"  [{each.id}] {each.text} ({words.get(each.id, 'not judged')})")
        if self.caution:
            lines.append(f"  {self.caution}")
        if self.says_nothing:
            lines.append("  no passage is about the question")
        for place, state in enumerate(self.coverage.states):
            candidate = self.candidates[place]
            sides = ", ".join(each.id for each in self.supports(candidate))
            said = f"[{sides or state}] " if self.perspectives else ""
            lines.append(f"{place + 1:2}. {said}{candidate.passage.text}")
        for degradation in self.trace.degradations:
            lines.append(f"  degraded, {degradation.stage}: {degradation.message}")
        return "\n".join(_shortened(printable(line[:_READ]), _WIDTH) for line in lines)


_WIDTH = 100
_READ = 50 * _WIDTH  # characters of a text that are looked at for its line


def _shortened(text: str, length: int) -> str:
    """A text in one line of at most ``length`` characters, with the spaces before it."""
    line = text[: len(text) - len(text.lstrip())] + " ".join(text.split())
    return line if len(line) <= length else line[: length - 3].rstrip() + "..."


def _number_of(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


Checked = Literal["", "quoted", "side", "supported"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer and the ids of the passages it rests on.

    Attributes:
        text: The sentence.
        citations: Ids of the passages it rests on.
        perspective: Id of the perspective it speaks for. None: it speaks for none.
        reported: True where the sentence tells what somebody says ("critics say ..."), and does not
            say it itself.
        verified: True where ``checked`` is "side" or "supported", False where it was found not to
            hold, else None.
        checked: What was checked. "quoted": its words stand in the passage it cites; "side": they
            do, and the judge, which read them alone, lists them under its perspective; "supported":
            the judge finds that a cited passage supports it; "": nothing.
        quote: The words of a cited passage that prove it, as a language model copied them; empty
            where none were given. Words that stand in no cited passage make ``verified`` False.
    """

    text: str
    citations: tuple[str, ...]
    perspective: str | None = None
    reported: bool = False
    verified: bool | None = None
    checked: Checked = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Sentences that each cite a passage, and the perspectives under which no passage is listed.

    Attributes:
        claims: The sentences, in the order of the perspectives.
        unsupported: Perspectives that no passage supports and no sentence speaks for.
        trace: What the answer cost, and what failed.
        summary: How the passages stand, in a sentence ("3 for, 2 against, 4 not sorted; all from
            two sources").
        strength: By the id of a covered perspective, on how much it rests ("2 passages from one
            source").
        missing: What a language model found that no passage says.
    """

    claims: tuple[Claim, ...]
    unsupported: tuple[Perspective, ...] = ()
    trace: Trace = field(default_factory=Trace)
    summary: str = ""
    strength: Mapping[str, str] = field(default_factory=dict, hash=False)
    missing: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready values."""
        return {
            "summary": self.summary,
            "missing": list(self.missing),
            "claims": [asdict(c) for c in self.claims],
            "unsupported": [p.id for p in self.unsupported],
            "strength": dict(self.strength),
            "trace": self.trace.to_dict(),
        }
