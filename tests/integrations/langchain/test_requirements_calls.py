"""What users of retriever wrappers asked for, a test each: replies, identity, inputs, options, failures."""

from __future__ import annotations

import copy
import json
import sys

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import ConfigurableField, RunnableLambda

from langchain_perspective_rag import PerspectiveCompressor, PerspectiveRetriever
from perspective_rag import (
    LLMReplyError,
    NoExpansion,
    PipelineOptions,
    RetrievalError,
)
from perspective_rag.extend import report_in, without_annotations
from perspective_rag.testing import TableJudge
from tests.integrations.langchain.samples import FixedRetriever


class Article(Document):
    author: str = ""


def test_r23_the_store_s_documents_are_not_touched(store, judge, debate):
    before = copy.deepcopy(store.store)
    retriever = PerspectiveRetriever.wrap(store, judge=judge, k=4)
    documents = retriever.invoke(debate.question)
    documents[0].metadata["nested"]["tags"].append("changed by the caller")
    assert store.store == before


def test_r23_id_metadata_and_subclass_come_back(judge, debate):
    given = [
        Article(
            id=debate.name_of(key), page_content=text, metadata={"key": key}, author="A. Writer"
        )
        for key, text in debate.texts.items()
    ]
    before = copy.deepcopy(given)
    retriever = PerspectiveRetriever.wrap(FixedRetriever(documents=given), judge=judge, k=4)
    documents = retriever.invoke(debate.question)
    assert given == before
    for document in documents:
        (original,) = [each for each in given if each.id == document.id]
        assert type(document) is Article
        assert document.author == "A. Writer"
        assert document is not original
        kept = without_annotations(document.metadata)
        del kept["relevance_score"]
        assert kept == original.metadata


def test_r23_a_failing_judge_leaves_the_documents_alone(debate):
    class Failing(TableJudge):
        def _look_up(self, perspectives, passages):
            raise RuntimeError("no judge today")

    given = [Document(page_content=text) for text in debate.texts.values()]
    before = copy.deepcopy(given)
    retriever = PerspectiveRetriever.wrap(FixedRetriever(documents=given), judge=Failing(), k=4)
    documents = retriever.invoke(debate.question)
    assert len(documents) == 4
    assert given == before
    assert all(report_in(d.metadata)["support"] == {} for d in documents), "not judged, not 0"
    assert retriever.retrieve(debate.question).trace.degradations


def test_r24_options_at_construction_and_at_each_call(store, judge, debate):
    retriever = PerspectiveRetriever.wrap(store, judge=judge, k=2, fetch_k=4)
    assert len(retriever.invoke(debate.question)) == 2
    assert {call["k"] for call in store.calls} == {4}
    assert len(retriever.invoke(debate.question, k=6)) == 6
    store.calls.clear()
    retriever.invoke(debate.question, fetch_k=9, max_queries=1, guard_searches=0)
    assert [call["k"] for call in store.calls] == [9]
    assert retriever.k == 2


def _only_animals(document):
    return "animals" in document.page_content or "cages" in document.page_content


OPTIONS = {
    "k": 2,
    "fetch_k": 3,
    "mmr_lambda": 0.2,
    "perspectives": ["rare species", "trains in autumn"],
    "filter": _only_animals,
}


@pytest.mark.parametrize("name", OPTIONS)
async def test_r24_a_call_s_option_does_what_the_constructor_s_does(store, judge, debate, name):
    given = {name: OPTIONS[name]}
    plain = PerspectiveRetriever.wrap(store, judge=judge, k=4)
    wanted = PerspectiveRetriever.wrap(store, judge=judge, **{"k": 4, **given}).invoke(
        debate.question
    )
    before = plain.invoke(debate.question)
    assert wanted != before, "the option makes a difference here"
    asked = debate.question
    config = {"configurable": {"given": given[name]}}
    configurable = plain.configurable_fields(**{name: ConfigurableField(id="given")})
    assert plain.invoke(asked, **given) == wanted
    assert await plain.ainvoke(asked, **given) == wanted
    assert plain.batch([asked, asked], **given) == [wanted, wanted]
    assert await plain.abatch([asked, asked], **given) == [wanted, wanted]
    assert list(plain.stream(asked, **given)) == [wanted]
    assert [chunk async for chunk in plain.astream(asked, **given)] == [wanted]
    assert plain.bind(**given).invoke(asked) == wanted
    assert configurable.invoke(asked, config=config) == wanted
    assert await configurable.ainvoke(asked, config=config) == wanted
    assert plain.invoke(asked) == before


