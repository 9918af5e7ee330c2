"""R1-R32 of the requirements, where they touch LlamaIndex; R11-R13 and R28 under load are one folder up."""

from __future__ import annotations

import ast
import asyncio
import copy
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import (
    ExactMatchFilter,
    FilterCondition,
    MetadataFilters,
)
from pydantic import PrivateAttr

from llama_index.retrievers import perspective_rag as package
from llama_index.retrievers.perspective_rag import (
    LlamaIndexLLM,
    PerspectivePostprocessor,
    PerspectiveRetriever,
    report_in,
)
from perspective_rag import CachedLLM, NoExpansion, PipelineOptions
from perspective_rag.cover.guard import CoverageError
from perspective_rag.cover.select import select
from perspective_rag.errors import (
    CapabilityError,
    ConfigError,
    LLMReplyError,
    PerspectiveRAGError,
    RetrievalError,
)
from perspective_rag.judge.support import judge
from perspective_rag.perspectives.find import extract
from perspective_rag.perspectives.queries import expand
from perspective_rag.search.candidates import merge
from perspective_rag.search.search import search
from perspective_rag.types import Extraction, Perspective, Query


def ids(nodes):
    return [item.node.node_id for item in nodes]


def told(nodes):
    """All that a caller sees of nodes."""
    return [(item.score, item.node.to_dict()) for item in nodes]


# R1, R2: scores


def test_r1_every_stage_leaves_its_score(zoo):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3, mmr_lambda=0.7)
    for item in retriever.retrieve(zoo.question):
        scores = report_in(item.node.metadata)["scores"]
        assert {"fused", "relevance", "selected"} <= set(scores)
        assert isinstance(item.score, float)


def test_r2_scores_that_grow_with_distance_do_not_turn_the_order_round(zoo):
    class Distances(zoo.WordRetriever):
        def _retrieve(self, query_bundle):
            nodes = super()._retrieve(query_bundle)
            for rank, item in enumerate(nodes):
                item.score = float(rank)  # as a store that reports squared L2
            return nodes

    nodes = zoo.nodes()
    near = PerspectiveRetriever(zoo.WordRetriever(nodes), judge=None, perspectives=[])
    far = PerspectiveRetriever(Distances(nodes), judge=None, perspectives=[])
    assert ids(near.retrieve(zoo.question)) == ids(far.retrieve(zoo.question))
    assert (
        "search:question" not in report_in(near.retrieve(zoo.question)[0].node.metadata)["scores"]
    )


def test_r3_the_final_score_is_where_tracing_looks_for_it(zoo, events):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3, score_kind="selection")
    nodes = retriever.retrieve(zoo.question)
    end = [event for event in events.seen if event.class_name() == "RetrievalEndEvent"][-1]
    assert [item.get_score(raise_error=True) for item in end.nodes] == [n.score for n in nodes]
    assert [item.score for item in nodes] == [
        report_in(item.node.metadata)["scores"]["selected"] for item in nodes
    ]


# R4, R5: names and directions


@pytest.mark.parametrize("name", ["mmr_lambda", "mmr_threshold", "lambda_mult"])
def test_r4_one_is_plain_top_k_and_zero_avoids_the_copy(zoo, name):
    nodes = [*zoo.nodes(), TextNode(id_="copy", text=zoo.texts["c"])]
    index = zoo.index(nodes=nodes)
    plain = ids(index.as_retriever(similarity_top_k=3).retrieve(zoo.question))
    assert {"c", "copy"} <= set(plain)
    like_plain = PerspectiveRetriever(index, judge=None, perspectives=[], k=3, **{name: 1.0})
    assert ids(like_plain.retrieve(zoo.question)) == plain
    diverse = PerspectiveRetriever(index, judge=None, perspectives=[], k=3, **{name: 0.0})
    assert not {"c", "copy"} <= set(ids(diverse.retrieve(zoo.question)))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"lambda_mul": 0.5}, "lambda_mult"),
        ({"similarity_topk": 3}, "similarity_top_k"),
        ({"filter": None}, "filters"),
        ({"embedding_model": None}, "embed_model"),
    ],
)
def test_r5_a_wrong_name_raises_with_the_right_one(zoo, wrong, right):
    with pytest.raises(ConfigError, match=f"did you mean '{right}'"):
        PerspectiveRetriever(zoo.index(), judge=None, **wrong)


