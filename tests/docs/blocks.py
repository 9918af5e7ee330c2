"""The code blocks of a Markdown page, and how each kind is run.

Python blocks of a page share one namespace and run in order. Shell lines run as the commands they
name, in this process. What cannot run here is marked in the page by a comment that says why:

    <!-- not run: needs a server -->

Such a block is checked instead: its syntax, its imports, its options. ``<!-- run`` begins Python
code that runs without being shown, to set up what a page takes for given or to check what it says.
A block with ``title="mine.py"`` is written to that file before the next block runs. A text block
after ``<!-- output -->`` is what the Python block before it prints; with WRITE_DOCS=1 the page is
written again where it says something else.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perspective_rag import cli

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
_PIECE = re.compile(
    r"^<!-- not run: (?P<reason>.+?) -->$"
    r"|^(?P<output><!-- output -->)$"
    r"|^<!-- run\n(?P<hidden>.*?)^-->$"
    r"|^(?P<indent> *)```(?P<language>\w+)(?P<info>[^\n]*)\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, what it holds, and why it is not run (None: it is)."""

    line: int
    language: str
    code: str
    title: str | None = None
    reason: str | None = None
    output: bool = False


def blocks_of(text: str) -> Iterator[Block]:
    """The blocks of a page in their order, hidden ones included."""
    reason, output = None, False
    for piece in _PIECE.finditer(text):
        line = text.count("\n", 0, piece.start()) + 1
        if piece["reason"]:
            reason = piece["reason"]
        elif piece["output"]:
            output = True
        elif piece["hidden"] is not None:
            yield Block(line, "python", piece["hidden"])
        else:
            title = re.search(r'title="([^"]+)"', piece["info"])
            indent = len(piece["indent"])
            code = "".join(row[indent:] for row in piece["code"].splitlines(keepends=True))
            yield Block(line, piece["language"], code, title[1] if title else None, reason, output)
            reason, output = None, False


def run_page(page: Path, names: dict[str, Any]) -> None:
    """Runs or checks every block of a page in the current folder."""
    printed = ""
    for block in blocks_of(page.read_text(encoding="utf-8")):
        place = f"{page.name}, line {block.line}"
        if block.title:
            shipped = ROOT / block.title
            if shipped.is_file():
                assert shipped.read_text(encoding="utf-8") == block.code, f"{place}: {shipped}"
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.code, encoding="utf-8")
        if block.language == "python":
            with redirect_stdout(io.StringIO()) as screen:
                _python(block, place, names)
            printed = screen.getvalue()
        elif block.output:
            _compare(page, block, printed, place)
        elif block.language == "sh":
            for line in lines_of(block.code):
                _command(shlex.split(line, comments=True), place, checked=block.reason is not None)
        elif block.language == "toml":
            tomllib.loads(block.code)
        elif block.language == "json":
            json.loads(block.code)
        else:
            assert block.language in ("text", "html"), f"{place}: language {block.language!r}"


def _compare(page: Path, block: Block, printed: str, place: str) -> None:
    if block.code == printed:
        return
    assert os.environ.get("WRITE_DOCS"), (
        f"{place}: the page shows\n{block.code}and the code prints\n{printed}"
        f"Write the page again: WRITE_DOCS=1 python -m pytest tests/docs"
    )
    text = page.read_text(encoding="utf-8")
    page.write_text(
        text.replace(f"```text\n{block.code}```", f"```text\n{printed}```"), encoding="utf-8"
    )


def lines_of(code: str) -> list[str]:
    """The commands of a shell block, continued lines joined."""
    joined = code.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if line.split("#")[0].strip()]


def _python(block: Block, place: str, names: dict[str, Any]) -> None:
    padded = "\n" * block.line + block.code  # so that a traceback names the line of the page
    if block.title or block.reason:
        _imports_exist(ast.parse(padded, place), place)
        if block.reason:
            return
    if not block.title:
        exec(compile(padded, place, "exec"), names)


def _imports_exist(tree: ast.AST, place: str) -> None:
    """What a block imports of installed packages is there; what is not installed is skipped."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        if importlib.util.find_spec(node.module.partition(".")[0]) is None:
            continue
        try:
            module = importlib.import_module(node.module)
        except ImportError:
            assert "perspective_rag" not in node.module, f"{place}: no module {node.module}"
            continue
        for alias in node.names:
            assert hasattr(module, alias.name), f"{place}: {node.module} has no {alias.name}"


@contextmanager
def _no_input() -> Iterator[None]:
    """Standard input at its end, where a chat ends."""
    own, sys.stdin = sys.stdin, io.StringIO()
    try:
        yield
    finally:
        sys.stdin = own


def _command(words: list[str], place: str, *, checked: bool) -> None:
    while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
        words = words[1:]
    if words[0] == "pip":
        for extra in re.findall(r"\[([\w,-]+)\]", " ".join(words)):
            for name in extra.split(","):
                assert re.search(rf"^{name} = \[", PYPROJECT, re.MULTILINE), f"{place}: {name}"
    elif words[0] == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), f"{place}: {words}"
    elif words[0] == "perspective-rag":
        if checked:
            cli._parser().parse_args(words[1:])
        else:
            with _no_input():
                assert cli.main(words[1:]) == 0, f"{place}: {' '.join(words)} failed"
    elif words[0] in ("python", "uvicorn", "bash", "git", "cd", "curl"):
        _other(words, place)
    elif not (checked and words[0] in ("mkdir", "cp")):
        raise AssertionError(f"{place}: what is {words[0]!r}? Mark the block as not run")


def _other(words: list[str], place: str) -> None:
    """A command of a checkout: its file or module is there and knows the options."""
    if words[0] == "bash":
        assert (ROOT / words[1]).is_file(), f"{place}: {words[1]}"
    if words[0] != "python" or words[1] == "-c":
        return
    known = 3 if words[1] == "-m" else 2
    known += words[2:3] == ["benchmarks"] and words[3:4] != [] and not words[3].startswith("-")
    if words[known - 1] in ("pytest", "pip", "venv"):
        return
    shown = _help(words[1:known], place)
    if words[known:] and re.search(rf"[{{,]{re.escape(words[known])}[,}}]", shown):  # a subcommand
        known += 1
        shown = _help(words[1:known], place)
    for option in (word.partition("=")[0] for word in words[known:] if word.startswith("-")):
        assert re.search(rf"{option}\b", shown), f"{place}: {option}"


def _help(words: list[str], place: str) -> str:
    shown = subprocess.run(
        [sys.executable, *words, "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert shown.returncode == 0, f"{place}: {shown.stderr}"
    return shown.stdout
