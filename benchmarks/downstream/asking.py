"""Prompts to replies, each kept on disk as it comes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from typing import Any

from perspective_rag import Completion, Prompt
from perspective_rag.extend import LLM
from perspective_rag_train.append_log import AppendLog


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt for one query under one condition; ``passages`` are positions in the corpus."""

    condition: str
    query: str
    passages: tuple[int, ...]
    prompt: Prompt

    @property
    def id(self) -> str:
        """Names the row in the ledger: another prompt, another row."""
        content = json.dumps(asdict(self.prompt), sort_keys=True, default=str)
        return f"{self.condition} {hashlib.sha256(content.encode()).hexdigest()[:24]}"

    def row(self, completion: Completion) -> dict[str, Any]:
        """What is kept of a reply."""
        return {
            "query": self.query,
            "passages": list(self.passages),
            "reply": completion.text,
            "prompt_tokens": completion.prompt_tokens,
            "completion_tokens": completion.completion_tokens,
        }


def unanswered(requests: Sequence[Request], ledger: AppendLog) -> list[Request]:
    """The requests that the ledger has no reply to."""
    return [request for request in requests if request.id not in ledger.values]


def ask(
    llm: LLM,
    requests: Sequence[Request],
    ledger: AppendLog,
    *,
    concurrency: int,
    told: Callable[[], None] = lambda: None,
) -> list[Mapping[str, Any]]:
    """The rows of all requests in their order; what the ledger lacks is asked and added to it.

    ``told`` is called after each reply. At the first request without a reply the others under way
    are let finish and kept, and its LLMError is raised: a later call goes on from there.
    """
    open_requests = unanswered(requests, ledger)
    # Equal prompts are asked one after another, so that a cache answers all but the first.
    groups: dict[Prompt, list[Request]] = {}
    for request in open_requests:
        groups.setdefault(request.prompt, []).append(request)
    queue = list(reversed(groups.values()))
    failure: BaseException | None = None
    with ThreadPoolExecutor(concurrency) as pool:
        running: dict[Future[Completion], list[Request]] = {}
        while (queue and failure is None) or running:
            while queue and failure is None and len(running) < concurrency:
                group = queue.pop()
                running[pool.submit(llm.complete, group[0].prompt)] = group
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                group = running.pop(future)
                error = future.exception()
                if error is not None:
                    failure = failure or error
                    continue
                completion = future.result()
                ledger.add((request.id, request.row(completion)) for request in group)
                for _ in group:
                    told()
    if failure is not None:
        raise failure
    return [ledger.values[request.id] for request in requests]
