"""Clauses: subject, verb and rest, the statement that they make, and whether it is English."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from perspective_rag.perspectives.negation import (
    affirmed,
    clause_start,
    negation_of,
    no_longer,
    take_ever,
    without_asking,
)
from perspective_rag.perspectives.words import (
    ADVERBS,
    ARTICLES,
    AUXILIARIES,
    BE,
    BEFORE_BASE,
    CONJUNCTIONS,
    DEGREES,
    DETERMINER_WORDS,
    DO,
    HAVE,
    MODALS,
    POINTERS,
    POSSESSIVES,
    PREPOSITIONS,
    RELATIVES,
    SUBJECT_PRONOUNS,
    WH_WORDS,
    after_verb,
    as_inflected,
    bare,
    base_of,
    before_verb,
    closed_before,
    finite_verb,
    in_name,
    is_plural,
    mid_sentence,
    readings,
    relative_parts,
    tags,
    upper_first,
    verb_share,
    vocabulary,
)

_NEVER = -9.0
_ENOUGH = 2.2
_SURE = 2.9  # of the start of a predicate behind "is"
_GIVING = frozenset(
    "giving letting making offering paying teaching telling lending selling calling".split()
)
_BEFORE_VERB = frozenset("letting watching seeing hearing".split())
_FIRM_PREPOSITIONS = frozenset("above beyond under behind against about within worth".split())
_WEAK_PREPOSITIONS = frozenset("of for to from with by between than as".split())
_BLAME = frozenset("blame".split())
_ALWAYS_NOUNS = frozenset("building housing meeting painting wedding morning evening".split())
_ALWAYS_VERBS = frozenset("doing having making getting taking becoming going giving".split())
# Nouns that, behind a preposition, say how something is: "at risk", "in decline".
_STATES = frozenset(
    """
    advantage disadvantage risk decline crisis danger fault favour favor touch control threat
    trouble need charge odds war peace date debt ruins vain fashion line conflict interest
    principle hand reach proportion harmony breach collapse jeopardy shape tune step
    """.split()
)


def subject_end(words: Sequence[str], auxiliary: str) -> int | None:
    """Index of the first word of the predicate in "AUXILIARY SUBJECT PREDICATE".

    ``words[0]`` is the auxiliary, the subject is ``words[1:index]``. None where no place is
    plausible. Each place is scored by the words around it, so the time is linear in their number.
    """
    if len(words) < 3:
        return None
    first, second = bare(words[1]), bare(words[2])
    if first in SUBJECT_PRONOUNS and second not in CONJUNCTIONS:
        return 2
    if first in POINTERS and _points_alone(words, auxiliary):
        return 2
    blocked = relative_parts(words)
    score = _predicate_score if auxiliary in BE else _verb_score
    scores = [_NEVER if i in blocked else score(words, i, auxiliary) for i in range(2, len(words))]
    chosen = _best(scores) if auxiliary in BE else _first_good(words, scores)
    if chosen is None:
        return None
    return _with_adverbs(words, chosen + 2)


def _points_alone(words: Sequence[str], auxiliary: str) -> bool:
    """True for "this" and the like without a noun of their own."""
    found = tags(words[2])
    if auxiliary in BE:
        return bool(found & {"det", "a", "r", "prep"}) and not (
            found & {"n", "s"} and len(words) > 3
        )
    return verb_share(words[2]) > 0.5


def _best(scores: Sequence[float]) -> int | None:
    """The best place, or one before it that is nearly as good and good by itself."""
    top = max(scores)
    good = min(top, max(_SURE, top - 0.4))
    return next(i for i, each in enumerate(scores) if each >= good) if top > 0 else None


def _first_good(words: Sequence[str], scores: Sequence[float]) -> int | None:
    """The first place that is good enough, unless the next word makes a better verb."""
    skipped = bare(words[1]) not in _BEFORE_VERB  # "letting teenagers sleep improves their marks"
    for k, score in enumerate(scores):
        if score < _ENOUGH:
            continue
        if not skipped and max(scores[k + 2 :], default=_NEVER) >= _ENOUGH:
            skipped = True
            continue
        following = scores[k + 1] if k + 1 < len(scores) else _NEVER
        if following > score + 0.3 and bare(words[k + 2]) not in BEFORE_BASE:
            continue
        return k
    return _best(scores)


def _with_adverbs(words: Sequence[str], start: int) -> int:
    """The place moved back over adverbs, which belong to the predicate."""
    while start > 2:
        word = bare(words[start - 1])
        if word == "any" and bare(words[start]) in DEGREES:
            start -= 1
            continue
        manner = word.endswith("ly") and "r" in tags(word) and not tags(word) & {"a", "n"}
        if not (word in ADVERBS or manner) or bare(words[start - 2]) in DETERMINER_WORDS:
            break
        start -= 1
    return start


def _verb_score(words: Sequence[str], i: int, auxiliary: str) -> float:
    word = bare(words[i])
    found = tags(word)
    if auxiliary in HAVE:
        if not found & {"p"} and word != "been":
            return _NEVER
        own = 4.0 if word == "been" else 2.6
    else:
        closed = word in PREPOSITIONS and word not in {"like"}
        if closed or ("v" not in found and word not in {"be", "have", "do"}):
            return _NEVER
        own = 4.0 if word in {"be", "have"} else 3.0 * verb_share(word)
    stranded = word in {"be", "have"} and bare(words[i - 1]) in PREPOSITIONS
    if closed_before(words, i) and not stranded:
        return _NEVER
    following = words[i + 1] if i + 1 < len(words) else ""
    own -= 1.5 if in_name(words, i) else 0.0
    before = bare(words[i - 1])
    manner = before.endswith("ly") and "r" in tags(before) and not tags(before) & {"a", "n"}
    own += 1.2 if manner else 0.0  # "positively impact growth"
    return own + before_verb(words, i) + after_verb(following, words[i])


def _predicate_score(words: Sequence[str], i: int, auxiliary: str) -> float:
    if closed_before(words, i) or "aux" in tags(words[i - 1]):
        return _NEVER
    word = bare(words[i])
    found = tags(word)
    before = tags(words[i - 1])
    following = tags(words[i + 1]) if i + 1 < len(words) else frozenset[str]()
    ends = i + 1 == len(words) or words[i].endswith(",")
    if bare(words[i - 1]) in {"too", "so"} and word in {"much", "many", "few", "little"}:
        return _NEVER
    if "#" in before and found & {"n", "s"}:
        return _NEVER
    if word == "enough":
        return 1.0
    if word in {"to", "worth", "like"}:
        blamed = word == "to" and i + 1 < len(words) and bare(words[i + 1]) in _BLAME
        return 3.0 if blamed or word == "worth" else 0.8
    if word in ADVERBS or word in {"more", "less", "as"}:
        if word in {"as", "now", "once", "again"} or "p" in before - {"n", "s", "a"}:
            return 1.0
        return 3.6
    scores = [0.1]
    if "a" in found and "det" not in found:
        scores.append(_adjective_score(word, before, following, ends, words[i - 1]))
    if "det" in found:
        scores.append(_article_score(words, i, before))
    if "r" in found and "prep" not in found and "p" not in before:
        scores.append(2.2 if following & {"a", "p", "det"} else 1.0)
    if "p" in found and before & {"n", "s", "P", "pron", "g"}:
        scores.append(2.4 + (0.4 if "prep" in following else 0.0))
    if "g" in found:
        scores.append(_progressive_score(words, i, following, ends))
    if "prep" in found:
        strength = 1.4 if word in _FIRM_PREPOSITIONS else 0.9
        state = _names_state(words[i + 1 : i + 4])
        strength = 2.6 if state else strength + 0.001 * i
        scores.append(0.2 if word in _WEAK_PREPOSITIONS and not state else strength)
    if "wh" in found and word not in RELATIVES:
        scores.append(2.5)
    if found & {"n", "s", "P"} or not found:
        plural_before = is_plural(words[i - 1])
        scores.append((1.6 if plural_before else 0.7) + (0.4 if ends else 0.0))
    return max(scores) - (1.5 if in_name(words, i) else 0.0)


def _names_state(words: Sequence[str]) -> bool:
    """True where a noun that says how something is comes before another preposition."""
    for word in words:
        if bare(word) in PREPOSITIONS:
            return False
        if bare(word) in _STATES:
            return True
    return False


def _adjective_score(
    word: str, before: frozenset[str], following: frozenset[str], ends: bool, previous: str
) -> float:
    comparative = word in DEGREES or (word.endswith("er") and "n" not in tags(word))
    own = 3.0 if readings(word)[:1] == ((word, "a"),) or word in DEGREES else 2.0
    own += 0.5 if comparative else 0.0
    if not before & {"n", "s", "P", "pron", "g", "#", "p", "r"} and before and word not in DEGREES:
        own -= 1.5
    if ends or following & {"prep", "conj", "r", "wh", "det", "aux"}:
        return own
    if following & {"det"} and "n" in tags(word):
        return own - 1.0  # "the US military the best"
    if following & {"n", "s"}:
        return own - (0.8 if is_plural(previous) or "\u00a0" in previous else 1.8)
    return own - 0.5


def _article_score(words: Sequence[str], i: int, before: frozenset[str]) -> float:
    previous = bare(words[i - 1])
    if bare(words[1]) in _GIVING and i == 3:
        return 0.5
    if "g" in before and "s" not in before and i == 2:
        return 0.3 if readings(previous)[:1] != ((previous, "n"),) else 1.5
    return 3.0 if before & {"n", "s", "P", "pron", "#", "g", "p", "r"} or not before else 0.5


def _described(words: Sequence[str]) -> bool:
    """True for an adjective and its noun: "environmental damage"."""
    if len(words) < 2 or bare(words[0]) in DEGREES or bare(words[0]).endswith(("er", "est")):
        return False
    return "a" in tags(words[0]) and bool(tags(words[1]) & {"n", "s"})


def _progressive_score(
    words: Sequence[str], i: int, following: frozenset[str], ends: bool
) -> float:
    word = bare(words[i])
    if word in PREPOSITIONS or word == "being":
        return 0.3 if word in PREPOSITIONS else 2.4
    verb = base_of(word, "g")
    noun = word not in _ALWAYS_VERBS and readings(word)[:1] == ((word, "n"),)
    known = vocabulary().lemmas
    bands = [known[each].band if each in known else -1 for each in (word, verb or "")]
    noun = noun and bands[0] >= bands[1] - 3
    if following & {"det", "pron"} and word not in _ALWAYS_NOUNS:
        return 3.1
    if not noun and i + 1 < len(words) and bare(words[i + 1]) in {"too", "more", "less"}:
        return 3.7  # "Is English becoming too dominant"
    plural = i + 1 < len(words) and is_plural(words[i + 1])
    if following & {"P", "prep"} or plural or _described(words[i + 1 : i + 3]):
        return 1.6 if noun else 3.1
    if noun:
        return 0.9
    return 1.5 if ends else 2.0


_CONTRACTED = {
    f"{stem}n't": whole
    for stem, whole in {
        **{
            a: a for a in "is are was were do does did has have had should could would must".split()
        },
        "ca": "can",
        "wo": "will",
        "ai": "is",
    }.items()
}
CONDITIONS = frozenset("if when unless once whenever where while".split())
_UNIVERSAL = frozenset("every all everyone everybody everything each".split())
_DENIED_WHOLE = frozenset("only most many few some no nobody too".split())
_NO_SUBJECT = {"any": "no", "anyone": "no one", "anybody": "nobody", "anything": "nothing"}
# "Will robots ever ..." asks whether they will, "Are robots ever ..." whether they sometimes are.
_ONE_DAY = frozenset("will would can could may might has have had did shall".split())

_LEADING_ADVERBS = frozenset("still always often never also already no longer just".split())


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and its opposite."""

    text: str
    negation: str


