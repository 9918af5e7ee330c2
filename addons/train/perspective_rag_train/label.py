"""A teacher's probabilities for pairs: soft labels, from which a smaller judge learns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag import CorpusError, CrossEncoderJudge, JudgeError
from perspective_rag.addons import OrderedLog, count, fingerprint, json_lines


def label_pairs(
    teacher: CrossEncoderJudge,
    files: Sequence[Path],
    out: Path,
    *,
    batch_size: int = 256,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Writes the pairs of ``files`` to ``out`` with the teacher's ``probabilities`` of support,
    oppose and neutral, as training reads them, and returns how many lines that is.

    A line of ``files`` (JSON lines, ``.gz`` or not) holds ``document`` and ``statement``; what else
    it holds is kept, except a ``label``. Neutral has what support and oppose leave. Memory holds
    one batch. A file that is there already is continued from its last whole line. ``progress`` is
    told how many lines are done.

    Raises CorpusError for a line without the two texts, JudgeError where the teacher has no finite
    answer, and ConfigError for a file of other pairs or of another teacher.
    """
    size = count("batch_size", batch_size)
    rows = (row for path in files for row in _rows(path))
    with OrderedLog(out, "of this pair and this teacher") as log:
        new = (row for row in rows if not log.passes(_key(teacher, row)))
        while batch := list(islice(new, size)):
            log.add(_labelled(teacher, batch))
            if progress is not None:
                progress(log.lines)
        log.check_all_passed()
        return log.lines


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for place, row in json_lines(path):
        if not all(isinstance(row.get(name), str) for name in ("document", "statement")):
            raise CorpusError(f"{place}: expected a document and a statement, got {str(row)[:80]}")
        yield row


def _key(teacher: CrossEncoderJudge, row: Mapping[str, Any]) -> str:
    return fingerprint(teacher.revision, row["document"], row["statement"])


def _labelled(
    teacher: CrossEncoderJudge, batch: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    found = teacher.pair_probabilities(
        [row["document"] for row in batch], [row["statement"] for row in batch]
    )
    support = found["support"]
    oppose = found.get("oppose", np.zeros(len(batch)))
    shares = np.stack([support, oppose, np.maximum(0.0, 1.0 - support - oppose)], axis=1)
    shares /= shares.sum(axis=1, keepdims=True)
    if not np.isfinite(shares).all():
        row = batch[int(np.flatnonzero(~np.isfinite(shares).all(axis=1))[0])]
        raise JudgeError(f"{teacher.name} has no finite answer for {row['document'][:60]!r}")
    return [
        {
            **{name: value for name, value in row.items() if name != "label"},
            "probabilities": [round(float(share), 5) for share in each],
            "key": _key(teacher, row),
        }
        for row, each in zip(batch, shares, strict=True)
    ]
