"""The judge that a command line names."""

from __future__ import annotations

from pathlib import Path

from perspective_rag import CrossEncoderJudge, load_judge
from perspective_rag.addons import PACKAGED_JUDGE, PRESETS
from perspective_rag.extend import Judge

JUDGES = "default, a folder, a preset or a model id"
"""What --judge takes."""


def named_judge(name: str) -> tuple[Judge, Path | None]:
    """The judge of a name ("default", a folder, a preset or a model id), and its folder if any."""
    if name == "default":
        return CrossEncoderJudge(), PACKAGED_JUDGE
    if name in PRESETS:
        return load_judge(name), None
    folder = Path(name)
    return CrossEncoderJudge(name), folder if folder.exists() else None
