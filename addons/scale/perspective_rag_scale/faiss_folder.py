"""A folder with a FAISS index and its passages, searched without being read into memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag import ConfigError, CorpusError, Hit, Passage
from perspective_rag.addons import as_vector, from_json, normalised, predicate, replace_file
from perspective_rag.addons import count as checked_count
from perspective_rag.extend import Matrix, Vector, in_thread
from perspective_rag_scale.faiss_kinds import Kind, on_gpu, read_faiss, search_depth
from perspective_rag_scale.passage_file import PassageFile

PASSAGES, ROWS, MANIFEST = "passages.sqlite", "rows.f16", "manifest.json"
FORMAT = 1

_REFINED = 20  # compressed hits for each one wanted, which are then compared exactly
_OVERFETCH = 20
_READ = 256  # passages read at a time
_COMPARED = 16_384  # rows compared at a time
_GPU_MOST = 2048  # FAISS gives no more hits than this on a GPU

Scores = NDArray[np.float32]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FolderManifest:
    """What a folder holds: ``reason`` is why its index is of that kind, ``parts`` how many files it
    is in.
    """

    kind: Kind
    reason: str
    rows: int
    dimensions: int
    parts: int
    model: str
    library_version: str
    format: int = FORMAT


def part_file(folder: Path, number: int) -> Path:
    """A file of an index, counted from 0."""
    return folder / f"index-{number}.faiss"


def write_manifest(folder: Path, manifest: FolderManifest) -> None:
    """Says that a folder is whole."""
    replace_file(folder / MANIFEST, json.dumps(asdict(manifest), indent=1))


def read_manifest(folder: Path) -> FolderManifest:
    """What a folder holds; raises CorpusError where it is not an index, or none that is whole."""
    path = folder / MANIFEST
    try:
        values = from_json(path.read_text(encoding="utf-8"))
        if values["format"] != FORMAT:
            raise CorpusError(f"{path} has format {values['format']}, not {FORMAT}: build it anew")
        return FolderManifest(**values)
    except FileNotFoundError as error:
        raise CorpusError(
            f"{folder} holds no finished index: build it, or go on building it, with "
            f"perspective-rag index CORPUS --to faiss:{folder}"
        ) from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise CorpusError(f"{path} cannot be read ({error}): build the index anew") from error


def mapped_rows(folder: Path, rows: int, dimensions: int) -> NDArray[np.float16]:
    """The unit rows of a folder in float16, shape (n, d), memory-mapped; raises CorpusError when
    there are not as many.
    """
    path = folder / ROWS
    expected = rows * dimensions * 2
    try:
        found = path.stat().st_size
        if found != expected:
            raise CorpusError(f"{path} has {found:,} bytes, expected {expected:,}: build it anew")
        return np.memmap(path, dtype="<f2", mode="r", shape=(rows, dimensions))
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error}") from error


class FaissFolder:
    """What ``perspective-rag index --to faiss:FOLDER`` wrote, as a store: passages by cosine.

    Nothing is loaded: index, rows and passages are read from the disk as searches touch them, and
    stay in the system's cache. Hits of a compressed index (``ivfpq``) are compared again with the
    exact rows, twenty for each one wanted. ``filter`` is a predicate on passages or a mapping of
    metadata fields to values: what is found is filtered, and more is asked for until k are left. A
    graph or cells may miss passages that few others lead to.

    With ``gpu``, searches without a filter run on the GPU where FAISS has one. Raises CorpusError
    when the folder holds no finished index or is damaged, MissingDependency without FAISS.
    """

    takes_vector = True

    def __init__(self, folder: Path | str, *, gpu: bool = True) -> None:
        self.folder = Path(folder)
        self._opened = self._written()
        self.manifest = read_manifest(self.folder)
        manifest = self.manifest
        parts = [part_file(self.folder, number) for number in range(manifest.parts)]
        self._parts = [read_faiss(path) for path in parts]
        self._rows = mapped_rows(self.folder, manifest.rows, manifest.dimensions)
        found = sum(part.ntotal for part in self._parts), {part.d for part in self._parts}
        if found != (manifest.rows, {manifest.dimensions}):
            raise CorpusError(
                f"the index in {self.folder} holds {found[0]:,} rows of {found[1]} numbers, its "
                f"manifest says {manifest.rows:,} of {manifest.dimensions}: build it anew"
            )
        self._passages = PassageFile(self.folder / PASSAGES)
        moved = [on_gpu(part) if gpu else part for part in self._parts]
        self._on_gpu = all(new is not old for new, old in zip(moved, self._parts, strict=True))
        self._moved = moved if self._on_gpu else []
        self._gpu_lock = threading.Lock()

    def __len__(self) -> int:
        return self.manifest.rows

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """The k best passages, best first; fewer when fewer there are or pass the filter."""
        checked_count("k", k)
        if vector is None:
            raise ConfigError("FaissFolder searches by vector: pass an embedder")
        query = as_vector(vector, "the query vector", size=self.manifest.dimensions)
        unit = np.ascontiguousarray(normalised(query), dtype=np.float32)
        hits = self._found(unit, k, filter)
        self._check_same()
        return hits

    def _found(self, unit: Vector, k: int, filter: Any) -> list[Hit]:
        if filter is None:
            return list(self._hits(*self._best(unit, min(k, len(self)))))
        passes, wanted = predicate(filter), min(k * _OVERFETCH, len(self))
        seen: Places = np.empty(0, dtype=np.int64)
        kept: list[Hit] = []
        while True:
            scores, places = self._best(unit, wanted)
            new = ~np.isin(places, seen)
            for hit in self._hits(scores[new], places[new]):
                if passes(hit.passage):
                    kept.append(hit)
                    if len(kept) == k:
                        break
            if len(kept) == k or wanted >= len(self):
                return sorted(kept, key=lambda hit: -(hit.score or 0.0))
            seen, wanted = places, min(wanted * _OVERFETCH, len(self))

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """``search`` in a thread."""
        return await in_thread(self.search, text, vector, k=k, filter=filter)

    def embeddings_of(self, passages: Sequence[Passage]) -> Matrix:
        """Unit rows of the passages, shape (n, d); NaN rows for those that are not in the store."""
        places = self._passages.places(list(dict.fromkeys(each.id for each in passages)))
        result: Matrix = np.full((len(passages), self.manifest.dimensions), np.nan, np.float32)
        for row, passage in zip(result, passages, strict=True):
            place = places.get(passage.id)
            if place is not None:
                row[:] = normalised(self._rows[place].astype(np.float32))
        self._check_same()
        return result

    def close(self) -> None:
        """Closes the passages' file."""
        self._passages.close()

    def _hits(self, scores: Scores, places: Places) -> Iterator[Hit]:
        """Hits with their passages, which are read as they are asked for."""
        for start in range(0, len(places), _READ):
            some = places[start : start + _READ].tolist()
            found = self._passages.at(some)
            for place, score in zip(some, scores[start : start + _READ].tolist(), strict=True):
                if place not in found:
                    self._check_same()
                    raise CorpusError(f"{self.folder / PASSAGES} lacks row {place}: build it anew")
                yield Hit(found[place], min(1.0, max(-1.0, score)))

    def _written(self) -> tuple[int, int] | None:
        """What changes when the folder is built anew, which begins by removing the manifest."""
        try:
            status = (self.folder / MANIFEST).stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _check_same(self) -> None:
        """Raises CorpusError where the passages may no longer be those of the index."""
        if self._written() != self._opened:
            raise CorpusError(f"{self.folder} was built anew since it was opened: open it again")

    def _best(self, unit: Vector, count: int) -> tuple[Scores, Places]:
        """Scores and places of the ``count`` nearest, as far as the index finds them, best first.

        All there are is what no graph finds: they are compared one by one.
        """
        kind = self.manifest.kind
        if kind == "hnsw" and count >= len(self):
            places = np.arange(len(self))
        elif kind == "ivfpq":
            _, places = self._nearest(unit, min(count * _REFINED, len(self)))
            places.sort()  # as they lie on the disk
        else:
            return self._nearest(unit, count)
        scores = np.empty(len(places), dtype=np.float32)
        for start in range(0, len(places), _COMPARED):
            rows = self._rows[places[start : start + _COMPARED]]
            scores[start : start + _COMPARED] = rows.astype(np.float32) @ unit
        best = np.argsort(-scores, kind="stable")[:count]
        return scores[best], places[best]

    def _nearest(self, unit: Vector, count: int) -> tuple[Scores, Places]:
        """What the index says: the ``count`` best of all parts, best first."""
        query = unit[None, :]
        depths = [search_depth(part, count) for part in self._parts]
        use_gpu = self._on_gpu and count <= _GPU_MOST
        # A GPU serves one thread.
        with self._gpu_lock if use_gpu else nullcontext():
            parts = self._moved if use_gpu else self._parts
            found = [
                part.search(query, min(count, part.ntotal), params=depth)
                for part, depth in zip(parts, depths, strict=True)
            ]
        scores = np.concatenate([each[0][0] for each in found])
        places = np.concatenate([each[1][0] for each in found])
        there = np.flatnonzero(places >= 0)  # -1: the index found no more
        best = there[np.argsort(-scores[there], kind="stable")[:count]]
        return scores[best], places[best]
