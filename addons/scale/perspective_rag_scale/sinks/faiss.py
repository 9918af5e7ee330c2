"""A folder with a FAISS index: rows are kept as they come, the index is built over all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag import ConfigError, CorpusError, Passage
from perspective_rag.addons import make_private, make_private_folder
from perspective_rag.extend import Matrix
from perspective_rag_scale.faiss_folder import (
    MANIFEST,
    PASSAGES,
    ROWS,
    FolderManifest,
    mapped_rows,
    part_file,
    read_manifest,
    write_manifest,
)
from perspective_rag_scale.faiss_kinds import (
    BATCH,
    Choice,
    Kind,
    choose_kind,
    empty_index,
    faiss_module,
    from_gpu,
    on_gpu,
    unit_pieces,
    write_faiss,
)
from perspective_rag_scale.passage_file import PassageFile

PART = 4_000_000
"""Rows of a compressed index that are in memory while it is built, and then in one file."""

_TRAINED = "trained.faiss"
_OWN = (MANIFEST, PASSAGES, f"{PASSAGES}-*", ROWS, _TRAINED, "work", "index-*.faiss", "*.new")


class FaissSink:
    """A ``Sink`` that makes what ``FaissFolder`` opens.

    ``kind`` None takes the kind that ``choose_kind`` has for the number of rows. Raises ConfigError
    for a folder that holds other files, MissingDependency without FAISS.
    """

    appends = False

    def __init__(self, folder: Path | str, *, model_name: str, kind: Kind | None = None) -> None:
        faiss_module()
        self.folder = Path(folder)
        self._model, self._kind = model_name, kind
        self._file: PassageFile | None = None
        self._dimensions = 0
        others = sorted(
            each.name
            for each in (self.folder.iterdir() if self.folder.is_dir() else ())
            if not any(each.match(own) for own in _OWN)
        )
        if others or (self.folder.exists() and not self.folder.is_dir()):
            held = f"holds {others[0]!r} and" if others else "is a file and"
            raise ConfigError(f"{self.folder} {held} is no index: name a new folder")

    @property
    def name(self) -> str:
        """The folder."""
        return f"faiss:{self.folder}"

    @property
    def key(self) -> str:
        """The same everywhere: what is known of the filling lies in the folder, which may move."""
        return "faiss"

    def open(self, dimensions: int) -> None:
        """Makes the folder."""
        make_private_folder(self.folder)
        self._dimensions = dimensions
        self._passages()

    def write(self, passages: Sequence[Passage], rows: Matrix, start: int) -> None:
        """Keeps them from row ``start`` on; what was there or behind, and an index, is gone."""
        self._forget_index()
        path, expected = self.folder / ROWS, start * self._dimensions * 2
        if start == 0:
            path.unlink(missing_ok=True)  # a search that has it mapped keeps the old one
        make_private(path)
        with path.open("ab") as stream:
            if stream.tell() < expected:  # to be made longer it would be filled with zeros
                raise CorpusError(
                    f"{path} has {stream.tell():,} bytes, expected {expected:,}: --restart writes "
                    "all of it again"
                )
            self._passages().put(start, passages)
            stream.truncate(expected)
            stream.write(rows.astype("<f2").tobytes())
            stream.flush()
            os.fsync(stream.fileno())

    def finish(self, tell: Callable[[str], None]) -> None:
        """Builds the index, if it is not there, and says which kind and why."""
        total = len(self._passages())
        if self._kind is not None:
            choice = Choice(self._kind, "as asked for")
        else:
            choice = choose_kind(total, self._dimensions)
        if (self.folder / MANIFEST).exists():
            there = read_manifest(self.folder)
            # What memory is free today does not undo yesterday's choice.
            if self._kind in (None, there.kind):
                tell(f"the index is there: {there.kind}, {there.rows:,} rows")
                return
            self._forget_index()
        tell(f"building a {choice.kind} index: {choice.reason}")
        self._passages().index_ids()
        rows = mapped_rows(self.folder, total, self._dimensions)
        if choice.kind == "ivfpq":
            parts = self._build_cells(rows, tell)
        else:
            parts = self._build_whole(choice.kind, rows, tell)
        write_manifest(
            self.folder,
            FolderManifest(
                kind=choice.kind,
                reason=choice.reason,
                rows=total,
                dimensions=self._dimensions,
                parts=parts,
                model=self._model,
                library_version=_library_version(),
            ),
        )
        (self.folder / _TRAINED).unlink(missing_ok=True)

    def count(self) -> int:
        """The passages in the folder."""
        if not (self.folder / PASSAGES).exists():
            return 0
        return len(self._passages())

    def close(self) -> None:
        """Closes the passages' file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _passages(self) -> PassageFile:
        if self._file is None:
            self._file = PassageFile(self.folder / PASSAGES, writable=True)
        return self._file

    def _forget_index(self) -> None:
        for each in (MANIFEST, _TRAINED):  # the manifest first: without it there is no index
            (self.folder / each).unlink(missing_ok=True)
        for part in self.folder.glob("index-*.faiss"):
            part.unlink()

    def _build_whole(self, kind: Kind, rows: Matrix, tell: Callable[[str], None]) -> int:
        self._forget_index()  # one of another kind may be half there
        index = empty_index(kind, rows)
        working = on_gpu(index)
        for done, piece in enumerate(unit_pieces(rows), start=1):
            working.add(piece)
            tell(f"indexed {min(done * BATCH, len(rows)):,} of {len(rows):,} rows")
        write_faiss(from_gpu(working) if working is not index else index, part_file(self.folder, 0))
        return 1

    def _build_cells(self, rows: Matrix, tell: Callable[[str], None]) -> int:
        """Trains once and writes a part after the other; after a kill it goes on with the next."""
        trained = self.folder / _TRAINED
        if not trained.exists():
            self._forget_index()
            tell("training on a sample")
            write_faiss(empty_index("ivfpq", rows), trained)
        starts = range(0, len(rows), PART)
        for number, start in enumerate(starts):
            stop = min(start + PART, len(rows))
            part = part_file(self.folder, number)
            if not part.exists():
                write_faiss(self._part(trained, rows[start:stop], start), part)
            tell(f"indexed {stop:,} of {len(rows):,} rows")
        return len(starts)

    def _part(self, trained: Path, rows: Matrix, start: int) -> Any:
        index = faiss_module().read_index(str(trained))
        working = on_gpu(index)
        for piece in unit_pieces(rows):
            working.add_with_ids(piece, np.arange(start, start + len(piece)))
            start += len(piece)
        return from_gpu(working) if working is not index else index


def _library_version() -> str:
    try:
        return metadata.version("perspective-rag")
    except metadata.PackageNotFoundError:
        return "unknown"
