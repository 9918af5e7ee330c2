"""Reading again, with a model that reads a passage beside two opposing statements in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.flow.driver import map_in_pool
from perspective_rag.flow.limiter import check_wanted
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.models import LoadedOnce, OnnxModel
from perspective_rag.judge.pairs import in_batches, not_judged
from perspective_rag.judge.settings import LargerSettings
from perspective_rag.judge.windows import telling, windows
from perspective_rag.types import ListingRule, Matrix, Passage, Perspective, Vector

BATCH = 8
"""Texts of one call: what a time limit costs at most."""


class SidesClassifier(Protocol):
    """A loaded model that reads texts beside two statements.

    ``pieces`` cuts a text so that all of it is read beside both; ``logits`` has shape (n, 4):
    first, second, neither, both.
    """

    def pieces(self, text: str, statements: tuple[str, str]) -> list[str]: ...

    def logits(self, texts: Sequence[tuple[str, str, str]]) -> Matrix: ...


class OnnxSides(OnnxModel):
    """A two-sided model in ``model.onnx`` beside its ``tokenizer.json`` and ``judge.json``.

    ``threads`` texts are read side by side (None: one a core).
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self.settings = LargerSettings.of(folder)
        super().__init__(folder, max_tokens=self.settings.max_tokens, threads=threads)
        self._start, self._end = map(self._tokenizer.token_to_id, ("<s>", "</s>"))
        if self._start is None or self._end is None:
            raise ConfigError(f"{folder / 'tokenizer.json'} lacks the tokens <s> and </s>")

    def pieces(self, text: str, statements: tuple[str, str]) -> list[str]:
        """The text in pieces that the model reads to their end beside both statements."""
        about = " ".join(statements)
        cut = telling(windows(text, self.settings.max_words), about)
        pieces = [piece for each in cut for piece in self._encoder.pieces(each, [about])]
        return telling(pieces, about)

    def logits(self, texts: Sequence[tuple[str, str, str]]) -> Matrix:
        """Logits of (first statement, second statement, text) triples, shape (n, 4)."""
        rows = map_in_pool(self._readers, self._read, [self.ids(*each) for each in texts])
        return np.array(rows, dtype=np.float64).reshape(len(texts), 4)

    def ids(self, first: str, second: str, text: str) -> list[int]:
        """``<s> first </s> second </s> text </s>``, in the model's own numbers."""
        check_wanted()
        most = self.settings.statement_tokens
        one, two = (self._encoder.ids(each)[:most] for each in (first, second))
        room = self.settings.max_tokens - len(one) - len(two) - 4
        rest = self._encoder.ids(text)[:room]
        return [self._start, *one, self._end, *two, self._end, *rest, self._end]

    def _read(self, ids: list[int]) -> Vector:
        row = np.array([ids], dtype=np.int64)
        logits: Vector = self._session.run(None, {"ids": row, "mask": np.ones_like(row)})[0][0]
        return logits


