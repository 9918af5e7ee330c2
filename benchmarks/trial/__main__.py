"""What is true of everything that is shown for a question, by somebody who read it all.

python -m benchmarks.trial ask --debates FILE --notes FOLDER --out FILE [--reread-k 12]
python -m benchmarks.trial report FILE [FILE ...]
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.core.table import Table
from benchmarks.trial.asking import ask
from perspective_rag.storage.files import json_lines

LABELS = Path(__file__).parent / "labels.tsv"

STATEMENTS = ("sides", "headline", "listed", "mark", "sentence", "argues both ways", "reports")
ABSENCE = ("corpus says nothing", "takes no side")
BESIDE = ("nothing sorted", "not sorted", "not judged")
"""Kinds in the order of the table; those of ``BESIDE`` claim nothing of a passage."""


def verdict_of(kind: str, label: str, others: Sequence[str]) -> str:
    """What a label makes of a statement. That of a passage is the number of the side it takes,
    "both", "silent" or "off topic"; any other is "true" or what is wrong. ``others``: the labels
    of all that is shown for the question.
    """
    name, _, side = kind.rpartition(" ")
    if name == "nothing sorted":
        return "beside one" if {side, "both"} & set(others) else "beside none"
    if name == "listed" and (label.isdecimal() or label == "both"):
        return "true" if label in (side, "both") else "opposing"
    if kind == "takes no side":
        return "true" if label in ("silent", "off topic") else "takes one"
    if kind == "argues both ways":
        return "true" if label == "both" else label
    return "takes a side" if label.isdecimal() else label


def share(true: int, read: int) -> str:
    """A share in per cent with its 95% interval (Wilson 1927)."""
    if not read:
        return "-"
    z, mean = 1.96, true / read
    half = z * math.sqrt(mean * (1 - mean) / read + z * z / (4 * read * read))
    ends = [(mean + z * z / (2 * read) + sign * half) / (1 + z * z / read) for sign in (-1, 1)]
    return f"{100 * mean:.0f} [{100 * ends[0]:.0f}, {100 * ends[1]:.0f}]"


def report(options: argparse.Namespace) -> None:
    """Prints for each file what is true of each kind, then the statements that nobody has read."""
    lines = [line.split("\t") for line in LABELS.read_text("utf-8").splitlines()]
    labels = {tuple(line[:4]): line[4] for line in lines}
    for path in options.files:
        rows = [row for _, row in json_lines(path)]
        found: dict[str, Counter[str]] = {}
        for row in rows:
            kind, label = row["kind"], labels.get(tuple(row["key"]), "")
            own = [labels.get(tuple(r["key"]), "") for r in rows if r["key"][0] == row["key"][0]]
            unread = not label and not kind.startswith("nothing sorted")
            verdict = "not read" if unread else verdict_of(kind, label, own)
            found.setdefault(kind.rstrip(" 0123456789"), Counter())[verdict] += 1
            if unread:
                print(*row["key"], kind, row["claim"], row["text"], sep="\t")
        for name, kinds in (("all statements", STATEMENTS), ("all of absence", ABSENCE)):
            found[name] = sum((found.get(kind, Counter()) for kind in kinds), Counter())
        table = Table(path.stem, ("kind", "shown", "not read", "true %", "the others"))
        for kind in (*STATEMENTS, "all statements", *ABSENCE, "all of absence", *BESIDE):
            counts = found.get(kind, Counter())
            left = counts.pop("not read", 0)
            others = [f"{n} {what}" for what, n in sorted(counts.items()) if what != "true"]
            true = "-" if kind in BESIDE else share(counts["true"], counts.total())
            shown = counts.total() + left
            table.add(kind, str(shown), str(left), true, ", ".join(others))
        print(table.markdown())


def main(arguments: Sequence[str] | None = None) -> int:
    """The two commands; 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trial", description=__doc__)
    commands = parser.add_subparsers(required=True)
    asking = commands.add_parser("ask", help="ask all questions and write every statement")
    asking.add_argument("--debates", type=Path, required=True, help="passages.jsonl.gz")
    asking.add_argument("--notes", type=Path, required=True, help="folder with dev_docs.jsonl")
    asking.add_argument("--out", type=Path, required=True, help="a file outside the repository")
    asking.add_argument("--cache", type=Path, help="where indexes and embeddings are kept")
    asking.add_argument("--reread-k", type=int, default=0, help="texts for the larger judge")
    asking.add_argument("--only", default="", metavar="ID,ID", help="these questions alone")
    asking.set_defaults(run=ask)
    reporting = commands.add_parser("report", help="count by the labels; list what is not read")
    reporting.add_argument("files", type=Path, nargs="+")
    reporting.set_defaults(run=report)
    options = parser.parse_args(arguments)
    options.run(options)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
