"""PyTorch, imported when it is needed, and the checks of arrays that come as tensors."""

from __future__ import annotations

from typing import Any

from perspective_rag.errors import ConfigError, MissingDependency

FLOATS = ("float64", "float32", "bfloat16", "float16")
"""The number formats that tensors here may have."""


def load_torch(purpose: str) -> Any:
    """The module ``torch``; raises MissingDependency without it."""
    try:
        import torch
    except ImportError as error:
        raise MissingDependency("torch", purpose) from error
    return torch


def as_tensor(
    torch: Any,
    values: Any,
    name: str,
    *,
    dimensions: int,
    device: Any = None,
    dtype: str | None = None,
) -> Any:
    """Values as a floating-point tensor of that many dimensions, without a copy where it fits.

    ``device`` and ``dtype`` None keep what the values have; whole numbers become float64. Raises
    ConfigError for other shapes and for values that are no numbers.
    """
    if dtype is not None and dtype not in FLOATS:
        raise ConfigError(f"dtype must be one of {', '.join(FLOATS)}; got {dtype!r}")
    try:
        tensor = torch.as_tensor(values, device=device)
        if tensor.is_complex():
            raise TypeError("complex numbers")
        if not tensor.is_floating_point():
            tensor = tensor.to(torch.float64)
        tensor = tensor if dtype is None else tensor.to(getattr(torch, dtype))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name} must be numbers of equal row length: {error}") from error
    if tensor.dim() != dimensions:
        raise ConfigError(
            f"{name} must have {dimensions} dimensions; got shape {tuple(tensor.shape)}"
        )
    return tensor


def check_finite(torch: Any, tensor: Any, name: str) -> None:
    """Raises ConfigError when a tensor holds NaN or infinity."""
    if not bool(torch.isfinite(tensor).all()):
        raise ConfigError(f"{name} holds NaN or infinity")
