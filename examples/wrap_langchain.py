"""A LangChain chain before and after: same store, prompt and model, another retriever.

python examples/wrap_langchain.py
python examples/wrap_langchain.py "Should zoos be closed?"
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_perspective_rag import PerspectiveRetriever
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from perspective_rag import OnnxMiniLM

DEBATES = Path(__file__).parent / "debates"
PROMPT = ChatPromptTemplate.from_template("Question: {question}\nAnswer from these:\n{passages}")


class LocalEmbeddings(Embeddings):
    """The library's offline embedder, where you have your own embeddings."""

    def __init__(self) -> None:
        self.model = OnnxMiniLM()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(value) for value in row] for row in self.model.embed_passages(texts)]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def quote(prompt: PromptValue) -> str:
    """Stands in for your chat model: the first sentence of each passage it is shown."""
    passages = re.findall(r"^- (.+)$", prompt.to_string(), flags=re.MULTILINE)
    return "\n".join(re.split(r"(?<=[.?!]) ", passage)[0] for passage in passages)


def chain(retriever: Runnable[str, list[Document]]) -> Runnable[str, dict[str, Any]]:
    """Retrieve, fill the prompt, answer; the documents stay beside the answer."""
    found = RunnableParallel(question=RunnablePassthrough(), documents=retriever)
    passages = RunnableLambda(lambda x: "\n".join(f"- {d.page_content}" for d in x["documents"]))
    answer = RunnablePassthrough.assign(passages=passages) | PROMPT | RunnableLambda(quote)
    return found.assign(answer=answer)


def read(name: str) -> list[dict[str, Any]]:
    lines = (DEBATES / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def main(arguments: Sequence[str] | None = None, **options: Any) -> int:
    """Prints what both chains found and answered; ``options`` are for the wrapped retriever."""
    given = sys.argv[1:] if arguments is None else arguments
    question = given[0] if given else "Should social media be banned for children?"
    store = InMemoryVectorStore(LocalEmbeddings())
    sides = {label["passage"]: label["supports"] for label in read("labels.jsonl")}
    store.add_documents(
        Document(id=p["id"], page_content=p["text"], metadata={"title": p["title"]})
        for p in read("passages.jsonl")
    )
    before = chain(store.as_retriever(search_kwargs={"k": 5})).invoke(question)
    after = chain(PerspectiveRetriever.wrap(store, k=5, **options)).invoke(question)

    def column(names: Iterable[str]) -> str:
        return "\n".join(escape(name) for name in names)

    table = Table(title=question, show_lines=True)
    for header in ("", "store.as_retriever()", "PerspectiveRetriever.wrap(store)"):
        table.add_column(header, ratio=0 if not header else 1)
    both = [each["documents"] for each in (before, after)]
    table.add_row("passages", *(column(str(d.metadata["title"]) for d in found) for found in both))
    # The labels are the corpus writer's: no retriever and no judge has seen them.
    kinds = [sorted({side for d in found for side in sides[d.id]}) for found in both]
    table.add_row("sides", *(", ".join(names) for names in kinds), style="bold green")
    table.add_row("answer", column([before["answer"]]), column([after["answer"]]))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
