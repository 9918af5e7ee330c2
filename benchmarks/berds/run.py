"""The benchmark as a function: questions, retrievers and models in, a typed result out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.berds.approaches import APPROACHES, PIPELINE, Found, check_approaches
from benchmarks.berds.asking import SYCOPHANCY_AT as SYCOPHANCY_AT
from benchmarks.berds.asking import Details, askings
from benchmarks.berds.collecting import Collector, Tick
from benchmarks.berds.deciding import ALONE, RULES, decision_of
from benchmarks.berds.judges import same_model
from benchmarks.berds.questions import Question, fingerprint
from benchmarks.berds.retrievers import Retriever
from benchmarks.berds.scoring import CUTS, DEPTH
from benchmarks.berds.stances import Stances
from benchmarks.berds.summary import Asking, summary
from benchmarks.berds.tuning import weights_of
from benchmarks.berds.verdicts import Verdicts
from benchmarks.core.results import hash_of_files, source_fingerprint
from perspective_rag import ConfigError, Passage, PerspectiveRAGError
from perspective_rag.addons import Engine
from perspective_rag.extend import Embedder, Judge, unknown_name
from perspective_rag_train.append_log import AppendLog

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class BerdsConfig:
    """What is run.

    ``depth``: how far the retrievers' own rankings are judged; 100 gives Tables 5/17 and 6, at ten
    times the pairs of 10. ``mmr_weight``: MMR's lambda in [0, 1]; None tunes it on the tuning
    questions. ``as_published``: the variants of the authors' code. ``allow_same_judge``: lets one
    model choose and score, which the result then says. ``strict``: any degradation is an error.
    ``decision``: from P(support) to "supports" (``deciding.RULES``). ``verdict``: the approach that
    is validated; ``pipeline``: options for the approach "pipeline".
    """

    approaches: tuple[str, ...] = APPROACHES
    depth: int = max(CUTS)
    mmr_weight: float | None = None
    sycophancy: bool = True
    as_published: bool = False
    allow_same_judge: bool = False
    decision: str = ALONE
    strict: bool = False
    seed: int = 13
    verdict: str | None = None
    pipeline: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_approaches(self.approaches)
        if self.decision not in RULES:
            raise unknown_name(self.decision, RULES, "decision")
        if "default" not in self.approaches:
            raise ConfigError("the approach 'default' is what the others are compared with: add it")
        if not max(CUTS) <= self.depth <= DEPTH:
            raise ConfigError(f"depth must be from {max(CUTS)} to {DEPTH}, got {self.depth}")
        if self.mmr_weight is not None and not 0.0 <= self.mmr_weight <= 1.0:
            raise ConfigError(f"mmr_weight must be in [0, 1], got {self.mmr_weight}")

    @property
    def judging(self) -> list[str]:
        """The approaches in which the selector judges."""
        return [
            each
            for each in self.approaches
            if PIPELINE.get(each, {"coverage": "off"}).get("coverage") != "off"
        ]


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a run, with what identifies each judge (``results.judge_identity``).

    ``judge`` scores; ``selector`` chooses in the pipeline (None: those rows are left out);
    ``mmr_embedder`` gives Sim2; ``expansions`` are the texts of query expansion by question id,
    where they do not come with the questions.
    """

    judge: Judge
    judge_identity: Mapping[str, Any]
    selector: Judge | None = None
    selector_identity: Mapping[str, Any] | None = None
    mmr_embedder: Embedder | None = None
    expansions: Mapping[str, Sequence[str]] | None = None
    stances: Stances = field(default_factory=Stances)


