"""Whether a server's model has the labels that the judge's folder says."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag import ConfigError


def check_labels(server: str, found: Sequence[str], expected: Sequence[str]) -> None:
    """Raises ConfigError unless both are the same labels in the same order."""
    if list(found) != list(expected):
        raise ConfigError(
            f"{server} serves a model with the labels {[str(each) for each in found]!r:.200}; "
            f"expected {list(expected)}: serve the folder that `perspective-rag judge export` "
            "writes, or name the folder of the served model, with its config.json and "
            "tokenizer.json"
        )
