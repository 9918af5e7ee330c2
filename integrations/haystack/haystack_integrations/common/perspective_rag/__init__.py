"""What the components of perspective_rag for Haystack share, and what a plain pipeline needs.

``as_store`` turns a Haystack retriever or document store into a store of a plain
``perspective_rag`` pipeline; ``report_in`` reads what a returned document supports.
"""

from haystack_integrations.common.perspective_rag.models import HaystackEmbedder, HaystackLLM
from haystack_integrations.common.perspective_rag.store import HaystackStore, as_store
from perspective_rag.extend import report_in

__all__ = [
    "HaystackEmbedder",
    "HaystackLLM",
    "HaystackStore",
    "as_store",
    "report_in",
]