def test_r24_perspectives_at_a_call(store, debate):
    retriever = PerspectiveRetriever.wrap(store, judge=TableJudge(default=1.0), k=2)
    sides = ["zoos breed rare species", "parks", "cages are cruel"]
    documents = retriever.invoke(debate.question, perspectives=sides)
    assert report_in(documents[0].metadata)["supports"] == ["p1", "p2", "p3"]


def test_r29_a_store_that_fails_raises_with_its_reason(store, judge, debate, recorder):
    def broken(*args, **kwargs):
        raise ConnectionError("the store is down")

    store.similarity_search_by_vector = broken  # on the instance: its class still overrides it
    retriever = PerspectiveRetriever.wrap(store, judge=judge)
    with pytest.raises(RetrievalError, match="the store is down") as raised:
        retriever.invoke(debate.question, config={"callbacks": [recorder]})
    assert isinstance(raised.value.__cause__, ConnectionError)
    assert {type(error) for _, error in recorder.failed} == {ConnectionError, RetrievalError}


GOOD = {"root": "Should zoos be closed?", "perspectives": ["Breeding saves.", "Cages hurt."]}
BAD = {
    "empty": "",
    "preamble alone": "Sure! Here are the perspectives you asked for:",
    "truncated": json.dumps(GOOD)[:40],
    "unclosed thought": "<think>The user wants perspectives, so I should",
    "wrong type": '{"root": "Should zoos be closed?", "perspectives": 7}',
    "refusal": "I'm sorry, but I can't help with that.",
    "a list of numbers": "[1, 2, 3]",
}


@pytest.mark.parametrize("reply", BAD.values(), ids=BAD)
async def test_r17_a_bad_reply_never_raises_and_is_recorded(store, judge, debate, reply):
    retriever = PerspectiveRetriever.wrap(
        store, judge=judge, k=3, llm=FakeListChatModel(responses=[reply])
    )
    for result in (retriever.retrieve(debate.question), await retriever.aretrieve(debate.question)):
        assert [d.stage for d in result.trace.degradations] == ["extract"]
        texts = [query.text.strip().casefold() for query in result.trace.queries]
        assert all(texts)
        assert len(texts) == len(set(texts))
        assert len(result.passages) == 3


@pytest.mark.parametrize("frame", ["{}", "```json\n{}\n```", "<think>hm</think>{}", "Here: {}"])
def test_r17_what_can_be_read_is_read(store, judge, debate, frame):
    llm = FakeListChatModel(responses=[frame.replace("{}", json.dumps(GOOD))])
    result = PerspectiveRetriever.wrap(store, judge=judge, llm=llm).retrieve(debate.question)
    assert [p.text for p in result.perspectives] == GOOD["perspectives"]
    assert not result.trace.degradations


def test_r18_the_question_is_searched_first_whatever_the_perspectives(store, judge, debate):
    retriever = PerspectiveRetriever.wrap(store, judge=judge, max_queries=2)
    result = retriever.retrieve(debate.question, perspectives=["parks", "trains", "bridges"])
    assert [query.text for query in result.trace.queries][:1] == [debate.question]
    assert any("search:question" in c.scores for c in result.candidates)


def test_r19_strict_mode_raises_with_the_prompt_and_the_reply(store, judge, debate):
    llm = FakeListChatModel(responses=["no JSON at all " * 100])
    retriever = PerspectiveRetriever.wrap(store, judge=judge, llm=llm, strict=True)
    with pytest.raises(LLMReplyError, match="extract_perspectives") as raised:
        retriever.invoke(debate.question)
    assert "no JSON at all" in str(raised.value)
    assert len(str(raised.value)) < 1000


def test_r20_metadata_is_never_hashed_and_one_passage_comes_once(judge, debate):
    given = [
        Document(page_content=" Zoos should be CLOSED", metadata={"source": "a", "tags": ["x"]}),
        Document(page_content="zoos should be closed", metadata={"source": "a", "tags": {"y": 1}}),
    ]
    retriever = PerspectiveRetriever.wrap(FixedRetriever(documents=given), judge=judge)
    (document,) = retriever.invoke(debate.question)
    assert document.metadata["tags"] == ["x"]
    # A vote for each list in which it was found, whatever its number of copies there.
    scores = report_in(document.metadata)
    single = PerspectiveRetriever.wrap(FixedRetriever(documents=given[:1]), judge=judge)
    (alone,) = single.invoke(debate.question)
    assert scores["scores"]["fused"] == report_in(alone.metadata)["scores"]["fused"]


