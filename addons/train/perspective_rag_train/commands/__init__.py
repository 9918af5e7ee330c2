"""The commands of this add-on."""

from __future__ import annotations

from typing import Any


def add_judge(commands: Any) -> None:
    """Adds ``judge`` with its own commands to the subparsers."""
    from perspective_rag_train.cli import add_commands
    from perspective_rag_train.commands import judge_run

    judge = commands.add_parser("judge", help="train, evaluate and run judges")
    subparsers = judge.add_subparsers(required=True)
    add_commands(subparsers)
    judge_run.add_command(subparsers)
