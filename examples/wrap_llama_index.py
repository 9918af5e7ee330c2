"""LlamaIndex before and after: the same index, asked plainly and through PerspectiveRetriever.

python examples/wrap_llama_index.py
python examples/wrap_llama_index.py "Are zoos cruel to animals?"
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from llama_index.core import VectorStoreIndex
from llama_index.core.schema import TextNode
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from llama_index.retrievers.perspective_rag import (
    PackagedEmbeddings,
    PerspectivePostprocessor,
    PerspectiveRetriever,
)
from perspective_rag import Perspective, RetrievalResult

PASSAGES = Path(__file__).parent / "debates" / "passages.jsonl"
K = 3


def build_index() -> VectorStoreIndex:
    """The sample debates in LlamaIndex's own in-memory store."""
    rows = map(json.loads, PASSAGES.read_text(encoding="utf-8").splitlines())
    nodes = [
        # Titles are for readers: they are not embedded.
        TextNode(
            id_=row["id"],
            text=row["text"],
            metadata={"title": row["title"]},
            excluded_embed_metadata_keys=["title"],
        )
        for row in rows
    ]
    return VectorStoreIndex(nodes, embed_model=PackagedEmbeddings())


def found(result: RetrievalResult, perspective: Perspective) -> str:
    """The passages that support a perspective, each with the judge's probability."""
    lines = [
        f"[green]{c.support[perspective.id]:.2f}[/green] {escape(c.passage.title)}"
        for c in result.supporting(perspective)
    ]
    return "\n".join(lines) or "[yellow]nothing"


def neutral(result: RetrievalResult) -> str:
    """The passages that support no perspective."""
    sided = {c.passage.id for p in result.perspectives for c in result.supporting(p)}
    return "\n".join(escape(p.title) for p in result.passages if p.id not in sided)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what both retrievers find for each side of a question."""
    given = sys.argv[1:] if arguments is None else arguments
    question = given[0] if given else "Would city centres be better without cars?"
    console = Console()
    with console.status("embedding the sample debates"):
        index = build_index()
    nodes = index.as_retriever(similarity_top_k=K).retrieve(question)
    # Judged like the others, so that the two columns can be compared.
    before = PerspectivePostprocessor(k=K).report(nodes, question)
    after = PerspectiveRetriever(index, k=K).report(question)

    table = Table("", "as_retriever()", "PerspectiveRetriever", title=question, show_lines=True)
    for side in after.perspectives:
        table.add_row(f"[bold]{escape(side.text)}", found(before, side), found(after, side))
    table.add_row("taking no side", neutral(before), neutral(after))
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