def test_r5_at_a_call_too(zoo):
    retriever = PerspectiveRetriever(zoo.index(), judge=None)
    with pytest.raises(ConfigError, match="did you mean 'fetch_k'"):
        retriever.report(zoo.question, fetchk=3)
    with pytest.raises(ConfigError, match="given twice"):
        retriever.report(zoo.question, k=3, similarity_top_k=4)
    with pytest.raises(ConfigError, match="mmr_lambda"):
        retriever.report(zoo.question, mmr_lambda=1.5)


# R8: filters


ODD = MetadataFilters(filters=[ExactMatchFilter(key="shelf", value="odd")])
ONE_OF = MetadataFilters(
    filters=[ExactMatchFilter(key="title", value=t) for t in "ACF"], condition=FilterCondition.OR
)


@pytest.mark.parametrize(
    "options", [{}, {"projection": "pap"}, {"mmr_lambda": 0.5}, {"coverage": "off"}]
)
async def test_r8_filters_reach_the_store_with_every_search(zoo, options):
    store = zoo.RecordingVectorStore()
    judge = zoo.judge()
    judge.table = {}  # nothing is covered, so the guard searches too
    retriever = PerspectiveRetriever(
        zoo.index(vector_store=store), judge=judge, filters=ODD, **options
    )
    reports = [retriever.report(zoo.question), await retriever.areport(zoo.question)]
    for report in reports:
        assert {passage.id for passage in report.passages} == {"a", "c", "e"}
    assert len(store._queries) == sum(report.trace.calls["search"] for report in reports) >= 4
    assert {str(query.filters) for query in store._queries} == {str(ODD)}


def test_r8_filters_of_a_call_hold_besides_the_own_ones(zoo):
    store = zoo.RecordingVectorStore()
    retriever = PerspectiveRetriever(zoo.index(vector_store=store), judge=None, filters=ODD)
    only_a = MetadataFilters(filters=[ExactMatchFilter(key="title", value="A")])
    only_b = MetadataFilters(filters=[ExactMatchFilter(key="title", value="B")])
    assert [p.id for p in retriever.report(zoo.question, filters=only_a).passages] == ["a"]
    assert retriever.report(zoo.question, filters=only_b).passages == []
    assert len(retriever.report(zoo.question).passages) == 3
    assert len(ODD.filters) == 1  # the caller's object is left as it was


def test_r8_filters_that_cannot_be_joined_flat_are_nested(zoo):
    from llama_index.retrievers.perspective_rag.store import joined

    both = joined(ODD, ONE_OF)
    assert both.condition == FilterCondition.AND
    assert both.filters == [ODD.filters[0], ONE_OF]
    assert joined(None, ODD) is ODD
    assert joined(ODD, None) is ODD
    assert joined(None, None) is None


def test_r8_filters_that_could_not_reach_a_store_are_refused(zoo):
    source = zoo.WordRetriever(zoo.nodes())
    with pytest.raises(CapabilityError, match="filters"):
        PerspectiveRetriever(source, judge=None, filters=ODD)
    with pytest.raises(CapabilityError, match="as_retriever"):
        PerspectiveRetriever(source, judge=None).report(zoo.question, filters=ODD)


# R9: embeddings


@pytest.mark.parametrize("projection", ["none", "pap", "pap+"])
def test_r9_a_text_is_embedded_once_and_the_stores_vectors_are_used(zoo, projection):
    model = zoo.HashEmbedding()
    retriever = PerspectiveRetriever(
        zoo.index(embed_model=model), judge=zoo.judge(), mmr_lambda=0.5, projection=projection
    )
    model.texts.clear()
    report = retriever.report(zoo.question)
    assert len(model.texts) == len(set(model.texts)) == report.trace.counts["embedded_texts"]
    assert not set(model.texts) & set(zoo.texts.values())


def test_r9_candidates_without_vectors_are_embedded_in_one_batch(zoo):
    model = zoo.HashEmbedding()
    source = zoo.WordRetriever(zoo.nodes())
    retriever = PerspectiveRetriever(source, judge=None, embed_model=model, mmr_lambda=0.5)
    report = retriever.report(zoo.question)
    assert len(model.texts) == len(set(model.texts)) == report.trace.counts["embedded_texts"]
    assert set(zoo.texts.values()) <= set(model.texts)