def statement_of(question: str) -> Statement | None:
    """The statement whose truth a yes/no question asks for, with its opposite; None for any other
    question, and where the rules do not find the subject.

    ``"Should social media be banned for children?"`` gives ``"Social media should be banned for
    children"`` and ``"Social media should not be banned for children"``. A clause before the
    question ("If robots do most work, should ...") stays before both.
    """
    words = question.strip().rstrip("?!. ").split(" ")
    prefix, clause = _prefix(words)
    if len(clause) < 3 or auxiliary_of(clause[0]) is None:
        return None
    made = _inverted(clause)
    if made is None or not prefix:
        return made
    before = upper_first(" ".join(prefix))
    return Statement(
        f"{before} {mid_sentence(made.text)}", f"{before} {mid_sentence(made.negation)}"
    )


def as_statement(text: str, *, trusted: bool = False) -> Statement | None:
    """A sentence that already is a statement, with its opposite; None where it has none.

    ``trusted`` as for ``negation_of``.
    """
    plain = text.strip().rstrip(".! ")
    opposite = negation_of(plain, trusted=trusted)
    return None if opposite is None else Statement(upper_first(plain), upper_first(opposite))


def auxiliary_of(word: str) -> str | None:
    """The auxiliary that a question's first word is ("Shouldn't" is "should"), or None."""
    word = bare(word)
    word = _CONTRACTED.get(word, word)
    return word if word in AUXILIARIES else None


