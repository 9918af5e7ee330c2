"""A result in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from perspective_rag.answer.checking import ClaimCheck, check_of, checked, side_of
from perspective_rag.answer.extractive import ExtractiveAnswerer
from perspective_rag.answer.sections import in_sections, lacking
from perspective_rag.answer.standing import strengths
from perspective_rag.errors import ConfigError, PerspectiveRAGError
from perspective_rag.flow.request import degrade, note, whole_request
from perspective_rag.flow.steps import Flow, complete
from perspective_rag.judge.support import pair_judge
from perspective_rag.protocols import Answerer, Judge, TellsClaims
from perspective_rag.redaction import scrubbed
from perspective_rag.types import Answer, Claim, Perspective, RetrievalResult

Tell = Callable[[Claim], None]
"""Called with each claim of an answer, as soon as it was checked."""


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
    name = f"answerer {type(answerer).__name__}"
    judge = pair_judge(judge)
    checking = _Checking(result, judge, check_of(check), tell)
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
    unsupported = _unsupported(found, claims, result)
    if check != "off" and found.claims:
        claims = yield from _filled(claims, result, judge, checking)
    strength = found.strength or strengths(result)
    sections = tuple(in_sections(claims, result))
    return replace(found, claims=sections, unsupported=unsupported, strength=strength)


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


class _Checking:
    """Checks each claim once, drops or keeps it, and tells of those kept."""

    def __init__(
        self, result: RetrievalResult, judge: Judge | None, check: ClaimCheck, tell: Tell | None
    ) -> None:
        self.result, self.judge, self.check, self.tell = result, judge, check, tell
        self._known: dict[Claim, Claim] = {}

    def all(self, claims: Sequence[Claim]) -> Flow[list[Claim]]:
        """The claims that stand."""
        kept = []
        for claim in claims:
            known = self._known.get(claim)
            if known is None:
                known = yield from self._one(claim)
                self._known[claim] = known
                if self._stands(known) and self.tell is not None:
                    self.tell(known)
            if self._stands(known):
                kept.append(known)
        return kept

    def _stands(self, claim: Claim) -> bool:
        return self.check != "drop" or claim.verified is not False

    def _one(self, claim: Claim) -> Flow[Claim]:
        if self.check == "off":
            return claim
        found = (yield from checked([claim], self.result, self.judge))[0]
        if found.verified is False:
            done = "was dropped" if self.check == "drop" else "is marked"
            message = f"a sentence that its citation does not support {done}: {claim.text[:200]!r}"
            degrade("answer", message)
            return found
        side = yield from side_of(found, self.result, self.judge)
        if side != found.perspective:
            side_text = f"a sentence for {found.perspective!r}"
            message = f"{side_text} does not speak for it: {found.text[:200]!r}"
            degrade("answer", message)
        return replace(found, perspective=side)


def _unsupported(
    found: Answer, claims: Sequence[Claim], result: RetrievalResult
) -> tuple[Perspective, ...]:
    """The perspectives that the answer calls unsupported, and those for which it claimed something
    that did not stand while no passage is listed under them.
    """
    named = {each.id for each in found.unsupported}
    lost = {claim.perspective for claim in found.claims} - {claim.perspective for claim in claims}
    if not result.coverage.judged:
        return found.unsupported
    covered = {each.id for each in result.coverage.covered}
    named |= {each for each in lost if each is not None} - covered
    return tuple(each for each in result.perspectives if each.id in named)


def _filled(
    claims: list[Claim], result: RetrievalResult, judge: Judge | None, checking: _Checking
) -> Flow[list[Claim]]:
    """The claims, with a quoted sentence for each covered perspective that has none."""
    wanted = lacking(claims, result)
    if not wanted:
        return claims
    quoted: Answer = yield from ExtractiveAnswerer(judge).answer(result)
    own = [claim for claim in quoted.claims if claim.perspective in wanted]
    for side in wanted:
        verdict = "its passages are quoted: the answer had no sentence for it that stands"
        note(decision={"stage": "answer", "perspective": side, "verdict": verdict})
    more = yield from checking.all(own)
    return [*claims, *more]
