"""The sides that a text asks for by name: arguments for, pros and cons, motions, demands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perspective_rag.perspectives.kinds import DISPUTED, is_demand
from perspective_rag.perspectives.statements import (
    Statement,
    as_statement,
    negation_of,
    spelt_out,
    statement_of,
)
from perspective_rag.perspectives.words import (
    AUXILIARIES,
    PREPOSITIONS,
    bare,
    finite_verb,
    is_plural,
    mid_sentence,
    tags,
    upper_first,
)
from perspective_rag.perspectives.wrapping import is_talk, lemma_in
from perspective_rag.types import Stance

_PRO = frozenset("pro benefit advantage upside merit strength".split())
_CON = frozenset("con drawback disadvantage downside criticism objection counterargument".split())
_BOTH_ONLY = frozenset("risk harm cost danger weakness".split())  # "benefits and risks"
_REASONS = frozenset(
    "argument reason evidence case point claim passage article document text source study".split()
)
_FOR = frozenset("for favour favor support defend back confirm prove approve".split())
_AGAINST = frozenset(
    "against oppose undermine refute attack contradict reject rebut counter dispute challenge deny"
    " disprove debunk criticise criticize contra disapprove".split()
)
_HOUSE = frozenset("favour favor support welcome oppose regret reject condemn believe".split())
_ASKING = frozenset(
    "find give show list name search look provide need want main best strongest good key retrieve"
    " get fetch make weigh interested why explain".split()
)
_THE_CLAIM = frozenset(
    "the this that following a of in with claim idea view argument statement notion position"
    " proposal".split()
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What sides of what a text asks for, and the words that ask for them."""

    instruction: str
    topic: str
    statement: Statement
    stance: Stance | None


def asked_sides(words: Sequence[str]) -> Asked | None:
    """The sides that a text asks for by name: "arguments against X", "evidence that X", "What are
    the pros and cons of X?", "Are you for or against X?"; None where it asks for none so.
    """
    plain = [bare(word) for word in words]
    personal = plain[0] not in AUXILIARIES or plain[1:2] == ["you"]
    for i, (one, joint, other) in enumerate(zip(plain, plain[1:], plain[2:], strict=False)):
        joined = personal and joint in {"and", "or", "&"}
        if joined and {_side(one), _side(other)} == {"support", "oppose"}:
            behind = i + 3
            if plain[behind : behind + 1] in (["of"], ["on"], ["to"], ["about"], ["for"]):
                behind += 1
            topic = words[behind:] or words[: i - (plain[i - 1] in _REASONS)]
            return _asked(words[:behind], topic, None)
    nouns = _PRO | _CON | _REASONS
    start = next(
        (i for i, word in enumerate(plain[:12]) if lemma_in(word, nouns) or (i and word == "why")),
        None,
    )
    if start is None or not _asks_for(words[:start]):
        return None
    stance = _side(plain[start]) if not lemma_in(plain[start], _BOTH_ONLY) else None
    end = start + 1
    while end < len(plain) and plain[end] in _LINKS:
        end += 1
    if end < len(plain) and _side(plain[end]) is not None:
        stance, end = _side(plain[end]), end + 1
    elif plain[end - 1] == "why":
        stance = "support" if DISPUTED.search(" ".join(plain[end:])) else None
    elif plain[end - 1] == "that" and not lemma_in(plain[start], _PRO | _CON):
        stance = "support"
    elif plain[end - 1] not in {"to", "of"} and plain[end : end + 1] != ["of"]:
        return None
    if stance is None or (plain[end - 1] == "to" and stance == "support"):
        return None  # "reasons to visit Rome"
    claim = end
    while claim < len(plain) and plain[claim] in _THE_CLAIM and not words[claim - 1].endswith(":"):
        claim += 1
    named = any(word in _REASONS | _THE_CLAIM - _ARTICLES for word in plain[end:claim])
    end = claim if named else end + (plain[end : end + 1] == ["of"])
    return _asked(words[:end], words[end:], stance)


_ARTICLES = frozenset("the this a of in with following".split())
_LINKS = frozenset("that which who would to in argue why".split())


def _side(word: str) -> Stance | None:
    if lemma_in(word, _PRO | _FOR):
        return "support"
    return "oppose" if lemma_in(word, _CON | _AGAINST | _BOTH_ONLY) else None


