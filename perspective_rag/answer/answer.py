"""A result in sentences, each of which is checked against the passages that it cites."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from perspective_rag.answer.extractive import ExtractiveAnswerer
from perspective_rag.answer.passages import citation_keys, without_marks
from perspective_rag.answer.standing import strengths
from perspective_rag.errors import ConfigError, PerspectiveRAGError, unknown_name
from perspective_rag.flow.request import degrade, note, whole_request
from perspective_rag.flow.steps import Flow, complete
from perspective_rag.judge.support import judge_table, listing_rule, pair_judge, read_passages
from perspective_rag.protocols import Answerer, Judge, TellsClaims
from perspective_rag.redaction import scrubbed
from perspective_rag.text import text_key
from perspective_rag.types import Answer, Claim, Passage, Perspective, RetrievalResult

ClaimCheck = Literal["drop", "mark", "off"]
"""What becomes of a sentence whose citations do not support it.

"drop" leaves it out, "mark" keeps it with ``verified`` False; "off" checks nothing.
"""

Tell = Callable[[Claim], None]
"""Called with each claim of an answer, as soon as it was checked."""

_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{3,600})[\"”»]")
_LEAST_WORDS = 3  # fewer in quotation marks are a name or a word that is spoken of


@whole_request
def answer(
    answerer: Answerer,
    result: RetrievalResult,
    *,
    judge: Judge | None = None,
    check: ClaimCheck = "drop",
    tell: Tell | None = None,
) -> Flow[Answer]:
    """What the answerer makes of a result, its citations checked by ``judge``.

    ``check``: claims whose citations do not support them are dropped ("drop"), kept with
    ``verified`` False ("mark"), or nothing is checked ("off"). Claims come in the order of the
    perspectives; a covered perspective that is left without one gets a sentence quoted from its
    passages. ``tell`` gets each claim once, the answer's own order aside.

    Raises ConfigError for another ``check`` and an answerer that returns no Answer,
    PerspectiveRAGError, with the cause, for one that fails.
    """
    if check not in get_args(ClaimCheck):
        raise unknown_name(str(check), get_args(ClaimCheck), "check_claims")
    name = f"answerer {type(answerer).__name__}"
    judge = pair_judge(judge)
    checking = _Checking(result, judge, check, tell)
    try:
        found = yield from _heard(answerer, result, checking, name)
    except PerspectiveRAGError:
        raise
    except Exception as raised:
        error = scrubbed(raised)
        raise PerspectiveRAGError(f"{name} failed: {error!r}") from error
    if not isinstance(found, Answer):
        raise ConfigError(f"{name} returned {found!r:.200}; expected an Answer")
    claims = yield from checking.all(found.claims)
    unsupported = found.unsupported
    if result.coverage.judged:
        # Also those for which only what did not stand was claimed, while no passage is listed.
        lost = {each.perspective for each in found.claims} - {each.perspective for each in claims}
        lost -= {each.id for each in result.coverage.covered}
        unsupported = tuple(
            each for each in result.perspectives if each in found.unsupported or each.id in lost
        )
    if check != "off" and found.claims:
        said = {claim.perspective for claim in claims}
        wanted = [each.id for each in result.coverage.covered if each.id not in said]
        if wanted:
            quoted: Answer = yield from ExtractiveAnswerer(judge).answer(result)
            for side in wanted:
                verdict = "its passages are quoted: the answer had no sentence for it that stands"
                note(decision={"stage": "answer", "perspective": side, "verdict": verdict})
            own = [claim for claim in quoted.claims if claim.perspective in wanted]
            claims += yield from checking.all(own)
    order = {each.id: place for place, each in enumerate(result.perspectives)}
    claims.sort(key=lambda claim: order.get(claim.perspective or "", len(order)))
    strength = found.strength or strengths(result)
    return replace(found, claims=tuple(claims), unsupported=unsupported, strength=strength)


def _heard(
    answerer: Answerer, result: RetrievalResult, checking: _Checking, name: str
) -> Flow[Any]:
    """What the answerer returns; claims that it tells meanwhile are checked at once."""
    heard: list[Claim] = []
    if checking.tell is None or not isinstance(answerer, TellsClaims):
        found = yield from complete(answerer.answer(result), name, "an Answer")
        return found
    flow = complete(answerer.answer_telling(result, heard.append), name, "an Answer")
    replies: Any = None
    try:
        while True:
            try:
                steps = flow.send(replies)
            except StopIteration as stop:
                return stop.value
            while heard:
                yield from checking.all([heard.pop(0)])
            replies = yield steps
    finally:
        flow.close()


@dataclass(slots=True)
class _Checking:
    """Checks each claim once, drops or keeps it, and tells of those kept."""

    result: RetrievalResult
    judge: Judge | None
    check: ClaimCheck
    tell: Tell | None
    _known: dict[Claim, Claim] = field(default_factory=dict)

    def all(self, claims: Sequence[Claim]) -> Flow[list[Claim]]:
        """The claims that stand."""
        kept = []
        for claim in claims:
            first = claim not in self._known
            if first:
                self._known[claim] = claim if self.check == "off" else (yield from self._one(claim))
            known = self._known[claim]
            if self.check != "drop" or known.verified is not False:
                kept.append(known)
                if first and self.tell is not None:
                    self.tell(known)
        return kept

    def _one(self, claim: Claim) -> Flow[Claim]:
        found = yield from check_claim(claim, self.result, self.judge)
        if found.verified is False:
            done = "was dropped" if self.check == "drop" else "is marked"
            message = f"a sentence that its citation does not support {done}: {claim.text[:200]!r}"
            degrade("answer", message)
            return found
        side = yield from side_of(found, self.result, self.judge)
        if side != found.perspective:
            side_text = f"a sentence for {found.perspective!r}"
            degrade("answer", f"{side_text} does not speak for it: {found.text[:200]!r}")
        return replace(found, perspective=side)


def check_claim(claim: Claim, result: RetrievalResult, judge: Judge | None) -> Flow[Claim]:
    """The claim with ``verified`` and ``checked``; one that has them stays as it is.

    "quoted": a cited passage holds the words of the claim; "supported", and True: the judge finds
    that one supports it; citations that do not are taken off it. False: none does, or words in
    quotation marks stand in no cited passage. None: nobody could say. A judge that fails is
    recorded.
    """
    if claim.verified is not None or claim.checked:
        return claim
    passages = dict(zip(citation_keys(result.candidates), result.passages, strict=True))
    cited = [key for key in claim.citations if key in passages]
    if not cited or misquoted(claim, [passages[key].text for key in cited]):
        return replace(claim, verified=False)
    if holders := [key for key in cited if _quoted(claim, passages[key].text)]:
        return replace(claim, citations=tuple(holders), checked="quoted")
    claim = replace(claim, citations=tuple(cited))
    if judge is None:
        return claim
    try:
        statement, texts = Perspective("claim", claim.text), [passages[key] for key in cited]
        support = yield from judge_table(judge, [statement], texts)
        threshold = listing_rule(judge).threshold
    except Exception as error:
        message = "the judge failed; the citations of the answer are not checked"
        degrade("answer", message, error)
        return claim
    values = dict(zip(cited, support[:, 0].tolist(), strict=True))
    if kept := [key for key, value in values.items() if value >= threshold]:
        return replace(claim, citations=tuple(kept), verified=True, checked="supported")
    if unknown := [key for key, value in values.items() if math.isnan(value)]:
        return replace(claim, citations=tuple(unknown))
    return replace(claim, verified=False)


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
    quoted = any(_quoted(claim, result.passages[row].text) for row in rows)
    if coverage.contradicts is None or quoted:
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
    taken = np.flatnonzero(coverage.contradicts[column] & (verdicts == "clear"))
    return ids[taken[0]] if len(taken) else claim.perspective


def misquoted(claim: Claim, texts: Sequence[str]) -> bool:
    """Whether a claim's quote, or words in quotation marks, stand in none of the texts."""
    keys = [text_key(text) for text in texts]
    quotes = [text_key(quote) for quote in _QUOTED.findall(claim.text)]
    long = [quote for quote in quotes if len(quote.split()) >= _LEAST_WORDS]
    long += [text_key(claim.quote)] if claim.quote else []
    return any(all(quote not in key for key in keys) for quote in long)


def _quoted(claim: Claim, text: str) -> bool:
    return text_key(claim.text) in text_key(without_marks(text))
