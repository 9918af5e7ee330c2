"""When two passages are the same one."""

from __future__ import annotations

import hashlib
import unicodedata

from perspective_rag.types import Passage


def passage_key(passage: Passage) -> str:
    """The identity of a passage: its id, else a hash of where it is from and what it says.

    key = id, if it holds more than whitespace;
    else "sha256:" + SHA-256(length of source, source, ``normalised_text(text)``), where source is
    ``metadata["source"]`` as text (absent, None and "" are the same).

    Nothing else of the metadata counts, so it may hold anything. The same text from two sources
    stays two passages, and both can be cited.
    """
    if passage.id and str(passage.id).strip():
        return str(passage.id)
    given = passage.metadata.get("source")
    source = "" if given is None else str(given)
    # The length keeps ("a", "bc") and ("ab", "c") apart.
    content = f"{len(source)}:{source}{normalised_text(passage.text)}"
    return "sha256:" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def normalised_text(text: str) -> str:
    """Text in one Unicode form (NFKC), case and kind of whitespace."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())
