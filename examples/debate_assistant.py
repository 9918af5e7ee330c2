"""Ask a contentious question and see every side, with the passages that prove it.

python examples/debate_assistant.py --question "Should zoos be closed?"
python examples/debate_assistant.py --corpus my_passages.jsonl.gz          # opens a chat
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from perspective_rag import PerspectivePipeline, PerspectiveRAGError
from perspective_rag.commands.ask import answer_options, answered, chosen_options, write_json
from perspective_rag.commands.parts import build_pipeline, corpus_options, read_corpus
from perspective_rag.commands.showing import show

SAMPLE = Path(__file__).parent / "debates" / "passages.jsonl"


def chat(pipeline: PerspectivePipeline, console: Console) -> None:
    """Questions until /quit or the end of the input."""
    console.print("Ask a question.")
    console.print("[dim]/sides A | B: set the perspectives, /auto: find them, /quit: end[/dim]")
    perspectives: list[str] | None = None
    while True:
        try:
            line = console.input("[bold cyan]> [/bold cyan]").strip()
        except (EOFError, KeyboardInterrupt):
            return
        if line in {"/quit", "/exit"}:
            return
        if line.startswith("/sides"):
            perspectives = [
                side.strip() for side in line[len("/sides") :].split("|") if side.strip()
            ] or None
        elif line == "/auto":
            perspectives = None
        elif line.startswith("/"):
            console.print("[yellow]Commands: /sides A | B, /auto, /quit[/yellow]")
        elif line:
            try:
                show(*answered(pipeline, line, perspectives), console)
            except PerspectiveRAGError as error:
                console.print(f"[red]{escape(str(error))}[/red]")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--question", help="answer this once and exit; without it a chat opens")
    corpus_options(parser, default=SAMPLE)
    answer_options(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the assistant; 0, 2 after an error that was shown in one line, 130 after Ctrl-C."""
    options = parse(arguments)
    console = Console(stderr=options.json)
    try:
        corpus = read_corpus(options, console)
        pipeline = build_pipeline(options, corpus, console, **chosen_options(options))
        if not options.question:
            chat(pipeline, console)
            return 0
        result, answer = answered(pipeline, options.question, options.perspective)
    except PerspectiveRAGError as error:
        console.print(f"[red]{escape(str(error))}[/red]")
        return 2
    except KeyboardInterrupt:
        console.print("[yellow]interrupted; what was embedded is kept[/yellow]")
        return 130
    if options.json:
        write_json(result, answer)
    else:
        show(result, answer, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
