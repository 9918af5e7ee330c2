"""A question read by rule: its sides, or none."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perspective_rag.perspectives.alternatives import listed_options, named_alternatives
from perspective_rag.perspectives.cleaning import (
    LANGUAGES,
    cleaned,
    glued,
    is_english,
    shortened,
    unglued,
)
from perspective_rag.perspectives.context import antecedents, resolved, sentences
from perspective_rag.perspectives.kinds import (
    DISPUTED,
    asked_about,
    asks_for_a_word,
    is_code,
    is_open,
    kind_of,
)
from perspective_rag.perspectives.sides import as_perspectives, both_sides
from perspective_rag.perspectives.statements import (
    CONDITIONS,
    Statement,
    auxiliary_of,
    deny,
    sound_sides,
    statement_of,
    subject_end,
)
from perspective_rag.perspectives.topics import (
    Asked,
    asked_sides,
    good_idea,
    motion,
    proposes,
    supported,
    we_should,
    whole,
)
from perspective_rag.perspectives.words import (
    ANYONES,
    BE,
    WH_WORDS,
    bare,
    finite_verb,
    tags,
    upper_first,
    verb_share,
)
from perspective_rag.perspectives.wrapping import SUBJECTS, core_of, is_talk, lemma_in, trimmed
from perspective_rag.text import is_language
from perspective_rag.types import Extraction, Kind, Perspective, Stance

_SAID: dict[Kind, str] = {
    "open": "an open question, whose wording names no sides",
    "factual": "a question of fact, with an answer to look up",
    "personal": "a question about your own affairs",
    "request": "a task or a piece of code, not a question with sides",
    "chat": "small talk",
    "not-english": "not English, which is the only language that the rules read",
}
MOST_CLAIMS = 2
_IS = re.compile(r"\b([Ii]t|[Tt]hat|[Tt]here)['’]s (?!been\b|got\b|\w+ed\b|own\b)")
_WOULD = re.compile(r"\b(\w+)['’]d (?=(?:\w+ )?be\b)")  # "we'd be better off"
_DOTTED = re.compile(r"\b(?:[A-Z]\.)+[A-Z]$")  # "in the U.S", its last dot taken for a full stop
_CUT = re.compile(r"[,;.]\s+|\s+(?=(?:while|whereas|but) )")
_DISAGREES = frozenset("disagree differ deny object dispute doubt".split())
_WISHES = frozenset("want like love enjoy hate dislike fear".split())
_PLANS = frozenset("want plan intend propose hope wish decide go".split())


@dataclass(frozen=True, slots=True)
class Reading:
    """What a question was read as.

    ``claims`` are statements with their opposites, ``alternatives`` statements that may hold
    together; at most one of the two is filled. ``stance``: only this side of the claim is asked
    for. ``explanation`` says the reading to a person.
    """

    root: str
    kind: Kind
    claims: tuple[Statement, ...] = ()
    alternatives: tuple[str, ...] = ()
    stance: Stance | None = None
    instruction: str | None = None
    explanation: str = ""


def read(question: str, *, language: str = "en") -> Reading:
    """The reading of a question. The time is linear in its length, and of a question of more than
    ``cleaning.LONGEST`` characters only a part is read, which the explanation says.
    """
    text, cut = shortened(question)
    if not any(is_language(language, known) for known in LANGUAGES):
        known = ", ".join(LANGUAGES)
        said = (
            f"I understood: the rules read no {language!r}, only {known}; it is searched as it is"
        )
        return Reading(text, "not-english", explanation=said)
    found = _read(text)
    note = " (only a part of the long text was read)" if cut else ""
    return replace(found, explanation=f"I understood: {_explained(found)}{note}")


def _explained(found: Reading) -> str:
    if found.stance is not None:
        side = found.claims[0].text if found.stance == "support" else found.claims[0].negation
        return f"only one side is asked for: {side!r}"
    if found.claims:
        return "; ".join(f"{claim.text!r} or {claim.negation!r}" for claim in found.claims)
    return " / ".join(map(repr, found.alternatives)) or _SAID[found.kind]


def _read(text: str) -> Reading:
    if is_code(text):
        return Reading(text, "request")
    if not is_english(text):
        return Reading(text, "not-english")
    parts = sentences(glued(cleaned(text)))
    if not parts:
        return Reading(text, "chat")
    short = [trimmed(part) for part in parts]
    asked = asked_sides(short[-1])
    if asked is not None:
        return _one_side(text, asked) if asked.stance else _sides(text, asked.statement)
    kind = kind_of(_joined(short))
    if kind in ("chat", "request"):
        return Reading(text, kind)
    return _sides_in(text, parts) or Reading(text, _without_sides(text, short))


def _sides(text: str, *claims: Statement) -> Reading:
    fit = all(sound_sides([each.text, each.negation]) for each in claims)
    made = tuple(Statement(unglued(each.text), unglued(each.negation)) for each in claims)
    return Reading(text, "sides", made) if fit else Reading(text, "open")


def _one_side(text: str, asked: Asked) -> Reading:
    found = _sides(unglued(asked.topic), asked.statement)
    if not found.claims:
        return Reading(text, "open")
    lead = unglued(asked.instruction)
    start = text.lower().find(lead.lower())
    said = text[start : start + len(lead)] if start >= 0 else lead
    return replace(found, stance=asked.stance, instruction=said)


def _alternatives(text: str, options: Sequence[str]) -> Reading:
    named = tuple(unglued(each) for each in options)
    return Reading(text, "alternatives", (), named) if sound_sides(named) else Reading(text, "open")


def _joined(parts: Sequence[Sequence[str]]) -> str:
    return " ".join(" ".join(part) for part in parts)


def _sides_in(text: str, parts: Sequence[Sequence[str]]) -> Reading | None:
    """The reading of the sentences, or None where they name no sides."""
    kept = [half for part in parts for half in _halves(part)]
    judged = False
    while len(kept) > 1 and is_talk(kept[-1]):  # "Is that true?", "Why or why not?"
        kept, judged = kept[:-1], True
    while len(kept) > 1 and is_talk(kept[0]):
        kept = kept[1:]
    if judged and not _asks(kept[-1]) and (plan := _planned(kept[-1])):
        kept[-1] = plan
    views = _views(parts)
    if views is not None:
        return views if isinstance(views, Reading) else _alternatives(text, views)
    options = listed_options(kept[-2:])
    judged_so = kind_of(_joined([*kept[-2:], *map(str.split, options[:1])]))
    if sound_sides(options) and judged_so != "factual":
        return _alternatives(text, options)
    found = []
    for place in _asked(kept):
        one = _one(text, kept[place], antecedents(kept[:place]), judged)
        found += [one] if one is not None else []
    claims = {claim.text.lower(): claim for each in found for claim in each.claims}
    if len(claims) > 1 and not any(each.alternatives for each in found):
        return replace(found[0], kind="sides", claims=tuple(claims.values())[:MOST_CLAIMS])
    named = (each for each in found if each.claims or each.alternatives)
    return next(named, found[0] if found else None)


def _halves(words: Sequence[str]) -> list[list[str]]:
    """Questions joined by "and": "Is it safe, and should it be allowed?"."""
    asks = words[-1].endswith("?") and auxiliary_of(core_of(words).words[0]) is not None
    for i in range(3, len(words) - 2) if asks else ():
        wh = bare(words[i + 1]) in WH_WORDS and auxiliary_of(words[i + 2]) is not None
        if bare(words[i]) == "and" and (wh or auxiliary_of(words[i + 1]) is not None):
            return [[*words[: i - 1], words[i - 1].rstrip(",") + "?"], list(words[i + 1 :])]
    return [list(words)]


def _asked(parts: Sequence[Sequence[str]]) -> list[int]:
    """The sentences that are asked: the yes/no questions, else the last question or sentence."""
    asked = [i for i, part in enumerate(parts) if part[-1].rstrip("\"'”’)").endswith("?")]
    asked = asked or [i for i, part in enumerate(parts) if _asks(part)]
    polar = [i for i in asked if auxiliary_of(core_of(parts[i]).words[0]) is not None]
    return polar[:MOST_CLAIMS] or asked[-1:] or [len(parts) - 1]


def _asks(part: Sequence[str]) -> bool:
    return auxiliary_of(part[0]) is not None or bare(part[0]).removesuffix("'s") in WH_WORDS


def _planned(words: Sequence[str]) -> list[str] | None:
    """What somebody is said to plan, as a demand: whether it is fair asks whether it should be.

    "The city wants to ban cars" gives "The city should ban cars"; None for any other sentence.
    """
    plain = [bare(word) for word in words]
    verb = finite_verb(words, trusted=True) or 0
    for i in range(verb + 1, min(len(plain) - 1, verb + 4)):
        plans = verb and lemma_in(plain[i - 1], _PLANS) and plain[i] == "to"
        if plans and plain[0] not in {"i", "we", "he", "she", "it", "they"}:
            subject = words[: i - 1]
            while bare(subject[-1]) in BE | {"has", "have", "also", "now"}:
                subject = subject[:-1]
            return [*subject, "should", *words[i + 1 :]]
    return None


def _views(parts: Sequence[Sequence[str]]) -> list[str] | Reading | None:
    """The two views that a text sets against each other ("Some say A, others say B", "A said X; B
    disagreed"); None where it does not.
    """
    text = _joined(parts)
    split = _CUT.split(text.rstrip("?!. ")) if len(text) < 600 else []
    cuts = [piece.split() for piece in split if piece.strip()]
    for one, other in itertools.pairwise(cuts):
        first = core_of(one)
        asks = auxiliary_of(one[0]) or bare(one[0]) in {"i", "what", "how", "why"}
        if asks or not first.said or bare(first.words[0]) in SUBJECTS:
            continue
        claim = whole(" ".join(first.words).rstrip(".?! "), least=2, trusted=True)
        if claim is None:
            return None
        if len(other) < 8 and any(lemma_in(word, _DISAGREES) for word in other):
            return _sides(text, claim)
        second = core_of(other)
        said = second.words if second.said else []
        opening = [bare(word) for word in other[:5]]
        if not said and "that" in opening and {"other", "others"} & set(opening[:3]):
            said = other[opening.index("that") + 1 :]
        if said:
            if bare(said[0]) in {"it", "they", "he", "she"}:  # of what the first view is about
                said = [*claim.text.split(" ")[: finite_verb(claim.text.split(" "))], *said[1:]]
            view = resolved(upper_first(" ".join(said)), antecedents([first.words]))
            return [claim.text, view] if view and sound_sides([claim.text, view]) else None
    return None


def _one(text: str, words: Sequence[str], nouns: Sequence[str], judged: bool) -> Reading | None:
    """The reading of one sentence, or None where it names no sides."""
    core = core_of(words, judged=judged)
    before = words[: max(0, len(words) - len(core.words))]
    nouns = [*antecedents([before] if len(before) > 2 else []), *nouns]
    asked = " ".join(core.words)
    kind = kind_of(unglued(asked))
    if kind is not None and not (core.said and kind == "factual"):
        return Reading(text, kind)
    if not core.said:
        options = [resolved(each, nouns) for each in named_alternatives(asked)]
        if options:
            named = [each for each in options if each]
            return _alternatives(text, named if len(named) == len(options) else [])
    claim = _claim(core.words, core.said, nouns)
    behind = [bare(word) for word in words[len(core.words) :]]
    if claim is None and "or" in behind and not _asks(core.words) and "," not in asked:
        claim = good_idea(asked.rstrip(" ?:,-–—"))  # "Uniforms: yes or no?"
    return None if claim is None else _sides(text, claim)


def _claim(words: Sequence[str], said: bool, nouns: Sequence[str]) -> Statement | None:
    """The claim in a sentence, its pronouns resolved; None where there is none fit to be shown."""
    asked = _WOULD.sub(r"\1 would ", _IS.sub(r"\1 is ", " ".join(words)))
    made = _stated(asked, said)
    if made is None:
        return None
    sides = [resolved(each, nouns) for each in (made.text, made.negation)]
    if None in sides:
        return None
    return Statement(*(_DOTTED.sub(r"\g<0>.", side) for side in sides if side))


def _stated(asked: str, said: bool) -> Statement | None:
    plain = asked.rstrip("?! ")
    words = plain.split(" ")
    if said:
        subjunctive = "be" in words[1:8] and not any("aux" in tags(word) for word in words[:8])
        if subjunctive:  # "That the council be dissolved"
            place = words.index("be")
            place -= words[place - 1] == "not"
            words = [*words[:place], "should", *words[place:]]
        return whole(" ".join(words), least=2, trusted=True) or motion(words)
    topic = supported([*words[:-1], words[-1].rstrip(".")])
    if topic is not None:
        return whole(topic) or good_idea(topic)
    if auxiliary_of(words[0]) is not None:
        forbids = bare(words[0]) == "don't" and verb_share("".join(words[1:2])) > 0.5
        return motion(words) if forbids else statement_of(plain)
    about = " ".join(asked_about(words) or [])
    if about:
        return good_idea(about) if proposes(about) else None
    condition = statement_of(plain) if bare(words[0]) in CONDITIONS else None
    if bare(words[0]).removesuffix("'s") in WH_WORDS and condition is None:
        return _leading(words)
    if asks_for_a_word(asked):
        return None
    if condition is not None or (bare(words[0]) in CONDITIONS and asked.endswith("?")):
        return condition
    ended, plain = asked.endswith((".", "!")), plain.rstrip(".")
    demand = motion(plain.split(" "))
    return demand or whole(plain, least=2 if ended else 3, trusted=ended and len(words) > 3)


def _leading(words: Sequence[str]) -> Statement | None:
    """The claim in "How safe is X", "Why should X ...", "Why is X so cruel", "Why not do X" and
    "What is wrong with X".
    """
    plain = [bare(word) for word in words]
    if plain[0] == "why":
        return _why(words)
    if plain[0] in {"what", "what's"}:
        thing = words[1 + (plain[0] == "what") :]
        asked = [bare(word) for word in thing[:2]]
        wrong = len(thing) > 2 and asked[0] in {"wrong", "good", "bad"}
        if wrong and asked[1] in {"with", "about"}:
            rest = " ".join(thing)
            return Statement(f"Something is {rest}", f"Nothing is {rest}")
    if plain[0] != "how" or len(words) < 4:
        return None
    be = next((i for i, word in enumerate(plain[:9]) if word in BE), None)
    if be is None or be < 2 or be + 1 == len(words) or plain[be + 1] == "you":
        return None
    degree = plain[1] in {"much", "big", "great", "serious"}
    complement = words[1:be]
    if degree and be > 3:  # "how much of a threat", "how big a problem"
        complement = words[2 + (plain[2] == "of") : be]
    elif be != 2 or not DISPUTED.search(plain[1]):
        return None
    behind = list(words[be + 1 :])
    place = 1 if plain[be + 1] == "it" else _link(behind)
    said = [upper_first(behind[0]), *behind[1:place], words[be], *complement, *behind[place:]]
    return Statement(" ".join(said), deny(said, place))


def _link(subject: Sequence[str]) -> int:
    """Where what belongs to the complement begins: "to" in "loans to the poor" (harmful to)."""
    for i in range(1, len(subject) - 1):
        doing = bare(subject[i]) == "in" and "g" in tags(subject[i + 1])
        if doing or (bare(subject[i]) in {"to", "for"} and tags(subject[i - 1]) & {"n", "s", "P"}):
            return i
    return len(subject)


def _why(words: Sequence[str]) -> Statement | None:
    rest = list(words[1:])
    auxiliary = auxiliary_of(rest[0]) if rest else None
    if rest and bare(rest[0]) == "not":
        return we_should(rest[1:]) if len(rest) > 2 else None
    if [bare(word) for word in rest[:2]] == ["don't", "we"] and len(rest) > 3:
        return we_should(rest[2 + (bare(rest[2]) == "just") :])
    if auxiliary is None:
        return None
    if auxiliary in {"should", "must"} or bare(rest[0]).endswith("n't"):
        return statement_of(" ".join(rest))
    end = subject_end(rest, auxiliary)
    if end is None:
        return None
    predicate = [*rest[end:-1], rest[-1].rstrip("?. ")]
    if topic := supported(["do", "you", *predicate]):
        return whole(topic) or good_idea(topic)
    people = bare(rest[end - 1]) in ANYONES | {"people", "we"} or rest[end - 1][:1].isupper()
    if people and lemma_in(predicate[0], _WISHES) and len(predicate) > 1:
        topic = " ".join(predicate[1:])
        taste = not lemma_in(predicate[0], _PLANS)
        if bare(predicate[1]) == "to":
            return whole(f"It is a good idea {topic}")
        return good_idea(topic, called="good" if taste else "a good idea")
    if auxiliary not in BE:
        return None
    so = bare(predicate[0]) in {"so", "such"} and "a" in tags(predicate[min(1, len(predicate) - 1)])
    if not (so or DISPUTED.search(" ".join(predicate))):
        return None
    return statement_of(" ".join([*rest[:end], *predicate[so:]]))


def _without_sides(text: str, short: Sequence[Sequence[str]]) -> Kind:
    """The kind of a text in which no sides were found."""
    core = core_of(short[-1]).words
    last = unglued(" ".join(core))
    kind = kind_of(last)
    if kind is not None:
        return kind
    asked = any(
        (i == 0 or core[i - 1].endswith(",")) and auxiliary_of(word) for i, word in enumerate(core)
    )
    listed = "or" in map(bare, short[-1])
    return "open" if asked or listed or is_open(text) or is_open(last) else "factual"


@dataclass(frozen=True, slots=True)
class RuleExtractor:
    """Finds perspectives in the wording of the question.

    In this order:

    1. What invites no perspectives: small talk, tasks, the asker's own affairs, facts to look up,
       another language.
    2. A side that the question asks for ("arguments against X").
    3. Named alternatives ("A or B", "which is best: A, B or C").
    4. The statement and the opposite of a yes/no question, a survey question, a reported view, a
       demand or a statement.

    A side that does not read as a sound sentence is dropped, and the question is open.
    ``Extraction.kind`` and ``.reading`` say how the question was read. The rules cannot name the
    answers to "what is the best way to ...", and know by its wording alone whether a question is
    contentious: in doubt it is.

    Attributes:
        language: Language of the question. Other than English it gets no perspectives by rule, and
            the reading says so.
    """

    language: str = "en"

    def extract(self, question: str) -> Extraction:
        """The perspectives of a question, by rule.

        Args:
            question: The question.

        Returns:
            The perspectives, the sort of question, and how it was read.
        """
        return extract_by_rule(question, language=self.language)


def extract_by_rule(question: str, *, language: str = "en") -> Extraction:
    """What ``RuleExtractor`` finds, as a plain function."""
    found = read(question, language=language)
    perspectives = _perspectives(found)
    return Extraction(
        found.root,
        perspectives,
        found.instruction,
        kind=found.kind,
        reading=found.explanation,
        exclusive=len(perspectives) == 2 or (found.kind == "sides" and len(perspectives) > 1),
    )


def _perspectives(found: Reading) -> tuple[Perspective, ...]:
    if found.alternatives:
        return as_perspectives(found.alternatives)
    sides = [
        side
        for number, claim in enumerate(found.claims, start=1)
        for side in both_sides(claim, number=number)
    ]
    return tuple(side for side in sides if found.stance in (None, side.stance))
