"""A file of passages for a person to mark, and the marks read back."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perspective_rag import ConfigError, CorpusError, Passage
from perspective_rag.addons import json_lines, replace_file

MARKS = {
    "for": (True, False),
    "against": (False, True),
    "both": (True, True),
    "neither": (False, False),
}
"""What a person may write, and whether the passage then supports each of the two sides."""

_SHARES = (0.4, 0.3, 0.3)


@dataclass(frozen=True, slots=True)
class Row:
    """A passage that was found for a question, to be marked for its two sides.

    ``stands_for`` is how many candidates like it there were; ``mark`` is empty until a person has
    written one.
    """

    question: str
    sides: tuple[str, str]
    passage: Passage
    stands_for: float
    mark: str = ""

    def to_dict(self) -> dict[str, Any]:
        """A line of the file; neither probability nor rank is in it, so that nobody marks by it."""
        return {
            "mark": self.mark,
            "question": self.question,
            "for": self.sides[0],
            "against": self.sides[1],
            "title": self.passage.title,
            "text": self.passage.text,
            "passage": self.passage.id,
            "stands_for": round(self.stands_for, 3),
        }


def chosen(
    chances: Sequence[float], limits: tuple[float, float], size: int, *, seed: int
) -> list[tuple[int, float]]:
    """Which candidates to mark: places and how many each stands for, in a random order.

    40% are drawn from those with P >= ``limits[1]``, 30% from those between the limits, 30% from
    the rest; what a group lacks goes to the others.
    """
    generator = random.Random(seed)
    low, high = limits
    groups = [
        [i for i, p in enumerate(chances) if p >= high],
        [i for i, p in enumerate(chances) if low <= p < high],
        [i for i, p in enumerate(chances) if p < low],
    ]
    wanted = [
        min(len(group), round(size * share)) for group, share in zip(groups, _SHARES, strict=True)
    ]
    for place, group in enumerate(groups):
        free = min(size, len(chances)) - sum(wanted)
        wanted[place] = min(len(group), wanted[place] + max(free, 0))
    found = [
        (i, len(group) / count)
        for group, count in zip(groups, wanted, strict=True)
        if count
        for i in generator.sample(group, count)
    ]
    generator.shuffle(found)
    return found


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """Writes the file to be marked; ConfigError where one is there already: it may hold marks."""
    if path.exists():
        raise ConfigError(f"{path} exists already: marks are not written over, name another file")
    lines = [json.dumps(row.to_dict(), ensure_ascii=False) + "\n" for row in rows]
    replace_file(path, "".join(lines))


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, marked or not yet; CorpusError for a line of another form."""
    rows = []
    for place, line in json_lines(path):
        try:
            mark = str(line["mark"]).strip().lower()
            if mark and mark not in MARKS:
                raise CorpusError(f"{place}: mark must be one of {', '.join(MARKS)}; got {mark!r}")
            for name in ("question", "for", "against", "text", "title"):
                if not isinstance(line[name], str):
                    raise TypeError(f"{name} must be a text, got {line[name]!r:.40}")
            weight = float(line["stands_for"])
            if not 0.0 < weight < math.inf:
                raise ValueError(f"stands_for must be a number above 0, got {weight!r}")
            passage = Passage(str(line["passage"]), line["text"], {"title": line["title"]})
            rows.append(
                Row(line["question"], (line["for"], line["against"]), passage, weight, mark)
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CorpusError(f"{place} is no line of a file of marks: {error!r}") from error
    return rows
