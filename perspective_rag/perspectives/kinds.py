"""What kind of question it is: disputed, factual, personal, a task, small talk."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perspective_rag.perspectives.words import (
    ANYONES,
    AUXILIARIES,
    MODALS,
    OBJECT_PRONOUNS,
    POSSESSIVES,
    PREPOSITIONS,
    SUBJECT_PRONOUNS,
    WH_WORDS,
    bare,
    finite_verb,
    tags,
    verb_share,
)
from perspective_rag.perspectives.wrapping import is_talk
from perspective_rag.types import Kind

# What people dispute, whatever else a question looks like.
DISPUTED = re.compile(
    r"\b(?:should|ought|better|best|worse|worst|good|bad|great|evil|rights?|wrong|(?:un)?fair\w*"
    r"|terrible|horribl\w*|awful|stupid|plausible|(?:un)?just|injust\w+|justi\w+|im?moral\w*|(?:un)?ethic\w*|(?:un)?safe\w*|danger\w*|harm\w*"
    r"|hurts?|damag\w*|threat\w*|risk\w*|benefi\w*|(?:un)?health\w*|(?:un)?necessary|important"
    r"|(?:un)?worth\w*|waste\w*|(?:in)?effective\w*|use(?:ful|less)|success\w*|fail\w*|too|enough"
    r"|\w+rated|(?:un)?acceptable|legitima\w*|(?:ir)?responsib\w*|blame|fault|caus\w+|racis\w+"
    r"|sexis\w+|cruel\w*|tyran\w+|hero\w*|myth|true|really|truly|real|exist\w*|god|believe\w*"
    r"|religio\w*|obsolete|outdated|deserve\w*|solve\w*|interfer\w+|collu\w+|stolen|rigged|faked?"
    r"|hoax|wars?|econom\w+|freedom|democra\w+|problem\w*|cris[ei]s|obstacle\w*|controvers\w+)\b",
    re.IGNORECASE,
)
_TECHNICAL = (
    r"\b(?:apis?|json|pdfs?|urls?|sql|python|java(?:script)?|linux|router|wi-?fi|usb|config\w*|csv"
    r"|html|docker|git|pip|regex|hash ?(?:map|table)s?|passwords?|log ?in|server|printer)\b"
)
_MEASURED = (
    r"(?:tall|long|old|young|larg|bigg|small|heavi|light|high|deep|hott?|cold|short|wid|fast)"
)
_FACTS = re.compile(
    rf"{_TECHNICAL}"
    # the asker's place and time
    r"|\b(?:nearby$|near (?:me|here)|tomorrow|tonight|in stock|opening hours"
    r"|(?:on|every) (?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b"
    # who or what holds a place, and what can be measured or counted
    r"|^(?:is|are|was|were) "
    rf".+ (?<!\bby )(?<!\bto )(?<!\bfor )(?<!\bfrom )(?<!\bwith )(?<!against )the (?:\w+ ){{1,2}}"
    rf"of(?: the)?(?-i:(?: [A-Z]\S*)+)$|^(?:is|are|was|were) .+ the {_MEASURED}est\b"
    rf"|^the {_MEASURED}est .*\bis\b"
    rf"|^the \w+ of \w+ (?:is|was) (?-i:[A-Z])\w*$"
    rf"|\b{_MEASURED}(?:e?r|ier) than \S+(?: \S+){{0,2}}$"
    rf"|^(?:which|what|who) .*\b{_MEASURED}e?(?:st|r)\b"
    r"|^(?:is|are) \d[\d.,]* (?!too|still)|\b(?:celsius|fahrenheit|\d degrees|square root)\b"
    # what something is made of, where it is, what happened, to whom and when
    r"|\b(?:made (?:up )?of|short for|known as|located in|native to|spoken in)\b"
    r"|\bcontains? (?:any )?\w+$|^(?:do|does|did) \S+(?: \S+)? (?:border|orbit|hibernate)\b"
    r"|^(?:do|does|did) (?:\S+ ){1,3}(?:live|grow|nest|occur) (?:in|on) (?-i:[A-Z])"
    r"|^(?:is|was|were) .+ (?:born|buried|filmed|published|released|founded|written|painted)\b"
    r"|^did (?:\S+ ){1,4}(?:write|compose|paint|direct|marry|die)\b"
    r"|^(?:did|has|have) (?:\S+ ){1,4}(?:win|won) .*\b(?:cup|prize|oscars?|medals?|championships?)$"
    r"|^(?:did|was|were) (?:\S+ ){2,7}(?:in|on) (?:\w+ )?(?:\d{3}|1\d{3}|20\d\d)$",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"\b\w+\([^()]{0,80}\)\s*(?::|;|\{|$)|\b(?:[A-Z]\w+(?:Error|Exception)):|^Traceback\b"
    r"|[{};]\s*$|=>|==|!=|\bSELECT\b.{1,200}\bFROM\b|</?\w{1,20}>|#include|\bprint\("
    r"|^(?:import|def|class|from|const|var|sudo|git|pip|npm|docker|curl) [\w./-]+"
    r"(?:$| [\w./-]*[=({./]|$| -)|^(?:git|pip|npm|sudo|docker) [a-z]+|^\s*[\w.]+\s*=\s*[\w\"'\[{(]"
)
_MATHS = re.compile(
    r"(?<!\b\d{3})\d\s*(?:[-+*/x×÷^=]|plus|minus|times|divided by)\s*\d"
    r"|\b(?:square|cube) root of\b|\b\d+(?:\.\d+)?\s?% of \d|\bconvert \d",
    re.IGNORECASE,
)
# What one asks a machine to do, rather than a government.
_TASKS = frozenset(
    "set play write remind translate call send show turn book order add find generate convert"
    " calculate summarise summarize draft schedule search print delete tell explain define describe"
    " list compose give recommend suggest check cancel wake help provide".split()
)
_OWN = frozenset("i me my mine myself".split())
_GREETINGS = frozenset(
    "hi hello hey hiya yo thanks thank thx cheers bye goodbye ok okay cool great nice perfect lol"
    " interesting see got mind sense helps helped morning evening welcome test testing wow sorry"
    " sure alright yes no helpful clear".split()
)
_SMALL = frozenset(
    "you a lot very so much that this it i makes make never there well all now good day 's is was"
    " that's it's again everyone quite really fine point to know for your help the oh ah".split()
)
_JUDGES = frozenset("think thinks feel see view say make rate rank judge believe".split())
_COUNTED = frozenset("many old tall long often high deep heavy fast late early to".split())
_LEFT_OPEN = PREPOSITIONS | AUXILIARIES | frozenset("the called named".split())


def kind_of(text: str) -> Kind | None:
    """The kind of an input that invites no perspectives, as far as its wording tells; None for any
    other.

    "chat" is small talk, "request" a task, a piece of code or a sum, "personal" about the asker's
    own affairs ("Should I text her back?"), "factual" has one answer to look up. What has a word of
    what people dispute ("better", "safe", "should") is not taken for a fact: a debate taken for one
    loses what the pipeline is for. Reads English only.
    """
    plain = text.rstrip("?.! ")
    if is_chat(plain):
        return "chat"
    if is_code(text) or _MATHS.search(plain) or _is_task(plain):
        return "request"
    if _is_personal(plain):
        return "personal"
    return "factual" if _FACTS.search(plain) and not DISPUTED.search(plain) else None


def is_chat(text: str) -> bool:
    """True for small talk: a greeting, thanks, "I see", a question about whom one talks to."""
    words = [word for each in text.split() if (word := bare(each))]
    if not words:
        return True
    if len(words) > 8 or words[0] in AUXILIARIES:
        return False
    closed = AUXILIARIES | WH_WORDS | {"you", "your", "name", "do", "up", "what's", "how's"}
    if words[0].removesuffix("'s") in WH_WORDS:
        return set(words) <= closed and not {"you", "your", "up"}.isdisjoint(words)
    return not _GREETINGS.isdisjoint(words) and set(words) <= _GREETINGS | _SMALL


def is_code(text: str) -> bool:
    """True for a piece of a program, a shell command or an error message."""
    return bool(_CODE.search(text))


def _is_task(text: str) -> bool:
    """True for an imperative that asks for something to be done now, not for a policy, also behind
    "could you"; what is to be told "whether" is no task.
    """
    words = [word for each in text.split() if (word := bare(each)) not in {"please", "kindly"}]
    if len(words) > 2 and words[0] in {"can", "could", "will"} and words[1] in {"you"} | ANYONES:
        words = words[2:]
    if len(words) < 2 or words[0] not in _TASKS or words[1] in AUXILIARIES:
        return False
    if not {"whether", "if", "should"}.isdisjoint(words):
        return False
    noun = tags(words[0]) & {"n", "a"} and not AUXILIARIES.isdisjoint(words[2:])
    names = text.split()[1][:1].isupper() and words[0] in {"give", "call", "send"}
    return not noun and not names  # "Draft registration should end", "Give Gibraltar to Spain"


def _is_personal(text: str) -> bool:
    """True for a question about the asker's own affairs, which no other person can answer."""
    words = [bare(word) for word in text.split()]
    if len(words) < 3:
        return words == ["am", "i"]
    if words[0] in WH_WORDS - {"how", "why"} and words[1] in AUXILIARIES and words[2] in _OWN:
        return True
    if words[0] not in AUXILIARIES:
        return False
    if words[1] == "i":
        own = OBJECT_PRONOUNS | POSSESSIVES | {"the", "this", "here"}
        general = "or" in words or (words[0] != "am" and bool(DISPUTED.search(" ".join(words[1:]))))
        return (
            not general or not own.isdisjoint(words[2:]) or bool(re.search(_TECHNICAL, text, re.I))
        )
    return words[1] == "my" or (words[1] in {"he", "she"} and not _OWN.isdisjoint(words))


