"""Stand-ins for models and stores, for tests of your own code: deterministic, offline, without
dependencies.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perspective_rag.flow.steps import Flow
from perspective_rag.judge.pairs import judge_at_once
from perspective_rag.maths.vectors import cosine, normalised
from perspective_rag.types import Completion, Hit, Matrix, Passage, Perspective, Prompt, Vector


@dataclass(slots=True)
class HashEmbedder:
    """Bag-of-words embeddings: texts that share words are similar.

    Args:
        dimensions: Numbers in a vector.
        delay: Seconds that each call takes.
        before: Called first with the texts of each call; what it raises is raised.
        embedded: Every text it was asked for, in order.
    """

    dimensions: int = 64
    delay: float = 0.0
    before: Callable[[Sequence[str]], object] | None = None
    embedded: list[str] = field(default_factory=list)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embeds texts.

        Args:
            texts: n texts.

        Returns:
            Unit rows, shape (n, dimensions); a zero row for a text without words.
        """
        time.sleep(self.delay)
        if self.before is not None:
            self.before(texts)
        self.embedded.extend(texts)
        rows = np.zeros((len(texts), self.dimensions))
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
                row += np.random.default_rng(seed).standard_normal(self.dimensions)
        return normalised(rows)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """The same as ``embed_passages``."""
        return self.embed_passages(texts)


@dataclass(slots=True)
class MemoryStore:
    """A brute-force store, whose filter is a predicate on passages.

    Args:
        passages: What it holds.
        embedder: Says how many dimensions the vectors have.
        takes_vector: False: it searches by text alone and counts shared words.
        returns_embeddings: True: hits bring their vectors.
        delay: Seconds that each search takes.
        failing: Texts whose search raises ConnectionError.
        requests: Every search, as (text, k, filter).
    """

    passages: Sequence[Passage]
    embedder: HashEmbedder = field(default_factory=HashEmbedder)
    takes_vector: bool = True
    returns_embeddings: bool = False
    delay: float = 0.0
    failing: frozenset[str] = frozenset()
    requests: list[tuple[str, int, Any]] = field(default_factory=list)

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """Finds the best passages by cosine, or by shared words where ``takes_vector`` is False.

        Args:
            text: The query.
            vector: Its vector, shape (d,).
            k: Maximum number of hits.
            filter: True of the passages to search in; None: all.

        Returns:
            Hits, best first.

        Raises:
            ConnectionError: ``text`` is in ``failing``.
        """
        time.sleep(self.delay)
        return self._search(text, vector, k, filter)

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """The same as ``search``, waiting without blocking."""
        await asyncio.sleep(self.delay)
        return self._search(text, vector, k, filter)

    def _search(self, text: str, vector: Vector | None, k: int, filter: Any) -> list[Hit]:
        self.requests.append((text, k, filter))
        if text in self.failing:
            raise ConnectionError(f"the store cannot be reached for {text!r}")
        kept = [p for p in self.passages if filter is None or filter(p)]
        if not kept:
            return []
        rows = HashEmbedder(self.embedder.dimensions).embed_passages([p.text for p in kept])
        if self.takes_vector:
            assert vector is not None, "a store that takes vectors is searched with one"
            scores = cosine(rows, np.asarray(vector)[None, :])[:, 0]
        else:
            wanted = set(re.findall(r"\w+", text.lower()))
            scores = np.array(
                [len(wanted & set(re.findall(r"\w+", p.text.lower()))) for p in kept], dtype=float
            )
        best = np.argsort(-scores, kind="stable")[:k]
        return [
            Hit(kept[i], float(scores[i]), rows[i] if self.returns_embeddings else None)
            for i in best
        ]


