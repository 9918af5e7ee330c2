"""What tells the verdicts of one judge from those of another."""

from __future__ import annotations

from perspective_rag.errors import ConfigError
from perspective_rag.protocols import Judge


def revision_of(judge: Judge) -> str:
    """What identifies a judge's verdicts: judges of equal revisions judge alike.

    Raises ConfigError for a judge that does not say its ``revision``.
    """
    revision = getattr(judge, "revision", None)
    if not isinstance(revision, str) or not revision:
        raise ConfigError(
            f"judge {judge.name!r} has no revision, so its verdicts cannot be told from another's: "
            "give it a text attribute `revision` that changes with its model, prompt and settings"
        )
    return revision