@dataclass(frozen=True, slots=True)
class BerdsResult:
    """Everything measured, JSON-ready in ``figures``; ``degradations`` lists what went wrong;
    ``details`` are the rankings and verdicts behind the figures.
    """

    config: BerdsConfig
    figures: Mapping[str, Any]
    degradations: tuple[str, ...]
    judged: int
    seconds: float
    details: Details

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One mapping for each retriever and approach: names, metrics, differences, cost."""
        rows: Sequence[Mapping[str, Any]] = self.figures["rows"]
        return rows


def run_berds(
    questions: Sequence[Question],
    retrievers: Sequence[Retriever],
    models: Models,
    config: BerdsConfig,
    *,
    folder: Path,
    tuning: Sequence[Question] = (),
    corpus: str = "",
    tick: Tick = lambda stage, count: None,
    on_first: Callable[[Mapping[str, Any]], None] | None = None,
    engine: Engine | None = None,
) -> BerdsResult:
    """Runs and scores every approach over every retriever.

    Verdicts and the pipeline's answers are kept in ``folder``: a run that was killed goes on where
    it stopped. ``corpus`` identifies what was searched. ``on_first`` is given the figures of the
    retrievers' own rankings as soon as these are judged. ``engine`` is where the judge that scores
    works (None: in this process). Raises ConfigError when the selector is the judge and that was
    not allowed, and in strict mode for any degradation and for an approach whose model is absent.
    """
    started = time.perf_counter()
    names = _runnable(config, models, questions)
    decision = decision_of(config.decision, models.judge.threshold, models.judge_identity)
    expansions = models.expansions or {q.id: q.generated for q in (*questions, *tuning)}
    key = {
        "selector": dict(models.selector_identity or {}),
        "corpus": corpus,
        "source": [source_fingerprint(), hash_of_files(HERE, [HERE / "approaches.py"])],
        "cuts": list(CUTS),
        "pipeline": dict(config.pipeline),
    }
    with (
        AppendLog(folder, "pipeline", key) as kept,
        Verdicts.open(
            models.judge,
            models.judge_identity,
            folder,
            as_published=config.as_published,
            decision=decision,
            engine=engine,
        ) as verdicts,
    ):
        found: dict[tuple[str, str], dict[str, Found]] = {}
        collectors = [
            Collector(
                retriever,
                expansions,
                models.mmr_embedder,
                models.selector,
                kept,
                CUTS,
                config.as_published,
                config.strict,
                tick,
                options=config.pipeline,
            )
            for retriever in retrievers
        ]
        state = _State(questions, verdicts, config, tick, models.stances)
        for each in collectors:
            found[each.retriever.name, "default"] = each.approach("default", questions, {})
        state.judge(found)
        if on_first is not None:
            on_first(state.summary(found, {}, [], {}))
        weights: dict[str, dict[str, Any]] = {}
        for each in collectors:
            weights[each.retriever.name] = weights_of(
                each, names, tuning, verdicts, config.mmr_weight, config.seed
            )
            chosen = {of: value["weight"] for of, value in weights[each.retriever.name].items()}
            for name in names:
                if name == "default" or name in each.left_out:
                    continue
                runs = each.attempt(name, partial(each.approach, name, questions, chosen))
                if runs is not None:
                    found[each.retriever.name, name] = runs
        plain = askings(collectors, questions, models.stances) if config.sycophancy else []
        of_verdict = (
            askings(collectors, questions, models.stances, approach=config.verdict)
            if config.sycophancy and config.verdict in names
            else []
        )
        state.judge(found, [*plain, *of_verdict])
        figures = state.summary(found, weights, plain, expansions)
        degradations = _degradations(found, collectors, verdicts, models.stances)
        if config.strict and degradations:
            raise PerspectiveRAGError(f"{len(degradations)} degradations, first {degradations[0]}")
        figures["same_model_selects_and_scores"] = bool(
            config.judging and same_model(models.judge_identity, models.selector_identity)
        )
        figures["decision"] = {"rule": config.decision, **asdict(decision)}
        figures["left_out"] = [name for name in config.approaches if name not in names]
        figures["not_served"] = {each.retriever.name: each.left_out for each in collectors}
        figures["questions_fingerprint"] = fingerprint(questions)
        places = {each.id: models.stances.of(each) for each in questions}
        details = Details(questions, found, state.golds(), places, (*plain, *of_verdict))
        seconds = time.perf_counter() - started
        return BerdsResult(config, figures, degradations, verdicts.judged, seconds, details)


@dataclass(slots=True)
class _State:
    questions: Sequence[Question]
    verdicts: Verdicts
    config: BerdsConfig
    tick: Tick
    stances: Stances
    asked: dict[str, dict[str, Passage]] = field(default_factory=dict)

    def judge(
        self,
        found: Mapping[tuple[str, str], Mapping[str, Found]],
        askings: Sequence[Asking] = (),
    ) -> None:
        """Has every passage judged that a figure needs."""
        for (_, name), by_question in found.items():
            depth = self.config.depth if name == "default" else max(CUTS)
            for identity, each in by_question.items():
                for k in {*CUTS, depth}:
                    for passage in each.ranking(k):
                        self.asked.setdefault(identity, {})[passage.id] = passage
        for asking in askings:
            for identity, passages in asking.rankings.items():
                self.asked.setdefault(identity, {}).update({each.id: each for each in passages})
        missing = self.verdicts.missing(self.questions, self.asked)
        self.tick("judging of", missing)
        self.verdicts.complete(
            self.questions,
            self.asked,
            strict=self.config.strict,
            on_progress=lambda pairs: self.tick("judging", pairs),
        )

    def golds(self) -> dict[str, dict[str, set[str]]]:
        """For each question and perspective, the ids of the passages that support it."""
        return {
            each.id: self.verdicts.gold(each, self.asked.get(each.id, {}))
            for each in self.questions
        }

    def summary(
        self,
        found: Mapping[tuple[str, str], Mapping[str, Found]],
        weights: Mapping[str, Any],
        askings: Sequence[Asking],
        expansions: Mapping[str, Sequence[str]],
    ) -> dict[str, Any]:
        return summary(
            self.questions,
            found,
            self.golds(),
            stances={each.id: self.stances.of(each) for each in self.questions},
            askings=askings,
            weights=weights,
            depth=self.config.depth,
            expansions=expansions,
            seed=self.config.seed,
        )


def _runnable(config: BerdsConfig, models: Models, questions: Sequence[Question]) -> list[str]:
    """The approaches whose models are there; a judge that would score its own choice is refused."""
    if not questions:
        raise ConfigError("there are no questions to ask")
    same = same_model(models.judge_identity, models.selector_identity)
    if config.judging and same and not config.allow_same_judge:
        raise ConfigError(
            f"{models.judge.name} would score what it has chosen itself: give another --judge or "
            "--selector, or force it, which the report will say"
        )
    lacking = set(config.judging) if models.selector is None else set()
    expandable = any((models.expansions or {}).get(each.id) or each.generated for each in questions)
    if not expandable:
        lacking |= {"expansion", "expansion + mmr"}
    absent = [name for name in config.approaches if name in lacking]
    if absent and config.strict:
        raise ConfigError(
            f"nothing to run {', '.join(absent)} with: give a selector or texts to expand with "
            "(--llm writes them), or leave them out with --approach"
        )
    return [name for name in config.approaches if name not in lacking]


def _degradations(
    found: Mapping[tuple[str, str], Mapping[str, Found]],
    collectors: Sequence[Collector],
    verdicts: Verdicts,
    stances: Stances,
) -> tuple[str, ...]:
    own = [
        f"{retriever} / {name} / {identity}: {problem}"
        for (retriever, name), by_question in found.items()
        for identity, each in by_question.items()
        for problem in each.degradations
    ]
    own += [problem for each in collectors for problem in each.problems_asked()]
    unjudged = [f"judge: {each}" for each in dict.fromkeys(verdicts.failures)]
    return (*own, *unjudged, *(f"stance: {each}" for each in stances.failures))


def config_dict(config: BerdsConfig) -> dict[str, Any]:
    """The configuration as JSON-ready values."""
    return {**asdict(config), "approaches": list(config.approaches)}
