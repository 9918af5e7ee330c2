"""Invented pools, and judges that know their labels."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field

from perspective_rag.testing import TableJudge

TOPICS = ("zoos", "cars", "exams", "phones", "taxes", "drones")
LABELS = ("S", "S", "S", "S", "S", "s", "O", "o", "M", "N", "N", "N")
TRUE = {"p1": "SsM", "p2": "OoM"}


@dataclass
class Sample:
    """A pools file and its labels, by passage id."""

    path: object
    labels: dict = field(default_factory=dict)

    def judge(self, **changes):
        """A judge that is never wrong, but for the (passage, perspective) pairs in ``changes``."""
        table = {
            (passage, side): 0.9 if label in true else 0.1
            for passage, label in self.labels.items()
            for side, true in TRUE.items()
        }
        return TableJudge(table, **changes)


def write_pools(folder, topics=TOPICS, labels=LABELS):
    """One question a topic, two a fold; the passages of the first labels share most of its words."""
    sample = Sample(folder / "pools.jsonl.gz")
    documents, queries = [], []
    for number, topic in enumerate(topics):
        own = {}
        for place, label in enumerate(labels):
            name = f"{topic}-{place}"
            own[name] = label
            extra = " ".join(f"{label}{topic}{i}" for i in range(place))
            text = f"should {topic} be banned by law {extra}"
            documents.append(
                {"kind": "doc", "id": name, "title": topic, "text": text, "source": "made"}
            )
        queries.append(
            {
                "kind": "query",
                "id": f"q{number}",
                "question": f"Should {topic} be banned by law?",
                "statement": f"Law should ban {topic}.",
                "opposite": f"Law should welcome {topic}.",
                "labels": own,
                "fold": number // 2,
            }
        )
        sample.labels |= own
    with gzip.open(sample.path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in [*documents, *queries])
    return sample
