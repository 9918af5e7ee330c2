"""The limits of the packaged judge: what is measured, and when the status is 1."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from benchmarks.core import results
from benchmarks.debates.command import main
from benchmarks.debates.experiment import Asked, measure, read_asked, read_labels
from benchmarks.debates.limits import LIMITS, read_limits
from perspective_rag import ConfigError, Corpus, Passage, PerspectivePipeline, local_pipeline
from perspective_rag.testing import HashEmbedder, MemoryStore, TableJudge

TEXTS = {"p1": "zoos should close", "p2": "zoos should stay", "p3": "zoos need keepers"}
LABELS = {("p1", "zoos"): frozenset({"close"}), ("p2", "zoos"): frozenset({"keep"})}
ZOOS = Asked("zoos", "Should zoos be closed?", ("close", "keep"), False)


def figures(table, asked=ZOOS):
    embedder = HashEmbedder()
    store = MemoryStore([Passage(name, text) for name, text in TEXTS.items()], embedder)
    pipeline = PerspectivePipeline(store, embedder=embedder, judge=TableJudge(table))
    return measure(pipeline, [asked], LABELS)


def test_a_judge_that_knows_the_labels_reaches_every_figure():
    found = figures({("p1", "support"): 0.9, ("p2", "oppose"): 0.9})
    assert (found["both_sides"], found["right_listed"], found["agreement"]) == (1.0, 1.0, 1.0)


def test_a_judge_that_takes_the_wrong_side_reaches_none_but_what_search_finds():
    found = figures({("p2", "support"): 0.9, ("p1", "oppose"): 0.9})
    assert found["both_sides"] == 1.0
    assert found["right_listed"] == found["every_side_listed"] == 0.0
    assert sorted(found["rows"][0]["wrong"]) == ["p1 under keep", "p2 under close"]
    assert found["agreement"] == pytest.approx(1 / 3)  # the passage without a side


def test_the_debates_have_questions_and_labels_of_the_same_names():
    asked, labels = read_asked(), read_labels()
    assert sum(each.reworded for each in asked) == 3
    for each in asked:
        sides = set().union(*(s for (_, debate), s in labels.items() if debate == each.debate))
        assert set(each.sides) <= sides, each


def test_what_the_packaged_parts_list_in_the_debates_is_right():
    """The debates are the demonstration. Where new weights misread one, write the sample again."""
    pytest.importorskip("onnxruntime")
    own = [each for each in read_asked() if not each.reworded]
    found = measure(local_pipeline(Corpus.example(), discover=2), own, read_labels())
    assert [line for row in found["rows"] for line in row["wrong"]] == []
    shown = {row["question"] for row in found["rows"] if row["every_side"]}
    assert len(own) == 13
    assert len(shown) >= 11
    assert {each.question for each in own[:3]} <= shown  # the page offers them first


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("debates")

    def run(limits, *arguments):
        path = folder / "limits.toml"
        path.write_text(limits)
        screen = io.StringIO()
        status = main(
            [
                f"--limits={path}",
                f"--out={folder / 'out.json'}",
                f"--cache={folder / 'cache'}",
                *arguments,
            ],
            embedder=HashEmbedder(),
            judge=TableJudge(),
            console=Console(file=screen, width=200),
        )
        return status, screen.getvalue(), folder / "out.json"

    return run


@pytest.mark.parametrize(
    ("limits", "arguments", "expected"),
    [
        ("[limits]\nright_listed = 0.5", ["--check"], 1),
        ("[limits]\nright_listed = 0.5", [], 0),
        ("[limits]\nright_listed = 0.0", ["--check"], 0),
        ("[targets]\nright_listed = 0.5", ["--check"], 0),
        ("[targets]\nright_listed = 0.5", ["--check", "--targets"], 1),
    ],
)
def test_the_status_is_1_where_a_limit_is_missed_and_checked(run, limits, arguments, expected):
    status, screen, out = run(limits, *arguments)
    assert status == expected, screen
    assert results.read(out)["benchmark"] == "debates"
    if "0.5" in limits:
        assert "right_listed is 0.000, at least 0.5 is wanted" in screen


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[limit]\nagreement = 0.5", "unknown key 'limit'; did you mean 'limits'"),
        ("[limits]\nagrement = 0.5", r"\[limits\]: unknown key 'agrement'; did you mean"),
        ("[limits]\nagreement = 50", r"agreement must be a number in \[0, 1\], got 50"),
    ],
)
def test_a_wrong_limit_is_named(tmp_path, text, says):
    path = tmp_path / "limits.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        read_limits(path)


def test_the_shipped_limits_are_valid():
    assert read_limits(LIMITS).limits.both_sides is not None
