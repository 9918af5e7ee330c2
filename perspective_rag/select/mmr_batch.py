"""Maximal marginal relevance for many queries at once, with PyTorch on a CPU or a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perspective_rag.errors import ConfigError
from perspective_rag.select.inputs import places
from perspective_rag.select.mmr import FirstPick, check_first_pick
from perspective_rag.tensors import as_tensor, check_finite, load_torch
from perspective_rag.validation import between
from perspective_rag.vectors import ZERO_NORM


@dataclass(frozen=True, slots=True)
class BatchSelection:
    """Chosen candidates of each query, tensors of shape (queries, k): their ``indices`` in the
    order picked and the ``scores`` at the pick.
    """

    indices: Any
    scores: Any


def mmr_batch(
    relevance: Any,
    embeddings: Any,
    k: int,
    *,
    mmr_lambda: float,
    first_pick: FirstPick = "criterion",
) -> BatchSelection:
    """``mmr_from_embeddings`` for b queries at once: min(k, n) of the n candidates of each.

    Each pick maximises w Sim1(i) - (1 - w) max over picked j of cos(e_i, e_j), with w the
    ``mmr_lambda`` (1.0 = relevance alone, lower = more diversity); of equal candidates the lower
    index wins. Carbonell and Goldstein, SIGIR 1998. O(b k n d), without an (n, n) matrix.

    ``relevance`` has shape (b, n) and ``embeddings`` (b, n, d), arrays or tensors; a zero embedding
    is similar to nothing. It runs on the embeddings' device, half precision widened to float32.
    Raises ConfigError for other shapes, NaN, infinity and an option out of range, MissingDependency
    without torch.
    """
    torch = load_torch("choosing for many queries at once")
    weight = between("mmr_lambda", mmr_lambda)
    check_first_pick(first_pick)
    vectors = as_tensor(torch, embeddings, "embeddings", dimensions=3)
    values = as_tensor(torch, relevance, "relevance", dimensions=2, device=vectors.device)
    if values.shape != vectors.shape[:2]:
        raise ConfigError(
            "embeddings must have shape (b, n, d) for relevance of shape (b, n); got "
            f"{tuple(vectors.shape)} and {tuple(values.shape)}"
        )
    check_finite(torch, values, "relevance")
    wide = torch.float64 if vectors.dtype == torch.float64 else torch.float32
    vectors = vectors.to(wide)
    lengths = torch.linalg.vector_norm(vectors, dim=2)
    check_finite(torch, lengths, "embeddings")
    scale = torch.where(lengths > ZERO_NORM, 1.0 / lengths, torch.zeros_like(lengths))
    values = values.to(torch.float64)
    gain = weight * values
    criterion = gain.clone()
    nearest = torch.full_like(gain, -torch.inf)
    left = torch.ones_like(gain, dtype=torch.bool)
    b, n = values.shape
    k = places(k, n)
    indices = torch.zeros((b, k), dtype=torch.int64, device=vectors.device)
    scores = torch.zeros((b, k), dtype=torch.float64, device=vectors.device)
    for step in range(k):
        by = values if step == 0 and first_pick == "relevance" else criterion
        pick = by.masked_fill(~left, -torch.inf).argmax(dim=1, keepdim=True)
        indices[:, step : step + 1] = pick
        scores[:, step : step + 1] = criterion.gather(1, pick)
        left.scatter_(1, pick, False)
        if step + 1 < k:
            chosen = vectors.gather(1, pick[:, :, None].expand(b, 1, vectors.shape[2]))
            products = torch.bmm(vectors, chosen.transpose(1, 2)).squeeze(2)
            cosines = (products * scale * scale.gather(1, pick)).clamp_(-1.0, 1.0)
            nearest = torch.maximum(nearest, cosines.to(torch.float64))
            criterion = gain - (1.0 - weight) * nearest
    return BatchSelection(indices, scores)
