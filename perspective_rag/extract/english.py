"""The closed classes of English words that the rules know, and the case of first letters."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BE = _words("is are was were am")
HAVE = _words("has have had")
DO = _words("do does did")
MODALS = _words("should must can could will would shall may might ought")
AUXILIARIES = BE | HAVE | DO | MODALS

# Base forms that open a predicate ("Should schools BAN phones") or an imperative ("ABOLISH tests").
BASE_VERBS = _words(
    """
    be have do make get give take keep let put go come become stay remain stop start begin end allow
    permit forbid ban prohibit outlaw restrict limit regulate deregulate control abolish eliminate
    remove repeal replace reform reduce cut lower raise increase decrease expand extend introduce
    implement adopt enforce impose require mandate force compel encourage discourage promote support
    oppose fund subsidise subsidize finance pay tax charge spend invest buy sell trade privatise
    privatize nationalise nationalize legalise legalize criminalise criminalize decriminalise
    decriminalize punish sentence execute arrest accept reject admit deny refuse recognise recognize
    legitimise legitimize protect preserve conserve defend save help assist aid provide offer supply
    deliver store teach learn study educate train attend choose select prefer favour favor use wear
    own hold drive ride eat drink smoke play watch read write publish censor monitor track test
    screen vaccinate treat cure donate share build construct develop create design produce grow farm
    raise breed hunt kill clone explore colonise colonize travel visit work earn retire quit leave
    carry join vote elect run serve fight invade intervene withdraw negotiate cooperate apologise
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
    """
)

SUBJECT_PRONOUNS = _words("i you he she it we they there")
PRONOUNS = SUBJECT_PRONOUNS | _words("this that these those one")
OBJECT_PRONOUNS = _words("me you him her it us them")
ANYONES = _words(
    "everyone everybody everything someone somebody anyone anybody nobody nothing something"
    " anything"
)
POSSESSIVES = _words("my your his her its our their whose")
ARTICLES = _words("a an the")
POINTERS = _words("this that these those")
QUANTIFIERS = _words(
    "any every each some no all both either neither many much several few most another such what"
    " enough various certain other"
)
DETERMINER_WORDS = ARTICLES | POINTERS | POSSESSIVES | QUANTIFIERS
PREPOSITIONS = _words(
    """
    of in on at by for with from to into onto about over under between among through during before
    after against without within across behind beyond near around outside inside upon toward
    towards despite per via regarding concerning including following amid off above below beside
    besides unlike versus vs throughout until till since as than like
    """
)
CONJUNCTIONS = _words("and or but nor")
RELATIVES = _words("who that which whom whose where")
WH_WORDS = _words("what which who whom whose when where why how")
# Each of these opens a clause with a verb of its own: "people who are ill should stay home".
SUBORDINATORS = _words(
    "who which that whose whom if when because unless although though while where"
)
ADVERBS = _words(
    """
    too very so really still ever always never not already just even actually truly also now often
    sometimes usually rarely seldom simply merely quite rather almost no-longer once again fully
    only genuinely seriously ultimately inherently necessarily generally currently fundamentally
    """
)
DEGREES = _words("more less most least better worse best worst far much")
# Adverbs that belong to the question rather than to what it asks about.
ASKING_ADVERBS = _words("really actually truly genuinely honestly")

EDGES = " ,;:.!?\"'“”‘’()[]…–—-*"


def bare(word: str) -> str:
    """A word in lower case without the punctuation around it."""
    return word.strip(EDGES).lower().replace("’", "'")


def lower_first(text: str) -> str:
    """The text with its first letter lowered, except of "I", acronyms and mixed case."""
    first = re.split(r"\W", text, maxsplit=1)[0]
    keep = first == "I" or (len(first) > 1 and not first[1:].islower())
    return text if keep else text[:1].lower() + text[1:]


def upper_first(text: str) -> str:
    """The text with its first letter raised, also behind an opening quotation mark."""
    start = 1 if text[:1] in "“\"'‘(" else 0
    first = text[start:].partition(" ")[0]
    if first[:1].islower() and any(c.isupper() for c in first[1:]):
        return text  # "iPhone"
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]
