"""Any server that speaks OpenAI's protocol."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import threading
import weakref
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from perspective_rag.errors import ConfigError, MissingDependency, count, is_number
from perspective_rag.flow.driver import aheld, held, in_thread, undone_when_given_up
from perspective_rag.flow.limiter import Limiter
from perspective_rag.local.chat import messages_of, probabilities_of_choice, spellings
from perspective_rag.local.loop_thread import LoopThread
from perspective_rag.prompts.replies import llm_errors, no_reply
from perspective_rag.redaction import public, public_address, secrets_of, without_secrets
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.types import Completion, Prompt

# The most alternatives for a token that OpenAI and vLLM give.
_TOP_LOGPROBS = 20
_REFUSED = (400, 422)
_PATIENCE = 5.0


class OpenAICompatibleLLM:
    """A language model on a server that speaks OpenAI's chat completions protocol.

    A server that rejects a JSON schema or log-probabilities is asked again without, and then always
    without. Threads and event loops can share an instance.

    Args:
        model: Its name on the server.
        base_url: The server's address. None: OPENAI_BASE_URL, else OpenAI's own.
        api_key: The key. None: OPENAI_API_KEY.
        timeout: Seconds for one attempt, from connecting to the last byte.
        max_retries: Further attempts after the first.
        max_concurrency: Calls at a time; others wait.
        options: Further fields of every request, such as ``{"reasoning_effort": "low"}``; a field
            set to None is not sent.
        constrain_choices: Make vLLM restrict a reply to the choices.

    Raises:
        ConfigError: The model has no name, or a number is out of range.
        MissingDependency: The package ``openai`` is not installed.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 2,
        max_concurrency: int = 8,
        options: Mapping[str, Any] | None = None,
        constrain_choices: bool = False,
    ) -> None:
        if any(importlib.util.find_spec(each) is None for each in ("openai", "httpx")):
            raise MissingDependency("openai", "OpenAICompatibleLLM")
        if not model:
            raise ConfigError(f"expected the name of a model that the server has; got {model!r}")
        count("max_retries", max_retries, least=0)
        if not is_number(timeout) or not timeout > 0:
            raise ConfigError(f"timeout must be a number of seconds above 0; got {timeout!r}")
        count("max_concurrency", max_concurrency)
        self.model = model
        self.base_url = base_url
        self.timeout = timeout
        self.max_retries = max_retries
        self.max_concurrency = max_concurrency
        self.options = dict(options or {})
        self.constrain_choices = constrain_choices
        self._api_key = api_key
        self._starting, self._process = threading.Lock(), os.getpid()
        self._limiter = Limiter(max_concurrency)
        self._running: _Running | None = None
        self._rejected: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The model, its server and a hash of the options: equal names answer alike."""
        server = f"@{urlsplit(self.base_url).netloc.rpartition('@')[2]}" if self.base_url else ""
        extra = {**self.options, **({"constrain": True} if self.constrain_choices else {})}
        text = json.dumps(public(extra), sort_keys=True, default=repr)
        return f"{self.model}{server}" + (f"#{fingerprint(text, digits=8)}" if extra else "")

    def to_dict(self) -> dict[str, Any]:
        """The arguments of the constructor as JSON-ready values, without keys and headers."""
        return {
            "model": self.model,
            "base_url": public_address(self.base_url),
            "timeout": self.timeout,
            "max_retries": self.max_retries,
            "max_concurrency": self.max_concurrency,
            "options": public(self.options),
            "constrain_choices": self.constrain_choices,
        }

    def __repr__(self) -> str:
        return f"OpenAICompatibleLLM({self.model!r}, base_url={public_address(self.base_url)!r})"

    def complete(self, prompt: Prompt) -> Completion:
        """The model's reply.

        Args:
            prompt: What is asked.

        Returns:
            The reply with its tokens.

        Raises:
            LLMError: There is no reply; the cause is kept.
        """
        coming = self._start(prompt)
        try:
            with undone_when_given_up(coming.cancel):
                return coming.result()
        except CancelledError:
            given_up = TimeoutError("it was not waited for any longer")
            raise no_reply(self.name, prompt, given_up) from None
        except BaseException:
            coming.cancel()
            raise

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same as ``complete``, without blocking the event loop."""
        return await asyncio.wrap_future(self._start(prompt))

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """The reply piece by piece, over a connection of its own.

        ``timeout`` holds for connecting, and between two pieces.

        Args:
            prompt: What is asked.

        Yields:
            Pieces of the text.

        Raises:
            LLMError: There is no reply, or it breaks off; the cause is kept.
        """
        import httpx
        from openai import APIStatusError, OpenAI

        extras = self._extras(prompt) & {"schema"} - self._rejected
        http: Any = httpx.Client(timeout=self.timeout)  # newer clients name another package's
        with (
            llm_errors(self.name, prompt, self._secrets),
            held(self._limiter, "llm"),
            OpenAI(**self._settings(), http_client=http) as client,
        ):
            create = client.chat.completions.create
            try:
                stream = create(**self._request(prompt, extras), stream=True)
            except APIStatusError as error:
                if not extras or error.status_code not in _REFUSED:
                    raise
                stream = create(**self._request(prompt, frozenset()), stream=True)
            with stream:
                for event in stream:
                    text = event.choices[0].delta.content if event.choices else None
                    if isinstance(text, str) and text:
                        yield without_secrets(text, self._secrets())

    def close(self) -> None:
        """Closes the connections: calls under way raise LLMError, later ones open new ones."""
        with self._starting:
            running, self._running = self._running, None
        if running is not None and self._process == os.getpid():
            running.end()
            running.thread.join(_PATIENCE)

    async def aclose(self) -> None:
        """The same as ``close``, without blocking the event loop."""
        await in_thread(self.close)

    def _start(self, prompt: Prompt) -> Future[Completion]:
        """Starts an exchange on the event loop of the connections, which serves all others."""
        if self._process != os.getpid():  # neither thread nor sockets came into this process
            self._process, self._starting, self._running = os.getpid(), threading.Lock(), None
        with self._starting:
            if self._running is None:
                with llm_errors(self.name, prompt, self._secrets):  # there is no key
                    self._running = _Running(self._settings())
                weakref.finalize(self, self._running.end).atexit = False
            return self._running.start(self._exchange(self._running, prompt))

    async def _exchange(self, running: _Running, prompt: Prompt) -> Completion:
        from openai import APIStatusError

        async def create(extras: frozenset[str]) -> Any:
            send = running.client.chat.completions.create
            try:
                async with aheld(self._limiter, "llm"):
                    return await send(**self._request(prompt, extras))
            except asyncio.CancelledError:
                if not running.ended:
                    raise
                raise ConnectionError("the client was closed meanwhile") from None

        wanted = self._extras(prompt) - self._rejected
        with llm_errors(self.name, prompt, self._secrets):
            try:
                response = await create(wanted)
            except APIStatusError as error:
                if not wanted or error.status_code not in _REFUSED:
                    raise
                response = await create(frozenset())
                # Only now is it known that the extras, and not the prompt, were at fault.
                self._rejected |= wanted
            completion = _completion(prompt, response)
            return replace(completion, text=without_secrets(completion.text, self._secrets()))

    def _extras(self, prompt: Prompt) -> frozenset[str]:
        extras = {"schema"} if prompt.schema is not None else set()
        if prompt.choices:
            extras |= {"logprobs", "choices"} if self.constrain_choices else {"logprobs"}
        return frozenset(extras)

    def _request(self, prompt: Prompt, extras: frozenset[str]) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "model": self.model,
            "max_tokens": prompt.max_tokens,
            "temperature": prompt.temperature,
            "seed": prompt.seed,
        }
        if "schema" in extras:
            shape = {"name": _schema_name(prompt.name), "schema": prompt.schema, "strict": True}
            fields["response_format"] = {"type": "json_schema", "json_schema": shape}
        if "logprobs" in extras:
            fields |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
        if "choices" in extras:
            fields["extra_body"] = {"structured_outputs": {"choice": spellings(prompt.choices)}}
        own = dict(self.options)
        if "extra_body" in fields and "extra_body" in own:
            own["extra_body"] = {**fields["extra_body"], **own["extra_body"]}
        fields |= own
        messages = messages_of(prompt, show_schema="schema" not in extras)
        sent = {name: value for name, value in fields.items() if value is not None}
        return {"messages": messages, **sent}

    def _settings(self) -> dict[str, Any]:
        key = self._api_key or os.environ.get("OPENAI_API_KEY")
        if not key and (self.base_url or os.environ.get("OPENAI_BASE_URL")):
            key = "none"  # local servers ask for no key, the client insists on one
        return {
            "base_url": self.base_url,
            "api_key": key,
            "timeout": self.timeout,
            "max_retries": self.max_retries,
        }

    def _secrets(self) -> list[str]:
        return secrets_of(self._settings(), self.options)


