"""A LangChain chain before and after: the same store, prompt and model, another retriever.

python examples/wrap_langchain.py
python examples/wrap_langchain.py "Should zoos be closed?"
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_perspective_rag import PerspectiveRetriever
from rich.table import Table

from perspective_rag import OnnxMiniLM

DEBATES = Path(__file__).parent / "debates"
PROMPT = ChatPromptTemplate.from_template("Answer from these:\n{context}\n\nQuestion: {question}")


class LocalEmbeddings(Embeddings):
    """The library's offline embedder, as LangChain has its embeddings."""

    def __init__(self) -> None:
        self.model = OnnxMiniLM()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.model.embed_passages(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def read(name: str) -> list[dict[str, Any]]:
    lines = (DEBATES / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def quote(prompt: PromptValue) -> str:
    """Stands in for a chat model: the first sentence of every passage that it was shown."""
    passages = re.findall(r"^- (.+)$", prompt.to_string(), flags=re.MULTILINE)
    return " ".join(re.split(r"(?<=[.?!]) ", passage)[0] for passage in passages)


def chain(retriever: Runnable[str, list[Document]]) -> Runnable[str, dict[str, Any]]:
    """Retrieve, fill the prompt, answer; the documents are kept beside the answer."""
    texts = RunnableLambda(lambda found: "\n".join(f"- {d.page_content}" for d in found["context"]))
    model = RunnableLambda(quote)
    found = RunnableParallel(context=retriever, question=RunnablePassthrough())
    return found.assign(answer=RunnablePassthrough.assign(context=texts) | PROMPT | model)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints both chains' documents and answers side by side."""
    given = sys.argv[1:] if arguments is None else arguments
    question = given[0] if given else "Should social media be banned for children?"
    store = InMemoryVectorStore(LocalEmbeddings())
    store.add_documents([Document(page_content=p.pop("text"), **p) for p in read("passages.jsonl")])
    before = store.as_retriever(search_kwargs={"k": 5})
    after = PerspectiveRetriever.wrap(store, k=5)

    table = Table("as_retriever()", "PerspectiveRetriever.wrap(store)", title=question)
    plain, wrapped = chain(before).invoke(question), chain(after).invoke(question)
    for pair in zip(plain["context"], wrapped["context"], strict=True):
        print(pair)
    return 0


if __name__ == "__main__":
    sys.exit(main())
