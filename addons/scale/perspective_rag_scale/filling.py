"""Passages from a stream into a vector store: embedded in windows, resumed when cut off, counted in
the end.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from perspective_rag import ConfigError, CorpusError, Passage, PerspectiveRAGError
from perspective_rag.addons import (
    OrderedLog,
    embedded,
    from_json,
    json_ready,
    normalised,
    redacted,
    replace_file,
    scrubbed,
)
from perspective_rag.addons import count as checked_count
from perspective_rag.extend import Embedder, Matrix

WINDOW = 2048
"""Passages that are in memory at a time, and after which progress is kept."""

_FORMAT = 1
_STATE = "state.json"
_PAUSES = (1.0, 4.0)
"""Seconds before the second and the third attempt to write."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Sink(Protocol):
    """What passages can be written into. Ids are kept or made from the passages' ids, always the
    same: a passage that is written again takes the place of the first.
    """

    appends: bool
    """Whether it may hold passages of other corpora too."""

    @property
    def name(self) -> str:
        """What messages call it; it holds no secret."""

    @property
    def key(self) -> str:
        """What tells it from other stores, from wherever it is asked; it holds no secret."""

    def open(self, dimensions: int) -> None:
        """Creates it where it is missing; raises ConfigError when it holds vectors of another
        length.
        """

    def write(self, passages: Sequence[Passage], rows: Matrix, start: int) -> None:
        """Keeps passages and their unit rows, shape (n, d), float32; they are there for good on
        return. ``start`` is the place of the first one in the stream.
        """

    def finish(self, tell: Callable[[str], None]) -> None:
        """Makes what was written searchable; ``tell`` is called with what it does."""

    def count(self) -> int:
        """How many passages it holds; 0 before ``open`` where it does not exist."""

    def close(self) -> None:
        """Lets go of connections and files."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What ``fill`` did: passages of the stream, those embedded now, and what the store holds."""

    passages: int
    embedded: int
    held: int


@dataclass(frozen=True, slots=True)
class _State:
    """What a filling began with; another one must not go on with its windows."""

    target: str
    model: str
    dimensions: int
    window: int
    before: int
    format: int = _FORMAT


