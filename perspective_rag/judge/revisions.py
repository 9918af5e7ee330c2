"""What tells the verdicts of one judge from those of another."""

from __future__ import annotations

import hashlib
from pathlib import Path

from perspective_rag.errors import ConfigError
from perspective_rag.protocols import Judge

# Files up to this many bytes are told apart by their contents.
_HASHED_SIZE = 100_000_000


def digest(*parts: object) -> str:
    """A short hash of texts and numbers, the same in every process."""
    text = "\x1f".join(part if isinstance(part, str) else repr(part) for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


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


def fingerprint(model: Path) -> str:
    """A hash of a model's files: their contents, or size and date where they are very large."""
    folder = model.parent if model.is_file() else model
    found = hashlib.sha256()
    for path in sorted(each for each in folder.iterdir() if each.is_file()):
        status = path.stat()
        found.update(f"{path.name}:{status.st_size}".encode())
        if status.st_size <= _HASHED_SIZE:
            found.update(path.read_bytes())
        else:
            found.update(str(status.st_mtime_ns).encode())
    return found.hexdigest()
