"""LlamaIndex nodes to passages, and results to nodes that say which perspective they support."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode

from perspective_rag import Passage, RetrievalResult
from perspective_rag.extend import (
    ANNOTATIONS,
    ScoreKind,
    copy_metadata,
    sources_of,
    without_annotations,
)


def bundle_of(query: str | QueryBundle) -> QueryBundle:
    """A query as LlamaIndex's bundle; one that is a bundle already is handed back."""
    return query if isinstance(query, QueryBundle) else QueryBundle(query)


def passage_of(node: BaseNode) -> Passage:
    """The passage in a node; the node itself is kept as its source."""
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    return Passage(node.node_id, text, node.metadata, source=node)


def nodes_of(
    result: RetrievalResult, kind: ScoreKind, *, given: Mapping[str, float] | None = None
) -> list[NodeWithScore]:
    """The passages of a result as copies of their nodes, best first.

    ``given`` has the source's own scores by node id.
    """
    return [
        NodeWithScore(node=_annotate(source, added), score=score)
        for source, score, added in sources_of(result, kind, given=given)
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