class _Running(LoopThread):
    """The client and the event loop that its connections belong to."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import httpx
        from openai import AsyncOpenAI

        seconds: float = settings["timeout"]

        class Timed(httpx.AsyncClient):
            """Gives each attempt, from connecting to the last byte of the reply, its seconds."""

            async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
                """The reply, read to its end."""
                options["stream"] = False
                try:
                    return await asyncio.wait_for(super().send(request, **options), seconds)
                except (asyncio.TimeoutError, TimeoutError) as error:
                    said = f"no whole reply within {seconds:g} s"
                    raise httpx.ReadTimeout(said, request=request) from error

        http: Any = Timed(timeout=seconds, follow_redirects=True)
        self.client = AsyncOpenAI(**settings, http_client=http)
        super().__init__(self.client.close)


def _completion(prompt: Prompt, response: Any) -> Completion:
    choice = response.choices[0]
    text = choice.message.content or getattr(choice.message, "refusal", None) or ""
    if not isinstance(text, str):
        raise TypeError(f"the content of the message is not a text but {type(text).__name__}")
    usage = response.usage
    return Completion(
        text=text,
        prompt_tokens=_count(getattr(usage, "prompt_tokens", None)),
        completion_tokens=_count(getattr(usage, "completion_tokens", None)),
        choice_probabilities=probabilities_of_choice(prompt.choices, choice),
    )


def _count(tokens: Any) -> int:
    return tokens if isinstance(tokens, int) and tokens > 0 else 0


def _schema_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "reply"
