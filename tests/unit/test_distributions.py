"""One repository, one version, three names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).parents[2]
OTHERS = sorted((ROOT / "distributions").glob("*/pyproject.toml"))


def read(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


FRAMEWORKS = ("langchain", "llama-index", "haystack")
MAIN = read(ROOT / "pyproject.toml")["project"]


def test_there_is_one_for_each_framework():
    names = [read(path)["project"]["name"] for path in OTHERS]
    assert names == [
        "langchain-perspective-rag",
        "llama-index-retrievers-perspective-rag",
        "perspective-rag-haystack",
    ]
    assert names == [path.parent.name for path in OTHERS]


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.parent.name)
def test_each_is_a_dependency_and_nothing_else(path):
    given = read(path)
    project = given["project"]
    (extra,) = [name for name in FRAMEWORKS if name in project["name"]]
    assert project["version"] == MAIN["version"]
    assert project["dependencies"] == [f"perspective-rag[{extra}]=={MAIN['version']}"]
    assert project["requires-python"] == MAIN["requires-python"]
    assert given["tool"]["setuptools"]["packages"] == []
    assert not list(path.parent.rglob("*.py"))


def test_llamahub_is_told_what_to_import():
    (path,) = [path for path in OTHERS if "llama" in path.parent.name]
    hub = read(path)["tool"]["llamahub"]
    assert hub["import_path"] == "llama_index.retrievers.perspective_rag"
    assert list(hub["class_authors"]) == ["PerspectiveRetriever"]


def test_the_wrappers_extras_hold_what_the_judge_runs_on_and_no_search():
    extras = MAIN["optional-dependencies"]
    for name in FRAMEWORKS:
        assert "perspective-rag[packaged-judge]" in extras[name]
        assert len(extras[name]) == 2
    names = {each.split(">")[0] for each in extras["packaged-judge"]}
    assert names == {"onnxruntime", "tokenizers"}


def test_the_larger_judge_is_a_distribution_of_its_own():
    path = ROOT / "addons" / "judge" / "pyproject.toml"
    project = read(path)["project"]
    assert project["version"] == MAIN["version"]
    assert project["requires-python"] == MAIN["requires-python"]
    assert [each.partition(">")[0] for each in project["dependencies"]] == ["onnxruntime"]
