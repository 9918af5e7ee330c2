"""What a store, an embedder and a judge can never do together."""

from __future__ import annotations

from perspective_rag.errors import CapabilityError
from perspective_rag.options import PipelineOptions
from perspective_rag.protocols import Embedder, Judge, KeepsEmbeddings, Store


def check_capabilities(
    store: Store, embedder: Embedder | None, judge: Judge | None, options: PipelineOptions
) -> None:
    """Raises CapabilityError for what these components can never do."""
    if store.takes_vector and embedder is None:
        raise CapabilityError("this store searches by vector: pass embedder=")
    if options.projection != "none" and not store.takes_vector:
        raise CapabilityError(
            f"projection={options.projection!r} changes vectors, and this store searches by "
            "text only: use a store that searches by vector, or projection='none'"
        )
    has_vectors = embedder is not None or isinstance(store, KeepsEmbeddings)
    if options.mmr_lambda < 1.0 and not has_vectors:
        raise CapabilityError(
            "mmr_lambda below 1.0 compares passages by their vectors: pass embedder="
        )
    if options.rerank == "stance" and judge is None:
        raise CapabilityError('rerank="stance" asks a judge: pass judge=')
    if options.discover and judge is None:
        raise CapabilityError("discover compares what the passages say: pass judge=")
    if options.coverage == "require" and judge is None:
        raise CapabilityError('coverage="require" needs a judge: pass judge=')
