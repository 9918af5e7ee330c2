"""What the tests of whole applications build with."""

from __future__ import annotations

import pytest

from perspective_rag.types import RelevanceFloor
from tests.ecosystem.samples import SaysYes, haystack, langchain, llama_index


@pytest.fixture(params=["langchain", "llama_index", "haystack"])
def wrap(request, tmp_path):
    """Makes a wrapped store of a framework: ``wrap("chroma", judge=...)``."""
    make = {"langchain": langchain, "llama_index": llama_index, "haystack": haystack}[request.param]
    return lambda name, **options: make(name, tmp_path, **options)


@pytest.fixture
def says_yes():
    """The judge that says yes to everything."""
    return SaysYes()


@pytest.fixture
def floor():
    """From which cosine a passage is about the question, for the embeddings above."""
    return RelevanceFloor(0.2, 0.2)