def is_open(question: str) -> bool:
    """Whether a text that names no perspectives itself may still be answered differently by
    different people: a topic, or a question such as "What should be done about ...?".

    Of questions only those that ask for a judgement or a way are; in doubt, and for "how do I",
    none is. Reads English only.
    """
    text = question.strip()
    words = [bare(word) for word in text.split()]
    first = words[0].removesuffix("'s") if words else ""
    if asked_about(words) is not None:
        return True
    if first not in WH_WORDS:
        return not asks_for_a_word(text) and (not text.endswith("?") or bool(DISPUTED.search(text)))
    judges = not _JUDGES.isdisjoint(words) or "opinion" in words
    if first == "how" and len(words) > 2:
        how = words[1]
        article = words[2] in {"a", "an", "the"} or how in {"many", "to"}
        cost = how == "much" and not {"cost", "costs", "weigh", "earn"}.isdisjoint(words)
        weighed = how == "much" and words[2] in AUXILIARIES and len(words) < 7
        counted = how in _COUNTED | {"big", "far"} and not (how == "big" and article)
        own = how in AUXILIARIES and words[2] in {"i", "you", "my", "your", "one"} and not judges
        far = how == "far" and words[2] in {"has", "have", "did", "should", "do"}
        return far or not (counted or cost or (weighed and words[2] == "is") or own)
    if first == "why":
        return True
    asks = judges or not MODALS.isdisjoint(words[1:]) or bool(DISPUTED.search(text))
    return asks or words[1:2] == ["makes"] or is_talk(words)