def test_r9_vectors_that_come_with_the_nodes_are_used(zoo):
    model = zoo.HashEmbedding()
    nodes = zoo.nodes()
    for node in nodes:
        node.embedding = model.get_text_embedding(node.text)
    model.texts.clear()
    retriever = PerspectiveRetriever(
        zoo.WordRetriever(nodes), judge=None, embed_model=model, mmr_lambda=0.5
    )
    retriever.retrieve(zoo.question)
    assert model.texts
    assert not set(model.texts) & set(zoo.texts.values())


# R11, R12: async


class BlockingLLM(CustomLLM):
    """Blocks, as every CustomLLM does: its achat is its chat."""

    _pause: Any = PrivateAttr()

    @property
    def metadata(self):
        return LLMMetadata(model_name="blocking")

    def complete(self, prompt, formatted=False, **kwargs):
        self._pause()
        reply = '{"root": "zoos", "perspectives": [{"text": "zoos should stay"}]}'
        return CompletionResponse(text=reply)

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError


@pytest.mark.parametrize("kind", ["vector store", "retriever"])
async def test_r11_nothing_blocks_the_event_loop(zoo, heart, kind):
    model = zoo.HashEmbedding()
    source = zoo.WordRetriever(zoo.nodes(), pause=heart.pause("search"))
    if kind == "vector store":
        store = zoo.RecordingVectorStore()
        source = zoo.index(embed_model=model, vector_store=store)
        store._pause = heart.pause("search")
    llm = BlockingLLM()
    llm._pause = heart.pause("llm")
    model._pause = heart.pause("embed")
    judge = zoo.judge(pause=heart.pause("judge"))
    # Strict: a part that fails because it ran in the loop would be a degradation otherwise.
    retriever = PerspectiveRetriever(source, judge=judge, llm=llm, embed_model=model, strict=True)
    assert len(await retriever.aretrieve(zoo.question)) == 5
    assert set(heart.pauses) == {"llm", "embed", "search", "judge"}


async def test_r11_the_heart_stops_when_the_loop_is_blocked(heart, monkeypatch):
    monkeypatch.setattr("time.monotonic", iter(range(0, 10**6, 3)).__next__)
    with pytest.raises(AssertionError, match="ran in the event loop"):
        heart.pause("this")()


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_r11_searches_run_side_by_side(zoo, way):
    together = threading.Barrier(3, timeout=5.0)  # nobody passes before all three are there
    source = zoo.WordRetriever(zoo.nodes(), pause=together.wait)
    retriever = PerspectiveRetriever(source, judge=None, strict=True)
    ask = retriever.retrieve if way == "sync" else retriever.aretrieve
    answer = ask(zoo.question)
    assert len(answer if way == "sync" else await answer) == 5
    assert len(source.bundles) == 3


class Awaiting(BaseRetriever):
    """Searches asynchronously only."""

    def __init__(self, nodes):
        self.nodes = nodes
        super().__init__()

    def _retrieve(self, query_bundle):
        raise AssertionError("the sync search was called")

    async def _aretrieve(self, query_bundle):
        await asyncio.sleep(0)
        return [NodeWithScore(node=node) for node in self.nodes]


async def test_r11_a_retriever_that_awaits_is_awaited(zoo):
    retriever = PerspectiveRetriever(Awaiting(zoo.nodes()), judge=None, k=2)
    assert len(await retriever.aretrieve(zoo.question)) == 2


CASES = [
    {},
    {"k": 2},
    {"mmr_lambda": 0.3},
    {"projection": "pap"},
    {"projection": "pap+"},
    {"fusion": "round-robin"},
    {"coverage": "off"},
    {"coverage_weight": 0.0, "guard_searches": 0},
    {"perspectives": ["cages are cruel", "species are kept alive"]},
    {"perspectives": []},
]


@pytest.mark.parametrize("options", CASES, ids=str)
@pytest.mark.parametrize("kind", ["vectors", "words"])
async def test_r12_sync_and_async_agree(zoo, options, kind):
    if kind == "words" and "projection" in options:
        pytest.skip("a retriever of words has no projection")
    model = zoo.HashEmbedding()
    source = zoo.index(embed_model=model) if kind == "vectors" else zoo.WordRetriever(zoo.nodes())
    extra = {} if kind == "vectors" else {"embed_model": model, "takes_vector": False}
    retriever = PerspectiveRetriever(source, judge=zoo.judge(), **extra, **{"k": 3, **options})
    assert told(retriever.retrieve(zoo.question)) == told(await retriever.aretrieve(zoo.question))
    one = retriever.report(zoo.question).to_dict()
    other = (await retriever.areport(zoo.question)).to_dict()
    for report in (one, other):
        report["trace"].pop("seconds")
    assert one == other


