"""Whether passages support perspectives, decided by a language model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from perspective_rag.errors import ConfigError, LLMError
from perspective_rag.flow import Call, Flow, Reply, degrade
from perspective_rag.prompts import at_least_one, fence, load_prompt, shorten
from perspective_rag.protocols import LLM
from perspective_rag.replies import bad_reply, parse_yes_no, reply_text
from perspective_rag.types import Completion, Matrix, Passage, Perspective, Prompt

CHOICES = ("yes", "no")


class LLMJudge:
    """Asks a language model, one question a pair, whether a passage supports a perspective.

    Where the model's server gives probabilities the support is P(yes) among yes and no, else 1.0 or
    0.0 as the reply says. ``prompt`` is a file that replaces ``prompts/judge_support.txt``. A
    passage is read up to ``max_characters``; the trace counts those cut as ``shortened_passages``.
    ``max_tokens`` bounds a reply: a model that reasons before it answers needs more.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        threshold: float = 0.5,
        prompt: str | Path | None = None,
        max_characters: int = 4000,
        max_tokens: int = 16,
    ) -> None:
        if not 0.0 <= threshold <= 1.0:
            raise ConfigError(f"threshold must be a number in [0, 1]; got {threshold!r}")
        self.llm = llm
        self.threshold = threshold
        self.template = load_prompt("judge_support", prompt)
        self.max_characters = at_least_one("max_characters", max_characters)
        self.max_tokens = at_least_one("max_tokens", max_tokens)

    @property
    def name(self) -> str:
        """Identifies the model and the exact wording of the prompt."""
        return f"llm:{self.llm.name}:{self.template.hash}"

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """Shape (n_passages, n_perspectives): P(support), NaN for a pair without a usable reply.

        All pairs are one batch; what failed in it is recorded as one degradation.
        """
        support: Matrix = np.full((len(passages), len(perspectives)), np.nan)
        if not support.size:
            return support
        texts = [self._shown(passage) for passage in passages]
        prompts = [self._prompt(text, each) for text, _ in texts for each in perspectives]
        ask_llm, aask_llm = self.llm.complete, self.llm.acomplete
        calls = [
            Call("judge", ask_llm, (prompt,), afunction=aask_llm, counts={"judged_pairs": 1})
            for prompt in prompts
        ]
        if any(cut for _, cut in texts):
            calls[0].counts["shortened_passages"] = sum(cut for _, cut in texts)
        replies = yield calls
        errors: list[LLMError] = []
        for index, (prompt, reply) in enumerate(zip(prompts, replies, strict=True)):
            try:
                support.flat[index] = _probability(reply, prompt)
            except LLMError as error:
                errors.append(error)
        if errors:
            message = f"{len(errors)} of {len(prompts)} pairs could not be judged"
            yield from degrade("judge", message, errors[0])
        return support

    def _shown(self, passage: Passage) -> tuple[str, bool]:
        text = shorten(passage.text, self.max_characters)
        title = shorten(passage.title, 200)
        return (f"{title}\n{text}" if title else text), len(text) < len(passage.text)

    def _prompt(self, text: str, perspective: Perspective) -> Prompt:
        filled = self.template.fill(passage=fence([text]), perspective=perspective.text)
        return replace(filled, choices=CHOICES, max_tokens=self.max_tokens)


def _probability(reply: Reply, prompt: Prompt) -> float:
    probabilities = getattr(reply.value, "choice_probabilities", None)
    if reply.error is None and isinstance(reply.value, Completion) and probabilities:
        yes, no = (float(probabilities.get(choice, 0.0)) for choice in CHOICES)
        if math.isfinite(yes + no) and min(yes, no) >= 0 and yes + no > 0:
            return yes / (yes + no)
    text = reply_text(reply, prompt)
    decided = parse_yes_no(text)
    if decided is None:
        raise bad_reply("the reply says neither yes nor no", text, prompt)
    return float(decided)
