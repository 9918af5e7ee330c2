"""The papers' two pictures from a run's figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perspective_rag import MissingDependency

COLOURS = {"supporting": "#3b7dd8", "opposing": "#e0803a", "both": "#4a9b5f", "neither": "#c4c8cf"}
MARKS = {"supporting": "#3b7dd8", "question": "#50565e", "opposing": "#e0803a"}


def draw(figures: Mapping[str, Any], folder: Path, *, form: str = "svg") -> list[Path]:
    """``berds-outcomes`` (Figure 2) and ``berds-lean`` (Figure 3) in a folder, as svg or png.

    Raises MissingDependency without matplotlib.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise MissingDependency("bench", "drawing the figures") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    settings = {"svg.hashsalt": "berds", "font.size": 10, "axes.spines.top": False}
    written = []
    with plt.rc_context({**settings, "axes.spines.right": False}):
        for name, drawing in (("berds-outcomes", _outcomes), ("berds-lean", _lean)):
            picture = drawing(plt, figures)
            if picture is None:
                continue
            path = folder / f"{name}.{form}"
            extra: dict[str, Any] = {"metadata": {"Date": None}} if form == "svg" else {}
            picture.savefig(path, bbox_inches="tight", dpi=150, **extra)
            plt.close(picture)
            written.append(path)
    return written


def _outcomes(plt: Any, figures: Mapping[str, Any]) -> Any:
    rows = [row for row in figures["rows"] if sum(row["outcomes"].values())]
    if not rows:
        return None
    picture, axes = plt.subplots(figsize=(7.2, 0.38 * len(rows) + 1.4))
    labels = [f"{row['retriever']}, {row['approach']}" for row in rows]
    left = [0.0] * len(rows)
    for name, colour in COLOURS.items():
        shares = [100 * row["outcomes"][name] / sum(row["outcomes"].values()) for row in rows]
        label = f"only {name}" if name in ("supporting", "opposing") else name
        axes.barh(labels, shares, left=left, color=colour, label=label, height=0.72)
        for place, share in enumerate(shares):
            if share >= 6:
                middle = left[place] + share / 2
                axes.text(middle, place, f"{share:.0f}", ha="center", va="center", fontsize=8)
        left = [a + b for a, b in zip(left, shares, strict=True)]
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("two-sided questions whose top 5 take these perspectives, %")
    axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.4, 1.0), frameon=False)
    return picture


def _lean(plt: Any, figures: Mapping[str, Any]) -> Any:
    rows = [row for row in figures["lean"] if row["questions"]]
    if not rows:
        return None
    names = list(dict.fromkeys(row["retriever"] for row in rows))
    picture, axes = plt.subplots(figsize=(7.2, 0.7 * len(names) + 1.6))
    shifts = {"supporting": -0.18, "question": 0.0, "opposing": 0.18}
    for asked_as, colour in MARKS.items():
        own = [row for row in rows if row["asked_as"] == asked_as]
        if not own:
            continue
        values = [100 * row["difference"] for row in own]
        bounds = [[100 * end for end in row["difference_interval"]] for row in own]
        spread = [
            [max(0.0, v - low) for v, (low, _) in zip(values, bounds, strict=True)],
            [max(0.0, high - v) for v, (_, high) in zip(values, bounds, strict=True)],
        ]
        heights = [names.index(row["retriever"]) + shifts[asked_as] for row in own]
        label = f"asked as {'a' if asked_as == 'question' else 'the'} {asked_as}"
        label += "" if asked_as == "question" else " perspective"
        axes.errorbar(values, heights, xerr=spread, fmt="o", color=colour, capsize=3, label=label)
        for value, height, row in zip(values, heights, own, strict=True):
            delta = "undefined" if row["delta"] is None else f"{row['delta']:.2f}"
            axes.annotate(
                f"Δ {delta}",
                (value, height),
                (0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
    axes.axvline(0, color="#9aa0a8", linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("supporting minus opposing passages in the top 5, percentage points (95%)")
    axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.4, 1.0), frameon=False)
    return picture
