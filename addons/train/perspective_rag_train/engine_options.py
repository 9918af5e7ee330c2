"""The options ``--engine``, ``--address`` and ``--workers``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from perspective_rag import ConfigError, LocalEngine
from perspective_rag.addons import Engine, part

ENGINES = ("local", "ray")


def engine_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    add = parser.add_argument
    add("--engine", choices=ENGINES, default="local", help="this process, or a Ray cluster")
    add("--address", help="of the Ray cluster, or auto (default: processes on this machine)")
    add("--workers", type=_positive, metavar="N", help="Ray's processes (default: one a core)")
    add("--gpus-per-worker", type=float, metavar="G", help="with Ray (default: none)")


@contextmanager
def engine_of(options: argparse.Namespace) -> Iterator[Engine]:
    """The engine that was named, closed at the end.

    Raises ConfigError for options of Ray without it.
    """
    if options.engine == "ray":
        ray_engine = part("ray_engine", "scale", "--engine ray")
        with ray_engine(
            options.address, workers=options.workers, gpus_per_worker=options.gpus_per_worker or 0.0
        ) as engine:
            yield engine
        return
    for name in ("address", "workers", "gpus_per_worker"):
        if getattr(options, name) is not None:
            flag = name.replace("_", "-")
            raise ConfigError(f"--{flag} is of Ray: give --engine ray too, or leave it out")
    yield LocalEngine()


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1 is needed, not {text!r}")
    return int(text)