def _asks_for(words: Sequence[str]) -> bool:
    """True for what leads to a noun such as "arguments": "What are the main", "Give me some"."""
    plain = [bare(word) for word in words[:2]]
    if plain and plain[0] in AUXILIARIES and plain[1:] != ["you"]:
        return False
    return all(lemma_in(word, _ASKING) or is_talk([word]) for word in words)


def _asked(lead: Sequence[str], rest: Sequence[str], stance: Stance | None) -> Asked | None:
    topic = " ".join(rest).strip(" :,-–\"'“”?.!")
    clause = bare(lead[-1]) in {"that", "why"}
    made = whole(topic, least=2 if clause else 3, trusted=clause) if topic else None
    made = made or (good_idea(topic) if topic and not clause else None)
    return Asked(" ".join(lead), topic, made, stance) if made else None


def supported(words: Sequence[str]) -> str | None:
    """What "Do you support X", "Are you against X" and "This house regrets X" are about; None for
    any other text.
    """
    plain = [bare(word) for word in words]
    house = plain[:2] == ["this", "house"]
    if not house and plain[1:2] != ["you"]:
        return None
    verbs = _HOUSE if house else _HOUSE - {"believe"} | _FOR | _AGAINST
    place = next((i for i, word in enumerate(plain[:6]) if i > 1 and lemma_in(word, verbs)), None)
    if place is None or any(plain[i] not in {"strongly", "still", "in"} for i in range(2, place)):
        return None
    end = place + 1 + (plain[place + 1 : place + 2] in (["of"], ["in"]))
    believes = lemma_in(plain[place], frozenset({"believe"}))
    return None if believes and plain[end - 1] != "in" else " ".join(words[end:]) or None


def good_idea(thing: str, *, called: str = "a good idea") -> Statement:
    """A topic as a statement: "taxing frequent flyers" gives "Taxing frequent flyers is a good
    idea".
    """
    words = thing.split(" ")
    head = next((i for i, word in enumerate(words) if i and bare(word) in PREPOSITIONS), len(words))
    many = is_plural(words[head - 1]) and "g" not in tags(words[0])
    said = f"{upper_first(thing)} {'are' if many else 'is'}"
    return Statement(f"{said} {called}", f"{said} not {called}")


def motion(words: Sequence[str]) -> Statement | None:
    """The motion of a debating club, or a demand ("Abolish private schools!"), as "We should ...".

    None for any other text.
    """
    plain = [bare(word) for word in words[:4]]
    if plain[:2] == ["this", "house"] or plain[:1] == ["thw"]:
        start = 1 if plain[0] == "thw" else 2
        start += plain[start : start + 1] in (["would"], ["should"], ["will"])
        return we_should(words[start:])
    if plain[:1] == ["let's"]:
        return we_should(words[1:])
    return we_should(words) if is_demand(" ".join(words)) else None


def we_should(words: Sequence[str]) -> Statement | None:
    """A demand as a statement."""
    demand = mid_sentence(" ".join(words))
    for no in ("don't ", "do not ", "never ", "not "):
        if demand.lower().startswith(no):
            rest = demand[len(no) :]
            return Statement(f"We should not {rest}", f"We should {rest}")
    opposite = negation_of(f"We should {demand}") if demand else None
    return Statement(f"We should {demand}", opposite) if opposite else None


def whole(text: str, *, least: int = 3, trusted: bool = False) -> Statement | None:
    """A text of at least ``least`` words that is a statement already, with its opposite; None for a
    mere topic. ``trusted`` as for ``negation_of``.
    """
    asked = statement_of(text)
    words = spelt_out(text).replace("can not ", "cannot ").split(" ")
    if asked is not None or len(words) < least:
        return asked
    verb = finite_verb(words, trusted=trusted)
    if verb is None:
        return None
    kinds = [tags(word) for word in words]
    gerund = "g" in kinds[0] and not trusted and "aux" not in kinds[verb]
    joined = any(kind & {"det", "prep", "pron", "conj", "aux"} for kind in kinds)
    keywords = not joined and not trusted and not kinds[verb] & {"z", "v", "aux"}
    return None if gerund or keywords else as_statement(" ".join(words), trusted=trusted)


def proposes(topic: str) -> bool:
    """True for a gerund with an object: something to do, which one can be for or against."""
    words = topic.split(" ")
    acts = "g" in tags(words[0])
    return acts and len(words) > (2 if "n" in tags(words[0]) - {"g"} else 1)
