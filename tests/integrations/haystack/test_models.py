"""Chat generators of Haystack held to a schema."""

from __future__ import annotations

import json
from typing import Any

from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.utils import Secret

from haystack_integrations.common.perspective_rag.models import HaystackLLM
from perspective_rag import Prompt
from tests.contract import openai_server as fake

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}
HELD = Prompt("judge_list", "the passages", "the task", schema=SCHEMA)


def generator(server: fake.OpenAIServer) -> OpenAIChatGenerator:
    return OpenAIChatGenerator(
        api_key=Secret.from_token("sk-x"), model="tiny", api_base_url=server.url, max_retries=0
    )


def held(body: dict[str, Any], server: fake.OpenAIServer) -> tuple[int, Any]:
    return fake.chat(json.dumps({"verdict": "A" if "response_format" in body else "plain"}))


async def test_openai_s_generator_is_held_to_the_schema() -> None:
    with fake.OpenAIServer(held) as server:
        llm = HaystackLLM(generator(server))
        for reply in (llm.complete(HELD), await llm.acomplete(HELD)):
            assert json.loads(reply.text) == {"verdict": "A"}
            assert (reply.prompt_tokens, reply.completion_tokens) == (11, 3)
        assert json.loads(llm.complete(Prompt("p", "no schema")).text) == {"verdict": "plain"}
    form = server.bodies[0]["response_format"]
    assert form["json_schema"]["schema"] == SCHEMA


def test_a_server_that_refuses_is_asked_plainly_from_then_on() -> None:
    with fake.OpenAIServer(fake.rejects("response_format")) as server:
        llm = HaystackLLM(generator(server))
        assert [llm.complete(HELD).text for _ in range(2)] == ["<the passages>"] * 2
    assert ["response_format" in body for body in server.bodies] == [True, False, False]
