"""Thirty questions in the words people use, asked of a real corpus, to be read by a person.

python -m benchmarks.sides.trial --corpus FILE --out FILE

Writes one JSON object a question: how it was read, the passages with the verdicts on them, the
answer. The file holds the corpus's texts and belongs outside the repository. What people said of
the passages (``LABELS``: S, s support, O, o oppose, N neither) is counted; a listed passage without
a label is to be read.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.core.results import CHECKOUT
from perspective_rag import Answer, Corpus, RetrievalResult, local_pipeline
from perspective_rag.addons import citation_keys, json_lines

LABELS = Path(__file__).parent / "trial_labels.jsonl"
MEANING = {"S": "support", "s": "support", "O": "oppose", "o": "oppose", "N": "neither"}

QUESTIONS = (
    "Should voting be compulsory?",
    "Is eating meat morally wrong?",
    "do you think kids get too much homework",
    "Nuclear power or wind power: which should we build?",
    "capitalism vs socialism",
    "pros and cons of genetically modified food",
    "Zoos do more harm than good.",
    "surrogacy",
    "Why is the death penalty such a barbaric mistake?",
    "Shouldn't we stop testing cosmetics on animals?",
    "shoud teh monarchy be abolishd in britian?",
    "What year was the Universal Declaration of Human Rights adopted?",
    "Should I tell my boss that I am pregnant?",
    "To what extent do you agree or disagree: governments should tax sugary drinks.",
    "Would the world be better off without religion?",
    "Can torture ever be justified?",
    "Is it better to live in a city or in the countryside?",
    "Are standardized tests a fair measure of students?",
    "Is climate change caused by humans or by natural cycles?",
    "Who should own the Parthenon marbles, Greece or the British Museum?",
    "arguments against affirmative action",
    "Explain how a jury is selected.",
    "Prisoners should not be allowed to vote",
    "Does social media make teenagers depressed?",
    "What are people's opinions on Turkey joining the European Union?",
    "How should rich countries respond to refugees?",
    "I'm thinking of becoming a vegetarian, is it healthy?",
    "Isn't it obvious that drone strikes kill too many innocent people?",
    "Is cricket more exciting than baseball?",
    "Do you favor or oppose allowing gay couples to adopt children?",
)


def row_of(result: RetrievalResult, answer: Answer) -> dict[str, Any]:
    """What a person needs to judge a result and its answer."""
    texts = {each.id: each.text for each in result.perspectives}
    ids = dict(zip(citation_keys(result.candidates), result.passages, strict=True))
    related = result.related
    return {
        "question": result.question,
        "kind": result.kind,
        "reading": result.reading,
        "perspectives": list(texts.values()),
        "says_nothing": result.says_nothing,
        "covered": [p.text for p in result.coverage.covered],
        "passages": [
            {
                "id": each.passage.id,
                "title": each.passage.title,
                "related": None if related is None else bool(related[place]),
                "verdicts": {texts[p]: v for p, v in result.verdicts_on(each).items()},
                "text": each.passage.text,
            }
            for place, each in enumerate(result.candidates)
        ],
        "summary": answer.summary,
        "answer": [
            {
                "side": texts.get(each.perspective or ""),
                "text": each.text,
                "reported": each.reported,
                "passages": [ids[key].id for key in each.citations if key in ids],
            }
            for each in answer.claims
        ],
    }


def read_labels(path: Path) -> dict[tuple[str, str, str], str]:
    """The label of each (question, perspective, passage id)."""
    return {
        (row["question"], row["perspective"], row["passage_id"]): row["label"]
        for _, row in json_lines(path)
    }


def counted(
    rows: Iterable[Mapping[str, Any]], labels: Mapping[tuple[str, str, str], str]
) -> dict[str, dict[str, int]]:
    """What the labels say of the passages with the verdicts "clear" (listed) and "leaning"."""
    found: dict[str, Counter[str]] = {"clear": Counter(), "leaning": Counter()}
    for row in rows:
        for passage in row["passages"]:
            for perspective, verdict in passage["verdicts"].items():
                if verdict in found:
                    label = labels.get((row["question"], perspective, passage["id"]), "")
                    found[verdict][MEANING.get(label, "not labelled")] += 1
    return {verdict: dict(counts) for verdict, counts in found.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Asks every question with the defaults of ``perspective-rag ask`` and writes what came."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, help="where indexes and verdicts are kept")
    options = parser.parse_args(arguments)
    if options.out.resolve().is_relative_to(CHECKOUT.resolve()):
        parser.error("--out is within the repository: the corpus's texts stay outside it")
    pipeline = local_pipeline(Corpus.load(options.corpus), cache=options.cache, k=6, discover=2)
    rows = []
    with options.out.open("w", encoding="utf-8") as stream:
        for question in QUESTIONS:
            started = time.perf_counter()
            result = pipeline.retrieve(question)
            row = row_of(result, pipeline.answer(result))
            row["seconds"] = round(time.perf_counter() - started, 1)
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            stream.flush()
            rows.append(row)
    print(json.dumps(counted(rows, read_labels(LABELS)), indent=2))


if __name__ == "__main__":
    main()
