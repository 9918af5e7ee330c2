"""The embeddings of a corpus in a folder: built once, resumed when cut off, memory-mapped."""

from __future__ import annotations

import json
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import numpy as np

from perspective_rag import ConfigError, Corpus, CorpusError, LocalEngine, Passage
from perspective_rag.addons import (
    Engine,
    as_matrix,
    count,
    from_json,
    hold,
    make_private,
    make_private_folder,
    replace_file,
)
from perspective_rag.extend import Embedder, Matrix

WINDOW = 2048
"""Rows after which progress is kept; within them, texts are embedded in order of length."""

_FORMAT = 2
_REMEDY = "pass another folder, or delete this one to build the index anew"

Progress = Callable[[int, int], None]
"""Called with the rows embedded so far and the rows in all."""


@dataclass(frozen=True, slots=True)
class _Manifest:
    fingerprint: str
    model_name: str
    rows: int
    dimensions: int
    dtype: str
    done: int
    library_version: str
    format: int = _FORMAT
    checks: tuple[tuple[int, int, int], ...] = ()
    """First row, end and CRC-32 of each window; an index of earlier builds has none."""


def build_dense_index(
    corpus: Corpus | Sequence[Passage],
    embedder: Embedder,
    folder: str | os.PathLike[str] | None,
    *,
    model_name: str,
    batch: int = 64,
    dtype: Literal["float16", "float32"] = "float16",
    on_progress: Progress | None = None,
    engine: Engine | None = None,
) -> Matrix:
    """The embeddings of the passages with their titles, shape (n, d), memory-mapped read-only from
    ``folder``.

    What the folder already holds is not embedded again; a build that was killed loses at most 2,048
    rows. Without a folder the embeddings are made anew and stay in memory. ``engine`` is where
    texts are embedded: None is this process, ``RayEngine`` the processes of a Ray cluster, to which
    the embedder is sent; the batches, and so the files, are the same. Raises CorpusError when
    the folder holds the index of another corpus or model, is damaged, is being built by another
    process or cannot be written, and ConfigError for embeddings that cannot be used.
    """
    count("batch", batch)
    if dtype not in ("float16", "float32"):
        raise ConfigError(f"dtype must be 'float16' or 'float32', got {dtype!r}")
    corpus = corpus if isinstance(corpus, Corpus) else Corpus(list(corpus))
    if not corpus.passages:
        raise CorpusError("there are no passages to index")
    work = _Work(corpus.passages, embedder, batch, on_progress, engine or LocalEngine())
    if folder is None:
        return np.concatenate([block for _, block in work.blocks(0, dtype)])
    target = Path(folder)
    held = _matching_manifest(target, corpus.fingerprint, model_name)
    if held is None or held.done < held.rows:  # a finished one needs no writing
        try:
            _build(target, corpus, work, model_name, dtype)
        except OSError as error:
            raise CorpusError(
                f"the index cannot be written to {target}: {error}; make room, or pass another "
                "folder: what is there is kept, and the same call goes on from it"
            ) from error
    return open_dense_index(target, fingerprint=corpus.fingerprint, model_name=model_name)


def _build(target: Path, corpus: Corpus, work: _Work, model_name: str, dtype: str) -> None:
    """Embeds what is missing and writes it; raises OSError where it cannot."""
    make_private_folder(target)
    with _only_builder(target):
        manifest = _matching_manifest(target, corpus.fingerprint, model_name)
        if manifest is None:
            blocks = work.blocks(0, dtype)
        else:
            blocks = work.blocks(manifest.done, manifest.dtype, manifest.dimensions)
        for start, block in blocks:
            if manifest is None:
                manifest = _created(target, corpus, model_name, block)
            _put(target, manifest, start, block)
            # The rows are on disk before the manifest says so.
            stop = start + len(block)
            checks = (*manifest.checks, (start, stop, zlib.crc32(block.tobytes())))
            manifest = replace(manifest, done=stop, checks=checks)
            _write(target, manifest)


