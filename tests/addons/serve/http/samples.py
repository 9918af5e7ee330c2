"""A small zoo debate whose verdicts are known, and clients of an application in this process."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import httpx

from perspective_rag import ListingRule, Passage, PerspectivePipeline
from perspective_rag.testing import MemoryStore, RuleJudge
from perspective_rag_serve.app import create_app
from perspective_rag_serve.settings import ServeSettings

QUESTION = "Should zoos be closed?"
PRO, CON = "Zoos should be closed", "Zoos should not be closed"

SUFFER = (
    "Zoos 🏛 are old. 🐘 Elephants in zoos suffer every single day of their long and lonely lives. "
    "Tickets are cheap."
)
PASSAGES = (
    Passage(
        "suffer",
        SUFFER,
        {
            "title": "Cages",
            "source": "The Herald",
            "url": "https://herald.example/1",
            "date": "2024-05-01",
            "leaning": "left",
        },
    ),
    Passage(
        "suffer-copy",
        SUFFER.replace("Tickets are cheap.", "Tickets are cheap!"),
        {"source": "The Mirror"},
    ),
    Passage(
        "species",
        "Zoos save rare species from extinction. The zoo opens at nine.",
        {"source": "The Herald"},
    ),
    Passage("both", "Zoos hurt animals, and zoos also protect animals.", {"title": "Two sides"}),
    Passage("perhaps", "Zoos could perhaps do better.", {}),
    Passage("hours", "Zoos open at nine and the zoo closes at five.", {}),
)
_SUPPORT = {
    "suffer": (0.95, 0.02),
    "species": (0.03, 0.94),
    "hurt": (0.8, 0.8),
    "perhaps": (0.5, 0.1),
}


def support_of(passage, side):
    """P(support) by the one word of a text that decides."""
    for word, values in _SUPPORT.items():
        if word in passage.text:
            return values[0 if side.text == PRO or side.stance == "support" else 1]
    return 0.01


class ZooJudge(RuleJudge):
    """Knows the debate, and lists as the packaged judge does."""

    listing = ListingRule(0.7, 0.4, 0.1)


def pipeline(passages=PASSAGES, *, rule=support_of, **options):
    """The pipeline over the debate."""
    store = MemoryStore(passages, takes_vector=False)
    return PerspectivePipeline(store, judge=ZooJudge(rule), **{"k": 6, **options})


@asynccontextmanager
async def client(source=None, *, headers=None, **settings):
    """A client of an application over the debate; ``settings`` are those of the server."""
    made = ServeSettings(**settings)
    app = create_app(pipeline() if source is None else source, made)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", headers=headers
        ) as found,
    ):
        yield found


def events_in(text):
    """(name, data) of each server-sent event of a stream's text."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(
            line.split(": ", 1) for line in block.split("\n") if ": " in line and line[0] != ":"
        )
        if lines:
            found.append((lines.get("event"), json.loads(lines["data"])))
    return found


def marked(card):
    """The text of a card that is highlighted, as JavaScript's ``slice`` cuts it."""
    start, end = card["highlight"]
    return card["text"].encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")
