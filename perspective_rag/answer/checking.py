"""Whether the passages that a claim cites support it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from perspective_rag.answer.citations import citation_keys, without_marks
from perspective_rag.errors import unknown_name
from perspective_rag.flow.request import degrade
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.support import judge_table, listing_rule, read_passages
from perspective_rag.protocols import Judge
from perspective_rag.text import text_key
from perspective_rag.types import Claim, Passage, Perspective, RetrievalResult

ClaimCheck = Literal["drop", "mark", "off"]
"""What becomes of a sentence whose citations do not support it.

"drop" leaves it out, "mark" keeps it with ``verified`` False; "off" checks nothing.
"""

_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{3,600})[\"”»]")
_LEAST_WORDS = 3  # fewer in quotation marks are a name or a word that is spoken of


def check_of(value: str) -> ClaimCheck:
    """The value as a ClaimCheck; raises ConfigError for any other text."""
    known: tuple[ClaimCheck, ...] = get_args(ClaimCheck)
    for each in known:
        if value == each:
            return each
    raise unknown_name(str(value), known, "check_claims")


def checked(
    claims: Sequence[Claim], result: RetrievalResult, judge: Judge | None
) -> Flow[list[Claim]]:
    """The claims with ``verified`` and ``checked``; those that have one stay as they are.

    "quoted": a cited passage holds the words of the claim; "supported", and True: the judge finds
    that one supports it; citations that do not are taken off it. False: none does, or words in
    quotation marks stand in no cited passage. None: nobody could say. A judge that fails is
    recorded.
    """
    keys = citation_keys(result.candidates)
    passages = dict(zip(keys, result.passages, strict=True))
    found: list[Claim] = []
    for claim in claims:
        if claim.verified is not None or claim.checked:
            found.append(claim)
            continue
        by_words = _by_words(claim, passages)
        if by_words.verified is None and not by_words.checked and judge is not None:
            try:
                by_words = yield from _judged(by_words, passages, judge)
            except Exception as error:
                message = "the judge failed; the citations of the answer are not checked"
                degrade("answer", message, error)
                judge = None
        found.append(by_words)
    return found


def side_of(claim: Claim, result: RetrievalResult, judge: Judge | None) -> Flow[str | None]:
    """The perspective that a claim speaks for: its own, unless the judge, which reads the sentence
    by itself, finds that it clearly takes a contradicting side; then that side.

    A claim for a perspective under which no cited passage is listed belongs to none. Quotes keep
    theirs: they were judged when they were chosen.
    """
    coverage = result.coverage
    ids = [each.id for each in result.perspectives]
    if judge is None or not coverage.judged or claim.perspective not in ids:
        return claim.perspective
    column = ids.index(claim.perspective)
    keys = citation_keys(result.candidates)
    rows = [row for row, key in enumerate(keys) if key in claim.citations]
    if not coverage.listed[rows].any():
        return None
    if coverage.contradicts is None or _quoted(claim, [result.passages[row].text for row in rows]):
        return claim.perspective
    alone = replace(result.candidates[rows[0]], passage=Passage("claim", claim.text), support={})
    try:
        support = yield from read_passages(
            judge,
            result.perspectives,
            [alone],
            exclusive=bool(coverage.contradicts.any()),
            scale=coverage.scale,
        )
    except Exception as error:
        degrade("answer", "the judge failed; whose side a sentence takes is open", error)
        return claim.perspective
    verdicts = coverage.rule.verdicts(support, coverage.contradicts)[0]
    rivals = np.flatnonzero(coverage.contradicts[column]).tolist()
    taken = [place for place in rivals if verdicts[place] == "clear"]
    return ids[taken[0]] if taken else claim.perspective


def misquoted(claim: Claim, texts: Sequence[str]) -> bool:
    """Whether a claim's quote, or words in quotation marks, stand in none of the texts."""
    keys = [text_key(text) for text in texts]
    quotes = [text_key(quote) for quote in _QUOTED.findall(claim.text)]
    long = [quote for quote in quotes if len(quote.split()) >= _LEAST_WORDS]
    long += [text_key(claim.quote)] if claim.quote else []
    return any(all(quote not in key for key in keys) for quote in long)


def _quoted(claim: Claim, texts: Sequence[str]) -> bool:
    words = text_key(claim.text)
    return any(words in text_key(without_marks(text)) for text in texts)


def _by_words(claim: Claim, passages: Mapping[str, Passage]) -> Claim:
    cited = [key for key in claim.citations if key in passages]
    if not cited or misquoted(claim, [passages[key].text for key in cited]):
        return replace(claim, verified=False)
    holders = [key for key in cited if _quoted(claim, [passages[key].text])]
    if holders:
        return replace(claim, citations=tuple(holders), checked="quoted")
    return replace(claim, citations=tuple(cited))


def _judged(claim: Claim, passages: Mapping[str, Passage], judge: Judge) -> Flow[Claim]:
    statement = Perspective("claim", claim.text)
    cited = [passages[key] for key in claim.citations]
    support = yield from judge_table(judge, [statement], cited)
    values = dict(zip(claim.citations, support[:, 0].tolist(), strict=True))
    threshold = listing_rule(judge).threshold
    kept = [key for key, value in values.items() if value >= threshold]
    unknown = [key for key, value in values.items() if math.isnan(value)]
    if kept:
        return replace(claim, citations=tuple(kept), verified=True, checked="supported")
    if unknown:
        return replace(claim, citations=tuple(unknown))
    return replace(claim, verified=False)
