"""JSON requests to one model server, for threads and event loops alike."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import weakref
from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from perspective_rag import ConfigError, MissingDependency
from perspective_rag.addons import (
    LoopThread,
    from_json,
    public_address,
    redacted,
    scrubbed,
    undone_when_given_up,
    waiting,
)
from perspective_rag_scale.remote.failures import AGAIN, DOWN, ServerError, seconds_to_wait
from perspective_rag_scale.remote.retrying import with_retries
from perspective_rag_scale.remote.settings import ConnectionSettings

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

_SHOWN = 200  # characters of what a server says of an error
_PATIENCE = 5.0


class Client:
    """Requests to the server at ``address``, all made on an event loop in a thread of its own.

    One pool of connections and one bound hold for whoever asks, threads and event loops alike. A
    forked process gets its own. ``api_key`` is sent as a bearer token; without one, a user and
    password in the address go as basic authentication.
    ``sleep`` is for tests.

    Raises MissingDependency without ``httpx`` and ``tenacity``, ConfigError for an address that is
    not http or https.
    """

    def __init__(
        self,
        address: str,
        *,
        api_key: str | None = None,
        settings: ConnectionSettings | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        try:
            import httpx
            import tenacity  # noqa: F401
        except ImportError as error:
            raise MissingDependency("remote", "asking a model on a server") from error
        parts = urlsplit(address) if isinstance(address, str) else None
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                f"expected the address of a server, like http://host:8080; "
                f"got {redacted(str(address))!r}"
            )
        del httpx
        api_key = _sendable(api_key)
        user, _, self.server = parts.netloc.rpartition("@")
        basic = b64encode(unquote(user).encode()).decode()
        known = (api_key, parts.password, parts.username, unquote(parts.password or ""), basic)
        self._known = [each for each in known if each]
        if api_key:  # httpx would send the user instead
            parts = parts._replace(netloc=self.server)
        self._parts = parts._replace(path=parts.path.rstrip("/"), fragment="")
        self.address = self._parts.geturl()
        self.shown = public_address(self.address) or ""
        self.settings = settings or ConnectionSettings()
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._sleep = sleep
        self._starting = threading.Lock()
        self._process = os.getpid()
        self._running: _Running | None = None
        self._ends: weakref.finalize[..., Client] | None = None

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the coroutine ``work()`` gives; it runs on the client's loop, this thread waits."""
        coming = self._started().start(work())
        try:
            with undone_when_given_up(coming.cancel):
                return coming.result()
        except CancelledError as error:
            raise ServerError(f"{self.shown} was not waited for any longer") from error
        except BaseException:
            coming.cancel()
            raise

    async def arun(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The same for an event loop, which does not wait; cancelled with the task that awaits."""
        return await asyncio.wrap_future(self._started().start(work()))

    async def exchange(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON that the server answers with; to be awaited on the client's loop.

        ``path`` is below the client's address. Raises ServerError.
        """
        content = None if body is None else json.dumps(body).encode()
        here = self._running
        if here is None or not here.is_current():
            raise self.failure("the client was closed meanwhile")

        async def attempt() -> Any:
            return await self._send(here, method, path, content)

        return await with_retries(attempt, self.settings.max_retries, self._sleep)

    def close(self) -> None:
        """Closes the connections and ends the thread; a later request opens new ones."""
        with self._starting:
            running, self._running = self._running, None
            if self._ends is not None:
                self._ends.detach()
        if running is not None and self._process == os.getpid():
            running.end()
            running.thread.join(_PATIENCE)

    def failure(self, said: str, **how: Any) -> ServerError:
        """An error that names the server, without secrets."""
        return ServerError(f"{self.shown}: {redacted(said, self._known)}", **how)

    async def _send(self, here: _Running, method: str, path: str, content: bytes | None) -> Any:
        """One attempt at a request."""
        import httpx

        headers = {**self._headers, **({"Content-Type": "application/json"} if content else {})}
        with waiting():
            await here.permits.acquire()
        try:
            # httpx measures the time between two bytes: this is that of the whole attempt.
            reply = await asyncio.wait_for(
                here.http.request(method, self._url(path), content=content, headers=headers),
                self.settings.timeout,
            )
        except (asyncio.TimeoutError, TimeoutError):
            said = f"ReadTimeout: no whole reply within {self.settings.timeout:g} s"
            raise self.failure(said, again=True, down=True) from None
        except httpx.HTTPError as error:
            clean = scrubbed(error, self._known)
            said = f"{type(error).__name__}: {clean}" if str(clean) else type(error).__name__
            raise self.failure(said, again=True, down=True) from clean
        finally:
            here.permits.release()
        return self._read(reply)

    def _url(self, path: str) -> str:
        below = f"{self._parts.path}/{path}" if path else self._parts.path
        return self._parts._replace(path=below).geturl()

    def _read(self, reply: httpx.Response) -> Any:
        if reply.is_success:
            try:
                return from_json(reply.content)
            except ValueError as error:
                raise self.failure(f"its reply is no JSON: {error}") from None
        status = reply.status_code
        said = redacted(" ".join(reply.text.split()), self._known)[:_SHOWN]
        raise self.failure(
            f"status {status}: {said}",
            status=status,
            again=status in AGAIN,
            down=status in DOWN,
            retry_after=seconds_to_wait(reply.headers.get("Retry-After")),
        )

    def _started(self) -> _Running:
        if self._process != os.getpid():  # neither thread nor sockets came into this process
            self._process, self._starting, self._running = os.getpid(), threading.Lock(), None
        with self._starting:
            if self._running is None:
                self._running = _Running(self)
                self._ends = weakref.finalize(self, self._running.end)
                self._ends.atexit = False
            return self._running


def _sendable(api_key: str | None) -> str | None:
    """The key without white space around it; raises ConfigError where no header can hold it."""
    key = (api_key or "").strip()
    if not (key.isascii() and (key.isprintable() or not key)):
        raise ConfigError(
            "the key of the server holds characters that no HTTP header can: expected one line of "
            "ASCII; look at the variable or file that it comes from"
        )
    return key or None


class _Running(LoopThread):
    """What belongs to one event loop: connections and permits."""

    def __init__(self, client: Client) -> None:
        import httpx

        own = client.settings
        pool = httpx.Limits(
            max_connections=own.max_concurrency, max_keepalive_connections=own.max_concurrency
        )
        self.http = httpx.AsyncClient(timeout=own.timeout, limits=pool, follow_redirects=True)
        self.permits = asyncio.Semaphore(own.max_concurrency)
        super().__init__(self.http.aclose)
