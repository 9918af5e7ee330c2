"""A Haystack pipeline before and after: same store, another retriever.

python examples/wrap_haystack.py
python examples/wrap_haystack.py "Are zoos cruel to animals?"
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from haystack_integrations.components.embedders.perspective_rag import (
    PackagedDocumentEmbedder,
    PackagedTextEmbedder,
)
from haystack_integrations.components.retrievers.perspective_rag import PerspectiveRetriever

PASSAGES = Path(__file__).parent / "debates" / "passages.jsonl"
K = 3


def build_store() -> InMemoryDocumentStore:
    """The sample debates in Haystack's own in-memory store."""
    rows = map(json.loads, PASSAGES.read_text(encoding="utf-8").splitlines())
    documents = [
        Document(id=row["id"], content=row["text"], meta={"title": row["title"]}) for row in rows
    ]
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(PackagedDocumentEmbedder().run(documents)["documents"])
    return store


def plain(store: InMemoryDocumentStore) -> Pipeline:
    """Embeds the question and takes the nearest documents."""
    pipeline = Pipeline()
    pipeline.add_component("embedder", PackagedTextEmbedder())
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=K))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    return pipeline


def wrapped(store: InMemoryDocumentStore) -> Pipeline:
    """The same with one component in the place of both."""
    pipeline = Pipeline()
    retriever = PerspectiveRetriever(
        document_store=store, text_embedder=PackagedTextEmbedder(), top_k=K
    )
    pipeline.add_component("retriever", retriever)
    return pipeline


def listed(documents: Sequence[Document]) -> str:
    """The titles, each with the sides that its document supports where these are known."""
    lines = []
    for document in documents:
        sides = document.meta.get("perspective_rag_perspectives") or ""
        lines.append(
            escape(document.meta["title"]) + (f"\n  [green]{escape(sides)}" if sides else "")
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what both pipelines find for a question."""
    given = sys.argv[1:] if arguments is None else arguments
    question = given[0] if given else "Should private cars be banned from city centres?"
    console = Console()
    with console.status("embedding the sample debates"):
        store = build_store()
    before = plain(store).run({"embedder": {"text": question}})
    after = wrapped(store).run({"retriever": {"query": question}})
    table = Table("InMemoryEmbeddingRetriever", "PerspectiveRetriever", title=question)
    table.add_row(*(listed(found["retriever"]["documents"]) for found in (before, after)))
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
