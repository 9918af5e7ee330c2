"""The pictures of PIR, from results: Figures 2 and 4 (recall), 3, 5 and 6 (countries).

python -m benchmarks pir.figures --results benchmarks/results/pir-all-minilm-l6-v2.json
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.core.command import run_command
from benchmarks.core.results import CHECKOUT, read
from benchmarks.pir.methods import PLAIN
from benchmarks.pir.tables import heading, ordered
from perspective_rag import ConfigError

FIGURES = CHECKOUT / "docs" / "figures"

_BLUE, _ORANGE, _GREY = "#2f6fab", "#d9822b", "#c4c9cf"


def draw_all(group: Mapping[str, Any], retriever: str, folder: Path) -> list[Path]:
    """Every picture that a group of results holds the numbers for, as SVG files in ``folder``.

    Raises ConfigError without matplotlib.
    """
    plt = _pyplot()
    drawings: dict[str, Callable[[Any], Any]] = {
        "pir-recall": lambda plt: recall_figure(plt, group, retriever)
    }
    found = group["countries"]
    if found is not None:
        drawings["pir-countries-asked"] = lambda plt: asked_figure(plt, found, retriever)
        drawings["pir-countries-found"] = lambda plt: found_figure(plt, found, retriever)
        drawings["pir-countries-heatmap"] = lambda plt: heatmap_figure(plt, found, retriever)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw in drawings.items():
        figure = draw(plt)
        path = folder / f"{name}.svg"
        # Fixed ids and no date: the same numbers give the same file.
        with plt.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
            figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
        paths.append(path)
    return paths


def recall_figure(plt: Any, group: Mapping[str, Any], retriever: str) -> Any:
    """Figures 2 and 4: Recall@5 and @10 with the perspective in the query and of the root alone."""
    names = ordered(group["tasks"])
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), sharey=True)
    places = np.arange(len(names))
    for axis, k in zip(axes, ("5", "10"), strict=True):
        tasks = [group["tasks"][name] for name in names]
        roots = [100 * task["root_recall"][k] for task in tasks]
        queries = [100 * task["methods"][PLAIN]["recall"][k] for task in tasks]
        axis.bar(places - 0.2, roots, 0.38, color=_GREY, label="root query, any of its gold")
        axis.bar(places + 0.2, queries, 0.38, color=_BLUE, label="query with its perspective")
        axis.set_xticks(places, [heading(name) for name in names], rotation=30, ha="right")
        axis.set_title(f"Recall@{k}, {retriever}", fontsize=10)
        axis.set_ylim(0, 100)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("percent")
    axes[1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def asked_figure(plt: Any, found: Mapping[str, Any], retriever: str) -> Any:
    """Figure 3: for queries that ask for a country, whose articles the first 5 are."""
    names = found["names"][:-1]
    portions = 100 * np.array(found["portions"])
    asked = np.diagonal(portions)
    unknown = portions[:, -1]
    order = np.argsort(-asked, kind="stable")
    figure, axis = plt.subplots(figsize=(max(6.0, 0.42 * len(names)), 3.4))
    places = np.arange(len(names))
    other = 100 - asked - unknown
    axis.bar(places, asked[order], color=_BLUE, label="the country asked for")
    axis.bar(places, other[order], bottom=asked[order], color=_ORANGE, label="other countries")
    axis.bar(
        places, unknown[order], bottom=(asked + other)[order], color=_GREY, label="unknown origin"
    )
    labels = [f"{names[place]} ({found['asked'][place]})" for place in order]
    axis.set_xticks(places, labels, rotation=60, ha="right", fontsize=8)
    axis.set_ylabel("percent of the first 5")
    axis.set_title(f"News by country asked for (queries), {retriever}", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def found_figure(plt: Any, found: Mapping[str, Any], retriever: str) -> Any:
    """Figure 5: articles by country among the first 5 of root queries, which ask for none."""
    names = found["names"][:-1]
    counts = np.array(found["root_counts"][:-1], dtype=float)
    there = np.array(found["documents"][:-1], dtype=float)
    # Articles are not equal in number here, so beside the count stands what chance would give.
    expected = counts.sum() * there / there.sum()
    order = np.argsort(-counts, kind="stable")
    figure, axis = plt.subplots(figsize=(max(6.0, 0.42 * len(names)), 3.4))
    places = np.arange(len(names))
    axis.bar(places, counts[order], color=_BLUE, label="found")
    axis.plot(places, expected[order], "_", color=_ORANGE, markersize=12, markeredgewidth=2)
    axis.plot([], [], "_", color=_ORANGE, markersize=12, label="by their number in the corpus")
    axis.set_xticks(places, [names[place] for place in order], rotation=60, ha="right", fontsize=8)
    axis.set_ylabel("articles among the first 5")
    axis.set_title(f"News by country, root queries, {retriever}", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    return figure


def heatmap_figure(plt: Any, found: Mapping[str, Any], retriever: str) -> Any:
    """Figure 6: the country asked for (rows) against the countries of the first 5 (columns)."""
    portions = 100 * np.array(found["portions"])
    names = found["names"]
    side = max(5.0, 0.32 * len(names))
    figure, axis = plt.subplots(figsize=(side + 1, side))
    image = axis.imshow(portions, cmap="Blues", vmin=0, vmax=100)
    axis.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    axis.set_yticks(range(len(names) - 1), names[:-1], fontsize=8)
    axis.set_xlabel("country of the articles found")
    axis.set_ylabel("country asked for")
    axis.set_title(f"Percent of the first 5, {retriever}", fontsize=10)
    figure.colorbar(image, ax=axis, shrink=0.8)
    return figure


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Draws the pictures of a results file; exit status 2 when it cannot."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks pir.figures", description=__doc__)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--group", default="pir_demo", help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=FIGURES, help="default: docs/figures")
    return run_command(arguments, parser, _run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    try:
        document = read(options.results)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{options.results} cannot be read: {error}") from error
    groups = document["results"].get("groups", {})
    if options.group not in groups:
        known = ", ".join(groups) or "none"
        raise ConfigError(f"{options.results} has no group {options.group!r}: {known}")
    for path in draw_all(groups[options.group], document["config"]["retriever"], options.out):
        console.print(f"{path}", highlight=False)
    return 0


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise ConfigError(
            "figures need matplotlib: pip install 'perspective-rag[bench]'"
        ) from error
    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


if __name__ == "__main__":
    sys.exit(main())
