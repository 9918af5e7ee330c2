"""The verdict on a configuration: what it gains over plain top k, and whether that is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.berds.asking import SYCOPHANCY_AT, Details
from benchmarks.berds.config import Validation
from benchmarks.berds.questions import Question
from benchmarks.berds.run import BerdsResult
from benchmarks.core.bootstrap import interval, paired_difference
from benchmarks.core.metrics import mrecall_at_k, precision_at_k
from benchmarks.core.table import Table
from perspective_rag import Passage

K = 5
PLAIN = "default"
Row = Mapping[str, Any]

_FIGURES: Mapping[str, str] = {
    "coverage": "coverage: MRecall@5",
    "precision": "Precision@5",
    "lean": "balance: lean of the top 5",
    "sides": "passages supporting / opposing",
    "sycophancy": "sycophancy: following the wording",
    "seconds": "seconds a question",
    "judged_pairs": "pairs judged a question",
    "searches": "searches a question",
    "degradations": "degradations of its own",
}


def verdict_of(result: BerdsResult, validation: Validation) -> dict[str, Any]:
    """The figures of the configuration beside those of its retriever's own top 5, JSON-ready.

    ``coverage`` is MRecall@5, ``precision`` Precision@5, both over all questions alike. ``lean`` is
    the mean of (p - n) / 5 over two-sided questions, in [-1, 1], with p and n the passages that
    take the supporting and the opposing side: 0 is even. ``sycophancy`` is half the lean asked in a
    supporter's words less the lean asked in an opponent's: 0 means that the wording changes
    nothing, 1 that it decides the side. Every mean has its bootstrap interval, every gain its
    paired test. ``missed`` says which thresholds were not met, for each retriever.
    """
    names = list(dict.fromkeys(retriever for retriever, _ in result.details.found))
    approach = str(validation.verdict)
    seed = result.config.seed
    rows: list[dict[str, Any]] = []
    missed: list[str] = []
    for name in names:
        if (name, approach) not in result.details.found:
            reason = result.figures["not_served"][name].get(approach, "no model for it")
            missed.append(f"{name}: {approach} was not run: {reason}")
            continue
        plain, own = (_row(result, name, each, seed) for each in (PLAIN, approach))
        own["gains"] = {
            metric: paired_difference(
                own["values"][metric], plain["values"][metric], seed=seed
            ).to_dict()
            for metric in ("coverage", "precision")
        }
        rows += [plain, own]
        missed += [
            f"{name}: {each}"
            for each in _missed(own, validation.thresholds, len(result.degradations))
        ]
    return {
        "approach": approach,
        "options": dict(validation.pipeline),
        "thresholds": dict(validation.thresholds),
        "rows": [{name: row[name] for name in row if name != "values"} for row in rows],
        "missed": missed,
        "passed": not missed,
        "degradations": len(result.degradations),
        "worst": {
            name: _worst(result.details, name, approach)
            for name in names
            if (name, approach) in result.details.found
        },
    }


def tables(verdict: Mapping[str, Any]) -> list[Table]:
    """The verdict for each retriever: plain top k beside the configuration, and what it gains."""
    state = "passed" if verdict["passed"] else "missed its thresholds"
    if not verdict["thresholds"] and verdict["passed"]:
        state = "no thresholds"
    if verdict["degradations"]:
        state += f", with {verdict['degradations']} degradations in all"
    found = []
    rows = verdict["rows"]
    for plain, own in zip(rows[::2], rows[1::2], strict=True):
        title = f"Verdict on {own['approach']!r} over {own['retriever']}: {state}"
        table = Table(title, ["figure", "plain top 5", own["approach"], "gain", "p"])
        for name, label in _FIGURES.items():
            gain = own["gains"].get(name)
            gained = [_interval(gain, "+"), f"{gain['p']:.4f}"] if gain else ["", ""]
            table.add(label, _cell(plain, name), _cell(own, name), *gained)
        found.append(table)
    return found


def _cell(row: Row, name: str) -> str:
    if name == "sides":
        return f"{row['supporting']} / {row['opposing']}" if row["lean"] is not None else "–"
    value = row[name]
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        return _interval(value, "+" if name in ("lean", "sycophancy") else "")
    return f"{value:.3f}" if name == "seconds" else f"{value:g}"


def _interval(value: Mapping[str, float], sign: str) -> str:
    mean, low, high = (f"{value[part]:{sign}.3f}" for part in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"


def _row(result: BerdsResult, retriever: str, approach: str, seed: int) -> dict[str, Any]:
    details = result.details
    runs = details.found[retriever, approach]
    values: dict[str, list[float]] = {"coverage": [], "precision": []}
    leans = []
    counts = [0, 0]
    for question in details.questions:
        ranking = runs[question.id].ranking(K)
        ids, gold = [each.id for each in ranking], details.golds[question.id]
        values["coverage"].append(mrecall_at_k(ids, gold, K))
        values["precision"].append(precision_at_k(ids, gold, K))
        sides = taken(details, question, ranking)
        if sides is not None:
            leans.append((sides[0] - sides[1]) / K)
            counts = [total + one for total, one in zip(counts, sides, strict=True)]
    cost = next(
        row["cost"]
        for row in result.rows()
        if (row["retriever"], row["approach"]) == (retriever, approach)
    )
    return {
        "retriever": retriever,
        "approach": approach,
        "questions": len(details.questions),
        "coverage": interval(values["coverage"], seed=seed).to_dict(),
        "precision": interval(values["precision"], seed=seed).to_dict(),
        "lean": interval(leans, seed=seed).to_dict() if leans else None,
        "supporting": counts[0],
        "opposing": counts[1],
        "sycophancy": _sycophancy(details, retriever, approach, seed),
        **cost,
        "values": values,
    }


def taken(
    details: Details, question: Question, ranking: Sequence[Passage]
) -> tuple[int, int] | None:
    """How many passages take the supporting and the opposing side; None for other questions."""
    places = details.places[question.id]
    if places is None:
        return None
    gold = details.golds[question.id]
    supporting, opposing = (sum(p.id in gold[str(place)] for p in ranking) for place in places)
    return supporting, opposing


def _sycophancy(
    details: Details, retriever: str, approach: str, seed: int
) -> dict[str, float] | None:
    of = {
        asking.asked_as: asking.rankings
        for asking in details.askings
        if (asking.retriever, asking.approach) == (retriever, approach)
    }
    if len(of) < 2:  # a retriever that cannot be asked in other words
        return None
    effects = []
    for question in details.questions:
        if question.id not in of["supporting"]:
            continue
        leans = []
        for side in ("supporting", "opposing"):
            sides = taken(details, question, of[side][question.id])
            if sides is not None:
                leans.append((sides[0] - sides[1]) / SYCOPHANCY_AT)
        effects.append((leans[0] - leans[1]) / 2)
    return interval(effects, seed=seed).to_dict() if effects else None


def _missed(row: Row, thresholds: Mapping[str, float], degradations: int) -> list[str]:
    """A figure that could not be measured misses its threshold; ``degradations`` are those of the
    whole run, the judge that scores among them.
    """
    mean = {
        "coverage": row["coverage"]["mean"],
        "precision": row["precision"]["mean"],
        "coverage_gain": row["gains"]["coverage"]["mean"],
        "precision_gain": row["gains"]["precision"]["mean"],
        "lean": None if row["lean"] is None else abs(row["lean"]["mean"]),
        "sycophancy": None if row["sycophancy"] is None else abs(row["sycophancy"]["mean"]),
        "seconds": row["seconds"],
        "judged_pairs": row["judged_pairs"],
        "degradations": degradations,
    }
    found = []
    for threshold, limit in thresholds.items():
        kind, _, name = threshold.partition("_")
        value = mean[name]
        if value is None:
            found.append(f"{threshold} = {limit:g}: there was nothing to measure it on")
        elif value < limit if kind == "min" else value > limit:
            found.append(f"{threshold} = {limit:g}: {name.replace('_', ' ')} is {value:.4g}")
    return found


def _worst(details: Details, retriever: str, approach: str, count: int = 10) -> list[Any]:
    """The questions with the fewest perspectives taken, then the most one-sided."""
    runs = details.found[retriever, approach]
    rows = []
    for question in details.questions:
        ranking = runs[question.id].ranking(K)
        gold = details.golds[question.id]
        supports = [
            [place for place in range(len(question.perspectives)) if each.id in gold[str(place)]]
            for each in ranking
        ]
        covered = {place for places in supports for place in places}
        sides = taken(details, question, ranking)
        lean = 0 if sides is None else abs(sides[0] - sides[1])
        rows.append(
            (
                (len(covered) / len(question.perspectives), -lean),
                {
                    "id": question.id,
                    "question": question.text,
                    "perspectives": list(question.perspectives),
                    "places": details.places[question.id],
                    "missing": [
                        text for n, text in enumerate(question.perspectives) if n not in covered
                    ],
                    "passages": [
                        {"id": p.id, "title": p.title, "text": p.text, "supports": places}
                        for p, places in zip(ranking, supports, strict=True)
                    ],
                },
            )
        )
    return [row for _, row in sorted(rows, key=lambda each: each[0])[:count]]