# R14: events; see also test_in_llama_index


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_r14_every_retrieval_starts_and_ends_once(zoo, events, way):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3)
    searches = retriever.report(zoo.question).trace.calls["search"]
    events.seen.clear()
    if way == "sync":
        nodes = retriever.retrieve(zoo.question)
    else:
        nodes = await retriever.aretrieve(zoo.question)
    names = events.names()
    # One pair for the retriever itself and one for each search it makes, inside.
    assert names.count("RetrievalStartEvent") == names.count("RetrievalEndEvent") == 1 + searches
    own = [e for e in events.seen if e.class_name() == "RetrievalEndEvent"][-1]
    assert [item.node.node_id for item in own.nodes] == ids(nodes)
    assert names[0] == "RetrievalStartEvent"
    assert names[-1] == "RetrievalEndEvent"


def test_r14_callback_handlers_see_the_searches_inside(zoo):
    from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler

    handler = LlamaDebugHandler(print_trace_on_end=False)
    index = zoo.index()
    index._callback_manager = CallbackManager([handler])
    retriever = PerspectiveRetriever(index, judge=None)
    retriever.retrieve(zoo.question)
    pairs = handler.get_event_pairs(CBEventType.RETRIEVE)
    searches = retriever.report(zoo.question).trace.calls["search"]
    assert len(pairs) == 1 + searches
    assert all(len(pair) == 2 for pair in pairs)


# R23: inputs


@pytest.mark.parametrize("fails", ["nothing", "judge", "searches", "coverage"])
async def test_r23_inputs_stay_as_they_were(zoo, fails):
    source = zoo.WordRetriever(zoo.nodes(), failing={"*"} if fails == "searches" else ())
    judge = zoo.judge(failing=frozenset(zoo.texts) if fails == "judge" else frozenset())
    options = {"strict": True} if fails == "judge" else {}
    if fails == "coverage":
        options = {"coverage": "require", "perspectives": ["nothing supports this"]}
    bundle = QueryBundle(zoo.question, image_path="x.png", custom_embedding_strs=["cages"])
    retriever = PerspectiveRetriever(
        source, judge=judge, embed_model=zoo.HashEmbedding(), **options
    )
    before = copy.deepcopy(([node.to_dict() for node in source.nodes], asdict(bundle)))
    error = {
        "judge": PerspectiveRAGError,
        "searches": RetrievalError,
        "coverage": CoverageError,
    }.get(fails)
    for way in ("sync", "async"):
        with pytest.raises(error) if error else nullcontext():
            _ = retriever.retrieve(bundle) if way == "sync" else await retriever.aretrieve(bundle)
        assert ([node.to_dict() for node in source.nodes], asdict(bundle)) == before


async def test_r23_no_embedding_is_written_into_the_callers_bundle(zoo):
    bundle = QueryBundle(zoo.question)
    index = zoo.index()
    PerspectiveRetriever(index, judge=None).retrieve(bundle)
    await PerspectiveRetriever(index, judge=None).aretrieve(bundle)
    assert bundle == QueryBundle(zoo.question)
    index.as_retriever().retrieve(bundle)
    assert bundle.embedding is not None  # LlamaIndex's own retriever does write


# R28, R29: threads and failures


def test_r28_a_request_leaves_nothing_on_the_retriever(zoo):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3)
    state = dict(vars(retriever))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: told(retriever.retrieve(zoo.question)), range(32)))
    assert all(answer == answers[0] for answer in answers)
    assert vars(retriever) == state


def test_r28_requests_side_by_side_keep_their_own_bundles(zoo):
    both_started = threading.Barrier(2, timeout=5.0)

    class Waiting:
        def extract(self, question):
            both_started.wait()
            return Extraction(question)
            yield

    source = zoo.WordRetriever(zoo.nodes())
    retriever = PerspectiveRetriever(source, judge=None, extractor=Waiting())
    with ThreadPoolExecutor(2) as pool:
        bundles = [QueryBundle(f"zoo {name}", image_path=name) for name in ("one", "two")]
        list(pool.map(retriever.retrieve, bundles))
    assert {b.query_str: b.image_path for b in source.bundles} == {
        "zoo one": "one",
        "zoo two": "two",
    }


