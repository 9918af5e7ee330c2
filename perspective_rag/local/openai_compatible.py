"""Any server that speaks OpenAI's protocol."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import threading
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from perspective_rag.errors import ConfigError, MissingDependency, count, is_number
from perspective_rag.flow.driver import aheld, arun, held, run
from perspective_rag.flow.limiter import Limiter, Limits
from perspective_rag.flow.steps import Flow, Reply, call
from perspective_rag.local.chat import messages_of, probabilities_of_choice, spellings
from perspective_rag.prompts.replies import no_reply
from perspective_rag.redaction import public, public_address, secrets_of, without_secrets
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.types import Completion, Prompt

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


# The most alternatives for a token that OpenAI and vLLM give.
_TOP_LOGPROBS = 20
# The client has its own time-outs and bounds.
_OWN_LIMITS = Limits(timeout=None)


def check_attempts(timeout: float, max_retries: int) -> None:
    """Raises ConfigError unless ``timeout`` is above 0 and ``max_retries`` is a whole number."""
    count("max_retries", max_retries, least=0)
    if not is_number(timeout) or not timeout > 0:
        raise ConfigError(f"timeout must be a number of seconds above 0; got {timeout!r}")


def client_settings(
    base_url: str | None, api_key: str | None, timeout: float, max_retries: int
) -> dict[str, Any]:
    """The arguments of OpenAI's client for a server, local ones included."""
    key = api_key or os.environ.get("OPENAI_API_KEY")
    if not key and (base_url or os.environ.get("OPENAI_BASE_URL")):
        key = "none"  # local servers ask for no key, the client insists on one
    return {
        "base_url": base_url,
        "api_key": key,
        "timeout": timeout,
        "max_retries": max_retries,
    }


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
        check_attempts(timeout, max_retries)
        count("max_concurrency", max_concurrency)
        self.model = model
        self.base_url = base_url
        self.timeout = timeout
        self.max_retries = max_retries
        self.max_concurrency = max_concurrency
        self.options = dict(options or {})
        self.constrain_choices = constrain_choices
        self._api_key = api_key
        self._lock = threading.Lock()
        self._limiter = Limiter(max_concurrency)
        self._client: Any = None
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopClient] = WeakKeyDictionary()
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
        return run(self._exchange(prompt), limits=_OWN_LIMITS)

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same as ``complete``, without blocking the event loop."""
        return await arun(self._exchange(prompt), limits=_OWN_LIMITS)

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
        request = self._request(prompt, self._extras(prompt) & {"schema"} - self._rejected)
        try:
            with held(self._limiter, "llm"):
                for piece in pieces(self._settings(), request):
                    yield without_secrets(piece, self._secrets)
        except Exception as raised:
            failure = no_reply(self.name, prompt, raised, self._secrets)
            raise failure from failure.__cause__

    def close(self) -> None:
        """Closes the connections of the sync client; a later call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Closes the connections of the running event loop, as ``asyncio.run`` does at its end."""
        with self._lock:
            here = self._loops.pop(asyncio.get_running_loop(), None)
        if here is not None:
            await here.keeper.aclose()

    def _exchange(self, prompt: Prompt) -> Flow[Completion]:
        wanted = self._extras(prompt) - self._rejected
        try:
            reply = yield from self._send(prompt, wanted)
            if wanted and getattr(reply.error, "status_code", None) in (400, 422):
                reply = yield from self._send(prompt, frozenset())
                if reply.error is None:
                    # Only now is it known that the extras, and not the prompt, were at fault.
                    with self._lock:
                        self._rejected |= wanted
            if reply.error is not None:
                raise reply.error
            completion = _completion(prompt, reply.value)
            return replace(completion, text=without_secrets(completion.text, self._secrets))
        except Exception as raised:
            failure = no_reply(self.name, prompt, raised, self._secrets)
            raise failure from failure.__cause__

    def _send(self, prompt: Prompt, extras: frozenset[str]) -> Flow[Reply]:
        request = self._request(prompt, extras)
        return call("llm", self._create, request, afunction=self._acreate)

    def _create(self, request: dict[str, Any]) -> Any:
        with held(self._limiter, "llm"):
            return self._sync_client().chat.completions.create(**request)

    async def _acreate(self, request: dict[str, Any]) -> Any:
        here = await self._here()
        async with aheld(self._limiter, "llm"):
            return await here.client.chat.completions.create(**request)

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
        return client_settings(self.base_url, self._api_key, self.timeout, self.max_retries)

    def _sync_client(self) -> Any:
        with self._lock:
            if self._client is None:
                from openai import OpenAI

                from perspective_rag.local.http import TimedClient

                http: Any = TimedClient(self.timeout)
                self._client = OpenAI(**self._settings(), http_client=http)
            return self._client

    async def _here(self) -> _LoopClient:
        loop = asyncio.get_running_loop()
        with self._lock:
            for old in [each for each in self._loops if each.is_closed()]:
                del self._loops[old]
            here = self._loops.get(loop)
            if here is None:
                from openai import AsyncOpenAI

                from perspective_rag.local.http import TimedAsyncClient

                http: Any = TimedAsyncClient(self.timeout)
                client = AsyncOpenAI(**self._settings(), http_client=http)
                here = _LoopClient(client, _keep(client))
                self._loops[loop] = here
                fresh = True
            else:
                fresh = False
        if fresh:
            await here.keeper.__anext__()
        return here

    @property
    def _secrets(self) -> list[str]:
        return secrets_of(self._settings(), self.options)


@dataclass(frozen=True, slots=True)
class _LoopClient:
    client: Any
    keeper: AsyncGenerator[None, None]


async def _keep(client: Any) -> AsyncGenerator[None, None]:
    # A loop that shuts down closes its async generators while it still runs: the one moment when
    # connections that belong to it can be closed.
    try:
        yield
    finally:
        await client.close()


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