def _prefix(words: list[str]) -> tuple[list[str], list[str]]:
    """A subordinate clause before the question, and the question."""
    if auxiliary_of(words[0]) is not None:
        return [], words
    condition = bare(words[0]) in CONDITIONS
    for i, word in enumerate(words[:-3]):
        if word.endswith(",") and auxiliary_of(words[i + 1]) is not None:
            return (words[: i + 1] if condition else []), words[i + 1 :]
    for i in range(len(words) - 3, 3, -1):  # "If we stop eating meat would the climate improve"
        opens = auxiliary_of(words[i]) is not None and tags(words[i + 1]) & {"det", "pron", "s"}
        if condition and opens and finite_verb(words[1:i]) is not None:
            return [*words[: i - 1], words[i - 1] + ","], words[i:]
    return [], words


def _inverted(words: list[str]) -> Statement | None:
    """The statement in "AUXILIARY SUBJECT PREDICATE"."""
    auxiliary = auxiliary_of(words[0]) or ""
    if auxiliary == "ought" and "to" in words:
        place = words.index("to")
        words, auxiliary = [*words[:place], *words[place + 1 :]], "should"
    end = subject_end(words, auxiliary)
    if end is None or end >= len(words):
        return None
    subject, predicate = words[1:end], words[end:]
    if bare(subject[-1]) == "not" and len(subject) > 1:
        subject = subject[:-1]  # "Should we not close zoos?"
    if bare(predicate[0]) == "not" and len(predicate) > 1:
        predicate = predicate[1:]
    predicate = without_asking(predicate)
    predicate, ever = take_ever(predicate)
    if not predicate:
        return None
    some = affirmed(subject[:1]) if auxiliary not in MODALS else subject[:1]
    whole = _said(
        [*some, *subject[1:]], auxiliary, affirmed(predicate), _sometimes(auxiliary, ever)
    )
    return Statement(
        upper_first(whole), upper_first(_opposite(subject, auxiliary, predicate, ever))
    )


