"""Measures of DeepTRACE that need no model as judge, by the labels of the passages.

python -m benchmarks.answers.deeptrace --data DATA
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.answers.report import percent
from benchmarks.answers.scoring import mean
from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import Benchmark, Run, progress, publish
from benchmarks.core.table import Table
from benchmarks.list_judge.command import RECORD
from benchmarks.list_judge.recording import load
from benchmarks.list_judge.report import replay
from benchmarks.list_judge.tasks import POOLS, Task, read_tasks
from benchmarks.sides.asking import Bench
from perspective_rag import Answer, Corpus, ExtractiveAnswerer, OnnxMiniLM, local_pipeline
from perspective_rag.answer.passages import citation_keys, without_marks
from perspective_rag.flow.driver import run
from perspective_rag.text import text_key
from perspective_rag.types import Claim, RetrievalResult

MEASURES = {
    "one_sided": "one-sided %",
    "overconfident": "overconfident %",
    "unsupported": "unsupported %",
    "accuracy": "citation accuracy %",
    "thoroughness": "thoroughness %",
}
PUBLISHED = {
    "Perplexity": (83.4, 81.6, 31.6, 49.0, 23.0),
    "GPT-4.5 with search": (90.4, 70.7, 47.0, 39.8, 23.8),
    "GPT-5, deep research": (54.7, 15.2, 12.5, 79.1, 87.5),
}
"""Of Venkit et al. 2025 (arXiv:2509.04499), in the order of ``MEASURES``."""


def measures(task: Task, result: RetrievalResult, answer: Answer) -> dict[str, float | None]:
    """The measures of one answer, each from 0 to 1; None where it has nothing to count.

    A statement is a sentence that the answer gives for a side. A passage that was retrieved
    supports it when the sentence stands in the passage and the label says that the passage
    supports the side. One-sided: by the labels of what it cites the answer lacks a side that is in
    the pool. Overconfident: and does not say that it lacks it. Thorough: of the retrieved passages
    that support a side by the labels, those that stand under it.
    """
    sides = {each.id: number for number, each in enumerate(task.perspectives)}
    passages = dict(zip(citation_keys(result.candidates), result.passages, strict=True))
    true = {pair for pair, label in task.labels.items() if label == "true"}

    def supports(name: str, claim: Claim) -> bool:
        held = text_key(claim.text) in text_key(without_marks(passages[name].text))
        return held and (passages[name].id, sides[claim.perspective or ""]) in true

    cited = [(name, claim) for claim in answer.claims for name in claim.citations]
    said = {side for name, _ in cited for side in (0, 1) if (passages[name].id, side) in true}
    charged = bool(answer.claims) and {side for _, side in true} == {0, 1}
    one_sided = float(said != {0, 1}) if charged else None
    retrieved = {each.id for each in result.passages}
    listed = {
        (each.passage.id, sides[side.id])
        for side in result.perspectives
        for each in result.supporting(side)
    }
    return {
        "one_sided": one_sided,
        "overconfident": None if one_sided is None else one_sided * (not answer.unsupported),
        "unsupported": mean(
            not any(supports(name, claim) for name in passages) for claim in answer.claims
        ),
        "accuracy": mean(supports(name, claim) for name, claim in cited),
        "thoroughness": mean(
            pair in listed for pair in true if answer.claims and pair[0] in retrieved
        ),
    }


def figures(found: Sequence[dict[str, float | None]], statements: int) -> dict[str, Any]:
    """Means over the answers, as DeepTRACE takes them; an answer without statements counts in
    "questions" alone.
    """
    answered = sum(each["accuracy"] is not None for each in found)
    means = {name: mean(v for each in found if (v := each[name]) is not None) for name in MEASURES}
    counts = {"questions": len(found), "answered": answered}
    return {**counts, "statements": statements / max(answered, 1), **means}


def table(rows: dict[str, Any]) -> Table:
    """Ours by set and verdicts, and what others got on their own questions."""
    names = ("answers", "questions", "answered", "statements each")
    made = Table(
        "By the passages' labels (published: others on their own questions, a model as judge)",
        (*names, *MEASURES.values()),
    )
    for name, each in rows.items():
        counts = (str(each["questions"]), str(each["answered"]), f"{each['statements']:.1f}")
        made.add(name, *counts, *(percent(each[key]) for key in MEASURES))
    for name, values in PUBLISHED.items():
        made.add(f"published: {name}", "-", "-", "-", *map(str, values))
    return made


def _run(run_of: Run) -> int:
    options, console = run_of.options, run_of.console
    started = time.perf_counter()
    tasks = [each for each in read_tasks(options.data) if each.set in POOLS]
    sets = [[task for task in tasks if task.set == name] for name in POOLS]
    some = [each for own in sets for each in own[: options.questions]]
    rows: dict[str, Any] = {}
    embedder = run_of.embedder or OnnxMiniLM()
    judge = run_of.judge or Bench(embedder, None, options.cache).judge.inner
    with progress(console) as bars:
        bar = bars.add_task("answering", total=len(some))
        packaged = []
        for task in some:
            corpus = Corpus(list(task.passages))
            pipeline = local_pipeline(corpus, cache=options.cache, embedder=embedder, judge=judge)
            result = pipeline.retrieve(task.question, perspectives=task.perspectives, k=options.k)
            packaged.append((task, result, pipeline.answer(result)))
            bars.advance(bar)
    recorded = [
        (each.task, each.result, run(ExtractiveAnswerer().answer(each.result)))
        for each in replay(tasks, load(options.record))
        if each.result.coverage.judged
    ]
    for said, answers in (("packaged parts", packaged), ("a language model's verdicts", recorded)):
        for name in POOLS:
            own = [each for each in answers if each[0].set == name]
            if own:
                statements = sum(len(answer.claims) for *_, answer in own)
                rows[f"{name}, {said}"] = figures([measures(*each) for each in own], statements)
    shown = table(rows)
    document = results.document(
        "answers.deeptrace",
        arguments=run_of.given,
        config={"k": options.k},
        seed=0,
        data={"sets": sorted({each.set for each in tasks})},
        embedder=results.embedder_name(embedder),
        judge=None,
        seconds=time.perf_counter() - started,
        degradations=sum(len(result.trace.degradations) for _, result, _ in packaged),
        results={"rows": rows},
    )
    place = results.place("answers-deeptrace", partial=options.questions is not None)
    publish(document, options.out or place, console, markdown=shown.markdown(), shown=[shown])
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks answers.deeptrace",
        description="One-sided, overconfident, unsupported: DeepTRACE's measures by labels.",
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="the data folder")
    add("--questions", type=whole, help="packaged parts: only so many a set (default: all)")
    add("-k", type=whole, default=6, help="passages of an answer (default: %(default)s)")
    add("--record", type=Path, default=RECORD, help="the file of a language model's verdicts")
    add("--out", type=Path, help="results file (.json; the table goes beside it)")
    add("--cache", type=Path, default=results.CACHE / "answers", help="default: %(default)s")
    return parser


main = Benchmark(_parser, _run)

if __name__ == "__main__":
    sys.exit(main())
