"""A connection to a Ray cluster, or processes of Ray on this machine."""

from __future__ import annotations

import logging
import os
import socket
from typing import Any

from perspective_rag import ConfigError, MissingDependency

_STARTS = 3
"""How often processes on this machine are tried to be started."""
_PATIENCE = 10.0
"""Seconds for a connection to a cluster's address."""


def check_address(address: str | None) -> None:
    """Raises ConfigError for an address of Ray's client."""
    if address is not None and address.startswith("ray://"):
        raise ConfigError(
            f"{address} is Ray's client, which does not stream data sets: run the command on a "
            "machine of the cluster with address 'auto', or with `ray job submit`"
        )


def connected(
    address: str | None, *, cores: int, extra: str = "ray", purpose: str = "working on Ray"
) -> tuple[Any, bool]:
    """The module ``ray``, connected, and whether the connection was made by this call.

    ``address`` is as in ``RayEngine``; processes on this machine offer at least ``cores`` cores.
    Raises MissingDependency, which names ``extra``, and ConfigError where nothing can be reached.
    """
    # Unless the user has said otherwise, nothing is told to Ray's makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingDependency(extra, purpose) from error
    if ray.is_initialized():
        return ray, False
    address = address or os.environ.get("RAY_ADDRESS")
    if address is not None:
        _check_reachable(address)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        options |= {"num_cpus": max(os.cpu_count() or 1, cores), "include_dashboard": False}
    for left in reversed(range(_STARTS if address is None else 1)):
        try:
            ray.init(address=address or "local", **options)
            break
        except Exception as error:  # of several kinds, by what is wrong
            ray.shutdown()
            if not left:  # a busy machine may start its processes too slowly for Ray
                where = f"the cluster at {address!r}" if address else "Ray on this machine"
                raise ConfigError(f"{where} cannot be reached or started: {error}") from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)  # it reports each data set it runs
    return ray, True


def _check_reachable(address: str) -> None:
    """Raises ConfigError where nothing listens: Ray would end this process."""
    host, colon, port = address.rpartition(":")
    if not (colon and port.isdecimal()):
        return  # "auto", "local"
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(f"no Ray cluster listens at {address!r}: {error}") from error
