"""What is listed over people's own texts: e-mails, minutes, letters, labelled for each question.

python -m benchmarks.sides.own_notes --data data/own_notes
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from benchmarks.sides.data import OPPOSITE, STATEMENT, TRUE
from perspective_rag import Corpus, Passage, local_pipeline
from perspective_rag.extend import json_lines

K = 5
_SIDES = {"support": STATEMENT, "oppose": OPPOSITE}


def measure(data: Path) -> Counter[str]:
    """Counts over the questions of ``dev_questions.jsonl``, each asked over its own collection.

    "true", "opposing" and "silent" count listed passages by label; "both sides" the questions
    whose first ``K`` passages hold both, "possible" those whose collection does, "none listed"
    those with nothing under any side.
    """
    folders: dict[str, list[Passage]] = {}
    for _, row in json_lines(data / "dev_docs.jsonl"):
        passage = Passage(row["id"], row["text"], {"title": row["title"]})
        folders.setdefault(row["collection"], []).append(passage)
    pipelines = {name: local_pipeline(Corpus(own), k=K) for name, own in folders.items()}
    found: Counter[str] = Counter()
    for _, row in json_lines(data / "dev_questions.jsonl"):
        labels = row["labels"]
        result = pipelines[row["collection"]].retrieve(row["question"])
        shown = [labels[passage.id] for passage in result.passages]
        found["questions"] += 1
        found["both sides"] += all(any(x in TRUE[side] for x in shown) for side in TRUE)
        found["possible"] += all(any(x in TRUE[side] for x in labels.values()) for side in TRUE)
        listed = 0
        for place, perspective in enumerate(result.perspectives[:2]):
            side = _SIDES.get(perspective.stance or "", list(TRUE)[place])
            other = OPPOSITE if side == STATEMENT else STATEMENT
            for candidate in result.supporting(perspective):
                label, listed = labels[candidate.passage.id], listed + 1
                verdict = {label in TRUE[other]: "opposing", label in TRUE[side]: "true"}
                found[verdict.get(True, "silent")] += 1
        found["none listed"] += not listed
    return found


def main() -> int:
    """Prints one row; 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the own notes")
    found = measure(parser.parse_args().data)
    listed = found["true"] + found["opposing"] + found["silent"]
    print("| questions | both sides among 5 | possible | listed | true | opposing | none listed |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    cells = [found[name] for name in ("questions", "both sides", "possible")]
    cells += [listed, found["true"], found["opposing"], found["none listed"]]
    print("|", " | ".join(map(str, cells)), "|")
    return 0


if __name__ == "__main__":
    sys.exit(main())
