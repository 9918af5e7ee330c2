"""What an operator may set of the server."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from perspective_rag import ConfigError
from perspective_rag.addons import between, count

LEAST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Limits and doors of the server; each limit holds for one process.

    - ``longest_question``: characters of a question; ``longest_text``: of a document or passage;
      ``most_documents``: documents of one rerank request; ``largest_body``: bytes of any request.
    - ``running``: answers worked on at a time; ``waiting``: further ones that wait, after which a
      request gets 429; ``per_minute``: requests of one address a minute (0: any number).
    - ``answer_seconds``: in which an answer must be there, or the request gets 504.
    - ``k``: passages of an answer where the request does not say.
    - ``token``: what a client must show as a bearer token, or as the password of HTTP Basic, which
      browsers ask for (None: nobody has to). At least 16 characters.
    - ``hosts``: names besides localhost and addresses under which the server may be asked; any
      other ``Host`` is refused, so that no page elsewhere can reach it by a name that it points
      here.
    - ``review``: the file to which "wrong side" is written (None: turned off).
    - ``examples``: questions that the page offers (none: those made from the corpus).
    - ``corpus``: the corpus's name, which the page shows.

    Raises ConfigError for a limit below 1 and a short token.
    """

    longest_question: int = 500
    longest_text: int = 100_000
    most_documents: int = 1000
    most_perspectives: int = 12
    largest_body: int = 4_000_000
    running: int = 4
    waiting: int = 100
    per_minute: int = 600
    answer_seconds: float = 180.0
    k: int = 6
    most_k: int = 50
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    review: Path | None = None
    examples: tuple[str, ...] = ()
    corpus: str = ""

    def __post_init__(self) -> None:
        for name in (
            "longest_question",
            "longest_text",
            "most_documents",
            "most_perspectives",
            "largest_body",
            "running",
            "k",
            "most_k",
        ):
            count(name, getattr(self, name))
        between("answer_seconds", self.answer_seconds, low=0.001, high=float("inf"))
        for name in ("waiting", "per_minute"):
            count(name, getattr(self, name), least=0)
        if self.token is not None and len(self.token) < LEAST_TOKEN:
            raise ConfigError(f"a token must have at least {LEAST_TOKEN} characters")
