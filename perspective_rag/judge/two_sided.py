"""Judging with a model that reads a passage beside two opposing statements in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.flow.driver import map_in_pool
from perspective_rag.flow.limiter import check_wanted
from perspective_rag.flow.steps import Flow, Reply, call
from perspective_rag.judge.models import PairEncoder, cores, onnx_runtime, onnx_session
from perspective_rag.judge.pairs import LoadedOnce, TableOfPairs, in_batches, not_judged
from perspective_rag.judge.settings import LargerSettings
from perspective_rag.judge.windows import telling, windows
from perspective_rag.storage.fingerprint import fingerprint, model_fingerprint
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


class OnnxSides:
    """A two-sided model in ``model.onnx`` beside its ``tokenizer.json`` and ``judge.json``.

    ``threads`` texts are read side by side (None: one a core), each by itself: an int8 model
    scales its activations by the largest in its input, so that in a batch a verdict would depend
    on its company.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        onnxruntime, tokenizers = onnx_runtime()
        for needed in (folder / "model.onnx", folder / "tokenizer.json"):
            if not needed.is_file():
                raise ConfigError(f"{needed} is missing: needed are model.onnx, tokenizer.json")
        self.settings = LargerSettings.of(folder)
        tokenizer = tokenizers.from_file(str(folder / "tokenizer.json"))
        self._start, self._end = tokenizer.token_to_id("<s>"), tokenizer.token_to_id("</s>")
        if self._start is None or self._end is None:
            raise ConfigError(f"{folder / 'tokenizer.json'} lacks the tokens <s> and </s>")
        self._encoder = PairEncoder(tokenizer, self.settings.max_tokens)
        self._session = onnx_session(onnxruntime, folder / "model.onnx")
        self._readers = ThreadPoolExecutor(threads or cores(), thread_name_prefix="larger-judge")

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


