"""The judge that a command line names."""

from __future__ import annotations

from pathlib import Path

from perspective_rag import CrossEncoderJudge
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL
from perspective_rag.judge.llm import PRESETS
from perspective_rag.local.judges import load_judge
from perspective_rag.protocols import Judge

JUDGES = "default, a folder, a preset or a model id"
"""What --judge takes."""


def named_judge(name: str) -> tuple[Judge, Path | None]:
    """The judge of a name ("default", a folder, a preset or a model id), and its folder if any."""
    if name == "default":
        return CrossEncoderJudge(), DEFAULT_MODEL
    if name in PRESETS:
        return load_judge(name), None
    folder = Path(name)
    return CrossEncoderJudge(name), folder if folder.exists() else None
