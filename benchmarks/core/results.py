"""Results with everything needed to trust them a year later."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

import perspective_rag

SCHEMA = 1
CHECKOUT = Path(__file__).parents[2]
RESULTS = CHECKOUT / "benchmarks" / "results"
CACHE = CHECKOUT / ".cache" / "benchmarks"

FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "schema": int,
    "benchmark": str,
    "command": str,
    "config": dict,
    "seed": int,
    "library": dict,
    "machine": dict,
    "data": dict,
    "embedder": str,
    "judge": (dict, type(None)),
    "date": str,
    "seconds": float,
    "degradations": int,
    "results": dict,
}
"""What every results file holds, and of what type."""


def document(
    benchmark: str,
    *,
    arguments: Sequence[str],
    config: Mapping[str, Any],
    seed: int,
    data: Mapping[str, Any],
    embedder: str,
    judge: Mapping[str, Any] | None,
    seconds: float,
    degradations: int,
    results: Mapping[str, Any],
) -> dict[str, Any]:
    """A results document: ``results`` with the provenance of every number in it."""
    return {
        "schema": SCHEMA,
        "benchmark": benchmark,
        "command": shlex.join(["python", "-m", f"benchmarks.{benchmark}", *arguments]),
        "config": dict(config),
        "seed": seed,
        "library": library(),
        "machine": machine(),
        "data": dict(data),
        "embedder": embedder,
        "judge": dict(judge) if judge is not None else None,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "degradations": degradations,
        "results": dict(results),
    }


def check(values: Mapping[str, Any]) -> None:
    """Raises ValueError naming the first field that is missing, unknown or of another type."""
    for name, kind in FIELDS.items():
        if name not in values:
            raise ValueError(f"the results lack {name!r}")
        if not isinstance(values[name], kind):
            raise ValueError(f"{name!r} of the results is {values[name]!r}")
    if unknown := sorted(set(values) - set(FIELDS)):
        raise ValueError(f"unknown fields in the results: {', '.join(unknown)}")
    if values["schema"] != SCHEMA:
        raise ValueError(f"results of schema {values['schema']}, this reads {SCHEMA}")


def write(values: Mapping[str, Any], path: Path) -> None:
    """Writes a checked results document, whole or not at all."""
    check(values)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False)
    new.write_text(text + "\n", encoding="utf-8")
    os.replace(new, path)


def place(name: str, *, partial: bool) -> Path:
    """Where results go when nothing else is said: those of a partial run replace no full ones."""
    return CACHE / f"{name}-partial.json" if partial else RESULTS / f"{name}.json"


def read(path: Path) -> dict[str, Any]:
    """A results document; raises ValueError when it is none."""
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    check(values)
    return values


def library() -> dict[str, Any]:
    """The library's version, a hash of its code, and the commit where there is a checkout."""
    return {
        "version": perspective_rag.__version__,
        "source": source_fingerprint(),
        "commit": _git("rev-parse", "HEAD"),
        "changed_since": bool(_git("status", "--porcelain", "--", "perspective_rag")),
    }


def source_fingerprint() -> str:
    """16 hexadecimal digits that change with any line of the library's code or prompts."""
    root = Path(perspective_rag.__file__).parent
    files = [*root.rglob("*.py"), *root.rglob("prompts/*.txt")]
    return hash_of_files(root, files)


def hash_of_files(root: Path, files: Iterable[Path]) -> str:
    """16 hexadecimal digits from the files' places below ``root`` and their bytes."""
    digest = hashlib.sha256()
    for path in sorted(files):
        for part in (path.relative_to(root).as_posix().encode(), path.read_bytes()):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()[:16]


def embedder_name(embedder: object) -> str:
    """The name that results give an embedder."""
    return str(getattr(embedder, "name", type(embedder).__name__))


def judge_identity(judge: Any, folder: Path | None) -> dict[str, Any]:
    """Which judge it was: its name, threshold, and a hash of its files where it has any."""
    if folder is not None and folder.is_file():
        folder = folder.parent
    files = [path for path in folder.rglob("*") if path.is_file()] if folder else []
    return {
        # A folder goes by its last part, for the hash says which it was, wherever it lay.
        "name": folder.name if folder and files and judge.name == str(folder) else judge.name,
        "threshold": judge.threshold,
        "files": hash_of_files(folder, files) if folder and files else None,
    }


def machine() -> dict[str, Any]:
    """What it ran on: processor, cores, Python, and the packages that do the arithmetic."""
    packages = ("numpy", "onnxruntime", "faiss-cpu", "bm25s", "langchain-core")
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": cpus,
        "python": platform.python_version(),
        "packages": {name: found for name in packages if (found := _version(name))},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    try:
        return subprocess.run(
            ["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
