"""The code of docs/how-to/migrate.md runs as it is printed, and what it says changes does change."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

for package in ("onnxruntime", "tokenizers"):
    pytest.importorskip(package)

from perspective_rag.extend import report_in
from perspective_rag.testing import HashEmbedder

DOC = (Path(__file__).parents[2] / "docs" / "how-to" / "migrate.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", DOC, flags=re.MULTILINE | re.DOTALL))
PER_REQUEST = "Options of one request"
QUESTION = "Should zoos be closed?"
TEXTS = [
    "Zoos should be closed because cages are cruel.",
    "Zoos should be closed and the animals freed.",
    "Zoos should not be closed: breeding keeps rare species alive.",
    "Closed zoos should be turned into parks.",
    "Children learn to love animals when zoos stay open.",
    "The zoos of the city sell ice cream.",
    "Bridges rust when nobody paints them.",
]
REPLY = json.dumps({"root": QUESTION, "perspectives": ["Cages are cruel.", "Zoos save species."]})
pytestmark = pytest.mark.filterwarnings("ignore:.*searched by text only")


def migrated(section, names):
    """What the section's two pieces of code leave: ``today`` and ``instead``."""
    today, instead = re.findall(r"```python\n(.*?)```", SECTIONS[section], flags=re.DOTALL)
    exec(compile(today, f"{section}: today", "exec"), names)
    exec(compile(instead, f"{section}: instead", "exec"), names)
    return names["today"], names["instead"]


def test_every_row_of_the_table_has_its_section():
    rows = re.findall(r"^\| (?:LlamaIndex )?`(.+?)` \|", DOC, flags=re.MULTILINE)
    assert [*rows, PER_REQUEST] == [name.removeprefix("LlamaIndex ") for name in SECTIONS]
    assert len(rows) == 5


def langchain():
    classic = pytest.importorskip("langchain_classic.retrievers")
    from langchain_core.documents import Document
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.runnables import RunnableLambda
    from langchain_core.vectorstores import InMemoryVectorStore

    from tests.integrations.langchain.samples import WordEmbeddings

    store = InMemoryVectorStore(WordEmbeddings())
    store.add_documents([Document(id=str(i), page_content=t) for i, t in enumerate(TEXTS)])
    asked = []
    keywords = RunnableLambda(
        lambda text: (
            asked.append(text)
            or [Document(id="6", page_content=TEXTS[6]), Document(id="0", page_content=TEXTS[0])]
        )
    )
    assert classic
    return {
        "vectorstore": store,
        "llm": FakeListChatModel(responses=[REPLY]),
        "keyword_retriever": keywords,
        "asked": asked,
    }


def scored(documents):
    return all(
        isinstance(d.metadata["relevance_score"], float) and report_in(d.metadata)["scores"]
        for d in documents
    )


def test_multi_query_retriever():
    names = langchain()
    today, instead = migrated("MultiQueryRetriever", names)
    before, after = today.invoke(QUESTION), instead.invoke(QUESTION)
    assert len(before) != len(after) == 5, "a union has no k"
    assert scored(after)
    result = instead.retrieve(QUESTION)
    assert [q.text for q in result.trace.queries] == [
        QUESTION,
        "Cages are cruel.",
        "Zoos save species.",
    ]
    names["llm"].responses = ["1. Zoos are bad.\n2. Zoos are good."]
    searched = instead.retrieve(QUESTION, guard_searches=0)  # whatever the judge finds missing
    queries = [q.text for q in searched.trace.queries]
    assert queries == [QUESTION, "Zoos are bad.", "Zoos are good."]
    names["llm"].responses = ["I cannot help with that."]
    result = instead.retrieve(QUESTION)
    # The model names the sides and reads the passages: it refused both.
    assert [d.stage for d in result.trace.degradations] == ["extract", "judge"]
    assert result.perspectives
    assert result.coverage.judged


def test_ensemble_retriever():
    names = langchain()
    today, instead = migrated("EnsembleRetriever", names)
    assert not any("relevance_score" in d.metadata for d in today.invoke(QUESTION))
    names["asked"].clear()
    after = instead.invoke(QUESTION, guard_searches=0)
    assert names["asked"][:1] == [QUESTION]
    assert set(names["asked"]) == {QUESTION, "Zoos should be closed", "Zoos should not be closed"}
    assert len(after) == 5
    assert scored(after)


