"""Questions that invite no perspectives, by rule: facts, requests, and the asker's own affairs."""

from __future__ import annotations

import re

from perspective_rag.extract.english import WH_WORDS

# What people dispute, whatever else a question looks like.
_DISPUTED = re.compile(
    r"\b(?:should|ought|better|best|worse|worst|good|bad|great|evil|right|rights|wrong|fair\w*"
    r"|unfair\w*|just|unjust|justif\w+|justice|moral\w*|immoral\w*|ethic\w*|unethical\w*|safe\w*"
    r"|unsafe|danger\w*|harm\w*|hurts?|damag\w*|threat\w*|obstacle\w*|risk\w*|benefi\w*|health\w*"
    r"|unhealthy|necessary|important|worth\w*|waste\w*|effective\w*|ineffective|useful|useless"
    r"|success\w*|fail\w*|too|enough|overrated|underrated|desirable|acceptable|legitima\w*"
    r"|responsib\w*|blame|fault|caus\w+|lead to|racis\w+|sexis\w+|cruel\w*|tyran\w+|hero\w*|myth"
    r"|true|really|truly|real|exist\w*|god|believe\w*|religio\w*|obsolete|outdated|deserve\w*"
    r"|solve\w*|interfer\w+|invade\w*|collude\w*|stolen|rigged|faked?|hoax|alien\w*|war|wars"
    r"|econom\w+|freedom|free speech|democra\w+|problem\w*|crisis|debate\w*|controvers\w+)\b",
    re.IGNORECASE,
)
_TECHNICAL = (
    r"\b(?:apis?|json|pdfs?|https?|urls?|sql|python|javascript|typescript|java|linux|ubuntu|router"
    r"|wi-?fi|usb|bluetooth|headphone jack|config\w*|cli|csv|xml|html|css|docker|kubernetes|git"
    r"|github|npm|pip|regex|hash ?(?:map|table)s?|linked lists?|passwords?|log ?in|dropdown|sdk"
    r"|localhost|spreadsheet|printer)\b"
)
_MEASURED = (
    r"(?:tall|long|old|young|larg|bigg|small|heavi|light|high|deep|hott?|cold|short|wid|clos|fast)"
)
_ROLES = (
    r"(?:capital|president|prime minister|king|queen|author|founder|ceo|mayor|governor|currency"
    rf"|{_MEASURED}est|first|second|third|population|square root|atomic number"
    r"|(?:national|official|chemical|highest|largest) \w+|(?:\w+ )?(?:son|daughter|father|mother"
    r"|wife|husband|brother|sister) of)"
)

_REQUESTS = re.compile(
    r"^(?:please )?(?:(?:can|could|would|will) you (?:please )?(?:explain|tell|show|give|help|list"
    r"|find|write|summari[sz]e|describe(?! .* as )|translate|send|define|recommend|suggest|provide"
    r"|check)\b"
    r"|(?:explain|define|describe|summari[sz]e|translate|calculate|remind)\b"
    r"|(?:tell|show|give) me\b)",
    re.IGNORECASE,
)
_OWN_AFFAIRS = re.compile(
    r"^(?:am|can|could|do|did|have|will|may|must|was|where) i\b"
    r"|^(?:is|are|was|were|has|have|does|do|did|will|can|could) my\b",
    re.IGNORECASE,
)
_OWN_CHOICE = re.compile(rf"^(?:should|shall) (?:i|we)\b.*(?:\bhere\?|{_TECHNICAL})", re.IGNORECASE)
_FACTS = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (_TECHNICAL, re.IGNORECASE),
        # a place or a time of the asker's
        (
            r"\b(?:nearby|near (?:me|here)|tomorrow|tonight|in stock|opening hours"
            r"|(?:open|closed?) (?:on \w+day|at \d+)|available (?:on|in|at))\b",
            re.IGNORECASE,
        ),
        # who holds a place or an office
        (rf"^(?:is|are|was|were) .+ the {_ROLES}\b", re.IGNORECASE),
        (rf"^the {_ROLES} .*\b(?:is|was)\b", re.IGNORECASE),
        # what can be measured
        (rf"^(?:\S+ ){{2,7}}{_MEASURED}(?:e?r|ier) than \S+(?: \S+){{0,2}}$", re.IGNORECASE),
        (rf"^(?:which|what|who) .*\b{_MEASURED}(?:e?st|e?r)\b", re.IGNORECASE),
        (r"^(?:is|are) \d|\b(?:prime number|divisible|square root)\b", re.IGNORECASE),
        (r"\b(?:celsius|fahrenheit|\d degrees|room temperature)\b", re.IGNORECASE),
        # what something is made of, called, or where it is
        (
            r"\b(?:made (?:up )?of|short for|another name for|known as|located in|native to"
            r"|spoken in)\b",
            re.IGNORECASE,
        ),
        (
            r"\bcontains? (?:any )?(?:carbon|gluten|caffeine|lactose|sugar|alcohol|nuts|oxygen"
            r"|hydrogen|nitrogen|protein|meat|pork|gelatine?|iron|salt|dairy)\b",
            re.IGNORECASE,
        ),
        (
            r"^(?:does|do|did) \S+(?: \S+)? (?:border|orbit|hibernate|lay eggs|rhyme)\b",
            re.IGNORECASE,
        ),
        (r"^(?:[Dd]o|[Dd]oes|[Dd]id) (?:\S+ ){1,3}(?:live|grow|nest|occur) (?:in|on) [A-Z]", 0),
        # what happened, to whom and when
        (
            r"^(?:is|was|were) .+ (?:born|buried|filmed|published|released|founded|written|painted"
            r"|composed|recorded|crowned|directed)(?: (?:in|on|at|by|near)\b.*)?$",
            re.IGNORECASE,
        ),
        (
            r"^did (?:\S+ ){1,4}(?:write|compose|paint|direct|star in|marry|die|graduate|attend)\b",
            re.IGNORECASE,
        ),
        (
            r"^(?:did|has|have) (?:\S+ ){1,4}(?:ever )?(?:win|won) .*"
            r"\b(?:cup|prize|oscars?|awards?|medals?|title|championships?|series|grammys?)$",
            re.IGNORECASE,
        ),
        (
            r"^(?:did|was|were) (?:\S+ ){2,7}(?:in|on) (?:\w+ )?(?:\d{3}|1\d{3}|20\d\d)$",
            re.IGNORECASE,
        ),
    )
)

