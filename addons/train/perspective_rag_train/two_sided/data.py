"""What the two-sided judge learns from: passages beside two statements, as a mix of sources."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perspective_rag.addons import negate

CLASSES = ("first", "second", "neither", "both")
HELD_OUT_EVERY = 5
"""One of so many questions of ``judge_written`` is never trained on: devices are assessed on it."""

STRANGERS = 0.1
"""The share of rows whose passage stands beside statements of another row."""

TEXTS = Path(__file__).parent.parent / "texts"
"""The project's own texts: ``notes`` as people write them at work, ``devices`` on public questions.

A line of a file is a topic: ``questions`` (each with its two statements and what else they are
called), and ``texts`` with one label for each question, relative to its ``statement``.
"""

Target = tuple[float, float, float, float]
TARGETS: dict[str, Target] = {
    "S": (1.0, 0.0, 0.0, 0.0),
    "s": (0.75, 0.0, 0.2, 0.05),
    "N": (0.0, 0.0, 1.0, 0.0),
    "o": (0.0, 0.75, 0.2, 0.05),
    "O": (0.0, 1.0, 0.0, 0.0),
    "M": (0.1, 0.1, 0.0, 0.8),
    "support": (1.0, 0.0, 0.0, 0.0),
    "oppose": (0.0, 1.0, 0.0, 0.0),
    "neutral": (0.0, 0.0, 1.0, 0.0),
}

SHORT_STANCE = frozenset(
    """perspectrum_claim perspectrum_paraphrase ibm_argq ibm_argument_topic ibm_claim_stance
    iam_stance iam_evidence arct_reason_claim ibm_keypoint ibm_claim_evidence""".split()
)
PORTALS = frozenset(
    """idebate_thesis idebate_point idebate_counter debatewise_claim debatewise_point procon_claim
    procon_point ukp_convarg room_for_debate_agree room_for_debate_disagree
    room_for_debate_discuss""".split()
)
ENTAILMENT = (
    "lingnli snli control dnc counterfactual_nli breaking_nli scone_monli negation_nli sick".split()
)


@dataclass(frozen=True, slots=True)
class Row:
    """A passage beside two statements, and the probability of each of ``CLASSES``."""

    first: str
    second: str
    document: str
    target: Target
    group: str = ""

    def swapped(self) -> Row:
        """The same with the statements' places exchanged."""
        one, two, neither, both = self.target
        return Row(self.second, self.first, self.document, (two, one, neither, both), self.group)


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of one kind, and their share of the mix at the beginning and later."""

    name: str
    early: float
    late: float
    rows: list[dict[str, Any]] = field(repr=False)


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a ``.jsonl`` or ``.jsonl.gz`` file."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def is_held_out(question_id: str) -> bool:
    """Whether a question of ``judge_written`` is kept for assessment."""
    return int("".join(c for c in question_id if c.isdigit()) or 0) % HELD_OUT_EVERY == 0


def own_texts(name: str, *, held_out: bool) -> list[dict[str, Any]]:
    """The rows of ``TEXTS/name.jsonl.gz``: of topics held out for assessment, or of the rest."""
    found = []
    for line in read(TEXTS / f"{name}.jsonl.gz"):
        if line.get("held_out", False) is held_out:
            for text in line["texts"]:
                for question, label in zip(line["questions"], text["labels"], strict=True):
                    found.append({**question, **text, "label": label, "topic": line["topic"]})
    return found


def sources(data: Path) -> list[Source]:
    """The sources under ``data`` (``shared/data``'s layout), read into memory.

    Nothing of a folder meant for assessment is read. The statements of silent passages are those
    that retrieval was asked with.
    """
    stance = [
        row for path in sorted((data / "judge_train").glob("*.jsonl.gz")) for row in read(path)
    ]
    retrieved = [
        row
        for name in ("train", "train_open")
        for row in read(data / "judge_retrieved" / f"{name}.jsonl.gz")
        if not is_held_out(row["question_id"])
    ]
    written = [
        row
        for row in read(data / "judge_written" / "train.jsonl.gz")
        if row["label"] != "N" and not is_held_out(row["question_id"])
    ] + own_texts("devices", held_out=False)
    entailment = [
        row for name in ENTAILMENT for row in read(data / "nli_train" / f"{name}.jsonl.gz")
    ]

    def of(names: frozenset[str]) -> list[dict[str, Any]]:
        return [row for row in stance if row["source"] in names]

    natural = [row for row in stance if row["source"] in ("debatepedia", "procon20")]
    return [
        Source("entailment", 0.30, 0.03, entailment),
        Source("short stance", 0.40, 0.07, of(SHORT_STANCE)),
        Source("portals", 0.15, 0.08, of(PORTALS)),
        Source("natural", 0.05, 0.14, natural),
        Source("written", 0.05, 0.14, written),
        Source("notes", 0.00, 0.24, own_texts("notes", held_out=False)),
        Source("sided", 0.05, 0.18, [row for row in retrieved if row["label"] != "N"]),
        Source("silent", 0.00, 0.12, [row for row in retrieved if row["label"] == "N"]),
    ]


def mixed(found: Sequence[Source], seed: int, progress: Callable[[], float]) -> Iterator[Row]:
    """Rows without end: a source is drawn by its share, its rows in shuffled turns.

    ``progress`` in [0, 1] moves the shares from early to late within its first third. One row in
    ``STRANGERS`` has its passage beside the statements of the row before it, of which it says
    nothing: pairs of a statement and its negation must not mean that a side is taken.
    """
    rng = random.Random(seed)
    before: Row | None = None
    turns = {source.name: _turns(source.rows, random.Random(rng.random())) for source in found}
    while True:
        late = min(1.0, max(0.0, (progress() - 0.15) / 0.15))
        shares = [source.early * (1 - late) + source.late * late for source in found]
        source = rng.choices(found, shares)[0]
        row = as_row(next(turns[source.name]), rng, source.name)
        if before is not None and rng.random() < STRANGERS:
            apart = row.document != before.document and row.first != before.first
            shown = replace(before, document=row.document, target=TARGETS["N"]) if apart else row
        else:
            shown = row
        before = row
        yield shown.swapped() if rng.random() < 0.5 else shown


def as_row(row: dict[str, Any], rng: random.Random, group: str = "") -> Row:
    """A stored row beside two statements.

    Where no opposite is stored it is the statement's negation by rule; where one is, the negation
    replaces one of the two in three of ten cases, for that is how a user's question is read, and in
    six of ten where the passage takes no side. Where the sides have names too (``for`` and
    ``against``), three rows in ten have these.
    """
    statement, opposite = row["statement"].strip(), (row.get("opposite") or "").strip()
    if row.get("for") and rng.random() < 0.3:
        return Row(row["for"], row["against"], row["document"], TARGETS[row["label"]], group)
    if not opposite:
        opposite = negate(statement)
    elif rng.random() < (0.6 if row["label"] == "N" else 0.3):
        if rng.random() < 0.5:
            opposite = negate(statement)
        else:
            statement = negate(opposite)
    return Row(statement, opposite, row["document"], TARGETS[row["label"]], group)


def _turns(rows: Sequence[dict[str, Any]], rng: random.Random) -> Iterator[dict[str, Any]]:
    order = list(range(len(rows)))
    while True:
        rng.shuffle(order)
        for index in order:
            yield rows[index]