class _PairJudge:
    """What judges that answer pair by pair have in common; ``judged`` are the pairs."""

    judged: list[tuple[str, str]]

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """Gets P(support) of every pair.

        Args:
            perspectives: m statements.
            passages: n passages.

        Returns:
            P(support), shape (n, m).
        """
        return judge_at_once(self._look_up, perspectives, passages)

    def _look_up(self, perspectives: Sequence[Perspective], passages: Sequence[Passage]) -> Matrix:
        self.judged.extend((passage.id, each.id) for passage in passages for each in perspectives)
        rows = [[self._verdict(passage, each) for each in perspectives] for passage in passages]
        return np.array(rows, dtype=float).reshape(len(passages), len(perspectives))

    def _verdict(self, passage: Passage, perspective: Perspective) -> float:
        raise NotImplementedError


@dataclass
class TableJudge(_PairJudge):
    """A judge that looks its answers up.

    Args:
        table: P(support) by (passage id, perspective id).
        default: P(support) for what is not in the table.
        threshold: P(support) that counts as support.
        failing: Ids of passages whose batch raises RuntimeError.
        delay: Seconds that each batch takes.
        before: Called first with perspectives and passages of each batch; what it raises is raised.
        name: Its name in messages.
        judged: Every pair it was asked for, as (passage id, perspective id).
    """

    table: Mapping[tuple[str, str], float] = field(default_factory=dict)
    default: float = 0.0
    threshold: float = 0.5
    failing: frozenset[str] = frozenset()
    delay: float = 0.0
    before: Callable[[Sequence[Perspective], Sequence[Passage]], object] | None = None
    name: str = "table"
    judged: list[tuple[str, str]] = field(default_factory=list)

    def _look_up(self, perspectives: Sequence[Perspective], passages: Sequence[Passage]) -> Matrix:
        time.sleep(self.delay)
        if self.before is not None:
            self.before(perspectives, passages)
        table = super()._look_up(perspectives, passages)
        if any(passage.id in self.failing for passage in passages):
            raise RuntimeError("the judge fails on this batch")
        return table

    def _verdict(self, passage: Passage, perspective: Perspective) -> float:
        return self.table.get((passage.id, perspective.id), self.default)


@dataclass
class RuleJudge(_PairJudge):
    """A judge that asks a function; what the function raises is raised.

    Args:
        rule: ``rule(passage, perspective)`` returns P(support).
        name: Its name in messages.
        threshold: P(support) that counts as support.
        judged: Every pair it was asked for, as (passage id, perspective id).
    """

    rule: Callable[[Passage, Perspective], float]
    name: str = "rule"
    threshold: float = 0.5
    judged: list[tuple[str, str]] = field(default_factory=list)

    def _verdict(self, passage: Passage, perspective: Perspective) -> float:
        return self.rule(passage, perspective)


@dataclass(slots=True)
class ScriptedLLM:
    """A language model that answers from a script.

    Args:
        replies: Replies in turn, or a function of the prompt; an exception is raised.
        delay: Seconds that each reply takes.
        name: Its name in messages.
        prompts: Every prompt it was asked.
    """

    replies: (
        Sequence[str | Completion | Exception] | Callable[[Prompt], str | Completion | Exception]
    )
    delay: float = 0.0
    name: str = "scripted"
    prompts: list[Prompt] = field(default_factory=list)

    def complete(self, prompt: Prompt) -> Completion:
        """Gives the next reply.

        Args:
            prompt: Kept in ``prompts``, and given to ``replies`` where that is a function.

        Returns:
            The reply; tokens are counted as words.

        Raises:
            Exception: The reply is an exception.
        """
        time.sleep(self.delay)
        return self._next(prompt)

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same as ``complete``, waiting without blocking."""
        await asyncio.sleep(self.delay)
        return self._next(prompt)

    def _next(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        reply = (
            self.replies(prompt) if callable(self.replies) else self.replies[len(self.prompts) - 1]
        )
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Completion):
            return reply
        return Completion(
            reply, prompt_tokens=len(prompt.user.split()), completion_tokens=len(reply.split())
        )
