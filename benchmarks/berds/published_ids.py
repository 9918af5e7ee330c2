"""The ids of an index that others built: which passage each of its rows is."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag import ConfigError, CorpusError
from perspective_rag.addons import from_json

_PICKLED = (".pkl", ".pickle", ".dpr", ".meta")


def read_ids(path: Path, *, unpickle: bool = False) -> list[str]:
    """One id for each row: of a .json list, an .npy array, or a text with an id a line.

    With ``unpickle`` also of the pickled lists of DPR (.dpr) and distributed-faiss (.meta, .pkl),
    where a row may be a tuple that begins with its id. Only lists, tuples, strings and numbers are
    unpickled: a pickle that names any class or function is refused, as it could run any code.
    Raises CorpusError for a file that cannot be read so, and ConfigError for a pickle without
    ``unpickle``.
    """
    pickled = path.suffix.lower() in _PICKLED
    if pickled and not unpickle:
        raise ConfigError(
            f"{path.name} is a pickle: pass unpickle=True to read lists, strings and numbers of "
            "it, or write the ids as a JSON list"
        )
    try:
        found = _unpickled(path) if pickled else _plain(path)
    except (OSError, ValueError, EOFError, pickle.UnpicklingError, MemoryError) as error:
        raise CorpusError(f"the ids in {path} cannot be read: {error}") from error
    return [_id(row, number, path) for number, row in enumerate(found)]


def _plain(path: Path) -> Any:
    if path.suffix.lower() == ".npy":
        array = np.load(path, allow_pickle=False)
        if array.ndim != 1:
            raise ValueError(f"expected an array of one dimension, got shape {array.shape}")
        return array.tolist()
    if path.suffix.lower() == ".json":
        values = from_json(path.read_bytes())
        if not isinstance(values, list):
            raise ValueError(f"expected a JSON list, got {type(values).__name__}")
        return values
    return path.read_text(encoding="utf-8").splitlines()


def _unpickled(path: Path) -> Any:
    values = _PlainUnpickler(io.BytesIO(path.read_bytes())).load()
    if not isinstance(values, (list, tuple)):
        raise ValueError(f"expected a list, got {type(values).__name__}")
    return values


class _PlainUnpickler(pickle.Unpickler):
    """Builds no objects: what would name one is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names {module}.{name}, and plain values are expected")


def _id(row: Any, number: int, path: Path) -> str:
    if isinstance(row, (list, tuple)) and row:
        row = row[0]
    if isinstance(row, bytes):
        row = row.decode("utf-8", "replace")
    if isinstance(row, (str, int)) and not isinstance(row, bool) and str(row).strip():
        return str(row).strip()
    raise CorpusError(f"row {number:,} of {path} is no id: {row!r:.80}")
