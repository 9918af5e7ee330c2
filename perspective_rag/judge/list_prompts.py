"""The prompts that ask a language model about a list of passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perspective_rag.judge.list_replies import letter, list_schema
from perspective_rag.prompts import PromptTemplate, fence, shorten
from perspective_rag.storage.fingerprint import cache_key
from perspective_rag.types import Passage, Perspective, Prompt

_CHARACTERS_A_TOKEN = 3  # English has four or five: an estimate that seldom falls short
_REPLY_TOKENS, _TOKENS_A_VERDICT = 200, 90
_TITLE = 200  # characters
_TAGS = 60  # characters

ListRequest = tuple[Prompt, list[int]]
"""A prompt, and the places of its passages in the order of their numbers."""


@dataclass(frozen=True, slots=True)
class ListPrompts:
    """How lists are asked about; the fields are those of ``LLMListJudge``."""

    template: PromptTemplate
    batch_size: int
    max_characters: int
    max_prompt_tokens: int
    max_tokens: int | None
    seed: int

    def parts(self, passages: Sequence[Passage]) -> list[list[int]]:
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

    def requests(
        self,
        question: str,
        perspectives: Sequence[Perspective],
        passages: Sequence[Passage],
        parts: Sequence[list[int]],
    ) -> list[ListRequest]:
        """A prompt for each part."""
        return [
            (self._prompt(question, perspectives, [passages[i] for i in part]), part)
            for part in parts
        ]

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
