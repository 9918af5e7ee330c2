"""PAP and PAP+ for many queries at once, with PyTorch on a CPU or a GPU.

The formulas are those of ``table.py``, which stays the reference: for a block of passages and all
queries they are two matrix products and a square root.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from perspective_rag.errors import ConfigError, unknown_name
from perspective_rag.tensors import as_tensor, check_finite, load_torch
from perspective_rag.validation import count
from perspective_rag.vectors import ZERO_NORM

BatchMethod = Literal["none", "pap", "pap+"]


@dataclass(frozen=True, slots=True)
class BatchHits:
    """The best passages of each query, best first.

    ``indices`` and ``scores`` are tensors of shape (queries, k). ``fell_back``, shape (queries,),
    is True where the plain query was searched: no perspective, or nothing left beside it.
    """

    indices: Any
    scores: Any
    fell_back: Any


def project_queries(queries: Any, perspectives: Any) -> tuple[Any, Any]:
    """Every query without its part along its perspective, and where the plain query stands in.

    q_p = q - (q . p^) p^, at the length of q (PIR, Section 3.1): ``project_query`` with "pap", row
    by row. Both arguments have shape (n, d), arrays or tensors. The result is a tensor of shape
    (n, d) in the queries' number format, and a bool tensor of shape (n,): True where p is zero or
    nothing is left of q. Raises ConfigError for shapes that differ, NaN and infinity,
    MissingDependency without torch.
    """
    torch = load_torch("projecting many queries at once")
    given = as_tensor(torch, queries, "queries", dimensions=2)
    side = _QuerySide(torch, "pap", given, perspectives)
    lengths = side.queries.norm(dim=1, keepdim=True)
    scaled = side.directions * (lengths / side.lengths.clamp_min(1e-300))
    plain = side.fell_back[:, None] | (lengths == 0.0)
    return torch.where(plain, given, scaled.to(given.dtype)), side.fell_back


class BatchSearch:
    """Exact search over a matrix of passages for many queries at once.

    ``passages`` has shape (n, d), an array or a tensor. ``device`` is where it is searched ("cuda";
    None: where it lies), ``dtype`` the format it is kept in ("float16"; None: its own). Products
    are summed in float32 or more; "float64" gives the numbers of ``projected_scores``.
    ``cells_at_once`` bounds the block of scores in memory (more is faster, up to a point).

    Under "pap+" a passage along the perspective scores 0, as in ``projected_scores``. How much of
    it must be left to count grows with the rounding of ``dtype``: 1e-6 of its length in float64,
    0.001 in float32, 0.09 in float16, 0.25 in bfloat16.

    The norms are taken once, here. Raises ConfigError for NaN, infinity and other shapes,
    MissingDependency without torch.
    """

    def __init__(
        self,
        passages: Any,
        *,
        device: str | None = None,
        dtype: str | None = None,
        cells_at_once: int = 1 << 27,
    ) -> None:
        self._torch = torch = load_torch("searching for many queries at once")
        self._cells = count("cells_at_once", cells_at_once)
        self.passages = as_tensor(
            torch, passages, "passages", dimensions=2, device=device, dtype=dtype
        )
        wide = torch.float64 if self.passages.dtype == torch.float64 else torch.float32
        self._wide = wide
        self._squared = torch.empty(len(self.passages), dtype=wide, device=self.passages.device)
        for start, block in self._blocks(max(1, self.passages.shape[1])):
            self._squared[start : start + len(block)] = block.to(wide).square().sum(dim=1)
        check_finite(torch, self._squared, "passages")
        self._lengths = self._squared.sqrt()
        # |c|^2 - (c . p^)^2 cancels: what is left below this is the rounding of the passages.
        rounding = torch.finfo(self.passages.dtype).eps
        self._parallel = max(ZERO_NORM, math.sqrt(8.0 * rounding))
        self._keeps_sums = _keeps_sums(torch, self.passages, wide)

    def search(
        self, method: BatchMethod, queries: Any, perspectives: Any | None, k: int
    ) -> BatchHits:
        """The min(k, n) passages with the highest scores for each query.

        The score is cos(q, c) for "none", cos(q_p, c) for "pap", cos(q_p, c_p) for "pap+" (PIR,
        Section 3.1). ``queries`` and ``perspectives`` have shape (b, d); perspectives None is the
        plain query. Equal scores come in the order of the passages; which of several that share the
        k-th score is kept is not defined. Reads the passages once for as many queries as
        ``cells_at_once`` allows. Raises ConfigError for an unknown method, other shapes, NaN.
        """
        torch = self._torch
        side = self._side(method, queries, perspectives)
        k = min(count("k", k), len(self.passages))
        b, device = len(side.queries), self.passages.device
        scores = torch.full((b, 0), -torch.inf, dtype=self._wide, device=device)
        indices = torch.zeros((b, 0), dtype=torch.int64, device=device)
        for start, block in self._blocks(max(1, b)):
            found = self._scores(side, start, block)
            best, rows = found.topk(min(k, len(block)), dim=1, sorted=False)
            scores = torch.cat([scores, best], dim=1)
            indices = torch.cat([indices, rows + start], dim=1)
            if scores.shape[1] > k:
                scores, kept = scores.topk(k, dim=1, sorted=False)
                indices = indices.gather(1, kept)
        by_index = indices.argsort(dim=1)
        indices, scores = indices.gather(1, by_index), scores.gather(1, by_index)
        order = scores.argsort(dim=1, descending=True, stable=True)
        return BatchHits(indices.gather(1, order), scores.gather(1, order), side.fell_back)

    def scores(self, method: BatchMethod, queries: Any, perspectives: Any | None) -> Any:
        """The score of every passage for each query, a tensor of shape (b, n): see ``search``."""
        torch = self._torch
        side = self._side(method, queries, perspectives)
        b = len(side.queries)
        found = torch.empty((b, len(self.passages)), dtype=self._wide, device=self.passages.device)
        for start, block in self._blocks(max(1, b)):
            found[:, start : start + len(block)] = self._scores(side, start, block)
        return found

    def _side(self, method: str, queries: Any, perspectives: Any | None) -> _QuerySide:
        torch, passages = self._torch, self.passages
        given = as_tensor(torch, queries, "queries", dimensions=2, device=passages.device)
        if given.shape[1] != passages.shape[1]:
            raise ConfigError(
                f"queries have {given.shape[1]} dimensions where the passages have "
                f"{passages.shape[1]}"
            )
        return _QuerySide(torch, method, given, perspectives)

    def _blocks(self, columns: int) -> Any:
        rows = max(1, self._cells // columns)
        for start in range(0, len(self.passages), rows):
            yield start, self.passages[start : start + rows]

    def _scores(self, side: _QuerySide, start: int, block: Any) -> Any:
        """Shape (b, rows of the block): the formulas of ``table._scores``."""
        torch = self._torch
        squared = self._squared[start : start + len(block)]
        lengths = self._lengths[start : start + len(block)]
        above = self._products(side.units, block)
        there = lengths > ZERO_NORM
        if side.method != "pap+":
            below = lengths.expand_as(above)
        else:
            across = self._products(side.sides, block)
            below = across.square_().neg_().add_(squared).clamp_min_(0.0).sqrt_()
            # A plain query's row of ``sides`` is zero: there the length is that of the passage.
            there = there & (below > self._parallel * lengths)
        scores = above.div_(below).masked_fill_(~there, 0.0)
        return torch.clamp_(scores, -1.0, 1.0)

    def _products(self, rows: Any, block: Any) -> Any:
        """``rows`` (b, d) times the block's (r, d): shape (b, r), not rounded to half precision."""
        torch, wide = self._torch, self._wide
        if block.dtype == wide:
            return rows.to(wide) @ block.T
        if self._keeps_sums:
            return torch.mm(rows.to(block.dtype), block.T, out_dtype=wide)
        return rows.to(wide) @ block.to(wide).T


