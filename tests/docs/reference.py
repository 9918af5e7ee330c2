"""The generated pages of the reference: options and commands."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields

from perspective_rag import cli
from perspective_rag.commands import parts
from perspective_rag.options import ALIASES, PipelineOptions

_NOTE = "<!-- Written by tests/docs: WRITE_DOCS=1 python -m pytest tests/docs -->\n"


def options_page() -> str:
    """Every option of a request with its default, as ``PipelineOptions`` describes it."""
    meanings = _described(inspect.getdoc(PipelineOptions) or "")
    aliases: dict[str, list[str]] = {}
    for alias, name in ALIASES.items():
        aliases.setdefault(name, []).append(f"`{alias}`")
    rows = [
        f"| `{field.name}` | `{field.default!r}` | {meanings[field.name]}"
        + (f" Also: {', '.join(aliases[field.name])}." if field.name in aliases else "")
        + " |"
        for field in fields(PipelineOptions)
    ]
    return "\n".join(
        [
            "# Options",
            "",
            _NOTE,
            "Each option has one name and one meaning: at construction and at each call, in plain Python, LangChain, LlamaIndex",
            '(there: `retriever.with_options(k=3)`) and Haystack (`run(query, options={"k": 3})`). An unknown name is an error that',
            "suggests the right one.",
            "",
            "| option | default | meaning |",
            "|---|---|---|",
            *rows,
            "",
            "`PipelineOptions(...).to_dict()` and `PipelineOptions.from_dict(...)` write and read them as plain values.",
            "",
            "## Given at construction only",
            "",
            "| argument | meaning |",
            "|---|---|",
            "| `embedder`, `judge`, `second_judge`, `extractor`, `expander`, `selector`, `answerer` | the [parts](parts.md) |",
            "| `limiter` | `Limiter(n)`: how many calls of each kind all requests together make at a time (default: 32) |",
            "| `telemetry` | is told what each request does, `OpenTelemetry()` for example ([how](../how-to/observability.md)) |",
            "| `skip_if` | a function of the question; where it is true, the question is searched as it is |",
            "| `dedup_key` | a metadata key or a function; passages for which it gives the same are one |",
            "",
            "## Given at each call only",
            "",
            "`perspectives` and `filter`. The `PerspectiveRetriever` of LangChain, LlamaIndex and Haystack take both at construction too"
            " (LlamaIndex and Haystack: `filters`).",
            "",
        ]
    )


def _described(docstring: str) -> dict[str, str]:
    """The meaning of each option: the entries of the docstring's section ``Attributes``."""
    section = docstring.partition("Attributes:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", section, flags=re.MULTILINE)
    return {
        name: " ".join(text.split()).replace("``", "`").replace("|", "\\|")
        for name, text in entries
    }


def commands_page() -> str:
    """Every command with its arguments, as ``argparse`` knows them."""
    lines = [
        "# Commands",
        "",
        _NOTE,
        "`perspective-rag COMMAND --help` shows the same. `python -m perspective_rag` is the same command.",
        "",
        "Exit codes: 0 done, 1 a limit was missed, 2 an error (in one line), 3 an audit that cannot tell, 130 after Ctrl-C.",
        "",
    ]
    for name, parser in _commands(cli._parser(), "perspective-rag"):
        lines += [f"## {name}", "", *_arguments(parser), ""]
    return "\n".join(lines)


def _commands(
    parser: argparse.ArgumentParser, name: str
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help for choice in action._choices_actions}
            for word, each in action.choices.items():
                each.description = each.description or helps.get(word)
                yield from _commands(each, f"{name} {word}")
            return
    yield name, parser


def _arguments(parser: argparse.ArgumentParser) -> list[str]:
    said = parser.description or ""
    end = "" if said.endswith(("?", ".")) else "."
    lines = [said[:1].upper() + said[1:] + end] if said else []
    lines += ["", "| argument | default | meaning |", "|---|---|---|"]
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        word = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
        names = ", ".join(
            f"`{each} {word}`" if word else f"`{each}`" for each in action.option_strings
        )
        names = names or f"`{word}`"
        meaning = (action.help or "").replace("%(default)s", "")
        meaning = re.sub(r" \(default: [^)]*\)$", "", meaning)
        meaning = meaning.replace("|", "\\|").replace("][", "]\\[")
        lines.append(f"| {names} | {_default(action)} | {meaning} |")
    return lines


def _default(action: argparse.Action) -> str:
    if action.required:
        return "required"
    if action.default in (None, False, []) or action.nargs == 0:
        return ""
    return f"`{action.default}`".replace(str(parts.CACHE), "~/.cache/perspective-rag")
