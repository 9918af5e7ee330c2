"""Questions over a large corpus, scored by labels that were given by reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.berds.questions import Question, datasets_of
from benchmarks.core.bootstrap import interval, paired_difference
from benchmarks.core.metrics import mrecall_at_k, precision_at_k
from benchmarks.sides.asking import Bench
from benchmarks.sides.labels import Labels, Wanted
from benchmarks.sides.reading import Outcome, Shown
from benchmarks.sides.scoring import share
from perspective_rag import Corpus, PerspectivePipeline, RetrievalResult
from perspective_rag.extend import larger_judge
from perspective_rag_train.append_log import AppendLog

ROWS = ("top-k", "guarded, fast judge", "guarded, read again by the larger judge")
PLAIN, GUARDED, AGAIN = ROWS
_TRUE = frozenset("SsM")
_OPPOSING = frozenset("oO")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as a row answered it.

    The perspectives of the result are named by their texts; ``opposites`` maps one to the other
    where they are acceptance and denial of one claim.
    """

    question: Question
    outcome: Outcome
    opposites: dict[str, str]


def ask_all(
    bench: Bench,
    corpus: Corpus,
    questions: Sequence[Question],
    k: int,
    on_question: Callable[[], None],
    *,
    given: bool = False,
    log: AppendLog | None = None,
) -> dict[str, list[Asked]]:
    """Every question by every row; ``given``: with its gold perspectives, else alone. The last row
    is left out where the larger judge is not installed.

    What is asked goes into ``log`` at once, and what it holds is not asked again.
    """
    pipeline: PerspectivePipeline | None = None
    larger = larger_judge()
    known: dict[str, Any] = {} if log is None else log.values
    options: dict[str, dict[str, Any]] = {
        PLAIN: {"coverage": "off", "max_queries": 1, "reread_k": 0},
        GUARDED: {"reread_k": 0},
        AGAIN: {},
    }
    rows = ROWS if larger is not None else ROWS[:-1]
    found: dict[str, list[Asked]] = {row: [] for row in rows}
    for question in questions:
        for row in rows:
            key = f"{row} {question.id}"
            if key in known:
                found[row].append(_from_log(question, known[key]))
                on_question()
                continue
            pipeline = pipeline or bench.over(corpus, second_judge=larger)
            perspectives = list(question.perspectives) if given else None
            outcome, result = bench.retrieve(
                pipeline, question.text, perspectives, str, k=k, **options[row]
            )
            asked = Asked(question, outcome, opposites_of(result))
            found[row].append(asked)
            if log is not None:
                log.add([(key, [asdict(outcome), asked.opposites])])
            on_question()
    return found


def _from_log(question: Question, kept: Any) -> Asked:
    values, opposites = dict(kept[0]), kept[1]
    shown = tuple(Shown(**each) for each in values.pop("shown"))
    several: dict[str, Any] = {
        name: tuple(values.pop(name)) for name in ("ranking", "degradations")
    }
    return Asked(question, Outcome(shown=shown, **several, **values), opposites)


def opposites_of(result: RetrievalResult) -> dict[str, str]:
    """The perspectives that are acceptance and denial of one claim, each to the other."""
    sides = {(each.claim, each.stance): each.text for each in result.perspectives if each.claim}
    found: dict[str, str] = {}
    for claim, _ in sides:
        one, other = sides.get((claim, "support")), sides.get((claim, "oppose"))
        if one is not None and other is not None:
            found |= {one: other, other: one}
    return found


def wanted_pairs(asked: Sequence[Asked], *, polar: bool) -> Iterator[Wanted]:
    """The pairs that the figures need: each passage returned with each gold perspective, and each
    listed with its own.

    ``polar``: of two gold perspectives one is taken for the opposite of the other.
    """
    for each in asked:
        gold = each.question.perspectives
        pair = dict(zip(gold, gold[::-1], strict=True)) if polar and len(gold) == 2 else {}
        for passage in each.outcome.ranking:
            for text in gold:
                yield Wanted(each.question.id, text, passage, pair.get(text))
        for shown in each.outcome.listed:
            opposite = each.opposites.get(shown.side) or pair.get(shown.side)
            yield Wanted(each.question.id, shown.side, shown.passage, opposite)


