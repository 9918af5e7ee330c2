"""What people say is on the wrong side, kept in a file that a person has to go through."""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from perspective_rag import Passage, Perspective, RetrievalResult
from perspective_rag.addons import make_private, text_key
from perspective_rag_serve.failures import Failure
from perspective_rag_serve.logs import Known

_log = logging.getLogger(__name__)

MOST_SHOWN = 2000
"""Passages under a side that are remembered, so that they can be reported."""

LARGEST = 50_000_000
"""Bytes from which on nothing more is written to the file."""


class Objection(BaseModel):
    """The body of ``POST /api/review``; ``perspective`` is the id or the text of the side."""

    model_config = ConfigDict(extra="forbid")
    question: str = Field(min_length=1, max_length=20_000)
    perspective: str = Field(min_length=1, max_length=2000)
    passage_id: str = Field(min_length=1, max_length=2000)
    verdict: Literal["wrong side"] = "wrong side"


class Review:
    """Writes one line for each objection: ``document`` and ``statement`` as ``judge train`` reads
    them, and ``label`` null.

    A person fills in the label (support, oppose or neutral) or takes the line out: until then no
    training reads the file, for a line without a label is an error there. Only what this server
    showed can be objected to, so that nobody writes texts of their own into the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._shown: OrderedDict[tuple[str, str, str], tuple[Perspective, Passage]] = OrderedDict()
        self._lock = threading.Lock()

    def shown(self, result: RetrievalResult) -> None:
        """Remembers what a result shows under its sides."""
        for each in result.perspectives:
            for candidate in result.supporting(each):
                for name in (each.id, text_key(each.text)):
                    key = text_key(result.question), name, candidate.passage.id
                    self._shown[key] = each, candidate.passage
                    self._shown.move_to_end(key)
        while len(self._shown) > 2 * MOST_SHOWN:
            self._shown.popitem(last=False)

    def write(self, objection: Objection) -> None:
        """Appends the line; raises Failure for what was not shown, and where it cannot be written.

        Blocks for the time of one write.
        """
        asked, passage_id = text_key(objection.question), objection.passage_id
        names = (objection.perspective, text_key(objection.perspective))
        keys = [(asked, name, passage_id) for name in names]
        found = next((self._shown[key] for key in keys if key in self._shown), None)
        if found is None:
            said = "this passage was not shown under that side lately: ask the question again"
            raise Failure(409, "review", said)
        line = json.dumps(_line(objection, *found), ensure_ascii=False) + "\n"
        try:
            with self._lock:
                make_private(self.path)
                if self.path.stat().st_size > LARGEST:
                    raise OSError(f"{self.path} has grown to {LARGEST:,} bytes: go through it")
                with self.path.open("ab") as stream:
                    stream.write(line.encode("utf-8"))
        except OSError as error:
            _log.error("an objection could not be written: %s", Known(error))
            raise Failure(500, "review", "it could not be written down") from error


def _line(objection: Objection, side: Perspective, passage: Passage) -> dict[str, Any]:
    return {
        "document": passage.text,
        "statement": side.text,
        "label": None,
        "shown_as": "support",
        "verdict": objection.verdict,
        "topic": " ".join(objection.question.split()),
        "passage_id": passage.id,
        "source": "review",
        "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
