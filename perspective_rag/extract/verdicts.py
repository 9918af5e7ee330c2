"""Questions that only ask what one thinks of the sentence before ("Is that true?"), and views that
are set against each other ("Some say A, others say B").
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from perspective_rag.extract.context import antecedents, resolved
from perspective_rag.extract.english import bare, upper_first
from perspective_rag.extract.sanity import sound_sides
from perspective_rag.extract.statement import as_statement
from perspective_rag.extract.verbs import finite_verb

_VERDICT = re.compile(
    r"^(?:and |so |but |well,? )?(?:is|are|was|were) (?:that|this|it|he|she|they|these)"
    r"(?: really| actually| at all| all)? (?:true|right|so|correct|the case|fair|wrong|false|valid"
    r"|justified|accurate|a fact|reasonable|just|really so)?(?: or (?:not|false|wrong|no))?$"
    r"|^(?:do|would|don't) you (?:also |all )?(?:agree|disagree|think so|believe (?:that|it|this"
    r"|so)"
    r"|buy (?:that|it|this)|see it that way|share (?:this|that|his|her|their) view"
    r"|think (?:that's|that is|it is|he's|he is|she is|they are) (?:right|true|fair))"
    r"(?: or (?:not|disagree))?(?: with (?:that|this|him|her|them|it))?$"
    r"|^is there (?:any|some)(?:thing| truth) (?:to|in|behind) (?:it|that|this)$"
    r"|^(?:agree|disagree|true|false|right|thoughts|any thoughts|your thoughts|opinions|discuss"
    r"|why|why not|why or why not|explain|really|correct|comments|views|yes or no|true or false"
    r"|agree or disagree|fact or myth|please explain|what now|thanks|thank you|thanks in advance"
    r"|thanks a lot|cheers|help|please|please help|please advise|any ideas|just curious|ideas"
    r"|explain (?:your|why).{0,40}|give reasons.{0,40}|justify your.{0,40}|am i (?:right|wrong)"
    r"|is that so|does (?:that|this|it) (?:make sense|hold|hold up|hold water)|who knows"
    r"|can (?:that|this) be (?:true|right)|could (?:that|this) be true)$"
    r"|^(?:what|how) (?:do|would|about|did|is|are|say|does) (?:you|everyone|people|your|others"
    r"|the)\b"
    r".{0,30}?(?:think|say|feel|believe|reckon|view|take|opinion|thoughts|verdict|see it|you"
    r"|answer)?"
    r"(?: about (?:it|this|that)| of (?:it|this|that)| on (?:it|this|that))?$"
    r"|^(?:who|which (?:one|side|view|of them|of the two))(?: of (?:them|the two))?"
    r" (?:is|was|are|has|had|do you|would you)"
    r" (?:more )?(?:right|correct|wrong|true|better|the (?:better|stronger|best) (?:argument|case"
    r"|point)"
    r"|closer to the truth|agree with|side with|believe|support|think is right|a point)$"
    r"|^(?:where do you stand|what(?:'s| is) (?:right|true|your view|your opinion|your take)"
    r"|who(?:'s| is) right|whose side are you on|what do you make of (?:it|this|that))$",
    re.IGNORECASE,
)
_SAYS = (
    r"(?:say|says|said|think|thinks|thought|believe|believes|believed|argue|argues|argued|claim"
    r"|claims|claimed|hold|holds|held|insist|insists|maintain|maintains|wrote|taught|feel|feels"
    r"|reckon|reckons|contend|contends|swear|swears)"
)
_ONE = re.compile(rf"^(?P<who>(?:[\w'.-]+ ){{1,7}}?){_SAYS}(?: that)? (?P<view>.+)$", re.IGNORECASE)
_DISAGREED = re.compile(
    r"^(?:while |whereas |but |and |though |yet )?(?:[\w'.-]+ ){1,7}?(?:disagreed?s?|differ(?:s"
    r"|ed)?"
    r"|den(?:y|ies|ied)(?: (?:it|this|that))?|do(?:es)? not|don't|doesn't|did not|didn't"
    r"|(?:think|say|thought|said|believe)s? (?:not|otherwise|the opposite|the contrary)"
    r"|object(?:s|ed)?|beg(?:s|ged)? to differ|dispute(?:s|d)? (?:it|this|that)"
    r"|(?:was|were|is|are) (?:against (?:it|this|that)|not so sure|sceptical|skeptical"
    r"|unconvinced))$",
    re.IGNORECASE,
)
_CUT = re.compile(r"\s*[,;]\s+|\.\s+|\s+(?=(?:while|whereas|but) )")


def asks_verdict(sentence: str) -> bool:
    """True for a sentence that only asks what one thinks of what was said before it."""
    return len(sentence) < 90 and bool(_VERDICT.match(sentence.strip().rstrip("?!. ")))


_PLANS = re.compile(
    r"^(?P<who>.{3,80}?) (?:also |now |even )?(?:(?:wants?|plans?|intends?|proposes?|hopes?|wishes)"
    r"|(?:is|are) (?:going|planning|about|hoping)|has decided|have decided) to (?P<what>.+)$",
    re.IGNORECASE,
)
_PERSONS = frozenset("i we he she you they it who".split())


def planned(sentence: str) -> str | None:
    """What somebody is said to plan, as a demand: whether it is fair asks whether it should be.

    "The city wants to ban cars" gives "The city should ban cars"; None for any other sentence.
    """
    match = _PLANS.match(sentence.strip().rstrip("?!. "))
    if match is None or bare(match["who"].split(" ")[-1]) in _PERSONS:
        return None
    return f"{match['who']} should {match['what']}"


def contrasted(parts: Sequence[Sequence[str]]) -> list[str]:
    """The two views that a text sets against each other; empty where it does not."""
    text = " ".join(" ".join(part) for part in parts)
    if len(text) > 600:
        return []
    pieces = [piece.strip(" .?!,;") for piece in _CUT.split(text)]
    pieces = [piece for piece in pieces if piece]
    for i in range(len(pieces) - 1):
        found = _pair(pieces[i], pieces[i + 1])
        if found:
            return found
    return []


def _pair(one: str, other: str) -> list[str]:
    first = _ONE.match(one)
    if first is None or bare(first["who"].split(" ")[0]) in {"do", "would", "did", "what", "who"}:
        return []
    view = upper_first(first["view"])
    verb = finite_verb(view.split(" "), trusted=True)
    if verb is None:
        return []
    if _DISAGREED.match(other):
        claim = as_statement(view)
        return [claim.text, claim.negation] if claim else []
    opener = other.lower().removeprefix("while ").removeprefix("whereas ").removeprefix("but ")
    others = opener.removeprefix("and ").removeprefix("the ").startswith("other")
    second = _view(other, others)
    if second is None:
        return []
    subject = " ".join(view.split(" ")[:verb])
    words = second.split(" ")
    if bare(words[0]) in {"it", "they", "he", "she"} and bare(subject.split(" ")[0]) not in {"it"}:
        second = " ".join([subject, *words[1:]])
    whole = resolved(second, antecedents([view.split(" ")])) or second
    sides = [view, upper_first(whole)]
    return sides if sound_sides(sides) else []


def _view(piece: str, others: bool) -> str | None:
    """The view in "others that it is invented" or "Aristotle said that it is not"."""
    plain = re.sub(r"^(?:while|whereas|but|and|though|yet) ", "", piece, flags=re.IGNORECASE)
    match = _ONE.match(plain)
    if match is not None:
        return match["view"]
    if not others:
        return None
    rest = re.sub(
        r"^(?:the )?others?(?: (?:camp|side|half|people|experts|one|group))?(?: that)? ", "", plain,
        count=1, flags=re.IGNORECASE,
    )  # fmt: skip
    words = rest.split(" ")
    return rest if finite_verb(words) is not None else None
