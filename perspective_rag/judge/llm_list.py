"""One call of a language model judges the whole list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from perspective_rag.errors import JudgeError, LLMError, check_component, check_components, count
from perspective_rag.flow.request import degrade, note
from perspective_rag.flow.steps import Flow, ask
from perspective_rag.judge.pairs import not_judged
from perspective_rag.judge.support import read_beside
from perspective_rag.judge.wrapped import GRADES, NO_SUPPORT, RULE, GradedJudge
from perspective_rag.prompts import fence, load_prompt, shorten
from perspective_rag.prompts.replies import bad_reply, parse_json, reply_text
from perspective_rag.protocols import LLM, Judge, Judged
from perspective_rag.storage.fingerprint import cache_key, fingerprint
from perspective_rag.text import from_json, words
from perspective_rag.types import Matrix, Passage, Perspective, Prompt, Proof, Vector

Grade = Literal["clear", "fair", "leaning"]


@dataclass(frozen=True, slots=True)
class ListVerdict:
    """What a model says of one passage.

    ``sides`` are the columns of the sides that it serves, () for none; ``grade`` says how surely;
    ``quote`` is what the model gives as the words that prove it, unchecked.
    """

    sides: tuple[int, ...]
    grade: Grade
    quote: str


def letter(column: int) -> str:
    """The letter of a side: A to Z, then AA, AB and so on."""
    before, own = divmod(column, 26)
    return (letter(before - 1) if before else "") + chr(ord("A") + own)


def list_schema(sides: int) -> dict[str, Any]:
    """The JSON schema of a reply about so many sides."""
    properties: dict[str, Any] = {
        "passage": {"type": "integer"},
        "quote": {"type": "string"},
        "side": {"type": "string"},
        "grade": {"type": "string", "enum": list(get_args(Grade))},
    }
    if sides <= 2:
        both = ["both"] if sides == 2 else []
        properties["side"]["enum"] = [*map(letter, range(sides)), *both, "none"]
    entry = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"verdicts": {"type": "array", "items": entry}},
        "required": ["verdicts"],
        "additionalProperties": False,
    }


_NONE = frozenset({"none", "neither", "no", "null", "silent", "neutral", "unclear", "n/a", "", "-"})
_ALL = frozenset({"both", "all", "mixed"})
_NUMBER_KEYS = ("passage", "number", "id", "index", "n")
_SIDE_KEYS = ("side", "sides", "verdict", "stance")
_QUOTE_KEYS = ("quote", "quotation", "proof", "evidence")
_MOST_ENTRIES = 1000
_NUMBER = re.compile(r"[\s\[#]*(?:passage)?\s*(\d{1,4})[\s\].#]*", re.ASCII)
_LABELLED = re.compile(r"([A-Z]{1,2})\s?[:.)]")
_SPLIT = re.compile(r"[^A-Za-z]+")


def parse_list_reply(
    text: str, prompt: Prompt, *, count: int, sides: int
) -> dict[int, ListVerdict]:
    """The verdicts of a reply by passage number, 1 to ``count``.

    Entries may come in any order. One that cannot be read is left out, as is a number given two
    different verdicts. A grade that is none of the three is "leaning". Raises LLMReplyError for a
    reply without any entry that can be read.
    """
    found: dict[int, ListVerdict] = {}
    disputed: set[int] = set()
    for entry in _entries(parse_json(text, prompt).value, text)[:_MOST_ENTRIES]:
        if not isinstance(entry, Mapping):
            continue
        number, verdict = _number(_first(entry, _NUMBER_KEYS)), _verdict(entry, sides)
        if verdict is None or not 1 <= number <= count:
            continue
        known = found.setdefault(number, verdict)
        if (known.sides, known.grade) != (verdict.sides, verdict.grade):
            disputed.add(number)
    if not found:
        raise bad_reply("the reply holds no verdict", text, prompt)
    return {number: each for number, each in found.items() if number not in disputed}


def _entries(value: Any, text: str) -> list[Any]:
    """The entries: a list, or in an object in a list, by their numbers, or one on each line."""
    if not isinstance(value, Mapping):
        return list(value)
    if any(key in value for key in _SIDE_KEYS):
        entries = []
        for line in text.splitlines()[:_MOST_ENTRIES]:
            try:
                entries.append(from_json(line.strip().rstrip(",")))
            except ValueError:
                continue
        return entries or [value]
    if not any(isinstance(v, Mapping) and _NUMBER.fullmatch(k) for k, v in value.items()):
        inner = next((each for each in value.values() if isinstance(each, list)), None)
        if inner is not None:
            return inner
        value = next((each for each in value.values() if isinstance(each, Mapping)), {})
    # Keys that count from 0 are no numbers of passages: those are counted from 1.
    from_zero = any(_NUMBER.fullmatch(key) and not _number(key) for key in value)
    return [
        v if from_zero or _number(_first(v, _NUMBER_KEYS)) else {"passage": k, **v}
        for k, v in value.items()
        if isinstance(v, Mapping)
    ]


def _verdict(entry: Mapping[str, Any], sides: int) -> ListVerdict | None:
    """What an entry says; None where that cannot be told."""
    if not any(key in entry for key in _SIDE_KEYS):
        return None
    columns = _columns(_first(entry, _SIDE_KEYS), sides)
    if columns is None:
        return None
    said = str(entry.get("grade", "")).strip().casefold()
    grade: Grade = next((each for each in get_args(Grade) if each == said), "leaning")
    quote = _first(entry, _QUOTE_KEYS)
    return ListVerdict(columns, grade, quote if isinstance(quote, str) else "")


def _columns(said: Any, sides: int) -> tuple[int, ...] | None:
    """The columns that a side's name means; None where that cannot be told."""
    if isinstance(said, list):
        said = " ".join(map(str, said[:sides]))
    if not isinstance(said, str):
        return () if said is None else None
    name = said.strip().casefold().removeprefix("sides").removeprefix("side").strip(" :._\"'()[]*")
    if name in _NONE:
        return ()
    if name in _ALL:
        return tuple(range(sides))
    known = {letter(column): column for column in range(sides)}
    labelled = _LABELLED.match(name.upper())  # "A: the side's own words"
    parts = [labelled[1]] if labelled else _SPLIT.split(name.upper())
    parts = [part for part in parts if part not in ("", "AND")]
    if not parts or any(part not in known for part in parts):
        return None
    return tuple(sorted({known[part] for part in parts}))


