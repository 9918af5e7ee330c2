"""The calibration of what is shown, as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perspective_rag import MissingDependency

_FOUND, _EXPECTED, _COUNT = "#3b7dd8", "#c4c8cf", "#50565e"


def draw(calibrations: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """A reliability diagram, one panel for each of the calibrations; the form is the file's ending.

    The number beside a point is how many pairs it stands for. Raises MissingDependency without
    matplotlib.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise MissingDependency("bench", "drawing the calibration") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    svg = path.suffix == ".svg"
    # Fixed ids and no date: the same numbers give the same file.
    settings = {"svg.hashsalt": "sides", "axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context(settings):
        picture, panels = plt.subplots(
            1,
            len(calibrations),
            figsize=(3.4 * len(calibrations), 3.6),
            sharex=True,
            sharey=True,
            squeeze=False,
        )
        for axes, (name, found) in zip(panels[0], calibrations.items(), strict=True):
            _panel(axes, name, found["bins"])
        panels[0][0].set_ylabel("truly support, %")
        path.parent.mkdir(parents=True, exist_ok=True)
        extra: dict[str, Any] = {"metadata": {"Date": None}} if svg else {}
        picture.savefig(path, bbox_inches="tight", dpi=150, **extra)
        plt.close(picture)


def _panel(axes: Any, name: str, bins: Sequence[Mapping[str, float]]) -> None:
    axes.plot([0, 100], [0, 100], color=_EXPECTED, linewidth=1)
    shown = [100 * each["shown"] for each in bins]
    true = [100 * each["true"] for each in bins]
    axes.plot(shown, true, "o-", color=_FOUND, markersize=4, clip_on=False)
    for x, y, each in zip(shown, true, bins, strict=True):
        axes.annotate(
            f"{each['count']:,}",
            (x, y),
            (6, -10),
            textcoords="offset points",
            fontsize=7,
            color=_COUNT,
        )
    axes.set_title(name, fontsize=10)
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    axes.set_xlabel("P(support) shown, %")
