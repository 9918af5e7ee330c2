"""A side that the question itself asks for: "arguments against X", "find evidence for: X"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from perspective_rag.extract.facts import DISPUTED
from perspective_rag.extract.leading import good_idea
from perspective_rag.extract.statement import Statement
from perspective_rag.extract.topics import whole
from perspective_rag.types import Stance

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