def _first(entry: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((entry[key] for key in keys if key in entry), None)


def _number(value: Any) -> int:
    """The passage number that is meant; 0 for none."""
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value)
        return int(found[1]) if found else 0
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 < value <= _MOST_ENTRIES and value == int(value) else 0


MAX_WORDS = 40
"""Twice what a model is asked for: a longer piece is no quotation but the passage given back."""
_QUOTES = '"“”„‟«»″〝〞「」『』', "'‘’‚‛′´`"
_ALIKE = {
    mark: f"[{re.escape(kind)}]" for kind in (*_QUOTES, "-‐‑‒–—−") for mark in kind
}  # quotation marks, apostrophes and dashes of any kind
# Scripts from here on, Thai and Chinese among them, put no spaces between words.
_UNSPACED = "\u0e00"


def find_quote(quote: str, text: str) -> Proof | None:
    """Where the words of a quotation stand in a text; None where they do not.

    White space, quotation marks and dashes of any kind are alike; everything else must agree, and
    the quotation must begin and end with whole words. Quotation marks and dots around it do not
    count. One of fewer than two words, or of more than ``MAX_WORDS``, proves nothing.
    """
    wanted = " ".join(quote[: MAX_WORDS * 40].split()).strip(" .…" + "".join(_QUOTES))
    if not 2 <= len(words(wanted)) <= MAX_WORDS:
        return None
    literal = ("".join(_ALIKE.get(c) or re.escape(c) for c in word) for word in wanted.split())
    for found in re.finditer(r"\s+".join(literal), text):
        if not (_within_word(text, found.start()) or _within_word(text, found.end())):
            return Proof(*found.span())
    return None


