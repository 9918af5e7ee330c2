"""The public names and their signatures are what they were, or the change says so."""

from __future__ import annotations

import difflib

from tests import api


def test_public_names_and_signatures_are_those_of_the_file():
    kept, now = api.FILE.read_text(encoding="utf-8"), api.document()
    changes = difflib.unified_diff(kept.splitlines(), now.splitlines(), "api.txt", "now", n=1)
    assert kept == now, "\n".join(
        ["public names changed; if that is meant: python -m tests.api --write", *changes]
    )


def test_a_changed_signature_would_be_seen(monkeypatch):
    import perspective_rag

    class PipelineOptions(perspective_rag.PipelineOptions):
        __module__ = "perspective_rag.options"

        def __init__(self, *, top: int = 3) -> None: ...

    before = api.document()
    monkeypatch.setattr(perspective_rag, "PipelineOptions", PipelineOptions, raising=False)
    assert before != api.document()
    assert "__init__(self, *, top: int = 3) -> None" in api.document()