def labelled_figures(
    asked: dict[str, list[Asked]], labels: Labels, k: int, *, seed: int
) -> dict[str, Any]:
    """The figures of each row: of all questions, and of each set of them.

    A pair without a label counts as not true, so that figures are lower bounds while any is
    lacking. A claim is true when each perspective has a listed passage that truly supports it.
    """
    sets = {}
    for name in datasets_of(each.question for each in asked[PLAIN]):
        own = {
            row: [a for a in found if a.question.dataset == name] for row, found in asked.items()
        }
        sets[name] = _figures(own, labels, k, seed)
    return {**_figures(asked, labels, k, seed), "sets": sets}


def _figures(asked: dict[str, list[Asked]], labels: Labels, k: int, seed: int) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    base: list[float] = []
    for row, found in asked.items():
        gold = [_gold(each, labels) for each in found]
        recall = [mrecall_at_k(a.outcome.ranking, g, k) for a, g in zip(found, gold, strict=True)]
        precise = [
            precision_at_k(a.outcome.ranking, g, k) for a, g in zip(found, gold, strict=True)
        ]
        base = base or recall
        rows[row] = {
            f"mrecall@{k}": interval(recall, seed=seed).to_dict(),
            "against_top_k": paired_difference(recall, base, seed=seed).to_dict(),
            f"precision@{k}": interval(precise, seed=seed).to_dict(),
            "sides_among_k": _sides_among(gold),
            "listed": _listed(found, labels, seed) if row != PLAIN else None,
            "claims": _claims(found, labels, seed) if row != PLAIN else None,
            "abstained": sum(each.outcome.abstained for each in found),
            "without_perspectives": sum(not each.outcome.shown for each in found)
            if row != PLAIN
            else None,
            "degradations": sum(len(each.outcome.degradations) for each in found),
        }
    return {"questions": len(asked[PLAIN]), "rows": rows}


def _sides_among(gold: Sequence[dict[str, set[str]]]) -> dict[str, int]:
    """Of how many questions all gold sides, some or none are among the returned."""
    every = sum(all(each.values()) for each in gold)
    some = sum(any(each.values()) for each in gold)
    return {"all": every, "some": some - every, "none": len(gold) - some}


def _gold(asked: Asked, labels: Labels) -> dict[str, set[str]]:
    return {
        text: {each for each in asked.outcome.ranking if labels.of(text, each) in _TRUE}
        for text in asked.question.perspectives
    }


def _listed(found: Sequence[Asked], labels: Labels, seed: int) -> dict[str, Any]:
    kinds = [[labels.of(s.side, s.passage) for s in each.outcome.listed] for each in found]
    wholes = [len(each) for each in kinds]
    true = [sum(label in _TRUE for label in each) for each in kinds]
    opposing = [sum(label in _OPPOSING for label in each) for each in kinds]
    whole = [_wholly_labelled(each, labels) for each in found]
    present = [sum(labels.of(s.side, s.passage) in _TRUE for s in each) for each in whole]
    kept = [sum(s.listed and labels.of(s.side, s.passage) in _TRUE for s in each) for each in whole]
    return {
        "count": sum(wholes),
        "true": share(true, wholes, seed=seed),
        "opposing": share(opposing, wholes, seed=seed),
        "of_present": share(kept, present, seed=seed),
    }


def _wholly_labelled(asked: Asked, labels: Labels) -> list[Shown]:
    """What is shown of the sides whose every passage has a label.

    A side worded unlike the gold ones has labels only where it is listed.
    """
    lacking = {s.side for s in asked.outcome.shown if labels.of(s.side, s.passage) is None}
    return [each for each in asked.outcome.shown if each.side not in lacking]


def _claims(found: Sequence[Asked], labels: Labels, seed: int) -> dict[str, Any]:
    claimed = [int(each.outcome.claimed) for each in found]
    true = [int(each.outcome.claimed and _proved(each, labels)) for each in found]
    return {"count": sum(claimed), "true": share(true, claimed, seed=seed)}


def _proved(asked: Asked, labels: Labels) -> bool:
    listed = asked.outcome.listed
    return all(
        any(s.side == text and labels.of(text, s.passage) in _TRUE for s in listed)
        for text in {each.side for each in asked.outcome.shown}
    )