def asked_about(words: Sequence[str]) -> list[str] | None:
    """What "thoughts on X" or "what do you think about X" is about; None for any other text."""
    for i, word in enumerate(words[1:10], start=1):
        if bare(word) in {"on", "about", "of", "regarding"} and i + 1 < len(words):
            said = is_talk(words[:i]) and any(bare(each) in _SAID for each in words[:i])
            return list(words[i + 1 :]) if said else None
    return None


_SAID = frozenset("thoughts opinion opinions view views think feel say take stance thought".split())


def asks_for_a_word(question: str) -> bool:
    """True for a question in the order of a statement that leaves a place open: "In which year did
    Rome fall?", "The longest river in Africa is called?".
    """
    words = [bare(word) for word in question.split()]
    if not words:
        return False
    ended = question.rstrip().endswith((".", "!"))
    if words[0] in PREPOSITIONS and not WH_WORDS.isdisjoint(words[1:4]):
        return True
    if words[-1] in _LEFT_OPEN and not ended and words[0] not in AUXILIARIES:
        return True
    for i, word in enumerate(words[1:-1], start=1):
        asks = word in {"what", "which", "whose", "whom"} or words[i : i + 2] in (
            ["how", "many"], ["how", "much"], ["who", "is"], ["who", "was"]
        )  # fmt: skip
        if asks:
            told = i > 2 and finite_verb(words[:i]) is not None
            relative = word == "which" and words[i + 1] in AUXILIARIES | SUBJECT_PRONOUNS | {"to"}
            return not (told and (relative or ended or not question.rstrip().endswith("?")))
    return False


def is_demand(text: str) -> bool:
    """True for an imperative that proposes something ("Abolish private schools")."""
    words = text.split()
    first = bare(words[0]) if words else ""
    persons = SUBJECT_PRONOUNS - {"it", "you", "there"}  # "Dare we trust the polls"
    if len(words) < 2 or first in SUBJECT_PRONOUNS or bare(words[1]) in persons:
        return False
    if first in {"don't", "never", "stop", "let's"}:
        return True
    likely = verb_share(first) > 0.5 or (
        verb_share(first) >= 0.35 and bool(tags(words[1]) & {"det", "s", "P", "a"})
    )
    if not likely or (len(words) > 2 and "aux" in tags(words[1])):
        return False
    place = finite_verb(words)
    # A participle does not carry a text: "Pay teachers based on merit".
    return place is None or (
        {"p", "d"} <= tags(words[place])
        and (bare(words[place]) == "based" or "n" not in tags(first))
    )
