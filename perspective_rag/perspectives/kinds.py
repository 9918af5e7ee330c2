"""What kind of question it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perspective_rag.perspectives.words import (
    AUXILIARIES,
    BASE_VERBS,
    OBJECT_PRONOUNS,
    POSSESSIVES,
    SUBJECT_PRONOUNS,
    WH_WORDS,
    bare,
    finite_verb,
    tags,
    verb_share,
)
from perspective_rag.types import Kind

# What people dispute, whatever else a question looks like.
DISPUTED = re.compile(
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
TECHNICAL = (
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

REQUESTS = re.compile(
    r"^(?:please )?(?:(?:can|could|would|will) you (?:please )?(?:explain|tell|show|give|help|list"
    r"|find|write|summari[sz]e|describe(?! .* as )|translate|send|define|recommend|suggest|provide"
    r"|check)\b"
    r"|(?:explain|define|describe|summari[sz]e|translate|calculate|remind)\b"
    r"|(?:tell|show|give) me\b)",
    re.IGNORECASE,
)
OWN_AFFAIRS = re.compile(
    r"^(?:am|can|could|do|did|have|will|may|must|was|where) i\b"
    r"|^(?:is|are|was|were|has|have|does|do|did|will|can|could) my\b",
    re.IGNORECASE,
)
OWN_CHOICE = re.compile(rf"^(?:should|shall) (?:i|we)\b.*(?:\bhere\?|{TECHNICAL})", re.IGNORECASE)
FACTS = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (TECHNICAL, re.IGNORECASE),
        # a place or a time of the asker's
        (
            r"\b(?:nearby\W*$|near (?:me|here)|tomorrow|tonight|in stock|opening hours"
            r"|(?:open|closed?) (?:on \w+day|at \d+)|available (?:on|in|at))\b",
            re.IGNORECASE,
        ),
        # who holds a place or an office
        (
            r"^(?:is|are|was|were) .+ (?<!\bby )(?<!\bto )(?<!\bof )(?<!\bfor )(?<!\bfrom )"
            rf"(?<!\bwith )(?<!against )the {_ROLES}\b",
            re.IGNORECASE,
        ),
        (rf"^the {_ROLES} .*\b(?:is|was)\b", re.IGNORECASE),
        # timetables and journeys
        (
            r"\b(?:on|every) (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
            r"|^(?:is|are) there (?:an? |any )?(?:\w+ )?(?:trains?|bus|buses|flights?|ferry|ferries"
            r"|pharmacy|atm|toilets?|car park|parking)\b",
            re.IGNORECASE,
        ),
        (
            r"^(?:[Dd]o|[Dd]oes|[Dd]id) (?:\S+ ){1,5}(?:fly|sail|run|go|ship|deliver|sell|stop) "
            r"(?:from|to|between|at) [A-Z]",
            0,
        ),
        (
            r"^(?:can|do|does) (?:an? |the )?\w+ (?:\w+ )?(?:fly|swim|bark|breathe|sting|hatch"
            r"|moult)\b",
            re.IGNORECASE,
        ),
        (
            r"^(?:do|does|is|are|will) (?:this|the next|these) (?:train|bus|flight|shop|store"
            r"|tram)\b",
            re.IGNORECASE,
        ),
        # what can be measured
        (rf"^(?:\S+ ){{2,7}}{_MEASURED}(?:e?r|ier) than \S+(?: \S+){{0,2}}$", re.IGNORECASE),
        (rf"^(?:which|what|who) .*\b{_MEASURED}(?:e?st|e?r)\b", re.IGNORECASE),
        (
            r"^(?:is|are) \d[\d.,]* (?:an? |the )?(?:prime|even|odd|divisible|square|factor"
            r"|multiple"
            r"|equal|more|less|greater|bigger)\b|\b(?:prime number|divisible|square root)\b",
            re.IGNORECASE,
        ),
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


_CHAT = frozenset(
    """
    hi hello hey hiya yo thanks thank thx cheers bye goodbye ok okay cool great nice wow lol haha
    hmm yes no yep nope sure sorry please morning evening afternoon night welcome test testing
    good you very much so well done there again a lot for your help the to all everyone
    """.split()
)
_CHAT_OPENERS = frozenset(
    "hi hello hey hiya thanks thank thx cheers bye goodbye ok okay cool great nice wow lol haha hmm"
    " yes no yep nope sure sorry good morning evening test testing welcome yo well".split()
)
_ABOUT_THE_MACHINE = re.compile(
    r"^(?:how are you|how(?:'s| is) it going|who (?:are|made|built) you|what(?:'s| is) your name"
    r"|what are you|what can you do|are you (?:an? )?(?:ai|bot|robot|human|real|there|ok|chatgpt)"
    r"|can you (?:help|hear) me|tell me (?:a joke|something)|what(?:'s| is) up|nice to meet you"
    r"|how old are you|i (?:love|like|hate) you)\b[^,;:]{0,20}$",
    re.IGNORECASE,
)
_ACKNOWLEDGED = re.compile(
    r"^(?:(?:oh|ah|ok|okay|great|well|thanks|thank you|cool|yes|right)\b[,.!]? )?"
    r"(?:(?:i (?:see|get it|understand)|got it|gotcha|understood|never ?mind|makes sense"
    r"|fair enough|good (?:point|to know|answer|one)|no problem|not now|perfect|awesome|excellent"
    r"|amazing|interesting|wonderful|brilliant|alright|all right|that'?s (?:all|it|enough)"
    r"|see you(?: later)?|have a (?:good|nice|great) (?:day|one|evening|weekend)"
    r"|you(?:'re| are) welcome|(?:that|this|it) (?:really )?(?:helps|helped|makes sense)"
    r"|(?:that(?:'s| is| was)|this is) (?:very |really |quite |so )?(?:helpful|interesting|great"
    r"|good|fine|nice|useful|clear|right|all i (?:need|wanted)))"
    r"(?: (?:now|thanks|thank you|a lot|then))?)$",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"\b\w+\([^()]{0,80}\)\s*(?::|;|\{|$)|\b(?:[A-Z]\w+(?:Error|Exception)):|^Traceback\b"
    r"|[{};]\s*$|=>|==|!=|\bSELECT\b.{1,200}\bFROM\b|</?\w{1,20}>|^(?:import|def|class|from|let"
    r"|const|var|sudo|git|pip|npm|docker|curl|cd|ls|chmod) [\w./-]+(?:$| [\w./-]*[=({./]|$| -)"
    r"|#include|\bprint\(|\bundefined is not\b|\bsegmentation fault\b|\bnull pointer\b"
    r"|^\s*[\w.]+\s*=\s*[\w\"'\[{(]"
)
_COMMANDS = re.compile(r"^(?:git|pip|npm|sudo|docker|kubectl) \w+", re.ASCII)
_MATHS = re.compile(
    r"(?<!\b\d{3})\d\s*(?:[-+*/x×÷^=]|plus|minus|times|divided by|to the power of)\s*\d"
    r"|\b(?:square|cube) root of\b|\b\d+(?:\.\d+)?\s?% of \d|\bsolve (?:for )?\w\b.{0,40}="
    r"|\bderivative of\b"
    r"|\bconvert \d",
    re.IGNORECASE,
)
_TASKS = frozenset(
    """
    set play write remind translate call send show turn book order add create find generate convert
    calculate summarise summarize draft schedule open search print copy paste delete rename tell
    explain define describe list compose proofread rewrite paraphrase correct give make cancel start
    wake navigate email text message remember repeat continue count sort rank download upload
    recommend suggest compare check switch
    """.split()
)
_TASK_OBJECTS = frozenset("me my this it a an the down up off on".split())
_OWN = frozenset("i me my mine myself".split())

# Questions for which people have answers of their own, not one that can be looked up.
_OPEN = re.compile(
    r"^(?:(?:why|how) (?:should|can|could|would|might|do|does|is|are)\b"
    r"|(?:what|which|who|where|when|whom|whose|how much|how many)\b.{0,200}?\b(?:should|ought)\b"
    r"|what (?:can|could|would|do (?:people|experts|we|you|they|economists|scientists))\b"
    r"|what do(?:es)? [\w' -]{1,60} (?:think|say|make|feel)\b"
    r"|what (?:makes?|does it mean|is the (?:meaning|point|purpose|role|future|value|nature) of)\b"
    r"|who(?:'s| is| are| was| were) (?:to blame|responsible|right|wrong|really)\b"
    r"|how (?:do|does|did) [\w' -]{1,80}\b(?:feel|think|view|see)\b"
    r"|how (?:worried|concerned|important|good|bad|safe|useful|effective|serious|dangerous|much"
    r"|well"
    r"|happy|satisfied|confident|fair|likely)\b"
    r"|how \w+ (?:an? \w+ )?(?:is|are|was|were|has|have|should)\b|how (?:big|great) an? \w+"
    r"|how (?:do|would) you (?:feel|see|view|rate|rank|judge)\b"
    r"|how far (?:has|have|did|should|do)\b|to what (?:extent|degree)\b"
    r"|(?:what|which|who)\b.*\b(?:best|better|worst|worse|good|right|wrong|fair\w*|pros|cons"
    r"|arguments?|opinions?|views?|reasons?|benefits?|harms?|risks?|effects?|impacts?|consequences"
    r"|drawbacks|advantages|disadvantages|greatest|most|biggest|thoughts|causes?|caused)\b)",
    re.IGNORECASE,
)
_THOUGHTS = re.compile(
    r"^(?:(?:any|your|some|more) )?(?:thoughts|opinions?|views?|feelings|takes?) (?:on|about|of)\b",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"^how (?:many|old|tall|long|far(?! (?:has|have|did|should|do)\b)|often|big(?! an? )|high|deep"
    r"|heavy|fast|late|early)\b"
    r"|^how much (?:is|are|does|do|did|was|were)\b.{0,80}\b(?:cost|weigh|earn|costs|weighs)\b"
    r"|^how much (?:is|are|was|were) (?:an? |the )?[\w -]{1,30}$"
    r"|^how to\b|^how (?:do|does|can|could|would|should) (?:i|you|my|your|one)\b"
    r"(?! (?:feel|see|view|rate|rank|judge|think)\b)",
    re.IGNORECASE,
)
_ASKS_LATE = re.compile(
    r"\b(?:what|which|whose|whom|how (?:many|much|long|old|far)"
    r"|who(?:['’]s)? (?:is|was|does|did|plays?|won|wrote))\b",
    re.IGNORECASE,
)
_AFTER_RELATIVE = AUXILIARIES | SUBJECT_PRONOUNS | {"to"}
_LEADS = frozenset("in for by on at of to from with into about under around during".split())
_LEFT_OPEN = frozenset(
    "of for in by to on at as with from into than after before when is are was were the called"
    " named said known located".split()
)
_FAMILY = frozenset("baby son daughter wedding dog cat marriage kid kids house flat".split())
_AFFECTED = frozenset("her him them us".split()) | {"boyfriend", "girlfriend", "husband", "wife"}


def kind_of(text: str) -> Kind | None:
    """The kind of an input that invites no perspectives, as far as its wording tells; None for any
    other.

    "chat" is small talk, "request" a task, a piece of code or a sum, "personal" about the asker's
    own affairs ("Should I text her back?"), "factual" has one answer to look up. What has a word of
    what people dispute ("better", "safe", "should") is factual only by its form as a task: a debate
    taken for a fact loses what the pipeline is for. Reads English only.
    """
    plain = text.rstrip("?.! ")
    if is_chat(plain):
        return "chat"
    if is_code(text) or _MATHS.search(plain):
        return "request"
    if REQUESTS.match(plain):
        disputed = re.search(r"\b(?:whether|if|should)\b", plain, re.IGNORECASE)
        return None if disputed else "request"
    if OWN_CHOICE.match(f"{plain}?"):
        return "personal"
    if is_personal(plain):
        return "personal"
    if is_task(plain):
        return "request"
    if DISPUTED.search(plain):
        return None
    if any(pattern.search(plain) for pattern in FACTS):
        return "factual"
    return None


def is_chat(text: str) -> bool:
    """True for small talk: a greeting, thanks, "I see", a question about whom one talks to."""
    words = [bare(word) for word in text.split()]
    words = [word for word in words if word]
    if not words:
        return True
    talk = words[0] in _CHAT_OPENERS and len(words) < 9 and all(word in _CHAT for word in words)
    return talk or bool(_ABOUT_THE_MACHINE.match(text) or _ACKNOWLEDGED.match(text.rstrip("?.! ")))


def is_code(text: str) -> bool:
    """True for a piece of a program, a shell command or an error message."""
    return bool(_CODE.search(text) or _COMMANDS.match(text))


def is_task(text: str) -> bool:
    """True for an imperative that asks for something to be done now, not for a policy."""
    words = [bare(word) for word in text.split()]
    if len(words) < 2 or words[0] not in _TASKS or words[1] in AUXILIARIES:
        return False
    if _OWN & set(words[1:]):
        return True
    if AUXILIARIES & set(words[2:]) and tags(words[0]) & {"n", "a"}:
        return False  # "Draft registration should end"
    own = words[0] in {"give", "make", "start", "switch", "open", "check", "set", "turn", "cancel"}
    return not own or words[1] in _TASK_OBJECTS or any(word[:1].isdigit() for word in words)


def is_personal(text: str) -> bool:
    """True for a question about the asker's own affairs, which no other person can answer."""
    words = [bare(word) for word in text.split()]
    if len(words) < 2:
        return False
    if words[0] in {"should", "shall"} and words[1] == "i":
        general = "or" in words and not (OBJECT_PRONOUNS | POSSESSIVES | {"the"}) & set(words)
        return not general
    if words[0] in WH_WORDS and len(words) > 2 and words[1] in AUXILIARIES and words[2] in _OWN:
        return words[0] != "how"
    if words[:2] == ["am", "i"] or (words[0] in {"should", "shall"} and words[1] == "my"):
        return True
    if words[0] in AUXILIARIES and words[1] in {"he", "she", "they"} and _OWN & set(words):
        return True
    if words[0] in {"should", "shall"} and words[1] == "we" and "our" in words:
        return bool(_FAMILY & set(words))
    if OWN_AFFAIRS.match(text):
        return not DISPUTED.search(text) or bool((_AFFECTED | {"my"}) & set(words))
    return False


