"""One batch on its way: asked together, and in halves where that is too much for the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from perspective_rag import ConfigError
from perspective_rag.extend import Vector
from perspective_rag_scale.remote.client import Client
from perspective_rag_scale.remote.failures import TOO_MUCH, ServerError


class Wire(Protocol):
    """The wire format of one kind of server.

    ``body`` is the JSON for some items; ``rows`` reads one row of numbers for each from the reply.
    It raises ValueError, TypeError, KeyError or IndexError for a reply of another form, and
    ConfigError for the reply of another model.
    """

    path: str

    def body(self, items: Sequence[Any]) -> dict[str, Any]: ...

    def rows(self, reply: Any, items: Sequence[Any]) -> Sequence[Vector]: ...


Row = Vector | ServerError


async def ask(client: Client, wire: Wire, items: Sequence[Any]) -> list[Row]:
    """A row for each item, or the error that it ended with.

    A batch that is too large for the server is asked in halves, down to single items; where the
    first two single ones are refused too, it is not the size, and the rest is not asked. Raises
    ServerError where the server does not answer, or answers something else.
    """
    state = _State(client, wire)
    return await state.asked(items)


class _State:
    def __init__(self, client: Client, wire: Wire) -> None:
        self._client, self._wire = client, wire
        self._worked, self._refused = False, 0

    async def asked(self, items: Sequence[Any]) -> list[Row]:
        try:
            reply = await self._client.exchange("POST", self._wire.path, self._wire.body(items))
        except ServerError as error:
            if error.status not in TOO_MUCH:
                raise
            if len(items) == 1:
                self._refused += 1
                if self._refused > 1 and not self._worked:
                    raise
                return [error]
            half = len(items) // 2
            return [*await self.asked(items[:half]), *await self.asked(items[half:])]
        try:
            rows = self._wire.rows(reply, items)
        except ConfigError:  # which is a ValueError
            raise
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            said = f"/{self._wire.path} gave another reply than expected: {error!r}"
            raise self._client.failure(said) from None
        self._worked = True
        return list(rows)
