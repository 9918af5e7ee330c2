"""The commands ``perspective-rag judge train``, ``eval``, ``label`` and ``export``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from perspective_rag import ConfigError
from perspective_rag.addons import PRESETS
from perspective_rag.commands import console, progress_bars
from perspective_rag.extend import unknown_name


def add_commands(judge: Any) -> None:
    """Adds ``train``, ``eval`` and ``label`` to the subparsers of ``judge``."""
    train = judge.add_parser(
        "train", help="fine-tune a judge on pairs of document, statement and label"
    )
    train.add_argument(
        "data", nargs="*", metavar="FILE[:ROWS]", help="JSONL (.gz) with document, statement, label"
    )
    train.add_argument("--base", help="a folder or Hugging Face id of an encoder")
    train.add_argument(
        "--out", required=True, type=Path, help="the judge's folder; call again to resume"
    )
    train.add_argument(
        "--dev", nargs="*", default=[], metavar="FILE[:ROWS]", help="development pairs"
    )
    train.add_argument("--recipe", help="train in the stages of a TOML file ('default': our judge)")
    train.add_argument(
        "--data-root", type=Path, default=Path(), help="folder the recipe's files are named from"
    )
    train.add_argument("--lora", action="store_true", help="a LoRA adapter for a causal LM instead")
    train.add_argument("--epochs", type=float)
    train.add_argument("--learning-rate", type=float)
    train.add_argument("--max-tokens", type=int, help="tokens read of document and statement")
    train.add_argument("--evaluate-every", type=int, metavar="STEPS")
    train.add_argument(
        "--patience", type=int, metavar="N", help="stop after N evaluations without a better one"
    )
    train.add_argument(
        "--frozen-layers", type=int, metavar="N", help="the N lowest stay as they are"
    )
    train.add_argument(
        "--averaging", type=float, metavar="A", help="keep a moving average of the weights (0.998)"
    )
    train.add_argument("--seed", type=int)
    train.add_argument(
        "--licence",
        action="append",
        default=[],
        metavar="NAME=TEXT",
        help="licence of a data file, or of the base (base=...), for the model card",
    )
    train.add_argument(
        "--calibration-words",
        type=int,
        default=0,
        metavar="N",
        help="set the threshold also for documents within other text, N words in all (lower)",
    )
    train.set_defaults(run=_train)

    evaluate = judge.add_parser(
        "eval", help="figures of a judge on labelled pairs, overall and by source"
    )
    evaluate.add_argument("data", nargs="+", metavar="FILE[:ROWS]")
    evaluate.add_argument(
        "--model", help="a folder or Hugging Face id (default: the package's own judge)"
    )
    evaluate.add_argument(
        "--words",
        type=int,
        default=0,
        metavar="N",
        help="set shorter documents in text of others, N words in all (default: as they are)",
    )
    evaluate.set_defaults(run=_evaluate)

    label = judge.add_parser(
        "label", help="a teacher's probabilities for pairs, to train a smaller judge on"
    )
    label.add_argument(
        "data", nargs="+", type=Path, metavar="FILE", help="JSONL (.gz) with document, statement"
    )
    label.add_argument(
        "--model", help="the teacher: a folder or Hugging Face id (default: the package's judge)"
    )
    label.add_argument("--out", required=True, type=Path, help="JSONL; call again to resume")
    label.set_defaults(run=_label)

    export = judge.add_parser(
        "export", help="a judge's folder as a model server loads it: TEI, vLLM, ONNX Runtime"
    )
    export.add_argument("out", type=Path, metavar="FOLDER", help="a new folder")
    export.add_argument("--to", required=True, choices=("tei", "vllm", "onnx"))
    export.add_argument(
        "--model", type=Path, metavar="FOLDER", help="the judge (default: the package's own)"
    )
    export.add_argument(
        "--float32",
        action="store_true",
        help="with --to onnx: 32-bit floats, with int8 beside them (needs PyTorch)",
    )
    export.set_defaults(run=_export)


_SETTINGS = (
    "epochs",
    "learning_rate",
    "max_tokens",
    "evaluate_every",
    "patience",
    "frozen_layers",
    "averaging",
    "seed",
)


def _train(options: argparse.Namespace) -> None:
    given = {n: getattr(options, n) for n in _SETTINGS if getattr(options, n) is not None}
    if options.recipe:
        _no_more_than_a_recipe(options, given)
        from perspective_rag_train.command import train_recipe
        from perspective_rag_train.recipe import Recipe

        recipe = Recipe.read(options.recipe)
        with progress() as report:
            figures = train_recipe(
                recipe, options.data_root, options.out, report, base=options.base
            )
    else:
        figures = _train_files(options, given)
    show({"model": str(options.out), "development": figures})


def _train_files(options: argparse.Namespace, given: dict[str, Any]) -> dict[str, float]:
    from perspective_rag_train.command import DataFile, train_judge
    from perspective_rag_train.loop import TrainingConfig

    if not options.data or not options.base:
        raise ConfigError("needed are files of pairs and --base MODEL, or --recipe FILE")
    licences = _licences(options.licence)
    base_licence = licences.pop("base", "not stated")

    def file(text: str) -> DataFile:
        found = DataFile.parse(text)
        return DataFile(found.path, found.rows, licences.pop(found.path.name, "not stated"))

    data = [file(text) for text in options.data]
    development = [file(text) for text in options.dev]
    if licences:
        raise ConfigError(f"--licence of no data file: {', '.join(licences)}")
    with progress() as report:
        if options.lora:
            from perspective_rag_train.lora import LoraConfig, train_adapter

            for name in ("frozen_layers", "calibration_words"):
                if given.get(name) or getattr(options, name, 0):
                    flag = name.replace("_", "-")
                    raise ConfigError(f"--{flag} is of encoders: leave it out with --lora")
            lora = LoraConfig(options.base, **given)
            return train_adapter(
                data, development, lora, options.out, report, base_licence=base_licence
            )
        config = TrainingConfig(options.base, **given)
        return train_judge(
            data,
            development,
            config,
            options.out,
            report,
            base_licence=base_licence,
            calibration_words=options.calibration_words,
        )


def _no_more_than_a_recipe(options: argparse.Namespace, given: dict[str, Any]) -> None:
    extra = [*options.data, *options.dev, *options.licence, *(["--lora"] if options.lora else [])]
    extra += ["--calibration-words"] if options.calibration_words else []
    if extra or given:
        named = ", ".join([*extra, *(f"--{n.replace('_', '-')}" for n in given)])
        raise ConfigError(f"the recipe says it all; leave out {named} or change the recipe")


def _licences(texts: list[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, licence = text.partition("=")
        if not equals or not licence.strip():
            raise ConfigError(f"--licence is NAME=TEXT, like pairs.jsonl='CC BY 4.0', got {text!r}")
        found[name] = licence.strip()
    return found


@contextmanager
def progress() -> Iterator[Callable[[dict[str, Any]], None]]:
    """A bar with stage, loss, the last development figures and the time left, on stderr."""
    with progress_bars(console(stderr=True), transient=False) as bar:
        tasks: dict[int, Any] = {}

        def report(state: dict[str, Any]) -> None:
            stage = state.get("stage", 1)
            name = f"{stage}/{state['stages']} {state['name']}" if "stages" in state else "training"
            if stage not in tasks:
                # What was done before an interruption took no time of this run.
                tasks[stage] = bar.add_task(name, total=state["total"], completed=state["step"])
            if "loss" in state:
                text = f"{name}, loss {state['loss']:.3f}"
                bar.update(tasks[stage], completed=state["step"], description=text)
            else:
                figures = ", ".join(f"{n} {v:.3f}" for n, v in state["development"].items())
                bar.console.print(f"{name}, step {state['step']}: {figures}", highlight=False)

        yield report


def _evaluate(options: argparse.Namespace) -> None:
    from perspective_rag_train.command import DataFile, evaluate_judge

    files = [DataFile.parse(text) for text in options.data]
    show(evaluate_judge(_classifier(options.model), files, words=options.words))


def _classifier(model: str | None) -> str | None:
    """The weights of ``--model``: a preset's, or those it names; None for the package's own.

    Raises ConfigError for a language model, which gives no probabilities of three classes, and for
    a path where there is nothing.
    """
    if model is None or Path(model).exists():
        return model
    name = model.partition("@")[0]
    known = PRESETS.get(name)
    if model.startswith("llm:") or (known is not None and known.wording is not None):
        instead = f"; benchmarks.perspective_detection --judge {name} measures it" if known else ""
        raise ConfigError(
            f"{model!r} answers in words: needed is a classifier of three classes{instead}"
        )
    if known is not None:
        return known.model
    if "/" not in model and get_close_matches(model, PRESETS, cutoff=0.7):
        raise unknown_name(model, PRESETS, "judge")
    if model.startswith((".", "/", "~")) or model.endswith(".onnx"):
        raise ConfigError(f"--model {model} does not exist")
    return model


def _label(options: argparse.Namespace) -> None:
    from perspective_rag import CrossEncoderJudge
    from perspective_rag_train.label import label_pairs

    with console(stderr=True).status("labelling") as status:
        done = label_pairs(
            CrossEncoderJudge(_classifier(options.model)),
            options.data,
            options.out,
            progress=lambda lines: status.update(f"labelled {lines:,} pairs"),
        )
    show({"out": str(options.out), "pairs": done})


def _export(options: argparse.Namespace) -> None:
    from perspective_rag.addons import PACKAGED_JUDGE
    from perspective_rag_train.serving import export_for

    if options.float32 and options.to != "onnx":
        raise ConfigError(f"--float32 is of --to onnx; --to {options.to} writes floats anyway")
    folder = options.model or PACKAGED_JUDGE
    show(export_for(options.to, folder, options.out, float32=options.float32))


def show(values: Any) -> None:
    """Prints a result as JSON."""
    sys.stdout.write(json.dumps(values, indent=2) + "\n")
