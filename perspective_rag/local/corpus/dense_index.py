"""The embeddings of a corpus in a folder: built once, resumed when cut off, memory-mapped."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import numpy as np

from perspective_rag.errors import ConfigError, CorpusError, count
from perspective_rag.flow.engine import Engine, LocalEngine
from perspective_rag.local.corpus.embedding import embedded_windows
from perspective_rag.local.corpus.loading import Corpus
from perspective_rag.protocols import Embedder
from perspective_rag.storage.append_log import hold
from perspective_rag.storage.files import make_private, make_private_folder, replace_file
from perspective_rag.storage.folders import has_date, set_date
from perspective_rag.text import from_json
from perspective_rag.types import Matrix, Passage

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

    All rows are checked the first time; then the file gets a date made of its checksums, and is
    not read again while it has that date. Raises CorpusError when there is none, when it is
    unfinished or damaged, or belongs to another corpus or model.
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
    sum_ = sha256(repr((manifest.rows, manifest.checks)).encode()).hexdigest()
    if manifest.checks and has_date(_data(target), sum_):
        return rows
    for start, stop, check in manifest.checks:
        if zlib.crc32(rows[start:stop].tobytes()) != check:
            raise _damaged(target, start)
    for start in range(0, len(rows), WINDOW):
        if not np.isfinite(rows[start : start + WINDOW]).all():
            raise _damaged(target, start)
    if manifest.checks:
        with suppress(OSError):  # a disk that cannot be written
            set_date(_data(target), sum_)
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
        """Windows of rows from row ``done`` on, each with the row it starts at."""
        total, tell = len(self.passages), self.on_progress
        starts = range(done, total, WINDOW)
        found = embedded_windows(
            (self.passages[start : start + WINDOW] for start in starts),
            self.embedder,
            self.engine,
            batch=self.batch,
            dimensions=dimensions,
            on_batch=None if tell is None else lambda count: tell(done + count, total),
        )
        for start, rows in zip(starts, found, strict=True):
            with np.errstate(over="ignore"):
                block: Matrix = rows.astype(dtype)
            if not np.isfinite(block).all():
                raise ConfigError(f"the embeddings are too large for {dtype}; pass dtype='float32'")
            yield start, block


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
