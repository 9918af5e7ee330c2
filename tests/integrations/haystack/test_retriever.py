"""The retriever: what reaches the store, what comes back, and what a run may change."""

from __future__ import annotations

import asyncio
import logging

import pytest
from haystack import Document, component
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.document_stores.types import FilterPolicy

from haystack_integrations.common.perspective_rag import report_in
from haystack_integrations.components.retrievers.perspective_rag import PerspectiveRetriever
from perspective_rag import CapabilityError, CoverageError, Perspective
from perspective_rag.extend import ANNOTATIONS
from tests.integrations.haystack.samples import (
    QUESTION,
    ScriptedGenerator,
    WordDocumentEmbedder,
    WordEmbedder,
    documents,
    filled,
    is_thanks,
    judge,
)

AGAINST = {"field": "meta.side", "operator": "==", "value": "against"}


def by_vector(**given):
    return PerspectiveRetriever(
        document_store=filled(), text_embedder=WordEmbedder(), judge=judge(), **given
    )


@pytest.mark.parametrize("vector", [True, False])
def test_both_sides_are_found_where_the_plain_retriever_shows_one(vector):
    store, embedder = filled(), WordEmbedder()
    if vector:
        plain = InMemoryEmbeddingRetriever(store).run(embedder.run(QUESTION)["embedding"], top_k=3)
    else:
        plain = InMemoryBM25Retriever(store).run(QUESTION, top_k=3)
    assert not any(each.meta["side"] == "against" for each in plain["documents"])
    more = {"text_embedder": embedder} if vector else {}
    ours = PerspectiveRetriever(document_store=store, judge=judge(), top_k=3, **more).run(QUESTION)
    assert {each.meta["side"] for each in ours["documents"]} == {"for", "against"}
    assert not ours["report"]["coverage"]["missing"]


def test_documents_are_copies_with_flat_metadata_and_the_store_keeps_its_own():
    store = filled()
    before = {each.id: each.to_dict() for each in store.filter_documents()}
    found = PerspectiveRetriever(document_store=store, judge=judge(), k=3).run(QUESTION)[
        "documents"
    ]
    for document in found:
        added = {key: document.meta[key] for key in ANNOTATIONS if key in document.meta}
        assert {type(value) for value in added.values()} <= {str, float}
        report = report_in(document.meta)
        assert report["perspectives"] == [
            text for text in document.meta["perspective_rag_perspectives"].split("; ") if text
        ]
        document.meta["tags"].append("changed")
    assert {each.id: each.to_dict() for each in store.filter_documents()} == before
    store.write_documents(found, policy=_overwrite())  # flat: any store takes them back
    again = PerspectiveRetriever(document_store=store, judge=judge(), k=3).run(QUESTION)
    assert [each.id for each in again["documents"]] == [each.id for each in found]


def _overwrite():
    from haystack.document_stores.types import DuplicatePolicy

    return DuplicatePolicy.OVERWRITE


def test_embeddings_come_back_as_the_retriever_is_set():
    store = filled()
    for returned in (True, False):
        inner = InMemoryEmbeddingRetriever(store, return_embedding=returned)
        found = PerspectiveRetriever(inner, text_embedder=WordEmbedder(), judge=judge())
        back = found.run(QUESTION)["documents"]
        assert [each.embedding is not None for each in back] == [returned] * 5


def test_every_document_has_a_number_for_a_score():
    for retriever in (
        by_vector(k=8),
        PerspectiveRetriever(document_store=filled(), judge=judge(), k=8),
        PerspectiveRetriever(document_store=filled(), judge=judge(), k=3, score_kind="selection"),
    ):
        scores = [each.score for each in retriever.run(QUESTION)["documents"]]
        assert all(isinstance(score, float) for score in scores)


def test_scores_that_grow_with_distance_are_not_taken_for_similarities():
    @component
    class Distances:
        @component.output_types(documents=list[Document])
        def run(self, query: str, top_k: int | None = None):
            return {"documents": [Document(content=f"text {i}", score=i / 4) for i in range(5)]}

    found = PerspectiveRetriever(Distances(), judge=None, k=3).run(QUESTION)["documents"]
    assert [each.content for each in found] == ["text 0", "text 1", "text 2"]
    assert [each.score for each in found] != [0.0, 0.25, 0.5]
    assert "perspective_rag_similarity" not in found[0].meta


@pytest.mark.parametrize("vector", [True, False])
def test_filters_reach_every_search(vector):
    more = {"text_embedder": WordEmbedder()} if vector else {}
    made = PerspectiveRetriever(document_store=filled(), judge=judge(), filters=AGAINST, **more)
    side_for = {"field": "meta.side", "operator": "==", "value": "for"}
    assert {each.meta["side"] for each in made.run(QUESTION)["documents"]} == {"against"}
    replaced = made.run(QUESTION, filters=side_for)["documents"]
    assert {each.meta["side"] for each in replaced} == {"for"}
    both = PerspectiveRetriever(
        document_store=filled(),
        judge=judge(),
        filters=AGAINST,
        filter_policy=FilterPolicy.MERGE,
        **more,
    )
    one = {"field": "meta.n", "operator": "==", "value": "against-1"}
    assert [each.id for each in both.run(QUESTION, filters=one)["documents"]] == ["against-1"]