def test_r29_one_failing_search_is_reported_and_all_failing_raise(zoo):
    source = zoo.WordRetriever(zoo.nodes(), failing={zoo.question})
    report = PerspectiveRetriever(source, judge=None).report(zoo.question)
    assert report.passages
    assert [d.stage for d in report.trace.degradations] == ["search"]
    source.failing = {"*"}
    with pytest.raises(RetrievalError) as caught:
        PerspectiveRetriever(source, judge=None).retrieve(zoo.question)
    assert isinstance(caught.value.__cause__, ConnectionError)


# R6, R7, R10: diversity and vectors


def test_r6_the_order_is_carbonell_and_goldsteins(zoo):
    """Brute force: argmax of w * sim(d, q) - (1 - w) * max sim(d, picked), over the same vectors."""
    model, weight = zoo.HashEmbedding(), 0.4
    retriever = PerspectiveRetriever(
        zoo.index(embed_model=model), judge=None, perspectives=[], k=6, mmr_lambda=weight
    )
    found = [item.node.node_id for item in retriever.retrieve(zoo.question)]
    rows = {name: np.array(model.get_text_embedding(text)) for name, text in zoo.texts.items()}
    question = np.array(model.get_query_embedding(zoo.question))
    relevance = {name: float(row @ question) for name, row in rows.items()}
    best = max(relevance.values())
    picked: list[str] = []
    while len(picked) < len(rows):
        picked.append(
            max(
                (name for name in rows if name not in picked),
                key=lambda name: (
                    weight * relevance[name] / best
                    - (1 - weight) * max((float(rows[name] @ rows[p]) for p in picked), default=0.0)
                ),
            )
        )
    assert found == picked


async def test_r7_any_retriever_will_do_and_its_candidates_are_embedded_in_one_call(zoo):
    class Counting(zoo.HashEmbedding):
        def _get_text_embeddings(self, texts):
            batches.append(len(texts))
            return super()._get_text_embeddings(texts)

    batches: list[int] = []
    source = Awaiting(zoo.nodes())
    retriever = PerspectiveRetriever(
        source,
        judge=None,
        embed_model=Counting(),
        takes_vector=False,
        mmr_lambda=0.5,
        perspectives=[],
    )
    report = await retriever.areport(zoo.question)
    assert sorted(batches) == [1, len(zoo.texts)]  # the question, and all candidates together
    assert report.trace.counts["embedded_texts"] == 1 + len(zoo.texts)
    assert report.trace.calls["embed"] == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mmr_lambda": 0.5}, "embedder="),
        ({"projection": "pap"}, "projection='none'"),
        ({"coverage": "require"}, "judge="),
        ({"takes_vector": True}, "embed_model="),
    ],
)
def test_r10_what_cannot_work_is_said_at_construction(zoo, options, said):
    with pytest.raises(CapabilityError, match=said):
        PerspectiveRetriever(zoo.WordRetriever(zoo.nodes()), judge=None, **options)


# R13, R15, R16: running loops, reports, stages


async def test_r13_the_sync_forms_work_in_a_running_loop(zoo):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3)
    assert told(retriever.retrieve(zoo.question)) == told(await retriever.aretrieve(zoo.question))
    given = zoo.index().as_retriever(similarity_top_k=6).retrieve(zoo.question)
    chooser = PerspectivePostprocessor(judge=zoo.judge(), k=3)
    assert told(chooser.postprocess_nodes(given, query_str=zoo.question)) == told(
        await chooser.apostprocess_nodes(given, query_str=zoo.question)
    )


async def test_r15_a_report_belongs_to_its_request(zoo):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3)
    one, other = await asyncio.gather(
        retriever.areport(zoo.question), retriever.areport("Should parks be closed?")
    )
    assert one.trace.queries[0].text == zoo.question
    assert other.trace.queries[0].text == "Should parks be closed?"
    for report in (one, other):
        values = report.to_dict()
        assert {"queries", "calls", "seconds", "counts", "degradations"} <= set(values["trace"])
        assert values["trace"]["counts"]["judged_pairs"] > 0
        assert set(values["trace"]["seconds"]) == set(values["trace"]["calls"])
        assert [p["id"] for p in values["perspectives"]] == ["support", "oppose"]


