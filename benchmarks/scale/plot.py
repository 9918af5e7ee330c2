"""Cost against size on logarithmic axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.scale.report import NAMES, WAYS
from perspective_rag import MissingDependency

_COLOURS = ("#50565e", "#3b7dd8", "#d8703b", "#8a5cc2", "#3b9e62", "#c23b5c")
_SEARCHES = "#c4c8cf"


def draw(found: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A panel for each kind of index (milliseconds of processor time by way), and one for what the
    guarded pipeline adds to its searches.

    Raises MissingDependency without matplotlib.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise MissingDependency("bench", "drawing cost against size") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    kinds = [kind for kind in NAMES if any(each["kind"] == kind for each in found)]
    # Fixed ids and no date: the same numbers give the same file.
    settings = {"svg.hashsalt": "scale", "axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context(settings):
        picture, panels = plt.subplots(
            1,
            len(kinds) + 1,
            figsize=(3.3 * (len(kinds) + 1), 3.8),
            sharex=True,
            sharey=True,
            squeeze=False,
        )
        for axes, kind in zip(panels[0], kinds, strict=False):
            rows = [each for each in found if each["kind"] == kind]
            for way, colour in zip(WAYS, _COLOURS, strict=True):
                points = [
                    (each["size"], each["ways"][way]["cpu_p50_ms"])
                    for each in rows
                    if way in each["ways"]
                ]
                _line(axes, points, way, colour)
            _axes(axes, NAMES[kind])
        panels[0][0].set_ylabel("median processor time of a question, ms")
        panels[0][0].legend(fontsize=7, frameon=False)
        last = panels[0][-1]
        for kind, style in zip(kinds, ("-", "--", ":"), strict=False):
            rows = [each for each in found if each["kind"] == kind]
            extra = [(each["size"], each["guarded"]["extra_cpu_p50_ms"]) for each in rows]
            own = [(each["size"], each["guarded"]["searches_cpu_p50_ms"]) for each in rows]
            _line(last, extra, f"extra, {NAMES[kind]}", _COLOURS[-1], style)
            _line(last, own, f"its searches, {NAMES[kind]}", _SEARCHES, style)
        _axes(last, "the guarded pipeline")
        last.legend(fontsize=7, frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        extra_settings: dict[str, Any] = (
            {"metadata": {"Date": None}} if path.suffix == ".svg" else {}
        )
        picture.savefig(path, bbox_inches="tight", dpi=150, **extra_settings)
        plt.close(picture)


def _line(
    axes: Any, points: Sequence[tuple[int, float]], name: str, colour: str, style: str = "-"
) -> None:
    if points:
        x, y = zip(*sorted(points), strict=True)
        axes.plot(x, y, f"o{style}", color=colour, label=name, markersize=3.5, linewidth=1.3)


def _axes(axes: Any, title: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("vectors")
