"""In pipelines, their files and agents, as Haystack's own components are."""

from __future__ import annotations

import json
import subprocess
import sys

import haystack
import pytest
from haystack import Document, Pipeline
from haystack.components.agents import Agent
from haystack.components.builders import PromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.core.errors import DeserializationError, SerializationError
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.document_stores.types import FilterPolicy
from haystack.tools import ComponentTool
from haystack.tracing import Span, Tracer, disable_tracing, enable_tracing
from haystack.utils import Secret

from haystack_integrations.components.embedders.perspective_rag import PackagedTextEmbedder
from haystack_integrations.components.rankers.perspective_rag import PerspectiveRanker
from haystack_integrations.components.retrievers.perspective_rag import PerspectiveRetriever
from perspective_rag import Limiter, Perspective, RuleExtractor
from perspective_rag.extend import TOOL_NAME
from tests.integrations.haystack.samples import (
    QUESTION,
    TEXTS,
    ScriptedGenerator,
    WrittenJudge,
    documents,
    filled,
    is_thanks,
    judge,
)

AsyncPipeline = getattr(haystack, "AsyncPipeline", Pipeline)


def chain(store, kind=Pipeline):
    made = kind()
    made.add_component("retriever", InMemoryBM25Retriever(store))
    made.add_component("ranker", PerspectiveRanker(judge=judge(), top_k=3))
    template = "{% for d in documents %}{{ d.content }}\n{% endfor %}"
    made.add_component("prompt", PromptBuilder(template, required_variables=["documents"]))
    made.connect("retriever.documents", "ranker.documents")
    made.connect("ranker.documents", "prompt.documents")
    return made


ASKED = {"retriever": {"query": QUESTION}, "ranker": {"query": QUESTION}}


async def test_the_ranker_stands_between_a_retriever_and_a_prompt():
    found = chain(filled()).run(ASKED)
    lines = found["prompt"]["prompt"].splitlines()
    assert len(lines) == 3
    assert {TEXTS["against-1"], TEXTS["against-2"]} & set(lines)
    assert not found["ranker"]["report"]["coverage"]["missing"]
    assert (await chain(filled(), AsyncPipeline).run_async(ASKED))["prompt"] == found["prompt"]


def test_a_ranker_keeps_scores_counts_a_copy_once_and_returns_nothing_for_nothing():
    given = [Document(id=n, content=t, score=0.5 + i) for i, (n, t) in enumerate(TEXTS.items())]
    ranker = PerspectiveRanker(judge=judge(), k=4)
    found = ranker.run(QUESTION, [*given, *given])["documents"]
    assert len({each.id for each in found}) == 4
    assert {each.id: each.score for each in found}.items() <= {d.id: d.score for d in given}.items()
    falling = PerspectiveRanker(judge=judge(), score_kind="selection").run(QUESTION, given)
    scores = [each.score for each in falling["documents"]]
    assert scores == sorted(scores, reverse=True)
    assert ranker.run(QUESTION, []) == {"documents": [], "report": {}}


def test_a_ranker_is_diverse_by_the_embeddings_that_documents_bring_along(caplog):
    near, far = [1.0, 0.0], [0.0, 1.0]
    given = [
        Document(id="a", content="one", embedding=near),
        Document(id="b", content="two", embedding=near),
        Document(id="c", content="three", embedding=far),
    ]
    ranker = PerspectiveRanker(judge=None, k=2, mmr_lambda=0.3)
    assert [each.id for each in ranker.run("what?", given)["documents"]] == ["a", "c"]
    assert not caplog.records
    bare = [Document(id=each.id, content=each.content) for each in given]
    assert [each.id for each in ranker.run("what?", bare)["documents"]] == ["a", "b"]
    assert "no vectors: candidates stay in search order" in caplog.text


def full_retriever(**given):
    return PerspectiveRetriever(
        document_store=filled(index="written"),
        text_embedder=PackagedTextEmbedder(max_tokens=32),
        judge=WrittenJudge(rate=0.2),
        chat_generator=OpenAIChatGenerator(api_key=Secret.from_env_var("MY_KEY"), model="m"),
        filters={"field": "meta.n", "operator": "!=", "value": "other-1"},
        filter_policy=FilterPolicy.MERGE,
        perspectives=["Cages are cruel.", Perspective("care", "Zoos save species.", weight=2.0)],
        skip_if=is_thanks,
        dedup_key="n",
        score_kind="selection",
        limiter=Limiter(3),
        top_k=4,
        mmr_lambda=0.6,
        min_support=0.4,
        **given,
    )