def _sometimes(auxiliary: str, ever: bool) -> list[str]:
    return ["sometimes"] if ever and auxiliary not in _ONE_DAY else []


def _said(
    subject: Sequence[str], auxiliary: str, predicate: Sequence[str], adverbs: Sequence[str] = ()
) -> str:
    """The affirmation, with the verb inflected where the question has "do"."""
    if auxiliary not in DO:
        return " ".join([*_subject(subject), auxiliary, *adverbs, *predicate])
    leading = 0
    while leading < len(predicate) - 1 and _is_adverb(predicate[leading]):
        leading += 1
    verb = as_inflected(predicate[leading], auxiliary)
    rest = [*predicate[:leading], verb, *predicate[leading + 1 :]]
    return " ".join([*_subject(subject), *adverbs, *rest])


def _is_adverb(word: str) -> bool:
    lower = bare(word)
    return lower.endswith("ly") or lower in _LEADING_ADVERBS


def _subject(subject: Sequence[str]) -> list[str]:
    first = bare(subject[0])
    return ["some", *subject[1:]] if first == "any" else list(subject)


def _opposite(subject: Sequence[str], auxiliary: str, predicate: Sequence[str], ever: bool) -> str:
    first = bare(subject[0])
    affirmation = _said(subject, auxiliary, affirmed(predicate))
    if first in _NO_SUBJECT:
        return _said([_NO_SUBJECT[first], *subject[1:]], auxiliary, predicate)
    if first in _UNIVERSAL:
        verb = _has_to(subject, auxiliary)
        if verb:
            return "not " + " ".join([*lowered(subject), verb, "to", *predicate])
        return "not " + mid_sentence(affirmation)
    if first in _DENIED_WHOLE:
        return "it is not true that " + mid_sentence(affirmation)
    if ever:
        return _said(subject, auxiliary, predicate, ["never"])
    if first == "there" and len(subject) == 1 and auxiliary in BE:
        return _nothing_there(auxiliary, predicate)
    longer = no_longer(predicate)
    if longer is not None:
        return _said(subject, auxiliary, longer)
    if auxiliary == "must":
        plain = "do not" if is_plural(subject[-1]) or first in {"we", "you", "they", "i"} else ""
        return " ".join([*subject, plain or "does not", "have to", *predicate])
    denied = "cannot" if auxiliary == "can" else f"{auxiliary} not"
    return " ".join([*subject, denied, *predicate])


