"""When two passages are the same one, and where a passage is from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from perspective_rag.errors import ConfigError
from perspective_rag.text import nfkc
from perspective_rag.types import Passage
from perspective_rag.validation import as_text

DedupKey = str | Callable[[Passage], Any]
"""A metadata key, or a function: passages for which it gives the same are one passage."""


def passage_key(passage: Passage) -> str:
    """The identity of a passage: its id, else a hash of where it is from and what it says.

    Key = the id, if it holds more than whitespace; else "sha256:" + SHA-256(length of source,
    source, text), where source is ``metadata["source"]`` as text (absent, None and "" are the same)
    and text is taken in one Unicode form (NFKC), case and kind of whitespace.

    Nothing else of the metadata counts, so it may hold anything. The same text from two sources
    stays two passages, and both can be cited.

    Args:
        passage: Any passage.

    Returns:
        The key; passages with equal keys are one.
    """
    if passage.id and str(passage.id).strip():
        return str(passage.id)
    given = passage.metadata.get("source")
    source = "" if given is None else as_text(given)
    # The length keeps ("a", "bc") and ("ab", "c") apart.
    content = f"{len(source)}:{source}{normalised_text(passage.text)}"
    return "sha256:" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def identity_by(dedup_key: DedupKey | None) -> Callable[[Passage], str]:
    """The identity of passages as ``dedup_key`` says, or as ``passage_key`` does.

    A passage for which it gives None or nothing but whitespace keeps its ``passage_key``. Raises
    ConfigError for what is neither a text nor a function.
    """
    if dedup_key is None:
        return passage_key
    if not callable(dedup_key) and not (isinstance(dedup_key, str) and dedup_key):
        raise ConfigError(
            f"dedup_key must be a metadata key or a function of the passage, got {dedup_key!r}"
        )

    def identity(passage: Passage) -> str:
        own = dedup_key(passage) if callable(dedup_key) else passage.metadata.get(dedup_key)
        if own is None or not as_text(own).strip():
            return passage_key(passage)
        return f"dedup_key:{own}"  # not to be taken for the id of another

    return identity


def source_of(passage: Passage) -> str:
    """Where a passage is from: ``metadata["source"]``, else its "url", else its title, else the
    passage itself.
    """
    for name in ("source", "url"):
        given = passage.metadata.get(name)
        if given is not None and as_text(given).strip():
            return as_text(given).strip()
    return passage.title.strip() or f"passage:{passage_key(passage)}"


def voice_of(passage: Passage) -> str | None:
    """Who speaks in a passage: its author, else its address, else its debate; None: not known.

    A "source" counts where it is an address: the name of a collection is no voice, thousands may
    speak in it.
    """
    metadata = passage.metadata
    for name in ("author", "authors", "url", "link", "debate", "source"):
        given = metadata.get(name)
        text = "" if given is None else as_text(given).strip()
        if text and (name != "source" or text.lower().startswith(("http://", "https://"))):
            return f"{name}:{text}"
    return None


def normalised_text(text: str) -> str:
    """Text in one Unicode form (NFKC), case and kind of whitespace."""
    return " ".join(nfkc(nfkc(text).casefold()).split())
