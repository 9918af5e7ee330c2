"""LlamaIndex nodes to passages, and results to nodes that say which perspective they support."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, TextNode

from perspective_rag.copies import copied
from perspective_rag.types import Candidate, Passage, RetrievalResult

METADATA_KEY = "perspective_rag"
"""Where a returned node's metadata holds its scores, its support and the queries that found it."""


DedupKey = str | Callable[[BaseNode], Any]
"""A metadata key, or a function: nodes for which it gives the same are one node."""


def passage_dedup_key(given: DedupKey | None) -> str | Callable[[Passage], Any] | None:
    """``dedup_key`` for passages, of which a function gets the node."""
    return (lambda passage: given(passage.source)) if callable(given) else given


def passage_of(node: BaseNode) -> Passage:
    """The passage in a node; the node itself is kept as its source."""
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    return Passage(node.node_id, text, node.metadata, source=node)


def nodes_of(result: RetrievalResult) -> list[NodeWithScore]:
    """The passages of a result as copies of their nodes, best first.

    A node's score is that of the last stage that ordered it, and at most that of the node before:
    whoever sorts by score later keeps the order in which the perspectives were covered.
    """
    nodes = []
    score = float("inf")
    for candidate in result.candidates:
        score = min(score, float(candidate.scores.get("selected", candidate.score)))
        nodes.append(NodeWithScore(node=_annotated(candidate, result), score=score))
    return nodes


def _annotated(candidate: Candidate, result: RetrievalResult) -> BaseNode:
    """A copy of a node, of its own class, that shares nothing with it that could be written to."""
    node: BaseNode = candidate.passage.source
    threshold = result.coverage.threshold if result.coverage else float("inf")
    support = dict(candidate.support)
    supports = [name for name, value in support.items() if value >= threshold]
    texts = {perspective.id: perspective.text for perspective in result.perspectives}
    report = {
        "scores": dict(candidate.scores),
        "support": support,
        "supports": supports,
        "perspectives": [texts[name] for name in supports],
        "found_by": list(candidate.found_by),
    }
    kind = _Metadata if isinstance(node, TextNode) else _KeyedMetadata
    return node.model_copy(
        update={
            "metadata": kind({**copied(node.metadata), METADATA_KEY: report}),
            "relationships": dict(node.relationships),
            "excluded_embed_metadata_keys": _with_key(node.excluded_embed_metadata_keys),
            "excluded_llm_metadata_keys": _with_key(node.excluded_llm_metadata_keys),
        }
    )


def _with_key(keys: list[str]) -> list[str]:
    return list(keys) if METADATA_KEY in keys else [*keys, METADATA_KEY]


class _Metadata(dict[str, Any]):
    """Metadata that prints without the report.

    ``TextNode.hash`` is taken over ``str(metadata)``, and by that hash QueryFusionRetriever knows a
    node that several retrievers found; with the report in it, every copy would be another node.
    """

    def __repr__(self) -> str:
        return repr({key: value for key, value in self.items() if key != METADATA_KEY})


class _KeyedMetadata(_Metadata):
    """The same for nodes whose hash is taken over ``keys()`` and their values: Node and Document.

    Look-up, iteration, ``items()``, copies and serialisation have the report.
    """

    def keys(self) -> Any:
        return {key: None for key in self if key != METADATA_KEY}.keys()
