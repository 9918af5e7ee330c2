"""Prompts of the experiments, from text files beside them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from perspective_rag import ConfigError
from perspective_rag.prompts import PromptTemplate

_BREAK = "\n--- user ---\n"


def read_template(path: Path) -> PromptTemplate:
    """The prompt in a file: the system text, a line ``--- user ---``, and the user's text.

    Raises ConfigError for a file without that line.
    """
    text = path.read_text(encoding="utf-8").strip()
    system, found, user = text.partition(_BREAK)
    if not found:
        raise ConfigError(f"{path} needs a line '--- user ---' between system and user text")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return PromptTemplate(path.stem, system.strip(), user.strip(), digest)
