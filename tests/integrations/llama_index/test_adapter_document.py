"""The LlamaIndex example of docs/how-to/own-store.md, run as it stands there."""

from __future__ import annotations

import pytest
from llama_index.core.vector_stores import SimpleVectorStore

from llama_index.retrievers.perspective_rag import PerspectiveRetriever
from perspective_rag.testing import SAMPLE, STORE_CHECKS, HashEmbedder
from tests.integrations.conforming import ADAPTERS_PAGE


class Shelf(SimpleVectorStore):
    """A store that nobody knows, which can look vectors up by id."""

    def look_up(self, names):
        kept = self.data.embedding_dict
        return {name: kept[name] for name in names if name in kept}


class Forgetful(Shelf):
    """The same, which finds passages but forgets what a filter was for."""

    def query(self, query, **kwargs):
        query.filters = None
        return super().query(query, **kwargs)


def example():
    text = ADAPTERS_PAGE.read_text(encoding="utf-8")
    return text.split("<!-- example: llama-index -->")[1].split("```python\n")[1].split("```")[0]


def run(store):
    names = {"Shelf": store}
    exec(compile(example(), "docs/how-to/own-store.md", "exec"), names)
    return names


def test_the_example_passes_the_checks_with_its_vectors_from_one_call():
    names = run(Shelf)
    report = names["report"]
    assert list(report) == list(STORE_CHECKS)
    assert report["search"] == "by vector"
    assert report["PAP"] == report["PAP+"] == "exact"
    assert (report["filter"], report["vectors"]) == ("all searches", "one call")
    index = names["fill"](SAMPLE, HashEmbedder())._source
    retriever = PerspectiveRetriever(index, adapter=names["adapter"], judge=None, mmr_lambda=0.5)
    trace = retriever.report("What is the harbour for?").trace
    assert (trace.calls["vectors"], trace.degradations) == (1, ())


def test_the_checks_of_the_example_find_a_store_that_ignores_filters():
    with pytest.raises(AssertionError, match="filter"):
        run(Forgetful)


def test_an_adapter_takes_less_than_twenty_lines():
    code = example().split("class CheckedEmbedding")[0].split("def read")[1]
    assert len([line for line in code.splitlines() if line.strip()]) < 20