def test_a_filter_that_could_not_arrive_raises():
    @component
    class NoFilters:
        @component.output_types(documents=list[Document])
        def run(self, query: str):
            raise AssertionError("never called")

    with pytest.raises(CapabilityError, match="NoFilters takes no filters"):
        PerspectiveRetriever(NoFilters(), filters=AGAINST)
    with pytest.raises(CapabilityError, match="NoFilters takes no filters"):
        PerspectiveRetriever(NoFilters(), judge=None, strict=True).run(QUESTION, filters=AGAINST)


def test_a_run_has_its_own_options_and_leaves_none_behind():
    made = by_vector(k=4)
    first = [each.id for each in made.run(QUESTION)["documents"]]
    sides = ["Zoos keep rare species alive"]
    changed = made.run(QUESTION, sides, top_k=2, options={"mmr_lambda": 0.5, "max_queries": 2})
    assert len(changed["documents"]) == 2
    assert [each["text"] for each in changed["report"]["perspectives"]] == sides
    assert len(changed["report"]["trace"]["queries"]) == 2
    assert [each.id for each in made.run(QUESTION)["documents"]] == first


async def test_sync_and_async_agree():
    for made in (by_vector(), PerspectiveRetriever(document_store=filled(), judge=judge())):
        one, other = made.run(QUESTION), await made.run_async(QUESTION)
        for each in (one, other):
            each["report"]["trace"].pop("seconds")
        assert one == other


def test_coverage_that_is_required_and_missing_raises():
    made = by_vector(coverage="require", filters=AGAINST)
    with pytest.raises(CoverageError):
        made.run(QUESTION)


def test_a_follow_up_needs_no_perspectives():
    report = by_vector(skip_if=is_thanks).run("thanks for that")["report"]
    assert report["perspectives"] == []


def test_a_document_known_by_another_key_comes_once():
    store = filled()
    twin = Document(id="twin", content=documents()[0].content + " again", meta={"n": "for-1"})
    store.write_documents([twin])
    for key in ("n", lambda document: document.meta["n"]):
        made = PerspectiveRetriever(document_store=store, judge=judge(), k=11, dedup_key=key)
        names = [each.meta["n"] for each in made.run(QUESTION)["documents"]]
        assert names.count("for-1") == 1


def test_passages_without_vectors_go_to_the_document_embedder_in_one_batch():
    inner, own = InMemoryBM25Retriever(filled()), WordDocumentEmbedder()
    texts = WordEmbedder()
    made = PerspectiveRetriever(
        inner, text_embedder=texts, document_embedder=own, judge=None, max_queries=1
    )
    made.run(QUESTION)
    assert len(own.batches) == 1
    assert texts.texts == [QUESTION]


def test_a_chat_generator_names_the_sides_and_the_rules_take_over_when_it_fails(caplog):
    reply = '{"root": "zoos", "perspectives": ["Cages are cruel.", "Breeding keeps species."]}'
    made = by_vector(chat_generator=ScriptedGenerator(reply))
    named = made.run("What about zoos?")["report"]["perspectives"]
    assert [each["text"] for each in named] == ["Cages are cruel.", "Breeding keeps species."]
    failing = by_vector(chat_generator=ScriptedGenerator(ConnectionError("the model is down")))
    with caplog.at_level(logging.WARNING, logger="perspective_rag"):
        report = failing.run(QUESTION)["report"]
    assert [each["id"] for each in report["perspectives"]] == ["support", "oppose"]
    assert "the model is down" in caplog.text
    assert report["trace"]["degradations"]


def test_inner_components_are_warmed_up_and_closed():
    for run in (
        lambda made: made.run(QUESTION),
        lambda made: asyncio.run(made.run_async(QUESTION)),
        lambda made: made.warm_up(),
        lambda made: asyncio.run(made.warm_up_async()),
    ):
        embedder = WordEmbedder(warm=False)
        made = PerspectiveRetriever(
            document_store=filled(), text_embedder=embedder, judge=judge(), strict=True
        )
        run(made)
        assert embedder.warm
        made.close()
        assert embedder.closed
        asyncio.run(made.close_async())


def test_warming_up_loads_the_packaged_judge():
    pytest.importorskip("onnxruntime")
    from perspective_rag.extend import packaged_judge

    packaged_judge.cache_clear()
    made = PerspectiveRetriever(document_store=filled())
    loaded = packaged_judge()
    assert loaded._classifier is None
    made.warm_up()
    assert loaded._classifier is not None


def test_sides_of_ones_own_may_be_perspectives_with_ids():
    side = Perspective("care", "Zoos keep rare species alive", weight=2.0)
    made = by_vector(perspectives=[side])
    assert made.run(QUESTION)["report"]["perspectives"][0]["id"] == "care"
