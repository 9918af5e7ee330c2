"""The command ``perspective-rag``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perspective_rag.errors import MissingDependency, PerspectiveRAGError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, or 1 after an error that is printed in one line."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except PerspectiveRAGError as error:
        sys.stderr.write(f"perspective-rag: {error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="perspective-rag", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    judge = commands.add_parser("judge", help="train and evaluate judges").add_subparsers(
        required=True
    )

    train = judge.add_parser(
        "train", help="fine-tune a judge on pairs of document, statement and label"
    )
    train.add_argument(
        "data", nargs="+", metavar="FILE[:ROWS]", help="JSONL (.gz) with document, statement, label"
    )
    train.add_argument("--base", required=True, help="a folder or Hugging Face id of an encoder")
    train.add_argument(
        "--out", required=True, type=Path, help="the judge's folder; call again to resume"
    )
    train.add_argument(
        "--dev", nargs="*", default=[], metavar="FILE[:ROWS]", help="development pairs"
    )
    train.add_argument("--epochs", type=float, default=2.0)
    train.add_argument("--learning-rate", type=float, default=8e-5)
    train.add_argument(
        "--max-tokens", type=int, default=192, help="tokens read of document and statement"
    )
    train.add_argument("--seed", type=int, default=13)
    train.set_defaults(run=_train)

    evaluate = judge.add_parser(
        "eval", help="figures of a judge on labelled pairs, overall and by source"
    )
    evaluate.add_argument("data", nargs="+", metavar="FILE[:ROWS]")
    evaluate.add_argument(
        "--model", help="a folder or Hugging Face id (default: the package's own judge)"
    )
    evaluate.set_defaults(run=_evaluate)
    return parser


def _train(options: argparse.Namespace) -> None:
    from perspective_rag.judge.training.command import DataFile, train_judge
    from perspective_rag.judge.training.loop import TrainingConfig

    try:
        from rich.progress import Progress
    except ImportError as error:
        raise MissingDependency("judge", "training a judge") from error
    config = TrainingConfig(
        base=options.base,
        epochs=options.epochs,
        learning_rate=options.learning_rate,
        max_tokens=options.max_tokens,
        seed=options.seed,
    )
    data = [DataFile.parse(text) for text in options.data]
    development = [DataFile.parse(text) for text in options.dev]
    with Progress() as progress:
        task = progress.add_task("training", total=None)

        def report(state: dict[str, Any]) -> None:
            progress.update(
                task,
                total=state["total"],
                completed=state["step"],
                description=f"training, loss {state['loss']:.3f}",
            )

        figures = train_judge(data, development, config, options.out, report)
    _show({"model": str(options.out), "development": figures})


def _evaluate(options: argparse.Namespace) -> None:
    from perspective_rag.judge.training.command import DataFile, evaluate_judge

    _show(evaluate_judge(options.model, [DataFile.parse(text) for text in options.data]))


def _show(values: Any) -> None:
    sys.stdout.write(json.dumps(values, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