def fill(
    passages: Iterable[Passage],
    sink: Sink,
    embedder: Embedder,
    work: Path,
    *,
    model_name: str,
    window: int = WINDOW,
    batch: int = 64,
    append: bool = False,
    restart: bool = False,
    on_progress: Callable[[int], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Filled:
    """Embeds a stream of passages with their titles and writes them into a store.

    ``window`` passages are in memory at a time, embedded ``batch`` at a time. ``work`` is a folder
    for what is known of this filling: after a kill the same call passes over what was written and
    goes on. ``append`` lets it write into a store that holds other passages already, ``restart``
    forgets what was written and writes all of it again. ``on_progress`` is called with the passages
    done so far, ``tell`` with what the store does in the end.

    The stream must give the same passages in the same order each time. Raises ConfigError for
    another stream, model or store than ``work`` tells of, a store that is not empty, vectors of
    another length than the store's, and CorpusError where the store fails (three times in a row) or
    holds another number of passages in the end than were written.
    """
    checked_count("window", window)
    checked_count("batch", batch)
    if append and not sink.appends:
        raise ConfigError(f"{sink.name} holds one corpus alone and cannot be appended to")
    stream = iter(passages)
    first = next(stream, None)
    if first is None:
        raise CorpusError("there are no passages to index")
    remedy = "it was written from other passages; --restart writes all of them again"
    with OrderedLog(work / "windows.jsonl", "what this corpus has there", remedy) as log:
        if restart or not (work / _STATE).exists():
            log.clear()  # first: windows without a state must not be passed over
            (work / _STATE).unlink(missing_ok=True)
        probe = embedded([first], embedder, batch=1)
        state = _begun(work, sink, model_name, probe.shape[1], window, append or restart)
        done = _run(
            itertools.chain([first], stream),
            _Way(sink, embedder, log, state, batch, on_progress),
        )
        log.check_all_passed()
        _attempt(lambda: sink.finish(tell or (lambda text: None)), f"{sink.name} was not finished")
        held = _attempt(sink.count, f"{sink.name} could not be counted")
    _check_count(sink, state, done.passages, held)
    return Filled(done.passages, done.embedded, held)


@dataclass(frozen=True, slots=True)
class _Way:
    """What each window goes through."""

    sink: Sink
    embedder: Embedder
    log: OrderedLog
    state: _State
    batch: int
    on_progress: Callable[[int], None] | None


def _run(stream: Iterator[Passage], way: _Way) -> Filled:
    """Embeds and writes every window that is not in the log yet."""
    start = new = 0
    passed = True
    while window := list(itertools.islice(stream, way.state.window)):
        key = _key(window)
        passed = passed and way.log.passes(key)
        if not passed:
            rows = embedded(
                window,
                way.embedder,
                batch=way.batch,
                dimensions=way.state.dimensions,
                on_batch=_telling(way.on_progress, start),
            )
            unit = np.ascontiguousarray(normalised(rows), dtype=np.float32)
            _write(way.sink, window, unit, start)
            way.log.add([{"key": key, "passages": len(window)}])
            new += len(window)
        start += len(window)
        if way.on_progress is not None:
            way.on_progress(start)
    return Filled(start, new, 0)


def _telling(tell: Callable[[int], None] | None, start: int) -> Callable[[int], None] | None:
    return None if tell is None else lambda done: tell(start + done)


def _write(sink: Sink, window: list[Passage], rows: Matrix, start: int) -> None:
    _attempt(
        lambda: sink.write(window, rows, start),
        f"{sink.name} did not take passages {start + 1:,} to {start + len(window):,}",
    )


def _attempt(action: Callable[[], T], failed: str) -> T:
    """The action's value; what is not this library's error is tried again."""
    for pause in (*_PAUSES, None):
        try:
            return action()
        except PerspectiveRAGError:
            raise
        except Exception as raised:
            error = scrubbed(raised)
            if pause is None:
                raise CorpusError(
                    f"{failed}: {redacted(str(error))[:500]}; what was written before is kept, and "
                    "the same command goes on from there"
                ) from error
            _log.warning("%s, and is asked again in %g s: %s", failed, pause, error)
            time.sleep(pause)
    raise AssertionError  # the last attempt returns or raises


def _begun(
    work: Path, sink: Sink, model: str, dimensions: int, window: int, others: bool
) -> _State:
    """Opens the sink; the state of the filling that is going on, or of a new one, which is kept."""
    path = work / _STATE
    held = _attempt(sink.count, f"{sink.name} cannot be reached")
    try:
        state: _State | None = _State(**from_json(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        state = None
    except (OSError, ValueError, TypeError) as error:
        raise CorpusError(f"{path} cannot be read ({error}): --restart begins anew") from error
    if state is None:
        if held and not others:
            raise ConfigError(
                f"{sink.name} holds {held:,} passages already: name another one, or pass --append "
                "to add to them or --restart to write them again"
            )
        state = _State(sink.key, model, dimensions, window, held if sink.appends else 0)
    else:
        _check_same(state, sink.key, model, dimensions, window, path)
        written = _passages_in(work / "windows.jsonl")
        if written and held < max(written, state.before):
            raise CorpusError(
                f"{sink.name} holds {held:,} passages where {path.parent} says that {written:,} "
                "were written: --restart writes all of them again"
            )
    _attempt(lambda: sink.open(dimensions), f"{sink.name} cannot be made or opened")
    replace_file(path, json.dumps(asdict(state)))
    return state


def _check_same(
    state: _State, target: str, model: str, dimensions: int, window: int, path: Path
) -> None:
    for name, found, wanted in (
        ("format", state.format, _FORMAT),
        ("target", state.target, target),
        ("encoder", state.model, model),
        ("vector length", state.dimensions, dimensions),
        ("window", state.window, window),
    ):
        if found != wanted:
            raise ConfigError(
                f"{path} tells of a filling with another {name} ({found!r}, not {wanted!r}): give "
                "the same, or --restart to begin anew"
            )


def _passages_in(log: Path) -> int:
    """The passages of the whole lines of a log."""
    found = 0
    with log.open("rb") as stream:
        for line in stream:
            if line.endswith(b"\n"):
                found += int(from_json(line)["passages"])
    return found


def _check_count(sink: Sink, state: _State, passages: int, held: int) -> None:
    least, most = max(state.before, passages), state.before + passages
    if least <= held <= most:
        return
    expected = f"{most:,}" if least == most else f"between {least:,} and {most:,}"
    raise CorpusError(
        f"{sink.name} holds {held:,} passages, expected {expected}, as {passages:,} were written: "
        + (
            "passages of the corpus share an id, or something else deletes from it"
            if held < least
            else "something else writes to it"
        )
    )


def _key(window: Sequence[Passage]) -> str:
    """32 hexadecimal digits that change with any id, text or metadata, and the order."""
    found = hashlib.sha256()
    for each in window:
        found.update(json.dumps([each.id, each.text, json_ready(each.metadata)]).encode() + b"\n")
    return found.hexdigest()[:32]