def _within_word(text: str, place: int) -> bool:
    """Whether a word of an alphabet goes on across a place."""
    around = text[max(place - 1, 0) : place + 1]
    return len(around) == 2 and around.isalnum() and max(around) < _UNSPACED


_CHARACTERS_A_TOKEN = 3  # English has four or five: an estimate that seldom falls short
_REPLY_TOKENS, _TOKENS_A_VERDICT = 200, 90
_TITLE = 200  # characters
_TAGS = 60  # characters


class LLMListJudge:
    """Asks a language model about all candidates of a question in one call.

    The passages are numbered and fenced, the sides named by letters. For each passage the model
    names a side, none or both, how surely ("clear", "fair", "leaning"), and quotes the words that
    prove it. Clear and fair support is listed (P(support) 0.95 and 0.80), leaning is not (0.55). A
    quotation that is not in the passage word for word makes the verdict leaning at most; one that
    is becomes the candidate's proof.

    The order of the passages is drawn by their content and ``seed``, so that the same passages give
    the same prompt, whatever order they come in. Passages that a reply leaves out are asked about
    once more, then stay unjudged. Where a call fails or its reply cannot be read, that is recorded
    and ``fallback`` judges in its place. The trace counts ``judged_pairs``, ``asked_again`` and
    ``unproven`` verdicts beside calls and tokens; ``CachedLLM`` keeps replies, ``CachedJudge``
    verdicts.

    Args:
        llm: The model. One that can be held to a JSON schema is.
        fallback: Judges where the model fails, and reads single sentences (``quick``: a call for
            each is too dear); None: nobody does.
        batch_size: At most this many passages are asked about in one call. How many candidates of a
            question are judged at all is the pipeline's option ``judge_k``.
        max_characters: A longer passage is cut; the trace counts ``shortened_passages``.
        max_prompt_tokens: Candidates that need more, by an estimate from their characters, are
            asked about in several calls, side by side.
        max_tokens: Maximum number of tokens of a reply. A model that reasons before it answers
            needs more. None: 200 and 90 for each passage.
        prompt: A file that replaces ``prompts/judge_list.txt``.
        seed: Draws the order of the passages.
    """

    languages: tuple[str, ...] = ()  # those of the model: nobody has said
    threshold = RULE.leaning
    listing = sides_listing = RULE

    def __init__(
        self,
        llm: LLM,
        *,
        fallback: Judge | None = None,
        batch_size: int = 40,
        max_characters: int = 4000,
        max_prompt_tokens: int = 16_000,
        max_tokens: int | None = None,
        prompt: str | Path | None = None,
        seed: int = 13,
    ) -> None:
        self.llm = check_component("llm", llm)
        check_components(judge=fallback)
        self.quick = GradedJudge(fallback) if fallback is not None else None
        self.batch_size = count("batch_size", batch_size)
        self.template = load_prompt("judge_list", prompt)
        self.max_characters = count("max_characters", max_characters)
        self.max_prompt_tokens = count("max_prompt_tokens", max_prompt_tokens)
        self.max_tokens = None if max_tokens is None else count("max_tokens", max_tokens)
        self.seed = count("seed", seed, least=0)

    @property
    def name(self) -> str:
        """Identifies the model and the exact wording of the prompt."""
        return f"llm-list:{self.llm.name}:{self.template.hash}"

    @property
    def revision(self) -> str:
        """Identifies the model, the prompt and how it is asked: equal revisions judge alike."""
        model = getattr(self.llm, "revision", self.llm.name)
        return fingerprint(model, self.template.hash, self.max_characters, self.seed)

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """Judges every passage beside every perspective, without the question.

        Args:
            perspectives: The perspectives of a question.
            passages: The passages to judge.

        Returns:
            P(support), shape (n_passages, n_perspectives); NaN where it could not be judged.
        """
        unknown = np.full(len(passages), np.nan)
        judged = yield from self.judge_list("", perspectives, passages, unknown)
        return judged.support

    def judge_sides(
        self,
        sides: tuple[Perspective, Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
    ) -> Flow[Matrix]:
        """Judges passages beside two sides that contradict each other, without the question.

        Args:
            sides: The two sides.
            passages: The passages to judge.
            relevance: Cosine of each passage to the question, shape (n_passages,); only
                ``fallback`` reads it.

        Returns:
            P(support) of each side, shape (n_passages, 2); NaN where it could not be judged.
        """
        judged = yield from self.judge_list("", sides, passages, relevance, exclusive=True)
        return judged.support

    def judge_list(
        self,
        question: str,
        perspectives: Sequence[Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
        *,
        exclusive: bool = False,
    ) -> Flow[Judged]:
        """Judges all passages of a question together.

        Args:
            question: The question; may be empty.
            perspectives: Its perspectives.
            passages: The passages to judge.
            relevance: Cosine of each passage to the question, shape (n_passages,); only
                ``fallback`` reads it.
            exclusive: True where the perspectives contradict each other; only ``fallback`` reads
                it.

        Returns:
            The verdicts with their proofs; NaN where it could not be judged.
        """
        answers = _Answers(perspectives, passages)
        if passages and perspectives:
            yield from self._fill(question, answers, relevance, exclusive)
        return Judged(answers.support, tuple(answers.proofs), answers.own)

    def _fill(
        self, question: str, answers: _Answers, relevance: Vector, exclusive: bool
    ) -> Flow[None]:
        sides, passages = answers.perspectives, answers.passages
        pairs = len(sides) * len(passages)
        cut = sum(len(each.text) > self.max_characters for each in passages)
        if cut:
            note(counts={"shortened_passages": cut})
        parts = self._parts(passages)
        failed = yield from self._ask(question, parts, answers)
        omitted = [
            [row for row in part if not answers.own[row]]
            for part in parts
            if failed.isdisjoint(part)
        ]
        if any(omitted):
            note(counts={"asked_again": sum(map(len, omitted))})
            failed |= yield from self._ask(question, list(filter(None, omitted)), answers)
            left = [row for part in omitted for row in part if not answers.own[row]]
            left = [row for row in left if row not in failed]
            if left:
                not_judged(self.name, len(sides) * len(left), pairs)
        counts = {"judged_pairs": len(sides) * int(answers.own.sum())}
        if answers.unproven:
            counts["unproven"] = answers.unproven
        if failed and self.quick is not None:
            rows = sorted(failed)
            chosen, near = [passages[row] for row in rows], np.asarray(relevance)[rows]
            try:
                answers.support[rows] = yield from read_beside(
                    self.quick, sides, chosen, near, exclusive=exclusive
                )
            except Exception as error:
                not_judged(self.quick.name, len(sides) * len(rows), pairs, error)
        note(counts=counts)

    def _ask(self, question: str, parts: Sequence[list[int]], answers: _Answers) -> Flow[set[int]]:
        """Asks about the parts, all at once; the rows of those whose call or reply failed."""
        sides = answers.perspectives
        prompts = [
            self._prompt(question, sides, [answers.passages[row] for row in part]) for part in parts
        ]
        replies = yield from ask("judge", self.llm, prompts)
        failed: set[int] = set()
        for prompt, part, reply in zip(prompts, parts, replies, strict=True):
            try:
                text = reply_text(reply, prompt)
                verdicts = parse_list_reply(text, prompt, count=len(part), sides=len(sides))
            except LLMError as error:
                failed |= set(part)
                instead = "another judge reads" if self.quick is not None else "nobody judged"
                message = f"the model gave no verdicts: {instead} {len(part)} passages"
                problem = JudgeError(f"judge {self.name!r} gave no verdicts: {error}")
                problem.__cause__ = error
                degrade("judge", message, problem)
                continue
            for number, verdict in verdicts.items():
                answers.add(part[number - 1], verdict)
        return failed

    def requests(
        self, question: str, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> list[tuple[Prompt, list[int]]]:
        """The prompts that the model is asked first, without asking it.

        Args:
            question: The question; may be empty.
            perspectives: Its perspectives.
            passages: The passages to judge.

        Returns:
            A prompt, or several beyond the token budget, each with the places of its passages in
            the order of their numbers.
        """
        return [
            (self._prompt(question, perspectives, [passages[row] for row in part]), part)
            for part in self._parts(passages)
        ]

    def _parts(self, passages: Sequence[Passage]) -> list[list[int]]:
        """The places of the passages in the drawn order, those of one call together."""
        keys = [cache_key(self.seed, each.title, each.text) for each in passages]
        budget = self.max_prompt_tokens * _CHARACTERS_A_TOKEN - len(self.template.system)
        parts: list[list[int]] = []
        room = 0
        for place in sorted(range(len(passages)), key=keys.__getitem__):
            size = len(self._shown(passages[place])) + _TAGS
            if not parts or size > room or len(parts[-1]) == self.batch_size:
                parts.append([])
                room = budget
            parts[-1].append(place)
            room -= size
        return parts

    def _prompt(
        self, question: str, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Prompt:
        names = [letter(column) for column in range(len(perspectives))]
        sides = [f"{name}: {each.text}" for name, each in zip(names, perspectives, strict=True)]
        several, choices = _ways_to_answer(names)
        filled = self.template.fill(
            question=question or "(as the sides say)",
            sides="\n".join(sides),
            passages=fence([self._shown(each) for each in passages]),
            several=several,
            choices=choices,
            count=len(passages),
        )
        most = self.max_tokens or _REPLY_TOKENS + _TOKENS_A_VERDICT * len(passages)
        return replace(filled, schema=list_schema(len(names)), max_tokens=most, seed=self.seed)

    def _shown(self, passage: Passage) -> str:
        text = shorten(passage.text, self.max_characters)
        title = shorten(" ".join(passage.title.split()), _TITLE)
        untitled = not title or text.lstrip().startswith(title)
        return text if untitled else f"Title: {title}\n{text}"


def _ways_to_answer(names: Sequence[str]) -> tuple[str, str]:
    """What a prompt says of passages on several sides, and the names that a side may have."""
    quoted = [f'"{name}"' for name in names]
    if len(names) == 1:
        return "", f'{quoted[0]} | "none"'
    if len(names) == 2:
        said = '"both" when it really argues for both sides and neither prevails;\n- '
        return said, f'{quoted[0]} | {quoted[1]} | "both" | "none"'
    said = 'several letters joined by "+" when it really argues for each of these sides;\n- '
    return said, f'{" | ".join(quoted)} | letters joined by "+" | "none"'


class _Answers:
    """What is known so far of a list of passages."""

    def __init__(self, perspectives: Sequence[Perspective], passages: Sequence[Passage]) -> None:
        self.perspectives, self.passages = perspectives, passages
        self.support: Matrix = np.full((len(passages), len(perspectives)), np.nan)
        self.proofs: list[dict[str, Proof]] = [{} for _ in passages]
        self.own = np.zeros(len(passages), dtype=bool)
        self.unproven = 0

    def add(self, row: int, verdict: ListVerdict) -> None:
        """Keeps a verdict, leaning at most where its quotation is not in the passage."""
        self.own[row] = True
        self.support[row] = NO_SUPPORT
        if not verdict.sides:
            return
        proof = find_quote(verdict.quote, self.passages[row].text)
        self.unproven += proof is None
        for column in verdict.sides:
            self.support[row, column] = GRADES["leaning" if proof is None else verdict.grade]
            if proof is not None:
                self.proofs[row][self.perspectives[column].id] = proof
