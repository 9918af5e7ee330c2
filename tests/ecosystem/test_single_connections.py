"""Stores that serve one search at a time, as they really are."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_core")

from langchain_perspective_rag import PerspectiveRetriever
from tests.ecosystem.samples import langchain_embeddings
from tests.integrations.samples import QUESTION, TEXTS

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*searched by text only"),
    pytest.mark.filterwarnings("ignore:No DuckDB connection"),
]


async def test_duckdb_loses_no_search():
    pytest.importorskip("duckdb")
    community = pytest.importorskip("langchain_community.vectorstores")
    store = community.DuckDB(embedding=langchain_embeddings())
    store.add_texts(list(TEXTS.values()))
    retriever = PerspectiveRetriever.wrap(store, judge=None)
    for result in (
        retriever.retrieve(QUESTION),
        retriever.retrieve(QUESTION),
        await retriever.aretrieve(QUESTION),
    ):
        assert not result.trace.degradations
        assert len(result.trace.queries) == 3
        assert len({query for c in result.candidates for query in c.found_by}) == 3