def is_open(question: str) -> bool:
    """Whether a text that names no perspectives itself may still be answered differently by
    different people: a topic, or a question such as "What should be done about ...?".

    Of questions only those that ask for a judgement or a way are; in doubt, and for "how do I",
    none is. Reads English only.
    """
    text = question.strip()
    if _THOUGHTS.match(text):
        return True
    first = bare(text.split(" ", 1)[0]).removesuffix("'s")
    if first in WH_WORDS:
        return bool(_OPEN.match(text)) and not _MEASURE.match(text)
    if asks_for_a_word(text):
        return False
    return not text.endswith("?") or bool(DISPUTED.search(text))


def asks_for_a_word(question: str) -> bool:
    """True for a question in the order of a statement that leaves a place open: "In which year did
    Rome fall?", "The longest river in Africa is called?".
    """
    words = question.strip().rstrip("?. ").lower().split()
    if not words:
        return False
    opens = words[0] in _LEADS and not WH_WORDS.isdisjoint(words[1:4])
    ended = question.rstrip().endswith((".", "!"))
    if opens or (words[-1] in _LEFT_OPEN and not ended):
        return True
    late = _ASKS_LATE.search(question)
    if late is None:
        return False
    before, behind = question[: late.start()].split(), question[late.end() :].split()
    told = len(before) > 2 and not question.rstrip().endswith("?") and bool(finite_verb(before))
    relative = late[0].lower() == "which" and bool(behind) and bare(behind[0]) in _AFTER_RELATIVE
    return not (told and (relative or ended))  # "Wind is a source which we should use"


def is_demand(text: str) -> bool:
    """True for an imperative that proposes something ("Abolish private schools")."""
    words = text.split()
    first = bare(words[0]) if words else ""
    if first in {"don't", "never", "stop", "let", "let's"}:
        return len(words) > 1
    if len(words) < 2:
        return False
    likely = verb_share(first) >= 0.35 and bool(tags(words[1]) & {"det", "s", "P"})
    likely |= first in BASE_VERBS and "a" in tags(words[1])
    return (verb_share(first) > 0.5 or likely) and _no_other_verb(words)


def _no_other_verb(words: Sequence[str]) -> bool:
    """True where no other word carries the text; a participle does not: "Abolish standardised
    tests", "Pay teachers based on merit".
    """
    place = finite_verb(words)
    if place is None:
        return True
    if not {"p", "d"} <= tags(words[place]):
        return False
    return bare(words[place]) in _DESCRIBING or "n" not in tags(words[0])


_DESCRIBING = frozenset("based built made produced born grown".split())
