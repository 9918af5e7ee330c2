"""The device that is measured, how long work takes on it, and what it could do at best."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from perspective_rag import MissingDependency

REPEATS = 5
HALVES = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much each part works on."""

    vectors: int
    dimensions: int
    queries: int
    checked: int
    texts: int
    pairs: int
    candidates: int
    copied: int
    product: int


GPU = Sizes(1_000_000, 768, 4096, 4, 16_384, 38_000, 100, 1 << 31, 8192)
REHEARSAL = Sizes(4_000, 64, 32, 4, 4, 4, 20, 1 << 20, 64)
"""Small enough for two cores and a minute: every line of the parts runs, no number counts."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes a second of a copy (read and written), and operations a second of a matrix product, by
    number format; both measured here.
    """

    bytes_per_second: float
    flops: Mapping[str, float]

    def seconds(self, *, moved: float = 0.0, flops: float = 0.0, dtype: str = "float32") -> float:
        """The least time that work can take: that of its bytes or of its operations."""
        return max(moved / self.bytes_per_second, flops / self.flops[dtype])


@dataclass(frozen=True, slots=True)
class Device:
    """``name`` is the GPU's; ``is_gpu`` False is a rehearsal on CPU tensors."""

    torch: Any
    kind: str
    name: str

    @property
    def is_gpu(self) -> bool:
        return self.kind == "cuda"

    @property
    def sizes(self) -> Sizes:
        return GPU if self.is_gpu else REHEARSAL

    def random(self, *shape: int, dtype: str = "float32", seed: int = 0) -> Any:
        """Unit vectors in the last dimension, made on the device."""
        torch = self.torch
        source = torch.Generator(device=self.kind).manual_seed(seed)
        rows = torch.randn(*shape, generator=source, device=self.kind)
        rows /= rows.norm(dim=-1, keepdim=True)
        return rows.to(getattr(torch, dtype))

    def seconds_of(self, work: Callable[[], object], *, repeats: int = REPEATS) -> float:
        """The median of ``repeats`` runs, after two that are not counted; of a rehearsal, one."""
        for _ in range(2 if self.is_gpu else 0):
            work()
        taken = []
        for _ in range(repeats if self.is_gpu else 1):
            self.wait()
            started = time.perf_counter()
            work()
            self.wait()
            taken.append(time.perf_counter() - started)
        return statistics.median(taken)

    def wait(self) -> None:
        """Until all that was started on the device is done."""
        if self.is_gpu:
            self.torch.cuda.synchronize()

    def free(self) -> None:
        """Gives memory that nothing uses back to the device."""
        if self.is_gpu:
            self.torch.cuda.empty_cache()


def this_device(*, rehearse: bool = False) -> Device:
    """The GPU of this machine, or the CPU where there is none; MissingDependency without torch."""
    try:
        import torch
    except ImportError as error:
        raise MissingDependency("judge", "measuring a GPU") from error
    if not rehearse and torch.cuda.is_available():
        return Device(torch, "cuda", str(torch.cuda.get_device_name()))
    return Device(torch, "cpu", "CPU")


def measured_limits(device: Device) -> Limits:
    """What a plain copy and a plain matrix product of this device reach."""
    torch, sizes = device.torch, device.sizes
    source = torch.zeros(sizes.copied, dtype=torch.uint8, device=device.kind)
    target = torch.empty_like(source)
    seconds = device.seconds_of(lambda: target.copy_(source))
    bandwidth = 2.0 * sizes.copied / seconds
    n, flops = sizes.product, {}
    for dtype in ("float32", *HALVES):
        left, right = (device.random(n, n, dtype=dtype, seed=seed) for seed in (1, 2))
        seconds = device.seconds_of(lambda a=left, b=right: a @ b)  # type: ignore[misc]
        flops[dtype] = 2.0 * n**3 / seconds
    device.free()
    return Limits(bandwidth, flops)


def row(
    what: str,
    setting: str,
    count: float,
    unit: str,
    seconds: float,
    least: float | None,
    **more: Any,
) -> dict[str, Any]:
    """A measurement: ``count`` things in ``seconds``, where physics asks for ``least`` of them."""
    return {
        "what": what,
        "setting": setting,
        "rate": count / seconds,
        "unit": unit,
        "seconds": seconds,
        "limit": count / least if least else None,
        "share_of_limit": least / seconds if least else None,
        **more,
    }


def not_measured(what: str, setting: str, why: str) -> dict[str, Any]:
    """A row of what could not run here, and why."""
    return {"what": what, "setting": setting, "not_measured": why}
