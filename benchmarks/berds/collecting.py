"""Runs the approaches: for every question the passages that each of them returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from benchmarks.berds.approaches import (
    PIPELINE,
    POOL,
    Found,
    expanded,
    expansion_asks,
    highest_score,
    pipeline_found,
    rankings_of,
    reranked,
)
from benchmarks.berds.questions import Question
from benchmarks.berds.retrievers import Ask, Retriever
from perspective_rag import (
    CapabilityError,
    ConfigError,
    CorpusError,
    Hit,
    Passage,
    RetrievalError,
)
from perspective_rag.extend import Embedder, Judge
from perspective_rag_train.append_log import AppendLog

Hits = Mapping[str, Sequence[Hit]]
"""Hits, best first, by the question's id."""

ASKED = "asked in other words"
"""What failures of searches in the words of one side are listed under."""

_UNUSABLE = (CapabilityError, ConfigError, CorpusError)
"""What no later query would change."""

Result = TypeVar("Result")

Tick = Callable[[str, int], None]
"""Called with what is being done and how much of it was done now."""


@dataclass(slots=True)
class Collector:
    """The approaches over one retriever.

    ``embedder`` gives Sim2 of MMR. ``kept`` holds what the pipeline returned in earlier runs.
    ``expansions`` are the texts to expand a question with, by its id. ``pools`` are the rankings
    that MMR starts from, by approach. ``options`` are the pipeline's, where they are not its
    defaults. ``left_out`` says of approaches that this retriever cannot serve why not. ``failures``
    are the searches that failed and found nothing, by what was searched for and the question's id.
    """

    retriever: Retriever
    expansions: Mapping[str, Sequence[str]]
    embedder: Embedder | None
    selector: Judge | None
    kept: AppendLog
    cuts: Sequence[int]
    as_published: bool = False
    strict: bool = False
    tick: Tick = lambda stage, count: None
    pools: dict[str, dict[str, list[Hit]]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    failures: dict[str, dict[str, str]] = field(default_factory=dict)

    def plain(self, questions: Sequence[Question]) -> Hits:
        """The retriever's own top ``POOL`` for each question."""
        return self._pooled("default", questions, self._plain)

    def with_expansion(self, questions: Sequence[Question]) -> Hits:
        """What the generated perspectives find, merged in turn."""
        return self._pooled("expansion", questions, self._expanded)

    def mmr(self, questions: Sequence[Question], *, of: str, weight: float) -> dict[str, list[Hit]]:
        """The pools ("default" or "expansion") in the order of MMR; Sim1's maximum is over all
        questions that were asked so far.
        """
        if self.embedder is None:
            raise ConfigError("MMR compares passages by their vectors: an embedder is needed")
        pools = self.plain(questions) if of == "default" else self.with_expansion(questions)
        maximum = highest_score(list(self.pools[of].values()))
        ordered = {}
        for question in questions:
            ordered[question.id] = reranked(
                pools[question.id],
                self.embedder,
                mmr_lambda=weight,
                maximum=maximum,
                as_published=self.as_published,
            )
            self.tick("MMR", 1)
        return ordered

    def pipeline(self, name: str, questions: Sequence[Question]) -> dict[str, Found]:
        """What the pipeline returns, as ``PIPELINE`` sets it; kept answers are not asked again."""
        found = {}
        for question in questions:
            identity = f"{self.retriever.name} / {name} / {question.id}"
            found[question.id] = self._kept_or_found(identity, name, question, self.cuts)
            self.tick(name, 1)
        return found

    def approach(
        self, name: str, questions: Sequence[Question], weights: Mapping[str, float]
    ) -> dict[str, Found]:
        """What an approach returns for each question; ``weights`` are MMR's, by what it orders."""
        if name in PIPELINE:
            return self.pipeline(name, questions)
        started = time.perf_counter()
        if name == "default":
            found: Hits = self.plain(questions)
        elif name == "expansion":
            found = self.with_expansion(questions)
        else:
            of = "default" if name == "mmr" else "expansion"
            found = self.mmr(questions, of=of, weight=weights[of])
        seconds = (time.perf_counter() - started) / max(len(questions), 1)
        failed = self.failures.get("expansion" if "expansion" in name else "default", {})
        return {
            identity: Found(
                {POOL: [hit.passage for hit in hits]},
                seconds,
                searches=len(self.expansions.get(identity, ())) if "expansion" in name else 1,
                degradations=(failed[identity],) if identity in failed else (),
            )
            for identity, hits in found.items()
        }

    def attempt(self, name: str, work: Callable[[], Result]) -> Result | None:
        """What ``work`` returns, or None where the retriever cannot do it: noted in ``left_out``.

        Raises CapabilityError in strict mode.
        """
        try:
            return work()
        except CapabilityError as error:
            if self.strict:
                raise
            self.left_out[name] = str(error)
            return None

    def problems_asked(self) -> list[str]:
        """The searches of ``asked_with`` that failed, each in a line."""
        failed = self.failures.get(ASKED, {})
        return [f"{self.retriever.name} / {ASKED} / {each}: {failed[each]}" for each in failed]

    def asked_with(
        self, asks: Sequence[Ask], k: int, approach: str | None = None
    ) -> list[list[Passage]]:
        """The top k passages for other queries than the questions, as sycophancy is measured: the
        retriever's own, or those of an approach over it.
        """
        if approach is not None and approach in PIPELINE:
            found = []
            for ask in asks:
                identity = f"{self.retriever.name} / {approach} / {ask.question.id} / {ask.text}"
                asked = replace(ask.question, text=ask.text)
                one = self._kept_or_found(identity, approach, asked, (k,))
                if one.degradations:
                    about = f"{approach} / {ask.question.id}"
                    self.failures.setdefault(ASKED, {})[about] = "; ".join(one.degradations)
                found.append(one.ranking(k))
            return found
        if approach is not None and approach != "default":
            raise ConfigError(
                f"{approach} is not asked in other words: validate one of the pipeline"
            )
        rankings = self._searched(ASKED, asks, k)
        return [[hit.passage for hit in hits] for hits in rankings]

    def _kept_or_found(
        self, identity: str, name: str, question: Question, cuts: Sequence[int]
    ) -> Found:
        known = self.kept.values.get(identity)
        if known is not None:
            return _restored(known)
        try:
            found = pipeline_found(
                name,
                question,
                self.retriever,
                self.selector,
                cuts=cuts,
                strict=self.strict,
                clock=time.perf_counter,
                options=self.options if name == "pipeline" else {},
            )
        except RetrievalError as error:
            if self.strict:
                raise
            found = Found({k: [] for k in cuts}, degradations=(f"search: {error}",))
        if not found.degradations:  # what failed is tried again by the next run
            self.kept.add([(identity, _stored(found))])
        return found

    def _pooled(
        self,
        name: str,
        questions: Sequence[Question],
        search: Callable[[Sequence[Question]], Sequence[list[Hit]]],
    ) -> Hits:
        pool = self.pools.setdefault(name, {})
        new = [question for question in questions if question.id not in pool]
        if new:
            pool.update(zip([each.id for each in new], search(new), strict=True))
        return pool

    def _plain(self, questions: Sequence[Question]) -> Sequence[list[Hit]]:
        return self._searched("default", [Ask(each.text, each) for each in questions])

    def _expanded(self, questions: Sequence[Question]) -> Sequence[list[Hit]]:
        asks = [
            expansion_asks(each, self.expansions.get(each.id, ()), as_published=self.as_published)
            for each in questions
        ]
        rankings = iter(self._searched("expansion", [ask for some in asks for ask in some]))
        return [
            expanded([next(rankings) for _ in some], as_published=self.as_published)
            for some in asks
        ]

    def _searched(self, name: str, asks: Sequence[Ask], k: int = POOL) -> list[list[Hit]]:
        """A ranking for each query: all at once, and each by itself where that fails.

        A query that fails finds nothing and is in ``failures``. Raises RetrievalError in strict
        mode, and when every query failed.
        """
        try:
            return rankings_of(self.retriever, asks, k)
        except _UNUSABLE:
            raise
        except Exception as error:
            if self.strict:
                raise RetrievalError(f"{self.retriever.name} failed: {error!r}") from error
        rankings: list[list[Hit]] = []
        failed = self.failures.setdefault(name, {})
        count = 0
        for ask in asks:
            try:
                rankings += rankings_of(self.retriever, [ask], k)
            except Exception as error:
                count += 1
                failed[ask.question.id] = f"search: {error!r}"
                rankings.append([])
                if count == len(asks):
                    raise RetrievalError(
                        f"every search of {self.retriever.name} failed, the last with {error!r}"
                    ) from error
        return rankings


def _stored(found: Found) -> dict[str, Any]:
    return {
        "rankings": {
            str(k): [[each.id, each.text, each.title] for each in passages]
            for k, passages in found.rankings.items()
        },
        "seconds": round(found.seconds, 6),
        "judged_pairs": found.judged_pairs,
        "searches": found.searches,
    }


def _restored(values: Mapping[str, Any]) -> Found:
    rankings = {
        int(k): [Passage(i, text, {"title": title} if title else {}) for i, text, title in rows]
        for k, rows in values["rankings"].items()
    }
    return Found(
        rankings,
        values["seconds"],
        values["judged_pairs"],
        values["searches"],
    )