def test_r16_each_stage_can_be_run_alone(zoo):
    pipeline = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3).pipeline
    request = pipeline.request(zoo.question)
    extraction = pipeline.run_step(extract(request, pipeline.extractor), request)
    assert [p.id for p in extraction.perspectives] == ["support", "oppose"]
    queries = pipeline.run_step(expand(request, pipeline.expander, extraction), request)
    assert queries[0].text == zoo.question
    rankings = pipeline.run_step(search(request, extraction, queries), request)
    candidates = pipeline.run_step(merge(request, rankings), request)
    assert {c.passage.id for c in candidates} == set(zoo.texts)
    judged = pipeline.run_step(judge(request, extraction, candidates), request)
    assert any(c.support for c in judged)
    assert len(select(request, extraction, judged)) == 3


# R17-R19: models that fail


BAD_REPLIES = {
    "empty": "",
    "white space": "  \n ",
    "refusal": "I am sorry, but I cannot help with that.",
    "truncated": '{"root": "zoos", "perspectives": [{"text": "zoos sh',
    "wrong type": '{"root": 7, "perspectives": 3}',
    "list of numbers": "[1, 2, 3]",
    "thinking alone": "<think>they want both sides</think>",
    "one twice": '{"root": "zoos", "perspectives": ["keep zoos", "keep zoos", "KEEP  zoos"]}',
    "empty ones": '{"root": "zoos", "perspectives": ["", " ", "keep zoos"]}',
    "numbered": "1. keep zoos\n2. close zoos",
    "bulleted": "- keep zoos\n- close zoos",
    "fenced": '```json\n{"root": "zoos", "perspectives": ["keep zoos"]}\n```',
    "preamble": 'Sure! Here it is: {"root": "zoos", "perspectives": ["keep zoos"]}',
    "another language": '{"root": "zoos", "perspectives": ["动物园应该保留"]}',
    "far too many": json.dumps({"root": "zoos", "perspectives": [f"side {i}" for i in range(90)]}),
}


@pytest.mark.parametrize("reply", BAD_REPLIES.values(), ids=BAD_REPLIES)
async def test_r17_no_reply_is_bad_enough_to_fail_a_request(zoo, reply):
    class Model(BlockingLLM):
        def complete(self, prompt, formatted=False, **kwargs):
            return CompletionResponse(text=reply)

    store = zoo.RecordingVectorStore()
    retriever = PerspectiveRetriever(zoo.index(vector_store=store), judge=zoo.judge(), llm=Model())
    for report in (retriever.report(zoo.question), await retriever.areport(zoo.question)):
        assert len(report.passages) == 5
        texts = [query.text for query in report.trace.queries]
        assert all(text.strip() for text in texts)
        assert len({text.casefold() for text in texts}) == len(texts)
        assert len(texts) <= retriever.options.max_queries + retriever.options.guard_searches
        # Either it was understood, or the rules took over and the report says so.
        assert report.perspectives
        if [p.id for p in report.perspectives] == ["support", "oppose"]:
            assert "extract" in {d.stage for d in report.trace.degradations}


def test_r18_the_question_is_searched_and_a_judge_that_fails_has_said_nothing(zoo):
    source = zoo.WordRetriever(zoo.nodes())
    judge = zoo.judge(failing=frozenset(zoo.texts))
    report = PerspectiveRetriever(source, judge=judge, k=3).report(zoo.question)
    assert zoo.question in {bundle.query_str for bundle in source.bundles}
    assert np.isnan(report.coverage.support).all()
    assert report.coverage.missing == ()
    assert [p.id for p in report.coverage.unjudged] == ["support", "oppose"]
    assert "judge" in {d.stage for d in report.trace.degradations}


def test_r19_strict_says_which_prompt_and_what_came_back(zoo):
    class Model(BlockingLLM):
        def complete(self, prompt, formatted=False, **kwargs):
            return CompletionResponse(text="I would rather not. " * 500)

    retriever = PerspectiveRetriever(zoo.index(), judge=None, llm=Model(), strict=True)
    with pytest.raises(LLMReplyError) as caught:
        retriever.retrieve(zoo.question)
    assert "extract_perspectives" in str(caught.value)
    assert "I would rather not" in str(caught.value)
    assert len(str(caught.value)) < 2000


# R20, R21: who is who


