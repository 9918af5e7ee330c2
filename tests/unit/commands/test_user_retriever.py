"""Objects of frameworks become stores through entry points that their wrappers declare."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from perspective_rag import CallableStore, ConfigError
from perspective_rag.commands.user_retriever import GROUP, as_store
from perspective_rag.testing import SAMPLE, HashEmbedder, MemoryStore

ROOT = Path(__file__).parents[3]


@pytest.fixture
def framework(tmp_path, monkeypatch):
    """A framework ``orchard`` whose wrapper, a distribution of its own, has registered itself."""
    (tmp_path / "orchard").mkdir()
    (tmp_path / "orchard" / "__init__.py").write_text("class Retriever: ...\n")
    (tmp_path / "orchard_wrapper.py").write_text(
        "def as_store(made):\n"
        "    from perspective_rag.testing import SAMPLE, HashEmbedder, MemoryStore\n"
        "    return MemoryStore(SAMPLE), HashEmbedder()\n"
    )
    info = tmp_path / "orchard_wrapper-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: orchard-wrapper\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\norchard = orchard_wrapper:as_store\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("orchard")
    sys.modules.pop("orchard")
    sys.modules.pop("orchard_wrapper", None)


def test_a_framework_that_registers_is_known_without_being_imported_here(framework):
    class Mine(framework.Retriever):
        """A user's own subclass, and so of another module."""

    store, embedder = as_store(Mine(), "mine:factory")
    assert isinstance(store, MemoryStore)
    assert isinstance(embedder, HashEmbedder)


def test_a_store_and_a_function_need_no_framework():
    store = MemoryStore(SAMPLE)
    assert as_store(store, "mine:factory") == (store, None)
    assert isinstance(as_store(lambda text, k: [], "mine:factory")[0], CallableStore)


def test_an_object_of_no_framework_is_refused_with_the_frameworks_that_are_known(framework):
    with pytest.raises(ConfigError, match=r"mine:factory returned a set; expected .*orchard"):
        as_store(set(), "mine:factory")


def test_all_wrappers_declare_themselves_and_the_functions_exist():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = text.partition(f'[project.entry-points."{GROUP}"]')[2].partition("\n[")[0]
    declared = dict(re.findall(r'^(\w+) = "(.+)"$', table, re.MULTILINE))
    assert set(declared) == {"haystack", "haystack_integrations", "langchain_core", "llama_index"}
    for target in declared.values():
        module, _, name = target.partition(":")
        assert name in import_module(module).__all__
