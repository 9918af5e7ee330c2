"""The queries to search with."""

from __future__ import annotations

from typing import Any

from perspective_rag.errors import ConfigError
from perspective_rag.expand.statements import unique_queries
from perspective_rag.flow.recording import degrade, note, stage
from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Flow, complete
from perspective_rag.protocols import Expander
from perspective_rag.types import Extraction, Query


@stage
def expand(request: Request, expander: Expander, extraction: Extraction) -> Flow[list[Query]]:
    """The queries; the question itself is always the first, as it was typed the second where its
    spelling was mended, and none comes twice.

    An expander that fails is recorded, and the question alone is searched. Raises ConfigError for
    one that does not return queries.
    """
    queries: list[Query] = []
    if extraction.perspectives:
        name = f"expander {type(expander).__name__}"
        try:
            found = yield from complete(
                expander.expand(extraction.root, extraction.perspectives), name, "a list of Query"
            )
            queries = _as_queries(found, name)
        except ConfigError:
            raise
        except Exception as error:
            degrade("expand", f"only the question is searched: {error!r}", error)
    if extraction.misspelt:
        queries.insert(0, Query(extraction.misspelt))
    queries = unique_queries(extraction.root, queries, limit=request.options.max_queries)
    note(queries=queries)
    return queries


def _as_queries(found: Any, name: str) -> list[Query]:
    if not isinstance(found, (list, tuple)) or not all(
        isinstance(each, (Query, str)) for each in found
    ):
        raise ConfigError(f"{name} returned {found!r:.200}; expected a list of Query")
    queries = [Query(each) if isinstance(each, str) else each for each in found]
    named = all(each.perspective is None or isinstance(each.perspective, str) for each in queries)
    if not named or not all(isinstance(each.text, str) for each in queries):
        raise ConfigError(
            f"{name} returned {found!r:.200}; expected queries with a text and a perspective's id"
        )
    return queries