class TwoSidedJudge(LoadedOnce[SidesClassifier]):
    """Reads again what the fast judge would list (``judge.second_reading``): slower, and surer.

    A longer passage than the window is read in windows, cut at sentence ends: P = max over its
    windows. Titles are not read. Texts are read in batches of ``BATCH``, each a call of its own, so
    that a time limit costs one batch. A model that fails leaves NaN and a recorded degradation
    (strict mode: JudgeError).

    Args:
        folder: Holds ``model.onnx``, ``tokenizer.json`` and ``judge.json``; loaded at the first
            judgement, once.
        name: What the judge is called (default: the folder).
        negate: The negation of a statement (default: "It is not true that ...").
        threads: Texts read side by side; None: one a core.
        classifier: Read with this instead of the folder's model.
        settings: Used instead of the folder's.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        name: str = "",
        negate: Callable[[str], str] | None = None,
        threads: int | None = None,
        classifier: SidesClassifier | None = None,
        settings: LargerSettings | None = None,
    ) -> None:
        super().__init__(classifier)
        self._folder = Path(folder)
        self.name = name or str(folder)
        self.settings = settings or LargerSettings.of(self._folder)
        self._negate = negate or _denied
        self._threads = threads

    @property
    def second_listing(self) -> ListingRule:
        """When what was read again is listed."""
        return (self.settings.beside_fast or self.settings.alone).rule

    def read_again(
        self,
        sides: Sequence[tuple[Perspective, Perspective | None]],
        passages: Sequence[Passage],
        first: Matrix,
        relevance: Vector,
    ) -> Flow[Matrix]:
        """P(passages[i] supports sides[i]), shape (n, 2), from this reading and an earlier one.

        ``first`` (n, 2) is what the earlier judge said, ``relevance`` (n,) the cosine to the
        question, NaN where unknown. A side without another (None) is read beside its negation. NaN
        where the model failed.
        """
        triples = [
            (one.text, other.text if other is not None else self._negate(one.text), passage.text)
            for (one, other), passage in zip(sides, passages, strict=True)
        ]
        distinct = sorted(dict.fromkeys(triples), key=lambda each: len(each[2]))
        reply = yield from in_batches("second_reading", self.probabilities, distinct, BATCH)
        place = {each: i for i, each in enumerate(distinct)}
        found: Matrix = reply.value[[place[each] for each in triples]]
        failed = int(np.isnan(found).any(axis=1).sum())
        if failed:
            not_judged(self.name, failed, len(triples), reply.error)
        texts = [each.text for each in passages]
        alone = self.settings.alone.weights.support(found, texts, relevance)
        beside = self.settings.beside_fast
        if beside is None:
            return alone
        known = ~np.isnan(first).any(axis=1, keepdims=True)
        moved = self.settings.alone.rule.moved(alone, beside.rule)
        return np.where(known, beside.weights.support(found, texts, relevance, first), moved)

    def probabilities(self, triples: Sequence[tuple[str, str, str]]) -> Matrix:
        """P(text supports first), P(it supports second) of (first, second, text), shape (n, 2).

        The statements are read in the order of their letters, so that exchanging them exchanges
        the columns; a text that is close in that order is read in the other one too.
        """
        model = self._model()
        swapped = [two < one for one, two, _ in triples]
        ordered = [
            (two, one, text) if turn else (one, two, text)
            for (one, two, text), turn in zip(triples, swapped, strict=True)
        ]
        pieces = [
            (row, (one, two, piece))
            for row, (one, two, text) in enumerate(ordered)
            for piece in model.pieces(text, (one, two))
        ]
        texts = [each for _, each in pieces]
        found = self._softmax(model.logits(texts))
        margin = np.log(found[:, 0] + 1e-9) - np.log(found[:, 1] + 1e-9)
        near = np.flatnonzero(np.abs(margin) < self.settings.close).tolist()
        if near:
            other = self._softmax(
                model.logits([(b, a, text) for a, b, text in (texts[i] for i in near)])
            )
            found[near] = (found[near] + other[:, [1, 0, 2, 3]]) / 2
        strongest = np.zeros((len(triples), 2))
        owners = [row for row, _ in pieces]
        with np.errstate(invalid="ignore"):
            np.maximum.at(strongest, owners, found[:, :2] + found[:, 3:])
        turned = np.array(swapped, dtype=bool)[:, None]
        return np.asarray(np.where(turned, strongest[:, ::-1], strongest))

    def _softmax(self, logits: Matrix) -> Matrix:
        values = np.array(logits, dtype=np.float64) / self.settings.temperature
        values[~np.isfinite(values).all(axis=1)] = np.nan
        raised = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def _load(self) -> SidesClassifier:
        return OnnxSides(self._folder, threads=self._threads)


def _denied(statement: str) -> str:
    text = statement.strip().rstrip(".")
    return f"It is not true that {text[:1].lower()}{text[1:]}."
