"""Measures all that runs on a GPU, in one call, each figure beside the physical limit.

python -m benchmarks gpu --out gpu.json
python -m benchmarks gpu --out gpu.json --only judge          # these again, the others stay
python -m benchmarks gpu --rehearse                           # small sizes on CPU tensors

Without a GPU it is a rehearsal: every part runs on CPU tensors of small sizes, and no GPU figure is
measured. A call that is ended early is continued by the same command: parts in the file stay.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.core import results
from benchmarks.core.command import publish, run_command
from benchmarks.gpu.device import Device, Limits, measured_limits, this_device
from benchmarks.gpu.models import Part, embedding, judging
from benchmarks.gpu.report import tables
from benchmarks.gpu.vectors import faiss_search
from perspective_rag import ConfigError, MissingDependency

PARTS: dict[str, Part] = {
    "embed": embedding,
    "judge": judging,
    "faiss": faiss_search,
}
BUDGET = 480.0


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Runs the benchmark; the exit status is 0, 1 where a part failed, 2 without torch."""
    return run_command(arguments, _parser(), _run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    started = time.perf_counter()
    device = this_device(rehearse=options.rehearse)
    out = options.out or results.place("gpu", partial=not device.is_gpu)
    found = _kept(out, device)
    console.print(f"{device.name}{'' if device.is_gpu else ': a rehearsal'}", highlight=False)
    limits = measured_limits(device)
    found["limits"] = asdict(limits)
    failed = False
    for name in options.only or [each for each in PARTS if _open(found, each)]:
        if time.perf_counter() - started > options.seconds:
            console.print(f"{name}: no time left; the same command goes on here", highlight=False)
            continue
        part_started = time.perf_counter()
        found["parts"][name] = _part(name, device, limits)
        failed |= "failed" in found["parts"][name]
        console.print(f"{name}: {time.perf_counter() - part_started:.0f} s", highlight=False)
        results.write(_document(device, found, given, started), out)
    shown = tables(found)
    publish(
        _document(device, found, given, started),
        out,
        console,
        markdown="\n".join(table.markdown() for table in shown),
        shown=shown,
    )
    return int(failed)


def _part(name: str, device: Device, limits: Limits) -> dict[str, Any]:
    """The rows of a part; one that fails says why, and the next part runs."""
    started = time.perf_counter()
    try:
        rows = PARTS[name](device, limits)
    except MissingDependency as error:
        return {"failed": str(error)}
    except Exception as error:
        device.free()
        return {"failed": f"{type(error).__name__}: {error}"[:500]}
    return {"rows": rows, "took": round(time.perf_counter() - started, 1)}


def _open(found: Mapping[str, Any], name: str) -> bool:
    return "rows" not in found["parts"].get(name, {})


def _kept(out: Path, device: Device) -> dict[str, Any]:
    """What an earlier call left in the file; of another device it is refused."""
    fresh: dict[str, Any] = {
        "device": device.name,
        "is_gpu": device.is_gpu,
        "torch": str(device.torch.__version__),
        "sizes": asdict(device.sizes),
        "parts": {},
    }
    if not out.is_file():
        return fresh
    try:
        old: dict[str, Any] = results.read(out)["results"]
    except (ValueError, json.JSONDecodeError) as error:
        raise ConfigError(f"{out} holds no results: {error}; name another file") from error
    same = all(old.get(key) == fresh[key] for key in ("device", "sizes"))
    if not same and device.is_gpu:
        raise ConfigError(f"{out} holds results of {old.get('device')!r}; name another file")
    return old if same and device.is_gpu else fresh


def _document(
    device: Device, found: Mapping[str, Any], given: list[str], started: float
) -> dict[str, Any]:
    return results.document(
        "gpu",
        arguments=given,
        config={"repeats": 5, "warm_up": 2, "statistic": "median"},
        seed=0,
        data={"name": "random unit vectors; the sample debates"},
        embedder="random weights",
        judge={"name": "perspective-rag-judge", "threshold": 0.5, "files": None},
        seconds=time.perf_counter() - started,
        degradations=sum("failed" in part for part in found["parts"].values()),
        results=found,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Data: none. Needs torch and transformers; faiss and onnxruntime where there.",
    )
    add = parser.add_argument
    add("--only", nargs="+", choices=list(PARTS), metavar="PART", help=", ".join(PARTS))
    add("--seconds", type=float, default=BUDGET, help="begin no part after (default: %(default)s)")
    add("--rehearse", action="store_true", help="small sizes on the CPU, also where a GPU is")
    add("--out", type=Path, help="results file (.json; the tables go beside it)")
    return parser