def test_r20_a_node_is_known_by_its_id_whatever_its_metadata_holds(zoo):
    nodes = zoo.nodes()
    for node in nodes:
        node.metadata["unhashable"] = {"a": [1, {"b": 2}]}
    found = ids(
        PerspectiveRetriever(zoo.WordRetriever(nodes), judge=None, k=50).retrieve(zoo.question)
    )
    assert sorted(found) == sorted(zoo.texts)  # three searches found each of them, once each
    doubled = zoo.WordRetriever([*nodes, *nodes])
    found = ids(PerspectiveRetriever(doubled, judge=None, k=50).retrieve(zoo.question))
    assert sorted(found) == sorted(zoo.texts)


@pytest.mark.parametrize("key", ["shelf", lambda node: node.metadata["shelf"]])
def test_r20_a_key_of_ones_own_decides_what_is_one_node(zoo, key):
    retriever = PerspectiveRetriever(zoo.index(), judge=None, k=50, dedup_key=key)
    shelves = [item.node.metadata["shelf"] for item in retriever.retrieve(zoo.question)]
    assert sorted(shelves) == ["even", "odd"]
    with pytest.raises(ConfigError, match="dedup_key"):
        PerspectiveRetriever(zoo.index(), judge=None, dedup_key=3)


def test_r21_the_same_text_from_two_sources_stays_two_nodes(zoo):
    nodes = [*zoo.nodes(), TextNode(id_="copy", text=zoo.texts["a"], metadata={"title": "other"})]
    report = PerspectiveRetriever(zoo.WordRetriever(nodes), judge=None, k=50).report(zoo.question)
    assert {"a", "copy"} <= {passage.id for passage in report.passages}


# R22, R24 to R27: fusion, calls, bounds, repeatability, questions left alone


def test_r22_a_node_that_a_search_did_not_find_earns_nothing_there(zoo):
    class One(zoo.WordRetriever):
        def _retrieve(self, query_bundle):
            return super()._retrieve(query_bundle)[:1]

    report = PerspectiveRetriever(One(zoo.nodes()), judge=None, fusion="rrf").report(zoo.question)
    weights = {query.text: 1.0 if query.perspective else 2.0 for query in report.trace.queries}
    for candidate in report.candidates:
        assert candidate.scores["fused"] == pytest.approx(
            sum(weights[text] / 61 for text in candidate.found_by)
        )


def test_r24_a_call_has_its_own_options_and_leaves_none_behind(zoo):
    store = zoo.RecordingVectorStore()
    retriever = PerspectiveRetriever(zoo.index(vector_store=store), judge=None, k=3, fetch_k=6)
    report = retriever.report(
        zoo.question, k=2, fetch_k=4, mmr_lambda=0.2, perspectives=["cages"], filters=ODD
    )
    assert len(report.passages) == 2
    assert {query.similarity_top_k for query in store._queries} == {4}
    assert {str(query.filters) for query in store._queries} == {str(ODD)}
    assert [p.text for p in report.perspectives] == ["cages"]
    store._queries.clear()
    assert len(retriever.retrieve(zoo.question)) == 3
    assert {query.similarity_top_k for query in store._queries} == {6}
    assert {query.filters for query in store._queries} == {None}


def test_r25_stages_are_bounded_and_what_is_off_is_not_called(zoo):
    judge = zoo.judge()
    many = [f"side {number}" for number in range(20)]
    retriever = PerspectiveRetriever(
        zoo.index(), judge=judge, max_queries=3, judge_k=2, guard_searches=0, perspectives=many
    )
    report = retriever.report(zoo.question)
    assert report.trace.calls["search"] == len(report.trace.queries) == 3
    assert len({passage for passage, _ in judge.judged}) == 2
    judge.judged.clear()
    report = retriever.report(zoo.question, coverage="off", perspectives=[])
    assert report.trace.calls == {"embed": 1, "search": 1}
    assert judge.judged == []


async def test_r27_a_question_that_needs_no_sides_is_left_alone(zoo):
    def small_talk(question):
        return question.startswith("Thanks")

    judge, index = zoo.judge(), zoo.index()
    retriever = PerspectiveRetriever(index, judge=judge, k=3, skip_if=small_talk)
    told = "Thanks, should zoos be closed?"
    plain = index.as_retriever(similarity_top_k=3).retrieve(told)
    assert ids(retriever.retrieve(told)) == ids(await retriever.aretrieve(told)) == ids(plain)
    assert retriever.report(told).trace.calls["search"] == 1
    chooser = PerspectivePostprocessor(judge=judge, k=2, skip_if=small_talk)
    assert ids(chooser.postprocess_nodes(plain, query_str=told)) == ids(plain)[:2]
    assert judge.judged == []
    assert retriever.report(zoo.question).coverage.complete
    assert judge.judged


