"""The example of docs/how-to/own-store.md, run as it stands there."""

from __future__ import annotations

from langchain_core.documents import Document

from langchain_perspective_rag import PerspectiveRetriever
from perspective_rag.testing import SAMPLE, STORE_CHECKS
from tests.integrations.conforming import ADAPTERS_PAGE
from tests.integrations.langchain.samples import UnknownStore, WordEmbeddings


class Shelf(UnknownStore):
    """A store that nobody knows: ids in the metadata, filters named ``where``, vectors by id."""

    def look_up(self, names):
        kept = self.inner.store
        return {name: kept[name]["vector"] for name in names if name in kept}

    def similarity_search_by_vector(self, embedding, k=4, *, where=None):
        def keeps(document):
            return all(document.metadata.get(key) == value for key, value in (where or {}).items())

        found = self.inner.similarity_search_by_vector(embedding, k, filter=keeps)
        return [
            Document(page_content=d.page_content, metadata={**d.metadata, "shelf_id": d.id})
            for d in found
        ]


def example():
    text = ADAPTERS_PAGE.read_text(encoding="utf-8")
    return text.split("<!-- example -->")[1].split("```python\n")[1].split("```")[0]


def test_the_example_passes_the_checks_with_its_vectors_from_one_call():
    names = {"Shelf": Shelf, "embeddings_of": lambda embedder: WordEmbeddings(embedder=embedder)}
    exec(compile(example(), "docs/how-to/own-store.md", "exec"), names)
    report = names["report"]
    assert list(report) == list(STORE_CHECKS)
    assert report["PAP"] == report["PAP+"] == "exact"
    assert (report["filter"], report["vectors"]) == ("all searches", "one call")
    shelf = Shelf(WordEmbeddings())
    shelf.add_documents([Document(p.text, id=p.id) for p in SAMPLE])
    retriever = PerspectiveRetriever(
        vectorstore=shelf, adapter=names["adapter"], judge=None, lambda_mult=0.5
    )
    trace = retriever.retrieve("What is the harbour for?").trace
    assert (trace.calls["vectors"], trace.degradations) == (1, ())


def test_an_adapter_takes_a_few_lines():
    code = example().split("def fill")[0].split("def read")[1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 5
