"""``python -m perspective_rag_train.two_sided``: train, assess, label, export, thresholds."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from perspective_rag_train.two_sided.assess import Reader, assess
from perspective_rag_train.two_sided.recipe import Recipe


def main() -> None:
    """Runs the command."""
    options = _parser().parse_args()
    say: dict[str, Any] = {}
    if options.command == "train":
        from perspective_rag_train.two_sided.train import Run

        names = [each.name for each in fields(Recipe) if getattr(options, each.name) is not None]
        recipe = replace(Recipe(), **{name: getattr(options, name) for name in names})
        Run(options.folder, options.data, options.base, recipe, options.weights).train()
    elif options.command == "assess":
        say = assess(_reader(options), options.data, at_most=options.at_most)
    elif options.command == "label":
        from perspective_rag_train.two_sided.label import label

        say = {"rows": label(_reader(options), options.rows, options.out)}
    elif options.command == "export":
        from perspective_rag.addons import LargerSettings
        from perspective_rag_train.two_sided.export import (
            averaged_network,
            export,
            provenance_of,
        )

        network, trained = averaged_network([options.folder, *options.beside], options.base)
        say = export(
            network,
            options.base / "tokenizer.json",
            options.out,
            settings=LargerSettings(version=f"{trained['rows']} rows"),
            provenance=provenance_of(options.folder, trained),
            data=options.data,
        )
    else:
        from perspective_rag_train.two_sided.thresholds import thresholds

        say = thresholds(options.model, options.data, options.kept, write=options.write)
    sys.stdout.write("".join(f"{name}: {json.dumps(value)}\n" for name, value in say.items()))


def _reader(options: argparse.Namespace) -> Reader:
    if options.model is not None:
        from perspective_rag_train.two_sided.export import read_exported

        return read_exported(options.model)
    from perspective_rag_train.two_sided.export import averaged_network
    from perspective_rag_train.two_sided.network import Encoding, read

    network, _ = averaged_network([options.folder], options.base)
    encoding = Encoding(options.base / "tokenizer.json")
    return lambda texts: read(network, encoding, texts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m perspective_rag_train.two_sided")
    commands = parser.add_subparsers(dest="command", required=True)
    data = argparse.ArgumentParser(add_help=False)
    data.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    run = argparse.ArgumentParser(add_help=False)
    run.add_argument("--base", type=Path, required=True, help="folder of all-mpnet-base-v2")
    run.add_argument("--folder", type=Path, required=True, help="the run's own folder")

    train = commands.add_parser("train", parents=[data, run], help="begin, or go on")
    train.add_argument(
        "--weights", type=Path, help="exported judge to begin from where no checkpoint is"
    )
    for each in fields(Recipe):
        train.add_argument("--" + each.name.replace("_", "-"), type=type(each.default))

    judge = argparse.ArgumentParser(add_help=False)
    judge.add_argument("--base", type=Path, help="folder of all-mpnet-base-v2, with --folder")
    which = judge.add_mutually_exclusive_group(required=True)
    which.add_argument("--folder", type=Path, help="a run's folder: its last checkpoint")
    which.add_argument("--model", type=Path, help="folder of an exported judge")

    soft = commands.add_parser("label", parents=[judge], help="soft labels to learn from")
    soft.add_argument("--rows", type=Path, required=True, help="statement, opposite and document")
    soft.add_argument("--out", type=Path, required=True, help="file to write, or to go on with")

    test = commands.add_parser("assess", parents=[data, judge], help="what the sets say")
    test.add_argument("--at-most", type=int, default=0, help="cases of a set (0: all)")

    out = commands.add_parser("export", parents=[data, run], help="the last checkpoint as int8")
    out.add_argument("--out", type=Path, required=True, help="folder to write")
    out.add_argument(
        "--beside", type=Path, action="append", default=[], help="a run to average with it"
    )

    fit = commands.add_parser("thresholds", parents=[data], help="when a passage is listed")
    fit.add_argument("--model", type=Path, required=True, help="folder of an exported judge")
    fit.add_argument("--kept", type=Path, required=True, help="folder of what was read so far")
    fit.add_argument("--write", action="store_true", help="store them in the judge.json")
    return parser


if __name__ == "__main__":
    main()