class _QuerySide:
    """What a method makes of queries and perspectives, in float64, a row for each query.

    ``units`` are the directions at length one, zero rows where a query is zero; ``sides`` are the
    perspectives at length one, zero rows where the plain query stands in.
    """

    def __init__(self, torch: Any, method: str, queries: Any, perspectives: Any | None) -> None:
        if method not in get_args(BatchMethod):
            raise unknown_name(str(method), get_args(BatchMethod), "projection for many queries")
        self.method = method
        check_finite(torch, queries, "queries")
        self.queries = _zeroed(torch, queries.to(torch.float64))
        own = self.queries.norm(dim=1)
        sides = torch.zeros_like(self.queries)
        if method != "none" and perspectives is not None:
            given = as_tensor(
                torch, perspectives, "perspectives", dimensions=2, device=queries.device
            )
            if given.shape != queries.shape:
                raise ConfigError(
                    "queries and perspectives must have the same shape; got "
                    f"{tuple(queries.shape)} and {tuple(given.shape)}"
                )
            check_finite(torch, given, "perspectives")
            sides = _units(torch, _zeroed(torch, given.to(torch.float64)))
        along = (self.queries * sides).sum(dim=1, keepdim=True)
        projected = self.queries - along * sides
        left = projected.norm(dim=1)
        no_side = ~sides.any(dim=1)
        nothing_left = left <= ZERO_NORM * own.clamp_min(ZERO_NORM)
        self.fell_back = (no_side | nothing_left) & (method != "none")
        plain = (no_side | nothing_left)[:, None]
        self.directions = torch.where(plain, self.queries, projected)
        self.lengths = self.directions.norm(dim=1, keepdim=True)
        self.units = _units(torch, self.directions)
        self.sides = torch.where(plain, torch.zeros_like(sides), sides)


def _keeps_sums(torch: Any, passages: Any, wide: Any) -> bool:
    """Whether ``torch.mm`` can return the float32 sums of half-precision products here."""
    few = passages[:1]
    try:
        torch.mm(few, few.T, out_dtype=wide)
    except (TypeError, RuntimeError, NotImplementedError):
        return False
    return bool(passages.dtype != wide)


def _zeroed(torch: Any, rows: Any) -> Any:
    short = rows.norm(dim=1, keepdim=True) <= ZERO_NORM
    return torch.where(short, torch.zeros_like(rows), rows)


def _units(torch: Any, rows: Any) -> Any:
    lengths = rows.norm(dim=1, keepdim=True)
    return rows / torch.where(lengths > 0.0, lengths, torch.ones_like(lengths))
