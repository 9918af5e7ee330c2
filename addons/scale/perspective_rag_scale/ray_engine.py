"""The engine of many machines: Ray Data, on this machine or on a cluster by its address."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from perspective_rag import ConfigError, EngineError
from perspective_rag.addons import count
from perspective_rag_scale.ray_cluster import check_address, connected
from perspective_rag_scale.ray_feed import CONTENT, DONE, NUMBER, Feed, Mapper, reading, table

B = TypeVar("B")
R = TypeVar("R")

ATTEMPTS = 4
"""How often a batch is begun whose worker's process ends."""
_AHEAD = 4
"""Batches in work for each worker: one being worked on, the others on their way."""


class RayEngine:
    """Batches as rows of a Ray data set, worked on by ``map_batches`` with actors.

    ``address`` is that of a cluster ("auto": the one this machine belongs to); None is the cluster
    of the variable RAY_ADDRESS, a connection that is there already, or else processes on this
    machine. ``workers`` processes work (None: as many as the cluster's cores allow), with
    ``cpus_per_worker`` cores and ``gpus_per_worker`` GPUs each. At most ``4 * workers`` batches are
    in work, so that memory does not grow with the work. A worker whose process or machine ends is
    started again, and its batches are worked on again, each at most 4 times. The results are those
    of ``LocalEngine``, in the same order, each once.

    The other machines need this package in the same version, and the judge's or embedder's files
    at the same paths. ``close`` ends the processes that it started, as does the end of a ``with``.

    Raises MissingDependency without Ray, ConfigError for an address that cannot be used and for
    workers or batches that cannot be sent to another process, and EngineError where the cluster
    fails.
    """

    name = "ray"

    def __init__(
        self,
        address: str | None = None,
        *,
        workers: int | None = None,
        cpus_per_worker: int = 1,
        gpus_per_worker: float = 0.0,
    ) -> None:
        check_address(address)
        self._address = address
        self._workers = None if workers is None else count("workers", workers)
        self._cpus = count("cpus_per_worker", cpus_per_worker)
        if gpus_per_worker < 0:
            raise ConfigError(f"gpus_per_worker must be at least 0, got {gpus_per_worker!r}")
        self._gpus = gpus_per_worker
        self._started = False

    def map(self, batches: Iterable[B], make_worker: Callable[[], Callable[[B], R]]) -> Iterator[R]:
        """One result for each batch, in order; Ray is started or connected to with the first."""
        ray = self._connected()
        workers = self._workers_in(ray)
        _check_sendable(make_worker, ray)
        feed = ray.remote(num_cpus=0, max_concurrency=1000)(Feed).remote()
        try:
            rows = self._rows(feed, make_worker, workers)
            yield from _driven(iter(batches), feed, rows, in_work=_AHEAD * workers)
        finally:
            ray.kill(feed)

    def close(self) -> None:
        """Ends the processes that this engine started; a cluster goes on."""
        if self._started:
            import ray

            ray.shutdown()
            self._started = False

    def __enter__(self) -> RayEngine:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _connected(self) -> Any:
        cores = (self._workers or 1) * self._cpus
        ray, started = connected(self._address, cores=cores, purpose="working on a Ray cluster")
        self._started = self._started or started
        return ray

    def _workers_in(self, ray: Any) -> int:
        """The workers asked for, else as many as there is room for."""
        there = ray.cluster_resources()
        room = int(there.get("CPU", 0)) // self._cpus
        if self._gpus:
            gpus = there.get("GPU", 0.0)
            if gpus < self._gpus:
                raise ConfigError(f"a worker needs {self._gpus:g} GPUs, the cluster has {gpus:g}")
            room = min(room, int(gpus / self._gpus))
        return self._workers or max(1, room)

    def _rows(self, feed: Any, make_worker: Any, workers: int) -> Iterator[Any]:
        """The results as they come, tables of numbers and contents."""
        import ray

        with _one_row_a_block(ray.data.DataContext.get_current()):
            # A data set that no task reads: it needs no core beside the workers'.
            read = ray.data.from_arrow(table(0, DONE)).map_batches(
                reading(feed), batch_size=None, batch_format="pyarrow", num_cpus=0
            )
            mapped = read.map_batches(
                Mapper,
                fn_constructor_args=(make_worker, feed, ATTEMPTS),
                batch_size=None,
                batch_format="pyarrow",
                num_cpus=self._cpus,
                num_gpus=self._gpus or None,
                compute=ray.data.ActorPoolStrategy(size=workers),
            )
            rows: Iterator[Any] = iter(
                mapped.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
            )
            return rows


def _driven(
    batches: Iterator[Any], feed: Any, rows: Iterator[Any], *, in_work: int
) -> Iterator[Any]:
    """Feeds batches and yields their results in order; never more than ``in_work`` of them. What
    the batches' own iterator raises comes after the results of those before.
    """
    fed = first = 0
    ended = False
    raised: Exception | None = None
    arrived: dict[int, bytes] = {}
    while True:
        while not ended and fed - first < in_work:
            content: bytes | None = None
            try:
                content = _sendable(next(batches))
            except StopIteration:
                ended = True
            except Exception as error:
                ended, raised = True, error
            feed.put.remote(fed, content, first)
            fed += content is not None
        if first == fed:
            break
        if first not in arrived:
            _take(rows, arrived, first)
            continue
        result, failure = pickle.loads(arrived.pop(first))  # noqa: S301  (of our workers)
        if failure is not None:
            raise failure
        first += 1
        yield result
    if raised is not None:
        raise raised


def _sendable(batch: Any) -> bytes:
    try:
        return pickle.dumps(batch)
    except Exception as error:  # whatever the user's objects raise
        raise ConfigError(f"a batch cannot be sent to another process: {error}") from error


def _take(rows: Iterator[Any], arrived: dict[int, bytes], first: int) -> None:
    """Waits for results; those that came a second time are left."""
    try:
        found = next(rows)
    except StopIteration:
        raise EngineError(f"Ray ended before batch {first} was done") from None
    except Exception as error:  # of Ray, of many kinds
        raise EngineError(f"Ray failed at batch {first}: {error}") from error
    for number, content in zip(found[NUMBER].to_pylist(), found[CONTENT].to_pylist(), strict=True):
        if number >= first and content != DONE:
            arrived.setdefault(number, content)


def _check_sendable(make_worker: Callable[[], Any], ray: Any) -> None:
    try:
        ray.cloudpickle.dumps(make_worker)
    except Exception as error:
        raise ConfigError(
            f"the worker cannot be sent to another process ({error}): give a judge or embedder "
            "that can be pickled, or a function that makes it"
        ) from error


@contextmanager
def _one_row_a_block(context: Any) -> Iterator[None]:
    """Settings for the data sets made within: each row is handed on as soon as it is there."""
    settings = {"target_max_block_size": 1, "enable_progress_bars": False}
    before = {name: getattr(context, name) for name in settings}
    try:
        for name, value in settings.items():
            setattr(context, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)