def test_search_type_mmr():
    names = langchain()
    today, instead = migrated('search_type="mmr"', names)
    options = instead.pipeline.options
    assert (options.k, options.fetch_k, options.mmr_lambda) == (5, 20, 0.5)
    assert instead.vectorstore is names["vectorstore"]
    assert len(today.invoke(QUESTION)) == len(instead.invoke(QUESTION)) == 5
    # Lambda 1 is plain search in both.
    plain = [d.id for d in names["vectorstore"].similarity_search(QUESTION, k=5)]
    assert [d.id for d in instead.invoke(QUESTION, perspectives=[], lambda_mult=1.0)] == plain


async def test_contextual_compression_retriever():
    pytest.importorskip("langchain_community")  # EmbeddingsFilter is made of it
    today, instead = migrated("ContextualCompressionRetriever", langchain())
    assert today.invoke(QUESTION) == [], "the threshold emptied the context"
    after = instead.invoke(QUESTION)
    assert len(after) == 5
    assert scored(after)
    assert await instead.ainvoke(QUESTION) == after


def llama_index(reply=REPLY):
    pytest.importorskip("llama_index.core")
    from llama_index.core import VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.schema import TextNode

    class Words(BaseEmbedding):
        def _get_text_embedding(self, text):
            return HashEmbedder().embed_passages([text])[0].tolist()

        _get_query_embedding = _get_text_embedding

        async def _aget_query_embedding(self, query):
            return self._get_text_embedding(query)

    class Scripted(CustomLLM):
        reply: str

        @property
        def metadata(self):
            return LLMMetadata()

        def complete(self, prompt, formatted=False, **kwargs):
            return CompletionResponse(text=self.reply)

        def stream_complete(self, prompt, formatted=False, **kwargs):
            raise NotImplementedError

    nodes = [TextNode(id_=str(i), text=text) for i, text in enumerate(TEXTS)]
    return {
        "index": VectorStoreIndex(nodes, embed_model=Words()),
        "llm": Scripted(reply=reply),
        "question": QUESTION,
    }


def test_query_fusion_retriever():
    names = llama_index()
    from llama_index.core.schema import QueryBundle

    _, instead = migrated("LlamaIndex QueryFusionRetriever", names)
    bundle = QueryBundle(QUESTION)
    found = instead.retrieve(bundle)
    assert len(found) == 5
    assert bundle.embedding is None
    chosen = [node.metadata["perspective_rag_selection"] for node in found]
    assert chosen == sorted(chosen, reverse=True)
    assert len(instead.report(QUESTION).trace.queries) <= 4
    numbered = llama_index("1. Are zoos bad?\n2. Are zoos good?")
    today, instead = migrated("LlamaIndex QueryFusionRetriever", numbered)
    assert len(today.retrieve(QUESTION)) <= 5
    assert not any(q.text[0].isdigit() for q in instead.report(QUESTION).trace.queries)


def per_request(language, names):
    code = re.findall(r"```python\n(.*?)```", SECTIONS[PER_REQUEST], flags=re.DOTALL)
    exec(compile(code[language], PER_REQUEST, "exec"), names)
    return names


def test_options_of_one_request_in_langchain():
    names = langchain()
    from langchain_perspective_rag import PerspectiveCompressor, PerspectiveRetriever

    retriever = PerspectiveRetriever.wrap(names["vectorstore"])
    before = retriever.invoke(QUESTION)
    names = per_request(0, {"retriever": retriever, "question": QUESTION})
    assert len(names["once"]) == 3
    assert names["sides"][0] in report_in(names["once"][0].metadata)["found_by"]
    assert names["inside"] == names["once"]
    assert retriever.invoke(QUESTION) == before
    compressor = PerspectiveCompressor()
    other = compressor.model_copy(update={"k": 3})
    assert len(other.compress_documents(before, QUESTION)) == 3
    assert other.limiter is compressor.limiter


def test_options_of_one_request_in_llama_index():
    names = llama_index("an answer")
    from llama_index.retrievers.perspective_rag import PerspectiveRetriever

    names["retriever"] = PerspectiveRetriever(names["index"])
    names = per_request(1, names)

    def ids(nodes):
        return [item.node.node_id for item in nodes]

    assert len(names["once"]) == 3
    assert names["sides"][0] in report_in(names["once"][0].node.metadata)["found_by"]
    assert ids(names["inside"]) == ids(names["once"])
    assert set(ids(names["once"])) <= set(ids(names["fused"]))
    assert len(names["retriever"].retrieve(QUESTION)) == 5