class TwoSidedJudge(TableOfPairs, LoadedOnce[SidesClassifier]):
    """P(a passage supports a perspective), read beside what contradicts it.

    It is slower than ``CrossEncoderJudge`` and surer: made to read again what that one would list
    (``judge.second_reading``). Two sides are read together, one alone beside its negation, and of
    more each beside the likeliest of the rest. A longer passage than the window is read in
    windows, cut at sentence ends: P = max over its windows. Titles are not read.

    Texts are read in batches of ``BATCH``, each a call of its own, so that a time limit costs one
    batch. A model that fails leaves NaN and a recorded degradation (strict mode: JudgeError).

    Args:
        folder: Holds ``model.onnx``, ``tokenizer.json`` and ``judge.json``; loaded at the first
            judgement, once.
        name: What the judge is called (default: the folder).
        stage: The stage of the trace under which its calls stand.
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
        stage: str = "judge",
        negate: Callable[[str], str] | None = None,
        threads: int | None = None,
        classifier: SidesClassifier | None = None,
        settings: LargerSettings | None = None,
    ) -> None:
        super().__init__(classifier)
        self._folder = Path(folder)
        self.name = name or str(folder)
        self.stage = stage
        self.languages: tuple[str, ...] = ("en",)
        self.settings = settings or LargerSettings.of(self._folder)
        self._negate = negate or _denied
        self._threads = threads

    @property
    def threshold(self) -> float:
        """P(support) from which a passage leans to support."""
        return self.settings.alone.rule.leaning

    @property
    def listing(self) -> ListingRule:
        """When support is listed."""
        return self.settings.alone.rule

    sides_listing = listing

    @property
    def second_listing(self) -> ListingRule:
        """When what was read again is listed."""
        return (self.settings.beside_fast or self.settings.alone).rule

    @cached_property
    def revision(self) -> str:
        """Identifies the model's files and settings: equal revisions judge alike."""
        files = model_fingerprint(self._folder) if self._folder.exists() else None
        return fingerprint(self.name, files, self.settings)

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """P(support), shape (n_passages, n_perspectives), NaN where it could not be judged.

        Of more than two perspectives each is read beside its negation first, then the likeliest
        of a passage beside the runner-up, and the others beside the likeliest.
        """
        if len(perspectives) == 2:
            unknown = np.full(len(passages), np.nan)
            return (
                yield from self.judge_sides((perspectives[0], perspectives[1]), passages, unknown)
            )
        table = yield from super().judge(perspectives, passages)
        if len(perspectives) < 2 or not passages:
            return table
        order = np.argsort(-np.nan_to_num(table), axis=1, kind="stable")
        texts = [each.text for each in perspectives]
        cells = [(i, j) for i in range(len(passages)) for j in order[i, 1:].tolist()]
        triples = [(texts[order[i, 0]], texts[j], passages[i].text) for i, j in cells]
        found = yield from self._read(triples)
        found = self.settings.alone.weights.support(found, [text for *_, text in triples])
        for (i, j), (best, other) in zip(cells, found.tolist(), strict=True):
            table[i, j] = other
            if j == order[i, 1]:
                table[i, order[i, 0]] = best
        return table

    def judge_pairs(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Vector]:
        """P(passages[i] supports perspectives[i]), beside its negation, shape (n,)."""
        triples = []
        for perspective, passage in zip(perspectives, passages, strict=True):
            claim = perspective.claim if perspective.stance else None
            one = claim or perspective.text
            triples.append((one, self._negate(one), passage.text))
        found = yield from self._read(triples)
        support = self.settings.alone.weights.support(found, [each.text for each in passages])
        denied = [bool(each.claim) and each.stance == "oppose" for each in perspectives]
        return np.where(denied, support[:, 1], support[:, 0])

    def judge_sides(
        self,
        sides: tuple[Perspective, Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
    ) -> Flow[Matrix]:
        """P(passages[i] supports the first, the second side), shape (n, 2); NaN where the model
        failed. ``relevance`` is not used.
        """
        found = yield from self._read([(sides[0].text, sides[1].text, p.text) for p in passages])
        return self.settings.alone.weights.support(found, [each.text for each in passages])

    def read_again(
        self,
        sides: Sequence[tuple[Perspective, Perspective | None]],
        passages: Sequence[Passage],
        first: Matrix,
    ) -> Flow[Matrix]:
        """P(passages[i] supports sides[i]), shape (n, 2), from this reading and an earlier one.

        ``first`` (n, 2) is what the earlier judge said, NaN where it said nothing. A side without
        another (None) is read beside its negation. NaN where the model failed.
        """
        triples = [
            (one.text, other.text if other is not None else self._negate(one.text), passage.text)
            for (one, other), passage in zip(sides, passages, strict=True)
        ]
        found = yield from self._read(triples)
        texts = [each.text for each in passages]
        alone = self.settings.alone.weights.support(found, texts)
        beside = self.settings.beside_fast
        if beside is None:
            return alone
        known = ~np.isnan(first).any(axis=1, keepdims=True)
        moved = self.settings.alone.rule.moved(alone, beside.rule)
        return np.where(known, beside.weights.support(found, texts, first), moved)

    def _read(self, triples: Sequence[tuple[str, str, str]]) -> Flow[Matrix]:
        """P(supports first), P(supports second) of (first, second, text), shape (n, 2)."""
        distinct = list(dict.fromkeys(triples))
        distinct.sort(key=lambda each: len(each[2]))
        known: dict[tuple[str, str, str], Vector] = {}

        def ask(rows: list[int]) -> Flow[Reply]:
            asked = [distinct[i] for i in rows]
            return call(self.stage, self.probabilities, asked, counts={"judged_pairs": len(asked)})

        def keep(rows: list[int], values: Matrix) -> None:
            known.update((distinct[i], row) for i, row in zip(rows, values, strict=True))

        error = yield from in_batches(range(len(distinct)), BATCH, ask, keep)
        nothing = np.full(2, np.nan)
        support = np.array([known.get(each, nothing) for each in triples]).reshape(-1, 2)
        failed = int(np.isnan(support).any(axis=1).sum())
        if failed:
            not_judged(self.name, failed, len(triples), error)
        return support

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
        near = np.flatnonzero(np.abs(_margin(found)) < self.settings.close).tolist()
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


def _margin(found: Matrix) -> Vector:
    """The log-odds of the first side against the second, shape (n,)."""
    return np.asarray(np.log(found[:, 0] + 1e-9) - np.log(found[:, 1] + 1e-9))


def _denied(statement: str) -> str:
    text = statement.strip().rstrip(".")
    return f"It is not true that {text[:1].lower()}{text[1:]}."
