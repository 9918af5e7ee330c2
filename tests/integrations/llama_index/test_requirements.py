"""R1-R28 of the requirements, where they touch LlamaIndex."""

from __future__ import annotations

import asyncio
import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

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

from llama_index.retrievers.perspective_rag import METADATA_KEY, PerspectiveRetriever
from perspective_rag.errors import (
    CapabilityError,
    ConfigError,
    CoverageError,
    PerspectiveRAGError,
    RetrievalError,
)
from perspective_rag.types import Extraction


def ids(nodes):
    return [item.node.node_id for item in nodes]


def told(nodes):
    """All that a caller sees of nodes."""
    return [(item.score, item.node.to_dict()) for item in nodes]


# R1, R2: scores


def test_r1_every_stage_leaves_its_score(zoo):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3, relevance_weight=0.7)
    for item in retriever.retrieve(zoo.question):
        scores = item.node.metadata[METADATA_KEY]["scores"]
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
        "search:question"
        not in near.retrieve(zoo.question)[0].node.metadata[METADATA_KEY]["scores"]
    )


# R4, R5: names and directions


@pytest.mark.parametrize("name", ["relevance_weight", "mmr_threshold", "lambda_mult"])
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
    with pytest.raises(ConfigError, match="relevance_weight"):
        retriever.report(zoo.question, relevance_weight=1.5)


# R8: filters


ODD = MetadataFilters(filters=[ExactMatchFilter(key="shelf", value="odd")])
ONE_OF = MetadataFilters(
    filters=[ExactMatchFilter(key="title", value=t) for t in "ACF"], condition=FilterCondition.OR
)


@pytest.mark.parametrize(
    "options", [{}, {"projection": "pap"}, {"relevance_weight": 0.5}, {"coverage": "off"}]
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
        zoo.index(embed_model=model), judge=zoo.judge(), relevance_weight=0.5, projection=projection
    )
    model.texts.clear()
    report = retriever.report(zoo.question)
    assert len(model.texts) == len(set(model.texts)) == report.trace.counts["embedded_texts"]
    assert not set(model.texts) & set(zoo.texts.values())


def test_r9_candidates_without_vectors_are_embedded_in_one_batch(zoo):
    model = zoo.HashEmbedding()
    source = zoo.WordRetriever(zoo.nodes())
    retriever = PerspectiveRetriever(source, judge=None, embed_model=model, relevance_weight=0.5)
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
        zoo.WordRetriever(nodes), judge=None, embed_model=model, relevance_weight=0.5
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
    {"relevance_weight": 0.3},
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


def test_r28_thirty_two_threads_get_the_answers_of_one(zoo):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3, timeout=None)
    questions = [
        f"Should {noun} be closed?" for noun in ("zoos", "parks", "cages", "species", "recipes")
    ]
    alone = {question: told(retriever.retrieve(question)) for question in questions}
    state = dict(vars(retriever))

    def ask(number):
        question = questions[number % len(questions)]
        return told(retriever.retrieve(question)) == alone[question]

    with ThreadPoolExecutor(32) as pool:
        assert all(pool.map(ask, range(32 * 50)))
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
