"""What the server searches: the sample debates in a Chroma server, as ``--retriever`` names it."""

from __future__ import annotations

import os
from typing import Any

from perspective_rag import Corpus, OnnxMiniLM, Passage

PORT = "SOAK_CHROMA_PORT"
COLLECTION = "debates"


def client(port: int) -> Any:
    """A connection to the server on this machine."""
    import chromadb
    from chromadb.config import Settings

    return chromadb.HttpClient(
        host="127.0.0.1", port=port, settings=Settings(anonymized_telemetry=False)
    )


def fill(port: int) -> int:
    """Puts the sample debates into the server; how many passages there are."""
    passages = Corpus.example().passages
    rows = OnnxMiniLM().embed_passages([each.titled for each in passages])
    collection = client(port).create_collection(COLLECTION, metadata={"hnsw:space": "cosine"})
    collection.add(
        ids=[each.id for each in passages],
        embeddings=[row.tolist() for row in rows],
        documents=[each.text for each in passages],
        metadatas=[{"title": each.title} for each in passages],
    )
    return len(passages)


class _Embeddings:
    """The packaged encoder in LangChain's form."""

    def __init__(self) -> None:
        self._inner = OnnxMiniLM()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text."""
        found: list[list[float]] = self._inner.embed_passages(texts).tolist()
        return found

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        found: list[float] = self._inner.embed_queries([text])[0].tolist()
        return found


def make() -> Any:
    """The collection as a LangChain vector store, which the server wraps."""
    from langchain_chroma import Chroma

    return Chroma(
        COLLECTION,
        embedding_function=_Embeddings(),  # type: ignore[arg-type]
        client=client(int(os.environ[PORT])),
    )


def passages() -> list[Passage]:
    """The passages that every answer must come from."""
    return list(Corpus.example().passages)
