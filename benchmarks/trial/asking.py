"""Asks the questions and writes down every statement that is on the screen."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import Console

from benchmarks.core.results import CHECKOUT
from perspective_rag import Corpus, Passage, local_pipeline
from perspective_rag.answer.passages import citation_keys
from perspective_rag.commands.ask import answered, proofs_of
from perspective_rag.commands.showing import show
from perspective_rag.storage.files import json_lines
from perspective_rag.types import Answer, RetrievalResult

QUESTIONS = Path(__file__).parent / "questions.jsonl"
STATES = ("not sorted", "not judged", "takes no side", "argues both ways")


def statements(
    result: RetrievalResult, answer: Answer, proofs: Mapping[tuple[int, str], str]
) -> Iterator[tuple[str, str, str, str]]:
    """Kind, passage id ("" for none), claim, and the words that it is claimed of."""
    texts = {each.id: each.text for each in result.perspectives}
    sides = " / ".join(texts.values()) or "no sides"
    yield "sides", "", sides, f"{result.reading} {result.caution}"
    if answer.summary:
        kind = "corpus says nothing" if result.says_nothing else "headline"
        yield kind, "", sides, answer.summary
    for number, side in enumerate(result.perspectives, start=1):
        places = result.places("clear", side) if result.coverage.judged else []
        if result.coverage.covered and not places:
            yield f"nothing sorted {number}", "", sides, ""
        for place in places:
            passage = result.candidates[place].passage
            yield f"listed {number}", passage.id, sides, f"{passage.title}: {passage.text}"
            yield "mark", passage.id, side.text, proofs.get((place, side.id), "")
    cited = dict(zip(citation_keys(result.candidates), result.passages, strict=True))
    for claim in answer.claims:
        ids = ",".join(cited[key].id for key in claim.citations if key in cited)
        claimed = texts.get(claim.perspective or "", "no side")
        yield "sentence", ids, claimed, f"{claim.text}{' (reported)' * claim.reported}"
    for place, state in enumerate(result.coverage.states):
        passage = result.candidates[place].passage
        if state != "takes a side":
            yield state, passage.id, sides, f"{passage.title}: {passage.text}"
        if result.reported is not None and result.reported[place]:
            yield "reports", passage.id, "", passage.text


def key_of(question: str, kind: str, passage: str, claim: str, text: str) -> tuple[str, ...]:
    """What a label is filed under: one label for a passage and the sides of a question, wherever
    it is shown; else one for the words shown.
    """
    whole = kind.startswith("listed") or kind in STATES
    words = claim if whole else f"{claim}|{text}"
    digest = hashlib.sha256(words.encode()).hexdigest()[:8]
    return question, "passage" if whole else kind, passage, digest


def ask(options: argparse.Namespace) -> None:
    """Asks every question with the defaults of ``perspective-rag ask``; writes what is shown."""
    if options.out.resolve().is_relative_to(CHECKOUT.resolve()):
        raise SystemExit("--out is within the repository: the corpora's texts stay outside it")
    folders: dict[str, list[Passage]] = {}
    for _, row in json_lines(options.notes / "dev_docs.jsonl"):
        passage = Passage(row["id"], row["text"], {"title": row["title"]})
        folders.setdefault(row["collection"], []).append(passage)
    corpora = {"": Corpus.load(options.debates)} | {n: Corpus(own) for n, own in folders.items()}
    chosen = {"cache": options.cache, "k": 6, "discover": 2, "reread_k": options.reread_k}
    pipelines = {name: local_pipeline(own, **chosen) for name, own in corpora.items()}
    screens = options.out.with_suffix(".txt").open("w", encoding="utf-8")
    with screens, options.out.open("w", encoding="utf-8") as stream:
        for _, asked in json_lines(QUESTIONS):
            if options.only and asked["id"] not in options.only.split(","):
                continue
            pipeline = pipelines[asked.get("collection", "")]
            result, answer = answered(pipeline, asked["question"], None)
            proofs = proofs_of(pipeline, result)
            screen = Console(file=io.StringIO(), width=160, record=True)
            show(result, answer, screen, proofs)
            screens.write(f"\n{asked['id']}\n{screen.export_text()}")
            for shown in statements(result, answer, proofs):
                row = {"key": key_of(asked["id"], *shown), "kind": shown[0]}
                row |= {"claim": shown[2], "text": shown[3]}
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
