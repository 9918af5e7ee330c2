"""What a configuration may say: the sections of its file, and what each key must be."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from benchmarks.berds.approaches import APPROACHES
from benchmarks.berds.deciding import RULES
from benchmarks.berds.questions import SPLITS
from benchmarks.core.schema import Strict, one_of

String = Annotated[str, Field(min_length=1)]
Strings = String | Annotated[list[String], Field(min_length=1)]
Approach = Annotated[str, one_of(APPROACHES, "approach")]

_STRING = Field(None, description="a string")
_STRINGS = Field(None, description="a string or a list of strings")
_SWITCH = Field(None, description="true or false")
_SHARE = Field(None, ge=0, le=1, description="a number in [0, 1]")
_GAIN = Field(None, ge=-1, le=1, description="a number in [-1, 1]")
_AMOUNT = Field(None, ge=0, description="a number, at least 0")
_COUNT = Field(None, ge=1, description="an integer, at least 1")
_FROM_ZERO = Field(None, ge=0, description="an integer, at least 0")


class Run(Strict):
    """``[run]``: the options of the command line, with underscores."""

    questions: String | None = _STRING
    dataset: Strings | None = _STRINGS
    split: Annotated[str, one_of(SPLITS, "split")] | None = _STRING
    limit: int | None = _COUNT
    corpus: String | None = _STRING
    streamed: bool | None = _SWITCH
    retriever: Strings | None = _STRINGS
    approach: Approach | list[Approach] | None = _STRINGS
    verdict: Annotated[str, one_of(APPROACHES[1:], "verdict")] | None = _STRING
    judge: String | None = _STRING
    decision: Annotated[str, one_of(RULES, "decision")] | None = _STRING
    selector: String | None = _STRING
    force_same_judge: bool | None = _SWITCH
    llm: String | None = _STRING
    mmr_embedder: String | None = _STRING
    mmr_weight: float | None = _SHARE
    tuning_share: float | None = _SHARE
    tuning_limit: int | None = _COUNT
    depth: int | None = Field(None, ge=10, le=100, description="an integer in [10, 100]")
    no_sycophancy: bool | None = _SWITCH
    as_published: bool | None = _SWITCH
    search_url: String | None = _STRING
    serper_key_file: String | None = _STRING
    pages: int | None = _COUNT
    out: String | None = _STRING
    figures: String | None = _STRING
    no_figures: bool | None = _SWITCH
    cache: String | None = _STRING
    seed: int | None = _FROM_ZERO
    strict: bool | None = _SWITCH


class Thresholds(Strict):
    """``[thresholds]``: MRecall@5 and Precision@5 and what they gain over plain top k, the distance
    of the lean from even, how far the wording decides the side, seconds and pairs a question,
    degradations in all.
    """

    min_coverage: float | None = _SHARE
    min_precision: float | None = _SHARE
    min_coverage_gain: float | None = _GAIN
    min_precision_gain: float | None = _GAIN
    max_lean: float | None = _SHARE
    max_sycophancy: float | None = _SHARE
    max_seconds: float | None = _AMOUNT
    max_judged_pairs: float | None = _AMOUNT
    max_degradations: int | None = _FROM_ZERO


class Prices(Strict):
    """``[prices]``: of a pair judged, of a pair judged for the selection, of a model's call."""

    judge_pair: float | None = _AMOUNT
    selector_pair: float | None = _AMOUNT
    llm_call: float | None = _AMOUNT


THRESHOLDS = tuple(Thresholds.model_fields)
PRICES = tuple(Prices.model_fields)
SECTIONS = ("run", "pipeline", "thresholds", "prices")
