"""The reply of an OpenAI-compatible server, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# Of a request that a server refuses: what it may not know.
_MAY_NOT_KNOW = ("response_format", "stream_options")


def pieces(settings: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[str]:
    """The pieces of the text; a server that refuses a JSON schema is asked without.

    The connection is closed when the iterator is. Raises what the client raises.
    """
    import httpx
    from openai import APIStatusError, OpenAI

    http: Any = httpx.Client(timeout=settings["timeout"])  # newer clients name another package's
    with OpenAI(**settings, http_client=http) as client:
        try:
            stream = client.chat.completions.create(**request, stream=True)
        except APIStatusError as error:
            if error.status_code not in (400, 422):
                raise
            plain = {k: v for k, v in request.items() if k not in _MAY_NOT_KNOW}
            stream = client.chat.completions.create(**plain, stream=True)
        with stream:
            for event in stream:
                text = event.choices[0].delta.content if event.choices else None
                if isinstance(text, str) and text:
                    yield text
