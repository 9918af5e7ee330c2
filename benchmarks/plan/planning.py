"""Storage, memory, hours and money of a large corpus, from measured rates and assumptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perspective_rag import ConfigError
from perspective_rag.extend import unknown_name

_HALF = 2
"""Bytes of a float16."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What was measured on CPU: passages embedded and pairs judged in a second of one core, the
    numbers of an embedding, and the bytes of a passage's title and text.
    """

    embedded: float
    judged: float
    dimensions: int
    passage_bytes: float

    @classmethod
    def of(cls, engines: Mapping[str, Any]) -> Rates:
        """From the results of ``benchmarks.engines``: counts by seconds of CPU in one process, for
        which it does not matter what else ran on the machine.
        """
        found = engines["results"]
        dense, judged = found["embedding"], found["packaged"]
        used = "cpu_seconds_of_this_process"
        return cls(
            embedded=dense["passages"] / dense["engines"]["local"][used],
            judged=judged["pairs"] / judged["engines"]["local"][used],
            dimensions=dense["dimensions"],
            passage_bytes=engines["data"]["bytes_per_passage"],
        )


@dataclass(frozen=True, slots=True)
class SetUp:
    """Machines and their price; ``price`` is that of one machine for one hour.

    ``embedded`` and ``judged`` are passages and pairs a second of one machine; None is what was
    measured on a core, times ``cores``.
    """

    name: str
    machines: int
    price: float
    cores: int = 0
    embedded: float | None = None
    judged: float | None = None

    @classmethod
    def of(cls, text: str) -> SetUp:
        """``NAME=machines:4,cores:16,price:0.8`` or with ``embedded`` and ``judged``.

        Raises ConfigError for anything else.
        """
        name, _, values = text.partition("=")
        known = ("machines", "price", "cores", "embedded", "judged")
        given: dict[str, float] = {}
        for each in values.split(","):
            key, _, value = each.partition(":")
            if key not in known:
                raise unknown_name(key, known, "value of --set-up")
            try:
                given[key] = float(value)
            except ValueError as error:
                raise ConfigError(f"{key} in {text!r} must be a number, got {value!r}") from error
            if not 0.0 <= given[key] < 1e12 or (key == "machines" and given[key] < 1):
                raise ConfigError(f"{key} in {text!r} is out of range: {value}")
        if not name or "machines" not in given or "price" not in given:
            raise ConfigError(f"--set-up {text!r} needs a name, machines and price")
        rates = (given.get("embedded"), given.get("judged"))
        if not given.get("cores") and None in rates:
            raise ConfigError(f"--set-up {text!r} needs cores, or embedded and judged")
        machines, cores = int(given["machines"]), int(given.get("cores", 0))
        return cls(name, machines, given["price"], cores, *rates)

    def embeds(self, rates: Rates) -> float:
        """Passages a second, all machines together."""
        own = rates.embedded * self.cores if self.embedded is None else self.embedded
        return own * self.machines

    def judges(self, rates: Rates) -> float:
        """Pairs a second, all machines together."""
        own = rates.judged * self.cores if self.judged is None else self.judged
        return own * self.machines


SET_UPS = (
    SetUp("one CPU machine", machines=1, cores=32, price=1.30),
    SetUp("CPU cluster", machines=32, cores=32, price=1.30),
    SetUp("GPU machines", machines=8, price=2.50, embedded=3_000.0, judged=1_500.0),
)
"""Prices are examples, and so are the rates of the GPU machines: nothing here was run on a GPU."""


def planned(
    passages: int, pairs: int, set_up: SetUp, rates: Rates, *, compressed: int
) -> dict[str, Any]:
    """What a corpus takes: gigabytes, hours, and money in the currency of the prices.

    ``compressed`` is the bytes a vector has in memory when the vectors are quantised for search.
    Hours = count / (rate of a machine * machines): the work is taken to divide evenly.
    """
    embedding = passages / set_up.embeds(rates) / 3600
    judging = pairs / set_up.judges(rates) / 3600
    return {
        "set_up": set_up.name,
        "passages": passages,
        "text_gb": passages * rates.passage_bytes / 1e9,
        "vectors_gb": passages * rates.dimensions * _HALF / 1e9,
        "memory_gb": passages * compressed / 1e9,
        "embedding_hours": embedding,
        "embedding_cost": embedding * set_up.price * set_up.machines,
        "judging_hours": judging,
        "judging_cost": judging * set_up.price * set_up.machines,
    }
