"""Nothing that is shown can steer the terminal, be it one or a pipe."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from perspective_rag.cli import main
from perspective_rag.commands.showing import SafeConsole
from perspective_rag.text import escaped, printable
from perspective_rag.types import (
    Candidate,
    Degradation,
    Passage,
    Perspective,
    RetrievalResult,
    Trace,
)

HOSTILE = {
    "clipboard": "\x1b]52;c;ZWNobyBvd25lZA==\x07",
    "title": "\x1b]0;owned\x1b\\",
    "link": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "clear": "\x1b[2J\x1b[H",
    "colour": "\x1b[31m",
    "C1": "\x9b2J\x9d0;owned\x9c",
    "device": "\x1bP+q544e\x1b\\",
    "string without an end": "\x1b]8;;" + "a" * 5_000,
    "back": "abc\rxyz\b\b\x7f",
    "bidi": "\u202eevil\u202c\u2066\u2069\u200f\u061c",
    "invisible": "\ufeff\u2060\U000e0041\ufff9",
    "split": "\x1b\x1b[0m[2J",
    "markup": "[bold red]x[/bold red] [link=http://evil.example]y[/link]",
}
ALL = " ".join(HOSTILE.values())
STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
OWN = re.compile(r"\x1b\[[\d;]*m")  # rich's own colours


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_text_made_printable_steers_nothing_and_keeps_its_words(text):
    assert not STEERING.search(printable(f"Zoos {text} should be closed"))
    assert printable("Zoos — “日本” הגן\tעולם\n👩 é") == "Zoos — “日本” הגן\tעולם\n👩 é"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_json_that_is_shown_steers_nothing_and_means_the_same(text):
    value = {text: [text]}
    shown = escaped(json.dumps(value, ensure_ascii=False))
    assert not STEERING.search(shown)
    assert json.loads(shown) == value


@pytest.mark.parametrize("terminal", [True, False])
def test_a_console_shows_no_steering_in_any_part_of_what_it_prints(terminal):
    from rich.panel import Panel
    from rich.table import Table

    stream = io.StringIO()
    screen = SafeConsole(file=stream, force_terminal=terminal, width=40)
    table = Table(title=ALL)
    table.add_column(ALL)
    table.add_row(ALL)
    screen.print(Panel(table, title=ALL.replace("[", "\\[")), markup=False)
    screen.print(ALL, markup=False)
    screen.rule(ALL.replace("[", "\\["))
    assert not STEERING.search(OWN.sub("", stream.getvalue()))


def result(text):
    found = Candidate(Passage(text, text, {"title": text, "source": text}), 1.0)
    trace = Trace(degradations=(Degradation("search", text, ValueError(text)),))
    return RetrievalResult(text, (found,), (Perspective("p1", text),), None, trace, reading=text)


def test_a_printed_result_steers_nothing():
    assert not STEERING.search(str(result(ALL)))
    assert not STEERING.search(repr(result(ALL)))


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    rows = [
        {"id": f"{n}{ALL}", "text": f"Zoos should be closed, they are cruel. {ALL} {n}",
         "title": ALL, "source": ALL, "url": ALL}
        for n in range(8)
    ]  # fmt: skip
    lines = [json.dumps(row) for row in rows] + ["{broken \x1b[2J", json.dumps({"\x1b[2J": 1})]
    (folder / "a\x1b[2J\u202e.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "b\x1b]0;x\x07.exe").write_text("x")
    return folder


@pytest.mark.parametrize("arguments", [(), ("--json",)], ids=["shown", "json"])
def test_ask_shows_nothing_that_steers(corpus, tmp_path, capsys, arguments):
    question = f"Should zoos be closed? {ALL}"
    command = ["ask", question, f"--corpus={corpus}", f"--cache={tmp_path / 'cache'}"]
    assert main([*command, f"--perspective={ALL} Zoos are cruel", *arguments]) == 0
    shown = capsys.readouterr()
    assert "they are cruel" in shown.out
    assert not STEERING.search(shown.out + shown.err)
    if arguments:
        texts = [each["text"] for each in json.loads(shown.out)["result"]["candidates"]]
        assert any("\x1b" in text for text in texts)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["ask", "q", f"--corpus=no{ALL}where.jsonl"], 2),
        (["ask", "q", "--corpus=x", ALL], 2),
        ([f"no command {ALL}"], 2),
        (["audit", f"no{ALL}file", "--retriever=hostile_parts:broken"], 2),
        (["audit", "QUESTIONS", "--retriever=hostile_parts:broken"], 2),
        (["judge", "eval", f"--model={ALL}", "x"], 2),
    ],
)
def test_errors_show_nothing_that_steers(arguments, status, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    Path("QUESTIONS").write_text("Should zoos be closed?")
    try:
        ended = main(arguments)
    except SystemExit as stop:
        ended = stop.code
    assert ended == status
    shown = capsys.readouterr()
    assert shown.err
    assert not STEERING.search(shown.out + shown.err)
    assert "hunter2word" not in "".join(
        line for line in shown.err.splitlines() if "raise" not in line
    )
