"""The English words that the rules for statements and questions know."""

from __future__ import annotations

import re
from collections.abc import Sequence

AUXILIARIES = frozenset(
    "should must can could will would shall may might ought is are was were am do does did has have"
    " had".split()
)

# Base forms that open a predicate ("Should schools BAN phones") or an imperative ("ABOLISH tests").
BASE_VERBS = frozenset(
    """
    be have do make get give take keep let put go come become stay remain stop start begin end allow
    permit forbid ban prohibit outlaw restrict limit regulate deregulate control abolish eliminate
    remove repeal replace reform reduce cut lower raise increase decrease expand extend introduce
    implement adopt enforce impose require mandate force compel encourage discourage promote support
    oppose fund subsidise subsidize finance pay tax charge spend invest buy sell trade privatise
    privatize nationalise nationalize legalise legalize criminalise criminalize decriminalise
    decriminalize punish sentence execute arrest accept reject admit deny refuse recognise recognize
    legitimise legitimize protect preserve conserve defend save help assist aid provide offer supply
    deliver teach learn study educate train attend choose select prefer favour favor use wear carry
    own hold drive ride eat drink smoke play watch read write publish censor monitor track test
    screen vaccinate treat cure donate share build construct develop create design produce grow farm
    raise breed hunt kill clone explore colonise colonize travel visit work earn retire quit leave
    join vote elect run serve fight invade intervene withdraw negotiate cooperate apologise
    apologize compensate repay forgive lend borrow believe trust respect value consider think feel
    know understand see hear say speak talk tell ask answer celebrate honour honor display show hide
    reveal disclose publicise publicize label warn inform consult lead follow change improve fix
    solve prevent avoid cause affect harm hurt damage destroy threaten benefit boost strengthen
    weaken undermine justify explain deserve need want like love hate fear hope expect deter exist
    matter happen lose win gain store dispose recycle reuse waste close open shut lift switch move
    relocate merge separate split combine divide apply abandon discipline criticise criticize
    boycott sanction divest lease rent house feed clothe marry divorce adopt abort breastfeed
    homeschool exercise sleep host organise organize hire fire employ recruit promote accede secede
    unite integrate assimilate deport detain expel extradite release pardon grant award rank measure
    assess grade reward bring send receive return rely depend count consist contribute participate
    compete cooperate collaborate communicate connect focus aim try continue proceed prioritise
    prioritize strive drop abide comply obey break violate
    pass outweigh exceed outperform owe write win fall rise spank corrupt erode pose occur manage
    bring bear contain mean attack invent discover exclude include impact influence enhance portray
    address regret
    """.split()
)

PRONOUNS = frozenset("i you he she it we they there this that these those one".split())
DETERMINERS = frozenset(
    "a an the this that these those my your his her its our their all any every each some no"
    " more less most many much of for to in on at by with from and or".split()
)
WH_WORDS = frozenset("what which who whom whose when where why how".split())

# Sure openers of the predicate after "is/are SUBJECT ...".
PREDICATE_OPENERS = frozenset(
    """
    too more less so very really still ever always never not better worse best worst good bad
    right wrong safe unsafe fair unfair just unjust legal illegal moral immoral dead real true
    false worth necessary cruel harmful healthy dangerous effective overrated underrated able
    likely bound going out here there a an the justified broken useful useless important
    possible desirable acceptable responsible like born alive open closed wet dry
    """.split()
)
_PREDICATE_SUFFIX = re.compile(
    r".{3,}(able|ible|ful|less|ous|ive|ed|ing|ary|ical|cial|(?<!m)ent|ant)$"
)
_OBJECTS = frozenset("a an the its their our his her this these too enough".split())
_ING_PREPOSITIONS = frozenset("being following including involving regarding concerning".split())
_PREPOSITIONS = frozenset("about part in on under from behind against within".split())


def predicate_start(words: Sequence[str], first: int) -> int | None:
    """Index, from ``first`` on, of the word that seems to start what is said of a subject, or None.

    A sure opener ("too", "the", "harmful") goes before a word that only looks like one ("smoking").
    """
    free = [i for i in range(first, len(words)) if words[i - 1].lower() not in DETERMINERS]
    lower = [word.lower() for word in words]
    for i in free:
        following = lower[i + 1] if i + 1 < len(words) else ""
        if following == "than" and lower[i].endswith("er"):
            return i  # "Is K2 higher than ..."
        if lower[i] in PREDICATE_OPENERS or (_progressive(lower[i]) and following in _OBJECTS):
            return i  # "Is the EU doing a good job"
    for i in free:
        if _PREDICATE_SUFFIX.match(lower[i]):
            # In "Was the moon landing faked" the first of the two is a noun.
            noun = lower[i].endswith("ing") and i + 1 < len(words)
            return i + 1 if noun and _PREDICATE_SUFFIX.match(lower[i + 1]) else i
    return next((i for i in free if lower[i] in _PREPOSITIONS), None)


def _progressive(word: str) -> bool:
    return word.endswith("ing") and word not in _ING_PREPOSITIONS


def lower_first(text: str) -> str:
    """The text with its first letter lowered, except of "I", acronyms and mixed case."""
    first = re.split(r"\W", text, maxsplit=1)[0]
    keep = first == "I" or (len(first) > 1 and not first[1:].islower())
    return text if keep else text[:1].lower() + text[1:]


def upper_first(text: str) -> str:
    """The text with its first letter raised."""
    return text[:1].upper() + text[1:]
