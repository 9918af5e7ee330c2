"""One command for all benchmarks: what it lists, what it runs, what it says of a wrong name."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import catalogue, front
from benchmarks.core.data import data_note, needed
from benchmarks.download.sources import SOURCES
from perspective_rag import ConfigError, CorpusError

ROOT = Path(front.__file__).parents[1]
COMMANDS = (*catalogue.listed(), *catalogue.TOOLS)


def listing(*arguments):
    screen = io.StringIO()
    status = front.main(list(arguments), console=Console(file=screen, width=130))
    return status, screen.getvalue()


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_without_a_name_every_benchmark_is_listed_on_one_line(arguments):
    status, text = listing(*arguments)
    assert status == 0
    for each in catalogue.BENCHMARKS:
        [line] = [line for line in text.splitlines() if line.startswith(f"  {each.name} ")]
        for said in (each.measures, each.data, each.time):
            assert said in line


@pytest.mark.parametrize("each", COMMANDS, ids=lambda each: each.name)
def test_every_listed_command_has_help_and_exists_in_a_module(each):
    with pytest.raises(SystemExit) as exit_:
        each.main()(["--help"])
    assert exit_.value.code == 0


@pytest.mark.parametrize("each", catalogue.BENCHMARKS, ids=lambda each: each.name)
def test_the_help_of_a_benchmark_says_where_its_data_comes_from(each, capsys):
    with pytest.raises(SystemExit):
        each.main()(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    if each.downloads:
        assert "python -m benchmarks download" in text
        assert each.downloads[0] in text
    assert set(each.downloads) <= set(SOURCES)


def test_every_folder_with_a_command_is_listed():
    folders = {path.parent.name for path in (ROOT / "benchmarks").glob("*/__main__.py")}
    assert folders <= {each.name for each in COMMANDS}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("covrage", "coverage"), ("pir.adaptiv", "pir.adaptive"), ("brds", "berds")],
)
def test_a_wrong_name_is_status_2_and_the_nearest_right_one_is_said(wrong, right):
    status, text = listing(wrong)
    assert status == 2
    assert f"did you mean '{right}'" in text


@pytest.mark.parametrize("name", ["perspective-detection", "benchmarks.perspective_detection"])
def test_a_name_may_be_written_with_dashes_or_as_the_old_module(name):
    assert catalogue.named(name).name == "perspective_detection"


def test_an_unlisted_folder_is_found_by_its_command(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__main__.py").write_text('"""Counts things.\n\nMore."""\n')
    monkeypatch.setattr(catalogue, "ROOT", tmp_path)
    found = catalogue.named("mine")
    assert (found.measures, found.module) == ("Counts things", "benchmarks.mine.__main__")
    with pytest.raises(ConfigError, match="unknown benchmark 'mein'; did you mean 'mine'"):
        catalogue.named("mein")


def test_the_status_of_the_benchmark_is_that_of_the_command(monkeypatch):
    seen = []

    def main(arguments):
        seen.append(arguments)
        return 7

    monkeypatch.setattr(catalogue.Benchmark, "main", lambda self: main)
    assert front.main(["coverage", "--limit", "3"]) == 7
    assert seen == [["--limit", "3"]]


@pytest.mark.parametrize("command", ["benchmarks pir", "benchmarks.pir", "benchmarks.pir.cost"])
def test_new_and_old_commands_run_as_processes(command):
    run = subprocess.run(
        [sys.executable, "-m", *command.split(), "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.search(r"usage: python -m benchmarks pir", run.stdout)


def test_a_missing_data_file_names_the_command_that_gets_it(tmp_path):
    with pytest.raises(CorpusError, match=r"x\.jsonl does not exist.*download NAME.*pir-demo"):
        needed(tmp_path / "x.jsonl", "pir")
    with pytest.raises(CorpusError, match="with the name perspectrum"):
        needed(tmp_path / "x.jsonl", "coverage")
    assert needed(tmp_path, "pir") == tmp_path
    assert "ambignq" in data_note("ambigqa")


@pytest.mark.parametrize(
    "arguments",
    [
        ["coverage", "--data=nowhere"],
        ["perspective_detection", "--data=nowhere"],
        ["latency", "--corpus=nowhere"],
        ["pir", "--data=nowhere"],
        ["pir.adaptive", "--data=nowhere"],
        ["ambigqa", "--data=nowhere"],
        ["essay", "--data=nowhere"],
        ["berds", "--questions=nowhere", "--corpus=nowhere"],
    ],
)
def test_every_benchmark_says_how_to_get_its_missing_data(arguments, capsys):
    assert front.main(arguments) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert "nowhere does not exist; `python -m benchmarks download NAME`" in said


def test_a_benchmark_without_its_packages_says_what_to_install(monkeypatch):
    def lacking(module):
        raise ModuleNotFoundError("No module named 'pydantic'")

    monkeypatch.setattr(catalogue, "import_module", lacking)
    status, text = listing("debates")
    assert status == 2
    assert "perspective-rag[bench]" in text