def lowered(subject: Sequence[str]) -> list[str]:
    """The words with the first letter of the first lowered."""
    return [mid_sentence(subject[0]), *subject[1:]]


def _has_to(subject: Sequence[str], auxiliary: str) -> str:
    if auxiliary != "must":
        return ""
    return "have" if bare(subject[0]) in {"all"} else "has"


def _nothing_there(auxiliary: str, predicate: Sequence[str]) -> str:
    """ "Is there life after death" denied: "there is no life after death"."""
    first = bare(predicate[0])
    if first in {"something", "anything"}:
        return " ".join(["there", auxiliary, "nothing", *predicate[1:]])
    if first == "such":
        rest = predicate[2:] if bare(predicate[1]) in {"a", "an"} else predicate[1:]
        return " ".join(["there", auxiliary, "no", "such", *rest])
    if first in {"any", "a", "an", "some"}:
        return " ".join(["there", auxiliary, "no", *predicate[1:]])
    if first in {"too", "enough", "more", "less", "really", "still", "the"} | POSSESSIVES:
        return " ".join(["there", auxiliary, "not", *predicate])
    return " ".join(["there", auxiliary, "no", *predicate])


__all__ = ["Statement", "as_statement", "auxiliary_of", "clause_start", "statement_of"]


LONGEST = 60  # words
_DANGLING = (
    ARTICLES | POSSESSIVES | CONJUNCTIONS | frozenset("to of if that than because very too".split())
) - frozenset("her his that its".split())
_SHORT_FORM = ("'m", "'re", "'ve", "'ll", "’m", "’re", "’ve", "’ll")
_REPEATABLE = frozenset("had that is very".split())
_PAIRS = (("“", "”"), ("(", ")"), ("[", "]"))


def sound(side: str) -> bool:
    """True for a statement with a verb, without dangling or doubled words, a second question or
    quotation marks left open.
    """
    words = side.split()
    if not 2 <= len(words) <= LONGEST or "?" in side or "…" in side:
        return False
    lower = [bare(word) for word in words]
    if not all(lower) and sum(not word for word in lower) > 1:
        return False
    if lower[0] in AUXILIARIES - {"will", "may", "can", "do", "might", "must"}:
        return False
    if lower[0] in WH_WORDS - {"what", "when", "where", "who"} or lower[-1] in _DANGLING:
        return False
    if any(a == b and a and a not in _REPEATABLE for a, b in pairwise(lower)):
        return False
    if any(side.count(left) != side.count(right) for left, right in _PAIRS):
        return False
    if words[0].lower().endswith(_SHORT_FORM) and lower[1] in AUXILIARIES:
        return False  # "I'm is"
    if lower[0] in {"do", "not"}:
        return len(words) > 2
    return finite_verb(words, trusted=True) is not None


def sound_sides(sides: Sequence[str]) -> bool:
    """True for at least two sound sides that differ in more than case and punctuation."""
    keys = {" ".join(bare(word) for word in side.split()) for side in sides}
    return len(sides) > 1 and len(keys) == len(sides) and all(sound(side) for side in sides)
