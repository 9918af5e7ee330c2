"""Web search engines behind JSON APIs: a question in, addresses of pages out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from perspective_rag import ConfigError, MissingDependency, RetrievalError
from perspective_rag.addons import from_json, public_address, redacted, scrubbed

_URL_FIELDS = ("url", "link", "href")
_LIST_FIELDS = ("results", "organic", "items", "webPages", "value", "data")
_PAGE_SIZE = 10
_MOST_BYTES = 5_000_000
_DEEPEST = 3  # objects around the list of results


@dataclass(frozen=True, slots=True)
class WebResult:
    """One found page."""

    url: str
    title: str = ""


class SearchEngine(Protocol):
    """Finds pages; ``name`` tells caches which engine it is."""

    name: str

    def find(self, question: str, count: int) -> list[WebResult]: ...


class SerperSearch:
    """Google's results by serper.dev, ten a request (BERDS, section 4.2).

    ``timeout`` is in seconds for a request. Raises RetrievalError when the service cannot be
    reached, refuses the key or sends something else, ConfigError for an empty key.
    """

    def __init__(
        self,
        key: str,
        *,
        url: str = "https://google.serper.dev/search",
        timeout: float = 20.0,
    ) -> None:
        if not key.strip():
            raise ConfigError("the key of serper.dev is empty")
        self.name = f"serper {public_address(url)}"
        self._key, self._url, self._timeout = key.strip(), url, timeout

    def find(self, question: str, count: int) -> list[WebResult]:
        """The first ``count`` results, fewer when the engine has no more."""
        found: list[WebResult] = []
        for page in range(1, -(-count // _PAGE_SIZE) + 1):
            new = _results(
                _requested(
                    "POST",
                    self._url,
                    timeout=self._timeout,
                    headers={"X-API-KEY": self._key},
                    json_body={"q": question, "num": _PAGE_SIZE, "page": page},
                )
            )
            if not new:
                break
            found += new
        return _distinct(found)[:count]


class JsonSearch:
    """An endpoint that answers ``GET url?q=question`` with JSON, such as SearXNG's.

    The reply is a list of results or an object that holds one (``results``, ``organic``, ``items``
    and the like); a result has ``url`` (or ``link``) and ``title``. ``parameters`` are sent with
    every request, ``headers`` too. Raises RetrievalError as ``SerperSearch`` does.
    """

    def __init__(
        self,
        url: str,
        *,
        query_parameter: str = "q",
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 20.0,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"the search endpoint must be an http address, got {url!r}")
        self.name = f"json {redacted(url)}"
        self._url, self._query, self._timeout = url, query_parameter, timeout
        self._parameters, self._headers = dict(parameters or {}), dict(headers or {})

    def find(self, question: str, count: int) -> list[WebResult]:
        """The first ``count`` results, fewer when the reply holds fewer."""
        reply = _requested(
            "GET",
            self._url,
            timeout=self._timeout,
            headers=self._headers,
            params={**self._parameters, self._query: question},
        )
        return _distinct(_results(reply))[:count]


def _requested(
    method: str,
    url: str,
    *,
    timeout: float,
    headers: Mapping[str, str],
    params: Mapping[str, str] | None = None,
    json_body: Mapping[str, Any] | None = None,
) -> Any:
    """What the endpoint answers, read as JSON; the time and the length of it all have a limit."""
    try:
        import httpx

        from benchmarks.web.connection import FAILURES, Deadline, requested
    except ImportError as error:
        raise MissingDependency("web", "searching the web") from error
    # An engine that refuses a request may repeat what it was sent.
    secrets = [*headers.values(), *(params or {}).values()]
    try:
        address = httpx.URL(url).copy_merge_params(dict(params or {}))
        secrets += [each for _, each in address.params.multi_items()]
        content = None if json_body is None else json.dumps(json_body).encode()
        sent = {"Accept": "application/json", **headers}
        if content is not None:
            sent["Content-Type"] = "application/json"
        with requested(
            method, address, Deadline(timeout), private=True, headers=sent, content=content
        ) as reply:
            if reply.status != 200:
                raise ValueError(f"status {reply.status}")
            return from_json(_bounded(reply.body))
    except (*FAILURES, RecursionError) as raised:
        known = scrubbed(raised, secrets)
        said = f"{type(known).__name__}: {known}"
        raise RetrievalError(f"{public_address(url)} gave no search results: {said}") from known


def _bounded(body: Iterable[bytes]) -> bytes:
    held = bytearray()
    for piece in body:
        held += piece
        if len(held) > _MOST_BYTES:
            raise ValueError(f"the reply is longer than {_MOST_BYTES:,} bytes")
    return bytes(held)


def _results(reply: Any) -> list[WebResult]:
    rows = next(_lists(reply), None)
    if rows is None:
        held = sorted(map(str, reply))[:10] if isinstance(reply, Mapping) else type(reply).__name__
        raise RetrievalError(f"the search reply holds no list of results, but {held}")
    found = []
    for row in rows:
        values = row if isinstance(row, Mapping) else {}
        url = next((values[name] for name in _URL_FIELDS if name in values), None)
        if isinstance(url, str) and url.startswith(("http://", "https://")):
            title = values.get("title") or values.get("name")
            found.append(WebResult(url, title if isinstance(title, str) else ""))
    return found


def _lists(reply: Any, depth: int = 0) -> Iterator[Sequence[Any]]:
    if isinstance(reply, list):
        yield reply
    elif isinstance(reply, Mapping) and depth < _DEEPEST:
        for name in _LIST_FIELDS:
            yield from _lists(reply.get(name), depth + 1)


def _distinct(results: Sequence[WebResult]) -> list[WebResult]:
    return list({each.url.partition("#")[0]: each for each in reversed(results)}.values())[::-1]
