"""Ask a contentious question and see every side, with the passages that prove it.

python examples/debate_assistant.py                                       # a chat in the terminal
python examples/debate_assistant.py --question "Should zoos be closed?"   # one answer
python examples/debate_assistant.py --corpus my_passages.jsonl.gz --web   # a page in the browser
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from perspective_rag import PerspectiveRAGError
from perspective_rag.commands.ask import answer_options, answered, chosen_options, write_json
from perspective_rag.commands.parts import build_pipeline, console, corpus_options, read_corpus
from perspective_rag.commands.showing import show
from perspective_rag_serve.commands.chat import chat, chat_options, serve_page

SAMPLE = Path(__file__).parent / "debates" / "passages.jsonl"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--question", help="answer this once and exit; without it a chat opens")
    corpus_options(parser)
    parser.set_defaults(corpus=SAMPLE)
    answer_options(parser)
    chat_options(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the assistant; 0, 2 after an error that was shown in one line, 130 after Ctrl-C."""
    options = parse(arguments)
    screen = console(stderr=options.json)
    try:
        if options.web:
            serve_page(options)
            return 0
        corpus = read_corpus(options, screen)
        pipeline = build_pipeline(options, corpus, screen, **chosen_options(options))
        if options.question is None:
            chat(pipeline, screen, options)
            return 0
        result, answer = answered(pipeline, options.question, options.perspective)
    except PerspectiveRAGError as error:
        screen.print(f"[red]{escape(str(error))}[/red]")
        return 2
    except KeyboardInterrupt:
        screen.print("[yellow]interrupted; what was embedded is kept[/yellow]")
        return 130
    if options.json:
        write_json(result, answer)
    else:
        show(result, answer, screen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
