"""LlamaIndex nodes to passages, and results to nodes that say which perspective they support."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, TextNode

from perspective_rag import Passage, RetrievalResult
from perspective_rag.extend import (
    ANNOTATIONS,
    ScoreKind,
    annotations_of,
    copy_metadata,
    scores_of,
    without_annotations,
)
from perspective_rag.extend import report_in as report_in

DedupKey = str | Callable[[BaseNode], Any]
"""A metadata key, or a function: nodes for which it gives the same are one node."""


def passage_of(node: BaseNode) -> Passage:
    """The passage in a node; the node itself is kept as its source."""
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    return Passage(node.node_id, text, node.metadata, source=node)


def nodes_of(
    result: RetrievalResult,
    *,
    score_kind: ScoreKind = "similarity",
    given: Mapping[str, float] | None = None,
) -> list[NodeWithScore]:
    """The passages of a result as copies of their nodes, best first.

    A node's score is, as ``score_kind`` says, its similarity to the question, as after LlamaIndex's
    own retrievers, or the score of the choice, which keeps the order of the nodes where somebody
    sorts by it later (see ``scores_of``). ``given`` has the source's own scores by node id.
    """
    scores, added = scores_of(result, score_kind, given=given), annotations_of(result)
    return [
        NodeWithScore(node=_annotate(candidate.passage.source, annotation), score=score)
        for candidate, score, annotation in zip(result.candidates, scores, added, strict=True)
    ]


def _annotate(node: BaseNode, added: Mapping[str, Any]) -> BaseNode:
    """A copy of a node, of its own class, that shares nothing with it that could be written to."""
    kind = _Metadata if isinstance(node, TextNode) else _KeyedMetadata
    return node.model_copy(
        update={
            "metadata": kind({**without_annotations(copy_metadata(node.metadata)), **added}),
            "relationships": dict(node.relationships),
            "excluded_embed_metadata_keys": _with_keys(node.excluded_embed_metadata_keys),
            "excluded_llm_metadata_keys": _with_keys(node.excluded_llm_metadata_keys),
        }
    )


def _with_keys(keys: list[str]) -> list[str]:
    return [*keys, *(key for key in ANNOTATIONS if key not in keys)]


class _Metadata(dict[str, Any]):
    """Metadata that prints without the report.

    ``TextNode.hash`` is taken over ``str(metadata)``, and by that hash QueryFusionRetriever knows a
    node that several retrievers found; with the report in it, every copy would be another node.
    """

    def __repr__(self) -> str:
        return repr(without_annotations(self))


class _KeyedMetadata(_Metadata):
    """The same for nodes whose hash is taken over ``keys()`` and their values: Node and Document.

    Look-up, iteration, ``items()``, copies and serialisation have the report.
    """

    def keys(self) -> Any:
        return {key: None for key in self if key not in ANNOTATIONS}.keys()
