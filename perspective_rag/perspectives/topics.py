"""The topic of a question without sides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perspective_rag.perspectives.clauses import Statement
from perspective_rag.perspectives.kinds import DISPUTED, is_demand
from perspective_rag.perspectives.negation import negation_of
from perspective_rag.perspectives.words import (
    BASE_VERBS,
    bare,
    is_plural,
    mid_sentence,
    plural_ending,
    tags,
    upper_first,
)
from perspective_rag.perspectives.wrapping import good_idea
from perspective_rag.types import Stance

_BOTH = re.compile(
    r"^(?:(?:what are|list|give me|name|discuss|explain|weigh|i need|show me|tell me) )?"
    r"(?:the |some |main |key |biggest )*(?:pros and cons|pros & cons|pro and con|pros/cons"
    r"|advantages and disadvantages|benefits and (?:drawbacks|risks|harms|costs)"
    r"|upsides and downsides|merits and (?:demerits|drawbacks)|costs and benefits"
    r"|strengths and weaknesses|(?:arguments?|case|reasons|points?) (?:for and against|pro and"
    r" con))"
    r"(?: of| for| to| about| on| in)?:? (?P<topic>.+)$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"^(?P<topic>[^,:?]{2,100}?)\s*(?:[:,–—-]|\bis it|\bare they)?\s*"
    r"(?:(?:the )?(?:pros and cons|arguments for and against|advantages and disadvantages)"
    r"|(?:are you )?(?:for (?:and|or) against|pro or (?:con|contra|anti)|yes or no|yay or nay"
    r"|yea or nay|yes/no))$",
    re.IGNORECASE,
)
_POLES = re.compile(
    r"^(?P<topic>[^,:?]{2,100}?)\s*[:,–—-]\s*(?P<one>[\w -]{2,40}?) or (?:just |only |merely )?"
    r"(?P<other>[\w -]{2,40})$",
    re.IGNORECASE,
)
_FOR = re.compile(
    r"^(?:(?:are you|is one|where do you stand:|do you|would you|should we)?\s*"
    r"(?:for or against|in favou?r of or (?:against|opposed to)|(?:strongly )?(?:favou?r|support"
    r"|approve(?: of)?|like|agree with) or (?:oppose|disapprove of|not support|reject|dislike"
    r"|disagree with))|(?:do|would|don't|are) you"
    r"(?: personally| generally| strongly| still)? (?:support|oppose|favou?r|approve of|back"
    r"|welcome|for|against|in favou?r of|opposed to)) (?P<topic>.+)$",
    re.IGNORECASE,
)
_HOUSE = re.compile(
    r"^(?:motion:\s*)?(?:this house|thw|th|this parliament|this assembly)(?: (?:would|should"
    r"|will))? "
    r"(?P<demand>.+)$",
    re.IGNORECASE,
)
_HOUSE_FOR = re.compile(
    r"^(?:supports?|believes? in|favou?rs?|welcomes?|opposes?|regrets?|rejects?|condemns?)"
    r" (?P<topic>.+)$",
    re.IGNORECASE,
)
_THOUGHTS = re.compile(
    r"^(?:(?:any|your|some|what are your) )?(?:thoughts|opinions?|views?|feelings|takes?)"
    r" (?:on|about|of|regarding) (?P<topic>.+)$"
    r"|^(?:what do (?:you|people|we|others) (?:think|make|say)|how do (?:you|people) feel"
    r"|what(?:'s| is| are) (?:your|the) (?:views?|opinions?|take|thoughts|stance)) (?:of|about|on)"
    r" (?P<other>.+)$",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"^(?:what|how) (?:do|does|did|would) [\w' -]{1,60}? (?:say|think|argue|feel|write|report)"
    r"(?P<both>,? for and against)?(?: about| of| on)? (?P<topic>[^,:?]{2,100}?)"
    r"(?P<ends>,? (?:(?:for|good|pro|positive) and (?:against|bad|con|negative)"
    r"|on (?:both|each|either) sides?))?$",
    re.IGNORECASE,
)
_LETS = re.compile(r"^(?:let's|let us|we need to|it(?:'s| is) time (?:to|that we)) ", re.IGNORECASE)


def topic_sides(text: str) -> Statement | None:
    """A statement and its opposite for a text that asks for both sides of a topic."""
    plain = text.strip().rstrip("?!. ")
    for pattern in (_BOTH, _AFTER, _FOR):
        if match := pattern.match(plain):
            topic = _unquoted(match["topic"])
            return whole(topic) or good_idea(topic)
    match = _SAID.match(plain)
    if match and (match["both"] or match["ends"]):
        return good_idea(_unquoted(match["topic"]))
    if match := _THOUGHTS.match(plain):
        topic = _unquoted(match["topic"] or match["other"])
        return good_idea(topic) if proposes(topic) else None
    return None


def poles(text: str) -> list[str]:
    """ "Zoos: cruel or educational?" as statements about the topic; empty for anything else."""
    match = _POLES.match(text.strip().rstrip("?!. "))
    if match is None:
        return []
    topic, ends = match["topic"], (match["one"], match["other"])
    if len(topic.split()) > 8 or not all(_predicative(end) for end in ends):
        return []
    if not any(DISPUTED.search(end) for end in ends):
        return []  # "Wine: red or white?"
    be = "are" if is_plural(topic.split(" ")[-1]) else "is"
    return [upper_first(f"{topic} {be} {end}") for end in ends]


def _predicative(end: str) -> bool:
    words = end.split(" ")
    first = tags(words[0])
    return bare(words[0]) in {"a", "an", "the", "too"} or (
        bool(first & {"a", "p"}) and len(words) < 4
    )


def motion(text: str) -> Statement | None:
    """The motion of a debating club, or a demand ("Abolish private schools!"), as "We should ...".

    None for any other text.
    """
    plain = text.strip().rstrip("?!. ")
    match = _HOUSE.match(plain)
    if match:
        demand = match["demand"]
        if found := _HOUSE_FOR.match(demand):
            return good_idea(found["topic"])
        return _we_should(demand)
    lets = _LETS.match(plain)
    if lets:
        return _we_should(plain[lets.end() :])
    return _we_should(plain) if is_demand(plain) and _no_subject(plain) else None


def _no_subject(text: str) -> bool:
    """True where a base verb opens the text rather than a noun that looks like one."""
    words = text.split(" ")
    first = bare(words[0])
    if first in {"don't", "never", "stop"} or first in BASE_VERBS:
        return not (len(words) > 2 and "aux" in tags(words[1]))
    return "n" not in tags(first)


def _we_should(demand: str) -> Statement | None:
    words = demand.split(" ")
    first = bare(words[0])
    if first in {"don't", "never", "not"}:
        rest = mid_sentence(" ".join(words[1:]))
        return Statement(f"We should not {rest}", f"We should {rest}")
    if first == "do" and len(words) > 2 and bare(words[1]) == "not":
        rest = " ".join(words[2:])
        return Statement(f"We should not {rest}", f"We should {rest}")
    text = f"We should {mid_sentence(demand)}"
    opposite = negation_of(text)
    return None if opposite is None else Statement(text, opposite)


def whole(text: str, *, least: int = 3, trusted: bool = False) -> Statement | None:
    """A text of at least ``least`` words that is a statement already, with its opposite; None for a
    mere topic. ``trusted`` as for ``negation_of``.
    """
    from perspective_rag.perspectives.clauses import as_statement, statement_of
    from perspective_rag.perspectives.words import finite_verb

    words = text.split(" ")
    if len(words) < least:
        return None
    asked = statement_of(text)
    if asked is not None:
        return asked
    verb = finite_verb(words, trusted=trusted)
    gerund = "g" in tags(words[0]) and not trusted
    if verb is not None and not trusted and _keywords(words, verb):
        return None
    if verb is None or (gerund and "aux" not in tags(words[verb])):
        return None
    return as_statement(text, trusted=trusted)


def _keywords(words: Sequence[str], verb: int) -> bool:
    """True for content words alone with no more than a past form among them."""
    plain = [tags(word) for word in words]
    joined = any(found & {"det", "prep", "pron", "conj", "aux"} for found in plain)
    return not joined and not plain[verb] & {"z", "v", "aux"}


def proposes(topic: str) -> bool:
    """True for a gerund with an object: something to do, which one can be for or against."""
    words = topic.split(" ")
    return ("g" in tags(words[0]) and len(words) > 1 and "n" not in tags(words[0]) - {"g"}) or (
        "g" in tags(words[0]) and len(words) > 2
    )


def _unquoted(topic: str) -> str:
    return topic.strip(" \"'“”:")


__all__ = ["motion", "plural_ending", "poles", "topic_sides", "whole"]


_SUPPORTS = (
    r"(?:support|back|defend|favou?r|agree with|confirm|argue for|argue that|is in favou?r of"
    r"|are in favou?r of|prove|show|strengthen|justify|speak for)"
)
_OPPOSES = (
    r"(?:oppose|undermine|refute|attack|contradict|reject|rebut|counter|dispute|challenge|deny"
    r"|disagree with|argue against|is against|are against|weaken|disprove|debunk|speak against"
    r"|criticise|criticize)"
)
_OBJECT = (
    r"(?:the |this |that )?(?:following )?"
    r"(?:argument|claim|statement|view|idea|position|sentence|proposal|notion|thesis|belief)?"
    r"(?: that)?"
)
_THINGS = (
    r"(?:counter[- ]?)?(?:arguments?|reasons?|evidence|case|points?|claims?|proof|studies|sources"
    r"|passages?|articles?|documents?|texts?|criticism|objections?|support)"
)
_CARRIED = re.compile(
    r"^(?P<instruction>"
    r"(?:please )?(?:find|show|give|list|search for|look for|retrieve|get|name|i need|i want"
    r"|i'm looking for|provide|fetch)\b.{0,60}?"
    r"\b(?:(?:that|which|who)\s+(?:would |could |can )?|(?:to|supporting|opposing)\s*)"
    rf"(?:(?P<support>{_SUPPORTS})|(?P<oppose>{_OPPOSES}))s?(?:\s+with)?\s*{_OBJECT})"
    r"\s*[:,-]?\s+(?P<root>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_ARGUMENTS = re.compile(
    r"^(?P<instruction>(?:(?:please )?(?:what(?:'s| is| are)|give me|list|show me|find|find me|name"
    r"|i need|i want|tell me|provide|make) )?"
    r"(?:the |some |an? |any |main |best |strongest |good |your )*"
    rf"{_THINGS}\s+"
    rf"(?:(?P<support>for|in favou?r of|supporting|to support|pro|backing|in support of|that)"
    rf"|(?P<oppose>against|opposing|to oppose|contra|refuting|to refute|rebutting|to))"
    rf"\s*{_OBJECT})"
    r"\s*[:,-]?\s+(?P<root>.+?)$",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"^(?P<instruction>(?:the )?(?:(?P<support>why|support for|in favou?r of|in defen[cs]e of"
    r"|(?:please )?(?:explain|tell me|(?:give me )?reasons) why|argue (?:for|that)"
    r"|defend|make the case for|the case for)"
    r"|(?P<oppose>against|argue against|refute|rebut|counter|debunk|disprove"
    r"|make the case against|the case against|criticism of|criticisms of|objections to"
    r"|drawbacks of|disadvantages of|downsides of|dangers of|problems with))"
    rf"\s*{_OBJECT})\s*[:,-]?\s+(?P<root>.+?)$",
    re.IGNORECASE,
)
_PRO = re.compile(
    r"^(?P<instruction>(?:what are |list )?(?:the |some |main )*(?:benefits|advantages|upsides"
    r"|merits)"
    r" of)\s+(?P<root>.+?)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Carried:
    """The side asked for, what it is a side of, and the words that asked for it."""

    instruction: str
    root: str
    statement: Statement
    stance: Stance


def carried_side(text: str) -> Carried | None:
    """The one side that a text asks for; None where it asks for none or for both."""
    plain = text.strip().rstrip("?. ")
    for pattern in (_CARRIED, _ARGUMENTS, _PRO, _ALONE):
        match = pattern.match(plain)
        if match is None:
            continue
        groups = match.groupdict()
        support = (groups["support"] or "").lower()
        if pattern is _ALONE and (
            support == "why" or (support.endswith(" why") and not DISPUTED.search(match["root"]))
        ):
            continue
        if pattern is _ARGUMENTS and _not_a_side(match):
            continue
        opposes = bool(groups.get("oppose")) or "counter" in match["instruction"].lower()
        root = match["root"].strip().strip("\"'“” ").strip()
        if not root or root.lower().startswith(("and against", "and con")):
            return None
        statement = whole(root) or good_idea(root)
        return Carried(
            match["instruction"].strip(), root, statement, "oppose" if opposes else "support"
        )
    return None


def _not_a_side(match: re.Match[str]) -> bool:
    """ "counterarguments to X" is one, "reasons to visit Rome" is not."""
    link = (match["support"] or match["oppose"]).lower()
    counter = (
        "counter" in match["instruction"].lower() or "objection" in match["instruction"].lower()
    )
    return (link == "to" and not counter) or match["root"].lower().startswith("and against")
