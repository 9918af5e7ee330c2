"""All candidates of a question judged by one call of a language model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from perspective_rag.errors import JudgeError, LLMError
from perspective_rag.flow.recording import degrade, note
from perspective_rag.flow.steps import Flow, Reply, ask
from perspective_rag.judge.graded import GRADES, NO_SUPPORT, RULE, GradedJudge
from perspective_rag.judge.list_prompts import ListPrompts, ListRequest
from perspective_rag.judge.list_replies import ListVerdict, parse_list_reply
from perspective_rag.judge.pairs import not_judged
from perspective_rag.judge.quotes import find_quote
from perspective_rag.judge.sides import read_beside
from perspective_rag.listing import ListingRule
from perspective_rag.prompts import load_prompt
from perspective_rag.prompts.replies import reply_text
from perspective_rag.protocols import LLM, Judge, Judged
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.types import Matrix, Passage, Perspective, Prompt, Proof, Vector
from perspective_rag.validation import check_component, check_components, count


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
        max_tokens: Bounds a reply; None: 200 and 90 for each passage. A model that reasons before
            it answers needs more.
        prompt: A file that replaces ``prompts/judge_list.txt``.
        seed: Draws the order of the passages.
    """

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
        self._prompts = ListPrompts(
            load_prompt("judge_list", prompt),
            self.batch_size,
            count("max_characters", max_characters),
            count("max_prompt_tokens", max_prompt_tokens),
            None if max_tokens is None else count("max_tokens", max_tokens),
            count("seed", seed, least=0),
        )

    @property
    def name(self) -> str:
        """Identifies the model and the exact wording of the prompt."""
        return f"llm-list:{self.llm.name}:{self._prompts.template.hash}"

    @property
    def revision(self) -> str:
        """Identifies the model, the prompt and how it is asked: equal revisions judge alike."""
        model = getattr(self.llm, "revision", self.llm.name)
        asked = self._prompts
        return fingerprint(model, asked.template.hash, asked.max_characters, asked.seed)

    @property
    def languages(self) -> tuple[str, ...]:
        """None named: the model's."""
        return ()

    @property
    def threshold(self) -> float:
        """The P(support) from which a passage leans to support."""
        return RULE.leaning

    @property
    def listing(self) -> ListingRule:
        """Clear and fair support is listed."""
        return RULE

    @property
    def sides_listing(self) -> ListingRule:
        """The same: sides are always read together."""
        return RULE

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """P(support), shape (n_passages, n_perspectives), NaN where it could not be judged."""
        unknown = np.full(len(passages), np.nan)
        judged = yield from self.judge_list("", perspectives, passages, unknown)
        return judged.support

    def judge_sides(
        self,
        sides: tuple[Perspective, Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
    ) -> Flow[Matrix]:
        """P(support) of two contradicting sides, shape (n, 2), NaN where it could not be judged."""
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
        """The verdicts on all passages with their proofs, and what could not be judged as NaN.

        ``question`` may be empty; ``relevance`` and ``exclusive`` are for the fallback, as
        ``judge_sides`` takes them.
        """
        reading = _Reading(len(passages), perspectives)
        if passages and perspectives:
            parts = self._prompts.parts(passages)
            cut = sum(len(each.text) > self._prompts.max_characters for each in passages)
            if cut:
                note(counts={"shortened_passages": cut})
            failed = yield from self._read(question, parts, passages, reading)
            omitted = [row for part in parts for row in part if row not in reading.rows]
            again = [row for row in omitted if row not in failed]
            if again:
                note(counts={"asked_again": len(again)})
                smaller = _within(again, parts)
                failed |= yield from self._read(question, smaller, passages, reading)
                left = [row for row in again if row not in reading.rows and row not in failed]
                if left:
                    pairs = len(perspectives) * len(left), len(perspectives) * len(passages)
                    not_judged(self.name, *pairs)
            if failed:
                yield from self._fall_back(
                    sorted(failed), perspectives, passages, relevance, exclusive, reading
                )
            counts = {"judged_pairs": len(reading.rows) * len(perspectives)}
            if reading.unproven:
                counts["unproven"] = reading.unproven
            note(counts=counts)
        return Judged(reading.support, tuple(reading.proofs), reading.own)

    def requests(
        self, question: str, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> list[ListRequest]:
        """What the model is asked first: a prompt, or several beyond the token budget, each with
        the places of its passages in the order of their numbers.
        """
        parts = self._prompts.parts(passages)
        return self._prompts.requests(question, perspectives, passages, parts)

    def _read(
        self,
        question: str,
        parts: Sequence[list[int]],
        passages: Sequence[Passage],
        reading: _Reading,
    ) -> Flow[set[int]]:
        """Asks about the parts, all at once; the rows of those whose call or reply failed."""
        sides = reading.perspectives
        requests = self._prompts.requests(question, sides, passages, parts)
        replies = yield from ask("judge", self.llm, [prompt for prompt, _ in requests])
        failed: set[int] = set()
        for (prompt, part), reply in zip(requests, replies, strict=True):
            try:
                verdicts = _verdicts(reply, prompt, len(part), len(sides))
            except LLMError as error:
                failed |= set(part)
                instead = "another judge reads" if self.quick is not None else "nobody judged"
                message = f"the model gave no verdicts: {instead} {len(part)} passages"
                problem = JudgeError(f"judge {self.name!r} gave no verdicts: {error}")
                problem.__cause__ = error
                degrade("judge", message, problem)
                continue
            for number, verdict in verdicts.items():
                row = part[number - 1]
                reading.add(row, verdict, passages[row])
        return failed

    def _fall_back(
        self,
        rows: Sequence[int],
        perspectives: Sequence[Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
        exclusive: bool,
        reading: _Reading,
    ) -> Flow[None]:
        if self.quick is None:
            return
        chosen = [passages[row] for row in rows]
        near = np.asarray(relevance)[list(rows)]
        try:
            support = yield from read_beside(
                self.quick, perspectives, chosen, near, exclusive=exclusive
            )
        except Exception as error:
            pairs = len(perspectives) * len(rows), len(perspectives) * len(passages)
            not_judged(self.quick.name, *pairs, error)
            return
        reading.support[list(rows)] = support


class _Reading:
    """What was read so far of a list of passages."""

    def __init__(self, count: int, perspectives: Sequence[Perspective]) -> None:
        self.perspectives = perspectives
        self.support: Matrix = np.full((count, len(perspectives)), np.nan)
        self.proofs: list[dict[str, Proof]] = [{} for _ in range(count)]
        self.own = np.zeros(count, dtype=bool)
        self.rows: set[int] = set()
        self.unproven = 0

    def add(self, row: int, verdict: ListVerdict, passage: Passage) -> None:
        """Keeps a verdict, leaning at most where its quotation is not in the passage."""
        self.rows.add(row)
        self.own[row] = True
        self.support[row] = NO_SUPPORT
        if not verdict.sides:
            return
        proof = find_quote(verdict.quote, passage.text)
        grade = verdict.grade if proof is not None else "leaning"
        self.unproven += proof is None
        for column in verdict.sides:
            self.support[row, column] = GRADES[grade]
            if proof is not None:
                self.proofs[row][self.perspectives[column].id] = proof


def _verdicts(reply: Reply, prompt: Prompt, count: int, sides: int) -> dict[int, ListVerdict]:
    return parse_list_reply(reply_text(reply, prompt), prompt, count=count, sides=sides)


def _within(rows: Sequence[int], parts: Sequence[Sequence[int]]) -> list[list[int]]:
    """The rows, those of one call together."""
    wanted = set(rows)
    kept = [[row for row in part if row in wanted] for part in parts]
    return [part for part in kept if part]
