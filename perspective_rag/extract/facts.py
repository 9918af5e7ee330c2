"""Tables for telling what people dispute from what can be looked up.

Every pattern is anchored or has one open-ended part at most, so that each is linear in time.
"""

from __future__ import annotations

import re

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
