"""The tools of the Model Context Protocol: search, judge, audit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field, ValidationError

from perspective_rag import __version__
from perspective_rag.addons import text_key
from perspective_rag.extend import TOOL_PERSPECTIVES, TOOL_QUERY
from perspective_rag_serve.asking import LONGEST_SIDE, Asked, Side
from perspective_rag_serve.context import Context
from perspective_rag_serve.failures import Failure, failure_of, refusal
from perspective_rag_serve.judging import Chosen
from perspective_rag_serve.tool_results import (
    AuditResult,
    JudgeResult,
    SearchResult,
    audited,
    judged,
    searched,
)

R = TypeVar("R")

Question = Annotated[str, Field(description=TOOL_QUERY, min_length=1, max_length=20_000)]
Text = Annotated[str, Field(min_length=1)]
SideText = Annotated[str, Field(min_length=1, max_length=LONGEST_SIDE)]
Sides = Annotated[list[SideText] | None, Field(description=TOOL_PERSPECTIVES)]
Passages = Annotated[
    list[Text], Field(description="The passages' texts, best first.", min_length=1, max_length=200)
]

_INSTRUCTIONS = (
    "Finds passages on every side of a contentious question in this server's corpus, with the "
    "verdict of a judge on each (clear, leaning, mixed, silent, unsorted). Name a side only where "
    "a passage is clear, read what is not sorted, say which sides have none, and cite passages "
    "by their number."
)


def mcp_server(context: Context) -> MCPServer[Any]:
    """A server with the three tools over the context's pipeline."""
    server: MCPServer[Any] = MCPServer(
        "perspective-rag",
        version=__version__,
        instructions=_INSTRUCTIONS,
        log_level="WARNING",
        subscriptions=False,
    )
    reads_only = ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )

    @server.tool(
        title="Search every side",
        description="Finds passages on every side of a question, says which side each one supports "
        "and which sentence does, and gives an answer with citations.",
        annotations=reads_only,
    )
    async def search_perspectives(
        question: Question,
        perspectives: Sides = None,
        k: Annotated[int, Field(ge=1, le=50, description="passages to return")] = 6,
    ) -> SearchResult:
        async def work() -> SearchResult:
            return searched(await context.ask(_asked(question, perspectives, k)))

        return await _told(work)

    @server.tool(
        title="Judge support",
        description="Says what each of your passages says of each side of a question: clear, "
        "leaning, mixed or silent, with the judge's probability.",
        annotations=reads_only,
    )
    async def judge_support(
        question: Question, passages: Passages, perspectives: Sides = None
    ) -> JudgeResult:
        async def work() -> JudgeResult:
            return await _chosen(context, question, passages, perspectives, judged)

        return await _told(work)

    @server.tool(
        title="Audit a retrieval",
        description="Says whether a list of passages that some retriever returned shows every side "
        "of the question: how often, how early, what is missing, what repeats, and what to search "
        "for next.",
        annotations=reads_only,
    )
    async def audit_retrieval(
        question: Question, passages: Passages, perspectives: Sides = None
    ) -> AuditResult:
        async def work() -> AuditResult:
            then = partial(audited, passages=passages)
            return await _chosen(context, question, passages, perspectives, then)

        return await _told(work)

    return server


async def _told(work: Callable[[], Awaitable[R]]) -> R:
    """The work's result; raises ToolError with what a client may be told."""
    try:
        return await work()
    except Exception as error:
        raise ToolError(failure_of(error).message) from None


def _asked(question: str, perspectives: list[str] | None, k: int) -> Asked:
    try:
        sides = None if perspectives is None else [Side(text=each) for each in perspectives]
        return Asked(question=question, perspectives=sides, k=k)
    except ValidationError as error:
        raise refusal(error.errors()) from None


async def _chosen(
    context: Context,
    question: str,
    passages: list[str],
    perspectives: list[str] | None,
    then: Callable[[Chosen], R],
) -> R:
    settings = context.settings
    if not text_key(question):
        raise Failure(422, "request", "ask a question: there is no word in it")
    if len(question) > settings.longest_question:
        said = f"a question may have at most {settings.longest_question} characters"
        raise Failure(413, "request", said)
    if len(perspectives or ()) > settings.most_perspectives:
        raise Failure(422, "request", f"at most {settings.most_perspectives} sides")
    if any(len(each) > settings.longest_text for each in passages):
        raise Failure(413, "request", f"a passage has at most {settings.longest_text:,} characters")

    def checked(chosen: Chosen) -> R:
        if not chosen.result.coverage.judged:
            said = "no sides were found in the question: name them as perspectives"
            raise Failure(422, "request", said)
        return then(chosen)

    return await context.choose(question, passages, checked, perspectives=perspectives, every=True)
