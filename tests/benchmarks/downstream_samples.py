"""Small data of our own for the experiments with a language model."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

QUESTIONS = [
    {
        "question": "When did the Harbour Bridge open?",
        "disambiguations": [
            [
                {"question": "When did the Harbour Bridge open to trams?", "answers": ["1931"]},
                {
                    "question": "When did the Harbour Bridge open to cars?",
                    "answers": ["4 May 1932", "May 4, 1932"],
                },
                {"question": "When did the Harbour Bridge open to bikes?", "answers": ["1999"]},
            ],
            [{"question": "Another annotator's reading?", "answers": ["1931"]}],
        ],
    },
    {
        "question": "Who wrote the song Lanterns?",
        "disambiguations": [
            [
                {"question": "Who wrote the words of Lanterns?", "answers": ["Ida Holm"]},
                {"question": "Who wrote the music of Lanterns?", "answers": ["Jon Reed"]},
            ]
        ],
    },
    {"question": "Not among the fragments?", "disambiguations": []},
]
FRAGMENTS = [
    {
        "question": "when did the harbour bridge open",
        "passages": [
            {"title": "Bridge", "text": "Trams first crossed in 1931."},
            {"title": "Bridge", "text": "Cars were let on by 4 May, 1932; trams since 1931."},
            {"title": "Ferry", "text": "The ferry ran until 19990."},
        ],
    },
    {
        "question": "Who wrote the song Lanterns?",
        "passages": [
            {"title": "Lanterns", "text": "Its words are by Ida Holm."},
            {"title": "Lanterns", "text": "Its music is by the Jon Reed."},
            {"title": "Ferry", "text": "The ferry ran until 19990."},
        ],
    },
]


def write_ambignq(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ambignq_dev.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)) + "\n")
    with gzip.open(folder / "condambigqa.jsonl.gz", "wt") as stream:
        stream.write("\n".join(map(json.dumps, FRAGMENTS)) + "\n")
    return folder
