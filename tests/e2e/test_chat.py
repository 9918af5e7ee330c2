"""The chat as a person uses it, in a real pseudo-terminal, and with its input from a pipe."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.streaming_server import StreamingServer

pexpect = pytest.importorskip("pexpect")
pytest.importorskip("prompt_toolkit")

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "debate_assistant.py"
QUESTION = "Should zoos be closed?"
DONE = r"judged,\s+[\d.]+\s+s"


def environment(**changes):
    kept = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES"}}
    fixed = {"TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", "PYTHONIOENCODING": "utf-8"}
    return {**kept, **fixed, **changes}


class Terminal:
    """A chat in a pseudo-terminal; ``seen`` is every byte that it wrote."""

    def __init__(self, cache, *arguments, columns=120, environ=None):
        command = ["-m", "perspective_rag", "chat", f"--cache={cache}", *map(str, arguments)]
        self.child = pexpect.spawn(
            sys.executable,
            command,
            cwd=str(ROOT),
            env=environ or environment(),
            dimensions=(50, columns),
            encoding="utf-8",
            timeout=30,
            # What is started in the background is told to ignore Ctrl-C, and hands that on.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
        )
        self.parts = []
        self.until("Ask a question")

    def until(self, pattern):
        self.child.expect(pattern)
        text = self.child.before + self.child.after
        self.parts.append(text)
        return text

    def ask(self, line, until=DONE):
        self.child.sendline(line)
        return self.until(until)

    def end(self, line="/quit"):
        self.child.sendline(line)
        self.child.expect(pexpect.EOF)
        self.parts.append(self.child.before)
        self.child.close()
        return self.child.exitstatus

    @property
    def seen(self):
        return "".join(self.parts)


def plain(text):
    """What a person reads: without the codes of the terminal and the frames, in one line."""
    text = re.sub(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[\[(][0-?]*[ -/]*[@-~]", "", text)
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


def test_a_conversation_with_every_command(tmp_path):
    file = tmp_path / "answer.md"
    chat = Terminal(tmp_path / "cache", "--example")
    first = plain(chat.ask(QUESTION))
    assert "I understood: 'Zoos should be closed' or 'Zoos should not be closed'" in first
    assert first.index("• Zoos should be closed because") < first.index("[3] Arks with very few")
    followed = plain(chat.ask("and in Europe?"))
    assert "Zoos should not be closed in Europe" in followed
    assert "Searched further" in plain(chat.ask("/more against"))
    why = plain(chat.ask("/why 1", "closed in Europe\r"))
    assert "P(support)" in why
    assert "found by the search" in why
    assert "[1]" in plain(chat.ask("/sources", "sample debates"))
    own = plain(chat.ask("/sides Zoos teach children | Zoos are cruel"))
    assert "Zoos teach children" in own
    assert "Zoos are cruel" in plain(chat.ask("/sides", "2  Zoos are cruel"))
    assert "I understood: 'Zoos should be closed in Europe'" in plain(chat.ask("/auto"))
    chat.ask(f"/export {file}", "Written:")
    chat.ask("/help", "Follow-ups keep the topic")
    assert "did you mean /more" in plain(chat.ask("/moer", "Commands: .*?/quit"))
    asked = plain(chat.ask("/why 99", "got '99'"))
    assert "1 to" in asked
    thanked = plain(chat.ask("thanks", "Ask me a question"))
    assert "judged" not in thanked
    assert chat.end() == 0
    assert file.read_text(encoding="utf-8").startswith("# Should zoos be closed in Europe?")
    history = tmp_path / "cache" / "chat-history"
    assert "+and in Europe?" in history.read_text(encoding="utf-8")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_the_history_comes_back_with_the_arrow_key_and_lines_can_be_edited(tmp_path):
    chat = Terminal(tmp_path, "--example")
    chat.ask("thanks", "Ask me a question")
    chat.child.send("\x1b[A")  # up
    chat.child.send("\x01/\x0b")  # to the start, a slash, and nothing behind it
    chat.child.send("help\r")
    chat.until("Follow-ups keep the topic")
    chat.until(r"\x1b\[\?12l\x1b\[\?25h")  # the editor has its prompt
    chat.child.sendeof()
    chat.child.expect(pexpect.EOF)


def test_without_history_nothing_that_was_typed_is_kept(tmp_path):
    chat = Terminal(tmp_path, "--example", "--no-history")
    chat.ask("thanks", "Ask me a question")
    assert chat.end() == 0
    assert not (tmp_path / "chat-history").exists()


def side_by_side(text):
    return any(
        "─ For ─" in line.partition("╮╭")[0] and "─ Against ─" in line.partition("╮╭")[2]
        for line in text.splitlines()
    )


@pytest.mark.parametrize(("columns", "beside"), [(60, False), (140, True)])
def test_sides_stand_side_by_side_where_the_width_allows(tmp_path, columns, beside):
    chat = Terminal(tmp_path, "--example", columns=columns)
    shown = chat.ask(QUESTION)
    assert side_by_side(re.sub(r"\x1b\[[\d;]*m", "", shown)) == beside
    bare = re.sub(r"\x1b\][^\x1b]*\x1b\\|\x1b\[[^a-zA-Z]*[a-zA-Z]", "", shown)
    frames = [line for line in bare.splitlines() if line.startswith(("╭", "│", "╰"))]
    assert frames
    assert max(map(len, frames)) <= columns
    assert chat.end() == 0


@pytest.mark.parametrize(("columns", "beside"), [("50", False), ("130", True)])
def test_columns_is_respected_where_the_output_is_no_terminal(tmp_path, columns, beside):
    done = subprocess.run(
        [sys.executable, "-m", "perspective_rag", "chat", "--example", f"--cache={tmp_path}"],
        input=f"{QUESTION}\n",
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(COLUMNS=columns),
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert side_by_side(done.stdout) == beside
    assert max(map(len, done.stdout.splitlines())) == int(columns)
    assert "\x1b" not in done.stdout
    assert "> " not in done.stdout
    assert not (tmp_path / "chat-history").exists()


FIRST = (
    '{"claims": [{"text": "Zoos breed rare animals.", "citations": [2], "perspective": "oppose"},'
)


@pytest.fixture
def small_corpus(tmp_path):
    rows = [
        {"id": "a", "text": "Zoos should not be closed. Zoos breed rare animals."},
        {"id": "b", "text": "Zoos should be closed. Cages are cruel to animals."},
    ]
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_ctrl_c_in_the_middle_of_an_answer_stops_the_answer_and_not_the_chat(
    tmp_path, small_corpus
):
    with StreamingServer("You answer a question from numbered passages", [FIRST, None]) as server:
        model = ["--llm", "m", "--base-url", server.url]
        chat = Terminal(tmp_path, "--corpus", small_corpus, *model)
        chat.child.sendline(QUESTION)
        chat.until("• Zoos breed rare animals")  # while the model still writes
        chat.child.sendintr()
        stopped = chat.until("stopped")
        assert "judged," not in stopped
        chat.ask("/sources", "ask a question first")
        chat.ask("thanks", "Ask me a question")
        assert chat.end() == 0


def test_an_answer_streams_to_its_end_and_is_shown_once(tmp_path, small_corpus):
    rest = ' {"text": "Cages are cruel.", "citations": [1], "perspective": "support"}]}'
    with StreamingServer("You answer a question from numbered passages", [FIRST, rest]) as server:
        model = ["--llm", "m", "--base-url", server.url]
        chat = Terminal(tmp_path, "--corpus", small_corpus, *model)
        shown = plain(chat.ask(QUESTION))
        assert chat.end() == 0
    assert shown.count("• Zoos breed rare animals.") == 1
    assert any(body.get("stream") for body in server.bodies)


CLIPBOARD, TITLE = "\x1b]52;c;ZWNobyBvd25lZA==\x07", "\x1b]0;owned\x1b\\"
HOSTILE = f"{CLIPBOARD}{TITLE}\x1b[2J\x9b31m\u202egnorw\u202c [link=http://evil.example]y[/link]"


def test_nothing_in_a_passage_or_title_steers_the_terminal_and_links_are_http_alone(tmp_path):
    addresses = ["https://good.example/a?b=1", "javascript:alert(1)", "http://x\x1b]52;c;eA==\x07",
                 "https://user:secret@evil.example/", "file:///etc/passwd"]  # fmt: skip
    rows = [
        {
            "id": f"{n}{HOSTILE}",
            "title": f"Title {n} {HOSTILE}",
            "source": f"Source {n} {HOSTILE}",
            "url": url,
            "text": f"Zoos should be closed, number {n}. {HOSTILE} They are cruel to animals.",
        }
        for n, url in enumerate(addresses)
    ]
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    chat = Terminal(tmp_path / "cache", "--corpus", path)
    chat.ask(f"{QUESTION}")
    chat.ask("/sources", r"Title 4[^\n]*\n(?:[^\n]*\n)?")
    chat.ask("/why 1", "found by the search")
    assert chat.end() == 0
    seen = chat.seen
    assert "Title 0" in seen
    for bad in ("]52;", "]0;owned", "\x1b[2J", "\x9b", "\u202e", "evil.example\x1b\\"):
        assert bad not in seen
    opened = set(re.findall(r"\x1b\]8;[^;]*;([^\x1b\x07]*)", seen)) - {""}
    assert opened == {"https://good.example/a?b=1"}
    assert "secret@" not in "".join(opened)


def test_piped_input_is_answered_and_keeps_going_after_a_mistake():
    lines = [QUESTION, "/what", "and in Europe?", "/why", "/export nowhere.txt", "thanks", "/quit"]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--no-history"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    said = plain(done.stdout)
    assert "Zoos should not be closed in Europe" in said
    assert "No command /what" in said
    assert "/why needs the number of a passage" in said
    assert "nowhere.txt must end in one of .md, .html, .json" in said
    assert "Ask me a question that people answer differently" in said
