"""A LangChain chain before and after: same store, prompt and model, another retriever.

python examples/wrap_langchain.py
python examples/wrap_langchain.py "Are zoos cruel to animals?"
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableParallel, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from rich.console import Console
from rich.table import Table
from rich.text import Text

from langchain_perspective_rag import PackagedEmbeddings, PerspectiveRetriever

DEBATES = Path(__file__).parent / "debates"
PROMPT = ChatPromptTemplate.from_template("Question: {question}\nAnswer from these:\n{passages}")


def list_passages(found: dict[str, Any]) -> str:
    return "\n".join(f"- {document.page_content}" for document in found["documents"])


def quote(prompt: PromptValue) -> str:
    """Stands in for your chat model: the first sentence of each passage it is shown."""
    passages = re.findall(r"^- (.+)$", prompt.to_string(), flags=re.MULTILINE)
    return "\n".join(re.split(r"(?<=[.?!]) ", passage)[0] for passage in passages)


def chain(retriever: Runnable[str, list[Document]]) -> Runnable[str, dict[str, Any]]:
    """Retrieve, fill the prompt, answer; the documents stay beside the answer."""
    found = RunnableParallel(question=RunnablePassthrough(), documents=retriever)
    filled = RunnablePassthrough.assign(passages=list_passages) | PROMPT
    return found.assign(answer=filled | quote)


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEBATES / name).read_text("utf-8").splitlines()]


def build_store() -> InMemoryVectorStore:
    """The sample debates in LangChain's own in-memory store."""
    store = InMemoryVectorStore(PackagedEmbeddings())
    passages = read("passages.jsonl")
    store.add_documents([Document(p["text"], id=p["id"], metadata=p) for p in passages])
    return store


def main(
    question: str = "Would city centres be better without cars?", k: int = 3, **options: Any
) -> int:
    """Prints what both chains found and answered; ``options`` are for the wrapped retriever."""
    store = build_store()
    before = chain(store.as_retriever(search_kwargs={"k": k})).invoke(question)
    after = chain(PerspectiveRetriever.wrap(store, k=k, **options)).invoke(question)

    # The sides are the corpus writer's labels: no retriever and no judge has seen them.
    sides = {label["passage"]: ", ".join(label["supports"]) for label in read("labels.jsonl")}
    table = Table("store.as_retriever()", "PerspectiveRetriever.wrap(store)", title=question)
    for pair in zip(before["documents"], after["documents"], strict=True):
        cells = [(sides[d.id] or "no side", d.metadata["title"]) for d in pair]
        table.add_row(*(Text.assemble((side, "bold cyan"), f" {title}") for side, title in cells))
    table.add_section()
    table.add_row(Text(before["answer"]), Text(after["answer"]))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