@pytest.mark.parametrize("key", ["page", lambda document: document.metadata["page"]])
def test_r20_a_key_of_ones_own_decides_what_is_one_document(judge, debate, key):
    given = [
        Document(page_content=text, metadata={"page": number // 2})
        for number, text in enumerate(debate.texts.values())
    ]
    retriever = PerspectiveRetriever.wrap(
        FixedRetriever(documents=given), judge=judge, k=9, dedup_key=key
    )
    pages = [document.metadata["page"] for document in retriever.invoke(debate.question)]
    assert sorted(pages) == [0, 1, 2, 3, 4]
    compressor = PerspectiveCompressor(judge=judge, k=9, dedup_key=key)
    kept = compressor.compress_documents(given, debate.question)
    assert sorted(document.metadata["page"] for document in kept) == [0, 1, 2, 3, 4]


def test_r21_the_same_text_from_two_sources_can_be_cited_twice(judge, debate):
    given = [
        Document(page_content="zoos should be closed", metadata={"source": source})
        for source in ("paper", "book")
    ]
    retriever = PerspectiveRetriever.wrap(FixedRetriever(documents=given), judge=judge)
    found = retriever.invoke(debate.question)
    assert [d.metadata["source"] for d in found] == ["paper", "book"]


def test_r22_ranks_count_from_one_and_absence_earns_nothing(debate):
    rankings = {"q": ["a", "b"], "one": ["b", "c"]}
    made = RunnableLambda(
        lambda text: [Document(id=name, page_content=name) for name in rankings[text]]
    )
    retriever = PerspectiveRetriever.wrap(made, judge=None, max_queries=2, fusion="rrf")
    found = retriever.invoke("q", perspectives=["one"])
    fused = {d.id: report_in(d.metadata)["scores"]["fused"] for d in found}
    # The question's own ranking counts twice.
    assert fused == pytest.approx({"a": 2 / 61, "b": 2 / 62 + 1 / 61, "c": 1 / 62})


def test_r23_the_compressor_leaves_its_input_alone(documents, judge, debate):
    before = copy.deepcopy(documents)
    PerspectiveCompressor(judge=judge, k=3).compress_documents(documents, debate.question)
    assert documents == before


async def test_r24_perspectives_and_filter_at_construction_give_way_to_a_call_s(
    store, judge, debate
):
    def side(name):
        return lambda document: document.metadata["key"].startswith(name)

    retriever = PerspectiveRetriever.wrap(
        store, judge=judge, k=2, perspectives=["breeding", "cages"], filter=side("for")
    )
    result = await retriever.aretrieve(debate.question)
    assert [p.text for p in result.perspectives] == ["breeding", "cages"]
    assert {d.metadata["key"][:3] for d in retriever.invoke(debate.question)} == {"for"}
    for found in (
        retriever.batch([debate.question], filter=side("against")),
        await retriever.abatch([debate.question], filter=side("against")),
        list(retriever.stream(debate.question, filter=side("against"))),
    ):
        assert {key[:3] for key in debate.keys(found[0])} == {"aga"}
    assert retriever.retrieve(debate.question, perspectives=[]).perspectives == ()
    compressor = PerspectiveCompressor(judge=TableJudge(default=1.0), perspectives=["a b", "c d"])
    (first, *_) = compressor.compress_documents(retriever.invoke(debate.question), "q")
    assert report_in(first.metadata)["perspectives"] == ["a b", "c d"]


def test_r25_queries_and_judgements_keep_within_their_budgets(store, judge, debate):
    retriever = PerspectiveRetriever.wrap(
        store, judge=judge, max_queries=3, judge_k=4, guard_searches=0
    )
    trace = retriever.retrieve(debate.question, perspectives=list("abcdefgh")).trace
    assert len(trace.queries) == trace.calls["search"] == 3
    assert trace.counts["judged_pairs"] <= 4 * 8
    assert set(trace.seconds) == set(trace.calls)


def test_r26_the_same_question_gives_the_same_documents(store, judge, debate):
    retriever = PerspectiveRetriever.wrap(store, judge=judge, lambda_mult=0.5)
    assert retriever.invoke(debate.question) == retriever.invoke(debate.question)


async def test_r27_a_question_that_needs_no_sides_is_left_alone(store, judge, debate):
    def small_talk(question):
        return question.startswith("Thanks")

    retriever = PerspectiveRetriever.wrap(store, judge=judge, k=3, skip_if=small_talk)
    told = "Thanks, and should zoos be closed?"
    plain = [document.page_content for document in store.similarity_search(told, k=3)]
    store.calls.clear()
    found = retriever.invoke(told)
    assert [document.page_content for document in found] == plain
    assert [document.page_content for document in await retriever.ainvoke(told)] == plain
    assert len(store.calls) == 2, "one search a question"
    assert judge.judged == []
    assert len(retriever.retrieve(debate.question).trace.queries) == 3
    judge.judged.clear()
    compressor = PerspectiveCompressor(judge=judge, k=3, skip_if=small_talk)
    assert compressor.compress_documents(found, told)[0].page_content == plain[0]
    assert judge.judged == []


def test_r27_sides_are_searched_only_where_the_first_search_misses_them(documents, judge, debate):
    def searches(found):
        source = RunnableLambda(lambda text: found)
        return PerspectiveRetriever.wrap(source, judge=judge, expander=NoExpansion()).retrieve(
            debate.question
        )

    both = searches(documents)
    assert both.coverage.complete
    assert both.trace.calls["search"] == 1
    one_side = searches([d for d in documents if d.metadata["key"].startswith("for")])
    assert one_side.trace.calls["search"] > 1


def test_r29_one_failing_search_is_reported_and_the_others_count(documents, judge, debate):
    def search(text):
        if "not" in text:
            raise ConnectionError("the second leg is down")
        return documents

    result = PerspectiveRetriever.wrap(RunnableLambda(search), judge=judge).retrieve(
        debate.question
    )
    assert len(result.passages) == 5
    assert {d.stage for d in result.trace.degradations} == {"search"}


def test_r30_a_zero_vector_is_similar_to_nothing_and_nan_raises(documents, judge, debate):
    class Odd(debate.WordEmbeddings):
        value = 0.0

        def embed_query(self, text):
            return [self.value] * 64

    class Server(debate.NetworkStore):
        def similarity_search_by_vector(self, embedding, k=4, **kwargs):
            return documents[:k]

    embeddings = Odd()
    retriever = PerspectiveRetriever.wrap(Server(embeddings), judge=judge, k=3, lambda_mult=0.5)
    result = retriever.retrieve(debate.question)
    assert len(result.passages) == 3
    assert all(np.isfinite(c.score) for c in result.candidates)
    assert {c.scores["relevance"] for c in result.candidates} == {0.0}
    embeddings.value = float("nan")
    with pytest.raises(ValueError, match=r"NaN|finite"):
        retriever.invoke(debate.question)


def test_r31_only_the_core_of_the_framework_is_imported():
    import subprocess

    code = (
        "import sys, langchain_perspective_rag\n"
        "from langchain_core.vectorstores import InMemoryVectorStore\n"
        "roots = {name.split('.')[0] for name in sys.modules}\n"
        "unwanted = {'torch', 'transformers', 'langchain', 'langchain_community', 'onnxruntime'}\n"
        "print(sorted(roots & (unwanted | {'langchain_classic', 'llama_index'})))"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "[]"


def test_r31_options_go_to_a_file_and_come_back(store, judge):
    retriever = PerspectiveRetriever.wrap(store, judge=judge, k=3, lambda_mult=0.4, judge_k=7)
    saved = json.loads(json.dumps(retriever.pipeline.options.to_dict()))
    again = PerspectiveRetriever.wrap(store, judge=judge, options=PipelineOptions.from_dict(saved))
    assert again.pipeline.options == retriever.pipeline.options


def test_r32_parts_need_no_base_class(documents, debate):
    class Judge:
        name, threshold = "yes", 0.5

        def judge(self, perspectives, passages):
            return np.ones((len(passages), len(perspectives)))
            yield

    class Embedder:
        def embed_queries(self, texts):
            return np.ones((len(texts), 4))

        embed_passages = embed_queries

    retriever = PerspectiveRetriever(
        retriever=RunnableLambda(lambda text: documents), judge=Judge(), embeddings=Embedder()
    )
    result = retriever.retrieve(debate.question, perspectives=["cages are cruel"])
    assert result.coverage.complete
