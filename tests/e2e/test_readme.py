"""What the README shows runs as it stands there, and what it names exists."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import perspective_rag
from langchain_perspective_rag import PerspectiveRetriever
from perspective_rag.options import ALIASES, OPTION_NAMES, PipelineOptions

ROOT = Path(__file__).parents[2]
LABELS = ROOT / "examples" / "debates" / "labels.jsonl"
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
PYTHON = [code for language, code in BLOCKS if language == "python"]
LINES = [
    line.split("#")[0].strip()
    for language, code in BLOCKS
    if language == "sh"
    for line in code.splitlines()
]
# Results name their commands too.
COMMANDS = [line for line in LINES if line] + re.findall(r"`(python -m benchmarks[^`]+)`", README)
PROSE = re.sub(r"^```.*?^```", "", README, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def before():
    """What the snippets take for given: a vector store and an index over the sample debates."""
    langchain, llama_index = (
        importlib.import_module(f"examples.wrap_{name}") for name in ("langchain", "llama_index")
    )
    return {"vectorstore": langchain.build_store(), "index": llama_index.build_index()}


def test_the_table_at_the_top_is_what_the_example_finds(before):
    [block] = [text for language, text in BLOCKS if language == "text"]
    command, _, *rows = block.splitlines()
    question = shlex.split(command)[-1]
    store = before["vectorstore"]
    sides = {
        row["passage"]: ", ".join(row["supports"])
        for row in map(json.loads, LABELS.read_text(encoding="utf-8").splitlines())
    }
    retrievers = (
        store.as_retriever(search_kwargs={"k": 3}),
        PerspectiveRetriever.wrap(store, k=3),
    )
    found = [
        [f"{sides[each.id]} {each.metadata['title']}" for each in retriever.invoke(question)]
        for retriever in retrievers
    ]
    shown = [[" ".join(cell.split()) for cell in re.split(r" {4,}", row)] for row in rows]
    assert shown == [list(pair) for pair in zip(*found, strict=True)]


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_every_snippet_runs(code, before, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = dict(before)
    exec(compile(code, "README.md", "exec"), names)
    found = names.get("documents") or names.get("nodes") or names["result"].candidates
    assert len(found) in (5, 6)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_options_it_is_shown_with(command):
    words = shlex.split(command)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return
    if words[0] == "perspective-rag":
        words = ["python", "-m", "perspective_rag.cli", *words[1:]]
    assert words[0] == "python"
    known = 3 if words[1] == "-m" else 2
    if words[2] == "perspective_rag.cli":
        known = 4
    shown = subprocess.run(
        [sys.executable, *words[1:known], "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert shown.returncode == 0, shown.stderr
    for option in (word for word in words[known:] if word.startswith("-")):
        assert re.search(rf"{option}\b", shown.stdout), option


def test_every_file_it_names_is_there():
    named = set(re.findall(r"`((?:docs|examples|perspective_rag|benchmarks)/[\w/.-]+)`", README))
    assert len(named) > 10
    assert not [name for name in named if not (ROOT / name).exists()]


def test_every_class_it_names_can_be_imported():
    """Names of the frameworks that ours stand in for are theirs."""
    theirs = {
        "MultiQueryRetriever",
        "EnsembleRetriever",
        "ContextualCompressionRetriever",
        "QueryFusionRetriever",
        "VectorStore",
    }
    homes = [
        perspective_rag,
        importlib.import_module("langchain_perspective_rag"),
        importlib.import_module("llama_index.retrievers.perspective_rag"),
    ]
    named = {
        name
        for name in re.findall(r"\b([A-Z]\w+)[`(]", PROSE)
        if not name.isupper() and name not in ("False", "None", "True")
    }
    assert {"PerspectivePipeline", "LLMExtractor", "Gate"} <= named
    unknown = [n for n in named - theirs if not any(hasattr(home, n) for home in homes)]
    assert not unknown


def test_the_table_of_options_has_every_option_and_its_default():
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]+) \|", PROSE, re.MULTILINE)
    documented = {}
    for names, defaults in rows:
        split = [name.strip("` ") for name in names.split(",")]
        values = defaults.split(",") if len(split) > 1 else [defaults]
        documented.update(zip(split, (value.strip("` ") for value in values), strict=True))
    assert set(OPTION_NAMES) <= set(documented)
    options = PipelineOptions()
    for name in OPTION_NAMES:
        default, said = getattr(options, name), documented[name]
        if default is None:
            assert said == "the judge's"
        elif isinstance(default, (str, bool)):
            assert said.strip('"') == str(default)
        else:
            assert float(said) == default, name
    assert all(f"`{alias}`" in PROSE for alias in ("lambda_mult", "mmr_threshold"))
    assert {"lambda_mult", "mmr_threshold"} <= set(ALIASES)