def test_r27_sides_are_searched_only_where_the_first_search_misses_them(zoo):
    given = {"judge": zoo.judge(), "expander": NoExpansion()}
    both = PerspectiveRetriever(zoo.index(), **given)
    assert both.report(zoo.question).coverage.complete
    assert both.report(zoo.question).trace.calls["search"] == 1
    one_side = zoo.index(nodes=[node for node in zoo.nodes() if node.node_id != "e"])
    report = PerspectiveRetriever(one_side, **given).report(zoo.question)
    assert report.trace.calls["search"] > 1


def test_r26_a_cached_model_is_asked_once_and_answers_alike(zoo, tmp_path):
    class Model(BlockingLLM):
        def complete(self, prompt, formatted=False, **kwargs):
            asked.append(prompt)
            reply = {"root": "zoos", "perspectives": [f"answer {len(asked)} about zoos"]}
            return CompletionResponse(text=json.dumps(reply))

    asked: list[str] = []
    llm = CachedLLM(LlamaIndexLLM(Model(), temperature=0.0), tmp_path / "replies.db")
    first = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), llm=llm)
    second = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), llm=llm)
    assert told(first.retrieve(zoo.question)) == told(second.retrieve(zoo.question))
    assert len(asked) == 1
    llm.close()


# R30-R32: numbers, configuration, types


@pytest.mark.parametrize("mmr_lambda", [0.5, 1.0])
def test_r30_a_text_without_a_direction_is_not_near_anything(zoo, mmr_lambda):
    nodes = [*zoo.nodes(), TextNode(id_="zero", text="...")]
    report = PerspectiveRetriever(
        zoo.WordRetriever(nodes),
        judge=None,
        embed_model=zoo.HashEmbedding(),
        takes_vector=False,
        perspectives=[],
        mmr_lambda=mmr_lambda,
        k=50,
    ).report(zoo.question)
    zero = next(c for c in report.candidates if c.passage.id == "zero")
    assert zero.scores["relevance"] == 0.0
    assert all(np.isfinite(c.score) for c in report.candidates)


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_r30_a_query_vector_that_is_no_number_is_refused(zoo, broken):
    class Broken(zoo.HashEmbedding):
        def _get_query_embedding(self, query):
            return [broken] * 64

    index = zoo.index()
    with pytest.raises(ValueError, match="row 0"):
        PerspectiveRetriever(index, judge=None, embed_model=Broken()).retrieve(zoo.question)


def test_r31_options_survive_a_round_trip_and_the_adapter_needs_the_core_alone(zoo):
    retriever = PerspectiveRetriever(zoo.index(), judge=None, k=4, projection="pap", fetch_k=9)
    values = json.loads(json.dumps(retriever.options.to_dict()))
    again = PerspectiveRetriever(zoo.index(), judge=None, options=PipelineOptions.from_dict(values))
    assert again.options == retriever.options
    assert told(again.retrieve(zoo.question)) == told(retriever.retrieve(zoo.question))
    folder = Path(package.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if name.startswith("llama_index"):
                assert name.split(".")[1] == "core" or name.startswith(package.__name__), path


def test_r32_whatever_fits_a_protocol_is_accepted(zoo):
    class Sides:
        def extract(self, question):
            return Extraction(question, (Perspective("one", "cages are cruel"),))
            yield

    class Words:
        def expand(self, question, perspectives):
            return [Query("cruel cages", perspectives[0].id)]
            yield

    class Verdict:
        name, threshold = "verdict", 0.5

        def judge(self, perspectives, passages):
            return np.array([[float("cruel" in passage.text)] for passage in passages])
            yield

    report = PerspectiveRetriever(
        zoo.index(), extractor=Sides(), expander=Words(), judge=Verdict(), k=2
    ).report(zoo.question)
    assert [query.text for query in report.trace.queries][:2] == [zoo.question, "cruel cages"]
    assert report.coverage.complete
    assert (Path(package.__file__).parent / "py.typed").is_file()