def open_dense_index(
    folder: str | os.PathLike[str], *, fingerprint: str, model_name: str
) -> Matrix:
    """A finished index, shape (n, d), memory-mapped read-only.

    All rows are checked. Raises CorpusError when there is none, when it is unfinished or damaged,
    or belongs to another corpus or model.
    """
    target = Path(folder)
    manifest = _matching_manifest(target, fingerprint, model_name)
    if manifest is None:
        raise CorpusError(f"{target} holds no index; build it with build_dense_index")
    if manifest.done < manifest.rows:
        raise CorpusError(
            f"{target} holds {manifest.done:,} of {manifest.rows:,} rows;"
            " build_dense_index goes on from there"
        )
    rows: Matrix = _rows(target, manifest)
    for start, stop, check in manifest.checks:
        if zlib.crc32(rows[start:stop].tobytes()) != check:
            raise _damaged(target, start)
    if not manifest.checks:
        for start in range(0, len(rows), WINDOW):
            if not np.isfinite(rows[start : start + WINDOW]).all():
                raise _damaged(target, start)
    return rows


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be embedded, and how."""

    passages: Sequence[Passage]
    embedder: Embedder
    batch: int
    on_progress: Progress | None
    engine: Engine

    def blocks(
        self, done: int, dtype: str, dimensions: int | None = None
    ) -> Iterator[tuple[int, Matrix]]:
        """Windows of rows from row ``done`` on, each with the row it starts at.

        Within a window, texts of similar length share a batch, so that little of it is padding: the
        batches, and so the rows, do not depend on the engine.
        """
        total, start = len(self.passages), done
        orders: deque[list[int]] = deque()  # of the windows that the engine has begun
        parts: list[Matrix] = []
        for rows in self.engine.map(self._batches(done, orders), partial(_embed, self.embedder)):
            order = orders[0]
            wanted = min(self.batch, len(order) - sum(map(len, parts)))
            found = as_matrix(rows, "passage embeddings", columns=dimensions)
            if len(found) != wanted:
                raise ConfigError(f"the embedder gave {len(found)} rows for {wanted} texts")
            dimensions = found.shape[1]
            parts.append(found)
            done += wanted
            if self.on_progress is not None:
                self.on_progress(done, total)
            if done == start + len(order):
                together = np.concatenate(parts)
                block: Matrix = np.empty(together.shape, dtype)
                with np.errstate(over="ignore"):
                    block[orders.popleft()] = together
                if not np.isfinite(block).all():
                    raise ConfigError(
                        f"the embeddings are too large for {dtype}; pass dtype='float32'"
                    )
                yield start, block
                parts, start = [], done

    def _batches(self, done: int, orders: deque[list[int]]) -> Iterator[list[str]]:
        for start in range(done, len(self.passages), WINDOW):
            titled = [each.titled for each in self.passages[start : start + WINDOW]]
            order = sorted(range(len(titled)), key=lambda i: len(titled[i]))
            orders.append(order)
            for first in range(0, len(order), self.batch):
                yield [titled[i] for i in order[first : first + self.batch]]


def _embed(embedder: Embedder) -> Callable[[Sequence[str]], Matrix]:
    return embedder.embed_passages


def _damaged(folder: Path, row: int) -> CorpusError:
    return CorpusError(f"{_data(folder)} is damaged from row {row:,} on: {_REMEDY}")


def _created(folder: Path, corpus: Corpus, model_name: str, block: Matrix) -> _Manifest:
    manifest = _Manifest(
        fingerprint=corpus.fingerprint,
        model_name=model_name,
        rows=len(corpus),
        dimensions=block.shape[1],
        dtype=block.dtype.name,
        done=0,
        library_version=_library_version(),
    )
    make_private(_data(folder))
    rows = np.lib.format.open_memmap(
        _data(folder), "w+", dtype=block.dtype, shape=(manifest.rows, manifest.dimensions)
    )
    rows.flush()
    size = rows.offset + rows.nbytes
    if hasattr(os, "posix_fallocate"):  # no room is said now, and not after hours
        with _data(folder).open("r+b") as stream:
            os.posix_fallocate(stream.fileno(), 0, size)
    _write(folder, manifest)
    return manifest


def _put(folder: Path, manifest: _Manifest, start: int, block: Matrix) -> None:
    """Writes rows, on disk on return; not through memory, where a full disk ends the process."""
    offset = _rows(folder, manifest).offset
    with _data(folder).open("r+b") as stream:
        stream.seek(offset + start * block.shape[1] * block.itemsize)
        stream.write(block.tobytes())
        stream.flush()
        os.fsync(stream.fileno())


def _matching_manifest(folder: Path, fingerprint: str, model_name: str) -> _Manifest | None:
    path = folder / "manifest.json"
    try:
        values: dict[str, Any] = from_json(path.read_text(encoding="utf-8"))
        if values["format"] != _FORMAT:
            raise CorpusError(f"{path} has format {values['format']}, not {_FORMAT}: {_REMEDY}")
        checks = tuple((int(a), int(b), int(sum_)) for a, b, sum_ in values.pop("checks", ()))
        manifest = _Manifest(**values, checks=checks)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise CorpusError(f"{path} cannot be read ({error}): {_REMEDY}") from error
    for name, found, wanted in (
        ("model", manifest.model_name, model_name),
        ("corpus", manifest.fingerprint, fingerprint),
    ):
        if found != wanted:
            raise CorpusError(
                f"{folder} was made from another {name} ({found!r}, not {wanted!r}): {_REMEDY}"
            )
    return manifest


def _rows(folder: Path, manifest: _Manifest) -> Any:
    try:
        rows = np.lib.format.open_memmap(_data(folder), "r")
    except (OSError, ValueError) as error:
        raise CorpusError(f"{_data(folder)} cannot be read ({error}): {_REMEDY}") from error
    expected = (manifest.rows, manifest.dimensions), manifest.dtype
    if (rows.shape, rows.dtype.name) != expected:
        raise CorpusError(
            f"{_data(folder)} has {rows.shape} {rows.dtype},"
            f" not {expected} as its manifest says: {_REMEDY}"
        )
    return rows


def _data(folder: Path) -> Path:
    return folder / "embeddings.npy"


def _write(folder: Path, manifest: _Manifest) -> None:
    replace_file(folder / "manifest.json", json.dumps(asdict(manifest), indent=1))


@contextmanager
def _only_builder(folder: Path) -> Iterator[None]:
    """Keeps a second process out; the lock goes with the process, however it ends."""
    with (folder / "lock").open("ab") as stream:
        try:
            hold(stream, folder)
        except ConfigError as error:
            raise CorpusError(f"another process is building the index in {folder}") from error
        yield


def _library_version() -> str:
    try:
        return metadata.version("perspective-rag")
    except metadata.PackageNotFoundError:
        return "unknown"
