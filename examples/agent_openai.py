"""An agent of the OpenAI Agents SDK that searches every side of a question before it answers.

export OPENAI_API_KEY=...           # or OPENAI_BASE_URL of any server that speaks its API
python examples/agent_openai.py "Should private cars be banned from city centres?"
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

from agents import Agent, FunctionTool, RunContextWrapper, Runner, function_tool
from agents.models.interface import Model
from pydantic import Field

from perspective_rag import (
    Corpus,
    PerspectivePipeline,
    PerspectiveRAGError,
    RetrievalResult,
    local_pipeline,
)
from perspective_rag.extend import TOOL_DESCRIPTION, TOOL_NAME, TOOL_PERSPECTIVES, TOOL_QUERY

INSTRUCTIONS = """Search before you answer a question on which people disagree. Give every side that
the passages support, cite passages by their numbers, and say which side nothing was found for."""


def as_tool(pipeline: PerspectivePipeline) -> FunctionTool:
    """The pipeline as a tool."""

    @function_tool(
        name_override=TOOL_NAME,
        description_override=TOOL_DESCRIPTION,
        failure_error_function=as_problem,
    )
    async def search(
        query: Annotated[str, Field(description=TOOL_QUERY)],
        perspectives: Annotated[list[str] | None, Field(description=TOOL_PERSPECTIVES)] = None,
    ) -> str:
        named = [text for text in perspectives or () if text.strip()]
        return as_text(await pipeline.aretrieve(query, perspectives=named or None))

    return search


def as_problem(context: RunContextWrapper[Any], error: Exception) -> str:
    """What the model reads of the library's errors, an empty query perhaps; others are raised."""
    if isinstance(error, PerspectiveRAGError):
        return str(error)
    raise error


def as_text(result: RetrievalResult) -> str:
    """The numbered passages, each with the sides it supports, and what is still missing."""
    lines = []
    for number, candidate in enumerate(result.candidates, start=1):
        sides = "; ".join(side.text for side in result.supports(candidate))
        lines.append(f"[{number}] {candidate.passage.text}")
        lines += [f"    supports: {sides}"] if sides else []
    if missing := result.coverage.missing:
        lines.append(f"No passage is sorted under: {'; '.join(side.text for side in missing)}")
        lines += [f"Search next: {query}" for query in result.coverage.next_queries]
    return "\n".join(lines) or "Nothing was found."


def build_agent(pipeline: PerspectivePipeline, model: Model | str | None = None) -> Agent:
    """An agent with the tool; ``model`` None is the SDK's default (``OPENAI_DEFAULT_MODEL``)."""
    return Agent(
        name="Every side", instructions=INSTRUCTIONS, tools=[as_tool(pipeline)], model=model
    )


def build_pipeline() -> PerspectivePipeline:
    """The sample debates, searched and judged on this machine."""
    return local_pipeline(Corpus.example(), k=5)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the agent's answer to a question."""
    given = sys.argv[1:] if arguments is None else arguments
    question = given[0] if given else "Should private cars be banned from city centres?"
    if not (os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")):
        print("set OPENAI_API_KEY, or OPENAI_BASE_URL of a server of your own", file=sys.stderr)
        return 2
    answer = asyncio.run(Runner.run(build_agent(build_pipeline()), question))
    print(answer.final_output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
