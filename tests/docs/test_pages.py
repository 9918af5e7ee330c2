"""Every code block of the documentation runs as it stands there."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

import perspective_rag
from perspective_rag.commands import parts
from tests.docs.blocks import ROOT, blocks_of, run_page

pytest.importorskip("onnxruntime")

DOCS = ROOT / "docs"
README = ROOT / "README.md"
TESTED_ELSEWHERE = {
    "how-to/evaluation-tools.md": "tests/evaluation/test_page.py",
    "how-to/migrate.md": "tests/integrations/test_migration.py",
    "how-to/own-store.md": "tests/integrations/conforming.py",
}
"""Pages whose code needs more than a page can show, and who runs it."""
GIVEN = {
    "how-to/langchain.md": ["vectorstore"],
    "how-to/llama-index.md": ["index"],
    "how-to/haystack.md": ["document_store"],
    "how-to/observability.md": ["vectorstore"],
    "README.md": ["vectorstore", "index"],
}
"""The reader's own objects that a page takes for given, as it says."""
PAGES = {
    name: page
    for page in [README, *sorted(DOCS.rglob("*.md"))]
    if (name := str(page.relative_to(ROOT if page == README else DOCS))) not in TESTED_ELSEWHERE
    and any(blocks_of(page.read_text(encoding="utf-8")))
}


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.filterwarnings("ignore:.*searched by text only")
def test_every_block_runs_in_an_empty_folder(name, given, tmp_path, cache, monkeypatch):
    names = {"__name__": "page", **{each: given(each) for each in GIVEN.get(name, ())}}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parts, "CACHE", cache)
    monkeypatch.setattr(sys, "path", list(sys.path))
    try:
        run_page(PAGES[name], names)
    finally:  # the next page may have files of the same name
        for module, loaded in list(sys.modules.items()):
            if str(getattr(loaded, "__file__", "")).startswith(str(tmp_path)):
                del sys.modules[module]


def test_pages_tested_elsewhere_are_there_with_their_tests():
    for page, test in TESTED_ELSEWHERE.items():
        assert (DOCS / page).is_file()
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8"), test


def test_the_comparison_in_the_readme_is_what_the_example_finds(given):
    from langchain_perspective_rag import PerspectiveRetriever

    text = README.read_text(encoding="utf-8")
    [block] = [each.code for each in blocks_of(text) if each.code.startswith("$ python")]
    command, _, *rows = block.splitlines()
    labels = (ROOT / "examples" / "debates" / "labels.jsonl").read_text(encoding="utf-8")
    sides = {
        row["passage"]: ", ".join(row["supports"]) for row in map(json.loads, labels.splitlines())
    }
    store = given("vectorstore")
    retrievers = (
        store.as_retriever(search_kwargs={"k": 3}),
        PerspectiveRetriever.wrap(store, k=3),
    )
    found = [
        [f"{sides[each.id]} {each.metadata['title']}" for each in retriever.invoke(question)]
        for retriever in retrievers
        for question in [shlex.split(command)[-1]]
    ]
    shown = [[" ".join(cell.split()) for cell in re.split(r" {4,}", row)] for row in rows]
    assert shown == [list(pair) for pair in zip(*found, strict=True)]


def test_the_picture_is_what_the_command_shows():
    from examples.picture import PICTURE, picture

    drawn = picture()
    if os.environ.get("WRITE_DOCS") and _words(PICTURE.read_text("utf-8")) != _words(drawn):
        PICTURE.write_text(drawn, encoding="utf-8")
    assert _words(PICTURE.read_text(encoding="utf-8")) == _words(drawn), (
        "draw it again: python -m examples.picture"
    )
    assert "http" not in re.sub(r"<!--.*?-->|xmlns=\"[^\"]+\"", "", drawn), "loads nothing"


def test_the_picture_of_the_page_is_of_the_question_beside_it_with_both_sides():
    picture = ROOT / "docs" / "images" / "page.png"
    facts = json.loads(picture.with_suffix(".json").read_text(encoding="utf-8"))
    drawn = picture.read_bytes()
    assert hashlib.sha256(drawn).hexdigest() == facts["sha256"], (
        "draw it again: python -m examples.page_picture"
    )
    assert len(drawn) < 300_000
    assert f'perspective-rag ask "{facts["question"]}" --example' in README.read_text("utf-8")
    assert len(facts["sides"]) == 2
    assert all(count >= 1 for count in facts["sides"].values())


@pytest.mark.parametrize("module", ["examples.picture", "examples.page_picture"])
def test_an_option_is_never_taken_for_the_question_of_a_picture(module, tmp_path, capsys):
    if module.endswith("page_picture"):
        pytest.importorskip("uvicorn")
    main = importlib.import_module(module).main
    for astray in (["--help"], ["--hlep"], ["--", "--help"], [" "]):
        with pytest.raises(SystemExit):
            main([*astray, str(tmp_path / "x")])
    assert not list(tmp_path.iterdir())


def _words(drawn):
    """What a picture says, without its seconds, which differ from run to run."""
    said = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    return [text for text in said if not re.search(r"\d\.\d(&#160;s)?$", text)]


def test_every_class_the_readme_names_is_there():
    """In prose; what its code imports is run. A wrapper's class is named with its module."""
    prose = re.sub(
        r"^```.*?^```", "", README.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    homes = [
        perspective_rag,
        *map(importlib.import_module, re.findall(r"`(\w+(?:\.\w+)*\.perspective_rag)`", prose)),
    ]
    named = set(re.findall(r"`([A-Z]\w+)[`(]", prose))
    assert "PerspectiveRetriever" in named
    assert not [name for name in named if not any(hasattr(home, name) for home in homes)]
