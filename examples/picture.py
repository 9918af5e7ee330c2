"""The picture in the README: a real answer over the sample debates, as the terminal shows it.

python -m examples.picture                       # writes docs/images/answer.svg
python -m examples.picture "Should cash be abolished?" cash.svg
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from pathlib import Path

from rich.console import Console

from perspective_rag import Corpus, local_pipeline
from perspective_rag.commands.ask import answered
from perspective_rag.commands.showing import show

QUESTION = "Should private cars be banned from city centres?"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "answer.svg"
WIDTH = 94


def picture(question: str = QUESTION) -> str:
    """The screen of ``perspective-rag ask QUESTION --example`` as SVG."""
    command = f'perspective-rag ask "{question}" --example'
    pipeline = local_pipeline(Corpus.example(), k=6, discover=2)
    pipeline.retrieve(question)  # the first question loads the models
    screen = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    screen.print(f"[green]$[/green] [bold]{command}[/bold]", highlight=False)
    show(*answered(pipeline, question, None), screen)
    drawn = screen.export_svg(title="perspective-rag", unique_id="answer")
    # Fonts from a server: a picture in a page may not load them, and offline nobody can.
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    drawn = drawn.replace("Fira Code, monospace", "Menlo, Consolas, 'DejaVu Sans Mono', monospace")
    return re.sub(r"\n\s*\n+", "\n", drawn).strip() + "\n"


def question_of(text: str) -> str:
    """The question of a command line; what begins with a dash is an option gone astray."""
    if not text.strip() or text.lstrip().startswith("-"):
        raise argparse.ArgumentTypeError(f"expected a question, got {text!r}")
    return text


def parsed(arguments: list[str], picture: Path, description: str) -> argparse.Namespace:
    """``question`` and ``path`` of the command of a picture."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("question", nargs="?", default=QUESTION, type=question_of)
    parser.add_argument("path", nargs="?", type=Path, default=picture)
    options = parser.parse_args(arguments)
    options.path.parent.mkdir(parents=True, exist_ok=True)
    return options


def main(arguments: list[str]) -> int:
    """Writes the picture; 0."""
    options = parsed(arguments, PICTURE, "Draws an answer as the terminal shows it.")
    options.path.write_text(picture(options.question), encoding="utf-8")
    print(f"Written: {options.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