_ASKS_LATE = re.compile(
    r"\b(?:what|which|whose|whom|how (?:many|much|long|old|far)"
    r"|who(?:['’]s)? (?:is|was|does|did|plays?|won|wrote))\b",
    re.IGNORECASE,
)
_LEADS = frozenset("in for by on at of to from with into about under around during".split())
_LEFT_OPEN = frozenset(
    "of for in by to on at as with from into than after before when is are was were the called"
    " named said known located".split()
)
# Questions for which people have answers of their own, not one that can be looked up.
_OPEN = re.compile(
    r"^(?:(?:why|how) (?:should|can|could|would|might|do|does|is|are)\b"
    r"|what (?:should|can|could|would|do (?:people|experts|we|you))\b"
    r"|(?:what|which)\b.*\b(?:best|better|worst|worse|good|right|wrong|fair\w*|pros|cons|arguments?"
    r"|opinions?|views?|reasons?|benefits?|harms?|risks?|effects?|impacts?|consequences|drawbacks"
    r"|advantages|disadvantages)\b)",
    re.IGNORECASE,
)
_ASKS_FOR_HELP = re.compile(r"^how (?:do|does|can|could|would) (?:i|you|my|your)\b", re.IGNORECASE)


def invites_perspectives(question: str) -> bool:
    """False for a question that has a settled answer or none to dispute, as far as its wording
    tells.

    A question is left as it is when it is a request ("Could you explain ..."), is about the asker's
    own affairs ("Do I need a visa?", "Should I use a hash map or a tree here?"), or has the form of
    one about an office, a measure, a place, a date or a product and no word of what people dispute
    ("better", "safe", "should"). In doubt it invites perspectives: a debate taken for a fact loses
    what the pipeline is for, a fact taken for a debate costs a few searches. Reads English only.
    """
    text = " ".join(question.split()).rstrip("?.! ")
    if _REQUESTS.match(text):
        return bool(re.search(r"\b(?:whether|if|should)\b", text, re.IGNORECASE))
    if _OWN_CHOICE.match(f"{text}?"):
        return False
    if _DISPUTED.search(text):
        return True
    return not (_OWN_AFFAIRS.match(text) or any(pattern.search(text) for pattern in _FACTS))


def is_open(question: str) -> bool:
    """Whether a text that names no perspectives itself may still be answered differently by
    different people: a topic, or a question such as "What should be done about ...?".

    Of questions only those that ask for a judgement or a way are; in doubt, and for "how do I",
    none is. Reads English only; a text in another language counts as a topic.
    """
    text = " ".join(question.split())
    if asks_for_a_word(text) and not _OPEN.match(text):
        return False
    if text.split(" ", 1)[0].lower().rstrip(",:") in WH_WORDS:
        return bool(_OPEN.match(text)) and not _ASKS_FOR_HELP.match(text)
    return not text.endswith("?") or bool(_DISPUTED.search(text))


def asks_for_a_word(question: str) -> bool:
    """True for a question in the order of a statement that leaves a place open: "In which year did
    Rome fall?", "The longest river in Africa is called?".
    """
    words = question.strip().rstrip("?. ").lower().split()
    if not words:
        return False
    opens = words[0] in _LEADS and not WH_WORDS.isdisjoint(words[1:4])
    return opens or words[-1] in _LEFT_OPEN or bool(_ASKS_LATE.search(question))