def test_a_retriever_is_written_and_read_with_all_it_was_given(monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-of-mine")
    made = full_retriever()
    written = made.to_dict()
    assert json.loads(json.dumps(written)) == written
    assert "secret-of-mine" not in json.dumps(written)
    parameters = written["init_parameters"]
    assert parameters["k"] == 4
    assert parameters["chat_generator"]["init_parameters"]["api_key"] == {
        "type": "env_var",
        "env_vars": ["MY_KEY"],
        "strict": True,
    }
    allow()
    before = json.dumps(written)
    read = PerspectiveRetriever.from_dict(written)
    assert json.dumps(written) == before
    assert read.to_dict() == written
    assert read.options == made.options
    assert isinstance(read._given["judge"], WrittenJudge)
    assert read._given["judge"].rate == 0.2
    assert read._given["skip_if"] is is_thanks
    assert read.pipeline.limiter.limit == 3


def allow():
    """Haystack imports nothing of one's own that it was not told of."""
    try:
        from haystack.core.serialization import allow_deserialization_module
    except ImportError:  # before 3.0 it imports whatever it reads
        return
    allow_deserialization_module("tests.*")


def test_a_pipeline_file_gives_the_same_documents(tmp_path):
    store = filled(index="in a file", embedding_similarity_function="cosine")
    made = Pipeline()
    made.add_component("retriever", PerspectiveRetriever(document_store=store, top_k=3, judge=None))
    ranker = PerspectiveRanker(text_embedder=PackagedTextEmbedder(max_tokens=64), judge=None, k=2)
    made.add_component("ranker", ranker)
    made.connect("retriever.documents", "ranker.documents")
    file = tmp_path / "pipeline.yaml"
    file.write_text(made.dumps(), encoding="utf-8")
    read = Pipeline.loads(file.read_text(encoding="utf-8"))
    assert read.dumps() == made.dumps()
    found, again = made.run(ASKED), read.run(ASKED)
    assert len(found["ranker"]["documents"]) == 2
    assert [d.id for d in again["ranker"]["documents"]] == [
        d.id for d in found["ranker"]["documents"]
    ]


def test_what_cannot_be_written_says_what_to_do():
    with pytest.raises(SerializationError, match="judge=TableJudge cannot be written: give it to_"):
        PerspectiveRanker(judge=judge()).to_dict()
    with pytest.raises(SerializationError, match="extractor=RuleExtractor cannot be written"):
        PerspectiveRanker(judge=None, extractor=RuleExtractor()).to_dict()
    with pytest.raises(SerializationError, match="lambda"):
        PerspectiveRanker(judge=None, skip_if=lambda question: True).to_dict()
    with pytest.raises(ValueError, match="Cannot serialize token-based secret"):
        PerspectiveRanker(
            judge=None, chat_generator=OpenAIChatGenerator(api_key=Secret.from_token("t"))
        ).to_dict()


def test_what_is_no_component_of_ours_is_refused_before_anything_is_imported():
    written = PerspectiveRanker(judge=None).to_dict()
    unknown = {**written["init_parameters"], "helper": {"type": "no.such.module.Thing"}}
    with pytest.raises(DeserializationError, match="PerspectiveRanker takes no 'helper'"):
        PerspectiveRanker.from_dict({**written, "init_parameters": unknown})
    with pytest.raises(DeserializationError, match=r"expected the type .*PerspectiveRetriever'"):
        PerspectiveRetriever.from_dict(written)


def test_a_saved_pipeline_is_read_by_a_fresh_process(tmp_path):
    made = Pipeline()
    made.add_component("ranker", PerspectiveRanker(judge=None, k=2))
    file = tmp_path / "pipeline.yaml"
    file.write_text(made.dumps(), encoding="utf-8")
    program = (
        "import sys; from haystack import Document, Pipeline\n"
        "made = Pipeline.loads(open(sys.argv[1]).read())\n"
        "given = [Document(content=t) for t in ('a', 'b', 'c')]\n"
        "found = made.run({'ranker': {'query': 'which?', 'documents': given}})\n"
        "assert len(found['ranker']['documents']) == 2\n"
    )
    done = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def calls(**arguments):
    return ChatMessage.from_assistant(tool_calls=[ToolCall(TOOL_NAME, arguments, id="1")])


def asked_with(*replies, retriever=None, **tool):
    """What the model of an agent was told by the tool."""
    model = ScriptedGenerator(*replies, "done")
    made = retriever or PerspectiveRetriever(document_store=filled(), judge=judge(), top_k=3)
    agent = Agent(chat_generator=model, tools=[made.as_tool(**tool)])
    agent.warm_up()
    found = agent.run(messages=[ChatMessage.from_user(QUESTION)])
    return found["messages"][2].tool_call_results[0]


def test_an_agent_reads_which_side_each_document_supports():
    told = asked_with(calls(query=QUESTION))
    assert not told.error
    assert told.result.startswith("[1] ")
    assert "supports: Zoos should be closed" in told.result
    assert "supports: Zoos should not be closed" in told.result
    named = asked_with(calls(query=QUESTION, perspectives=["Ice cream is sold at zoos."]))
    assert not named.error


def test_an_empty_query_of_a_model_is_an_error_that_it_can_read():
    told = asked_with(calls(query="  "))
    assert told.error
    assert "the question must be a non-empty string" in told.result


FOR = {"field": "meta.side", "operator": "==", "value": "for"}
AGAINST = {"field": "meta.side", "operator": "==", "value": "against"}


def test_filters_of_a_tool_hold_besides_those_of_the_retriever():
    first = {"field": "meta.n", "operator": "!=", "value": "for-1"}
    made = PerspectiveRetriever(document_store=filled(), judge=judge(), k=5, filters=first)
    told = asked_with(calls(query=QUESTION), retriever=made, filters=FOR)
    assert not told.error
    for name, text in TEXTS.items():
        assert (text in told.result) == (name in ("for-2", "for-3", "for-4"))
    assert len(made.run(QUESTION)["documents"]) == 5, "the retriever has its own as before"


@pytest.mark.parametrize("given", [{"filters": AGAINST}, {"options": {"k": 9}}, {"top_k": 9}])
def test_a_model_cannot_give_itself_filters_or_options(given):
    told = asked_with(calls(query=QUESTION, **given), filters=FOR)
    assert told.error
    assert TEXTS["against-1"] not in told.result
    assert TEXTS["for-1"] not in told.result


def test_blank_perspectives_of_a_model_are_left_out():
    told = asked_with(calls(query=QUESTION, perspectives=["", " "]))
    assert not told.error
    assert "supports: Zoos should be closed" in told.result


def test_a_tool_is_written_and_read():
    made = PerspectiveRetriever(document_store=filled(index="a tool"), judge=None, top_k=3)
    tool = made.as_tool(filters=FOR)
    read = ComponentTool.from_dict(json.loads(json.dumps(tool.to_dict())))
    assert read.to_dict() == tool.to_dict()
    found = [document.id for document in read.invoke(query=QUESTION)["documents"]]
    assert found == [document.id for document in tool.invoke(query=QUESTION)["documents"]]
    assert all(name.startswith("for") for name in found)


async def test_a_tool_is_asked_in_the_event_loop_too():
    made = PerspectiveRetriever(document_store=filled(), judge=judge(), top_k=3)
    agent = Agent(
        chat_generator=ScriptedGenerator(calls(query=QUESTION), "done"), tools=[made.as_tool()]
    )
    agent.warm_up()
    found = await agent.run_async(messages=[ChatMessage.from_user(QUESTION)])
    assert "supports: Zoos should be closed" in found["messages"][2].tool_call_results[0].result


class Kept(Tracer):
    """Keeps the spans of a test."""

    def __init__(self):
        self.spans = []

    def trace(self, operation_name, tags=None, parent_span=None):
        from contextlib import contextmanager

        class Noted(Span):
            def __init__(self):
                self.name, self.tags = operation_name, dict(tags or {})

            def set_tag(self, key, value):
                self.tags[key] = value

        @contextmanager
        def opened():
            self.spans.append(Noted())
            yield self.spans[-1]

        return opened()

    def current_span(self):
        return self.spans[0] if self.spans else None


def test_judgements_are_spans_and_degradations_are_tags():
    kept = Kept()
    enable_tracing(kept)
    try:
        failing = judge(failing=frozenset({"for-1"}))
        chain_of_one = Pipeline()
        chain_of_one.add_component("ranker", PerspectiveRanker(judge=failing, k=3))
        chain_of_one.run({"ranker": {"query": QUESTION, "documents": documents()}})
    finally:
        disable_tracing()
    names = [span.name for span in kept.spans]
    assert "perspective_rag.judge" in names
    judged = kept.spans[names.index("perspective_rag.judge")]
    assert judged.tags["perspective_rag.judge"] == "table"
    assert judged.tags["perspective_rag.passages"] > 0
    assert "8 passages could not be judged" in kept.spans[0].tags["perspective_rag.degraded.judge"]
