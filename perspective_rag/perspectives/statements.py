"""Statements, their negations, and the statement whose truth a yes/no question asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from perspective_rag.perspectives.words import (
    ADVERBS,
    ANYONES,
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
    PLURAL_PRONOUNS,
    POINTERS,
    POSSESSIVES,
    PREPOSITIONS,
    RELATIVES,
    SUBJECT_PRONOUNS,
    WH_WORDS,
    after_verb,
    bare,
    base_of,
    before_verb,
    closed_before,
    finite_verb,
    inflected,
    is_manner,
    is_plural,
    mid_sentence,
    readings,
    relative_parts,
    tags,
    upper_first,
    verb_share,
    vocabulary,
)

LONGEST = 200
"""Words of a statement that the rules negate; a longer one is denied as a whole."""
_MOST_SHOWN = 60  # words of a side

_NOT = frozenset("not never".split())
_UNIVERSAL = frozenset("every all everyone everybody everything each both".split())
# A subject that opens so is denied as a whole: "Most people are not happy" says something else.
_DENIED_WHOLE = frozenset(
    "most many few some no nobody nothing none only someone somebody neither too".split()
)
_SOME = {"any": "some", "anything": "something", "anyone": "someone", "anybody": "somebody"}
_NO_MORE = {"such": "such a", "longer": "still", "one": "someone"}
_NONE = {"any": "no", "anything": "nothing", "anyone": "no one", "anybody": "nobody"}
CONDITIONS = frozenset("if when unless once whenever where while".split())
_SUBORDINATE = CONDITIONS | frozenset("although though because since until".split())
_ASKING_ADVERBS = frozenset("really actually truly genuinely honestly".split())
# "Will robots ever ..." asks whether they will, "Are robots ever ..." whether they sometimes are.
_ONE_DAY = MODALS - {"should", "must", "ought"} | HAVE | {"did"}


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and its opposite."""

    text: str
    negation: str


def negate(statement: str) -> str:
    """Negates a statement; one that the rules cannot negate is denied as a whole ("It is not true
    that ...").

    ``"Zoos should be closed."`` becomes ``"Zoos should not be closed."`` and back; ``"Ban zoos"``
    becomes ``"Do not ban zoos"``. Negating twice gives back the meaning. The rules know English
    only and do not see a negation hidden in a word ("fails to", "hardly").
    """
    return negation_of(statement) or _denied(statement.strip())


def negation_of(statement: str, *, trusted: bool = False) -> str | None:
    """The negation as a speaker would put it; None where no verb to negate is found.

    ``trusted``: the text is known to be a statement, so that a less likely verb will do.
    """
    text = spelt_out(statement.strip())
    denials = (f"it is {each} that " for each in ("not true", "not the case", "false", "untrue"))
    for opening in (*denials, "do not ", "never "):
        if text.lower().startswith(opening):
            return upper_first(text[len(opening) :].lstrip())
    words = text.split()
    if not words or len(words) > LONGEST:
        return None
    start = _clause_start(words)
    denied = _negated_clause(words[start:], trusted)
    if denied is None:
        return None
    return " ".join([*words[:start], denied]) if start else upper_first(denied)


def spelt_out(text: str) -> str:
    """The text with "n't" and "cannot" as words of their own."""
    stems = {"ca": "can", "wo": "will", "sha": "shall"}
    text = re.sub(
        r"\b([A-Za-z]{2,6})n['’]t\b", lambda m: stems.get(m[1].lower(), m[1]) + " not", text
    )
    return re.sub(r"\b([Cc])annot\b", r"\1an not", text)


def _clause_start(words: Sequence[str]) -> int:
    """Index where the main clause starts: behind "If robots do most work,"; else 0."""
    if bare(words[0]) not in _SUBORDINATE:
        return 0
    commas = (i + 1 for i, word in enumerate(words[:-2]) if word.endswith(","))
    return next((i for i in commas if finite_verb(words[i:]) is not None), 0)


def _negated_clause(words: Sequence[str], trusted: bool) -> str | None:
    first = bare(words[0])
    place = finite_verb(words, trusted=trusted)
    if place is None:
        demand = verb_share(first) > 0.5 or (verb_share(first) > 0.2 and len(words) > 2)
        return "Do not " + mid_sentence(" ".join(words)) if demand else None
    verb = bare(words[place])
    following = bare(words[place + 1]) if place + 1 < len(words) else ""
    if verb in AUXILIARIES and following in _NOT:
        if verb in DO and place + 2 < len(words):  # "does not pay" is "pays"
            return said(words[:place], verb, affirmed(words[place + 2 :]))
        return _joined([*words[: place + 1], *words[place + 2 :]])
    if following == "no" and words[place + 2 : place + 3] == ["longer"]:
        return _joined([*words[: place + 1], "still", *words[place + 3 :]])
    if place and bare(words[place - 1]) in _NOT:
        return _denied(" ".join(words))
    if first in _UNIVERSAL and place > 0:
        return "Not " + mid_sentence(" ".join(words))
    if following == "no" or (first in _DENIED_WHOLE and place > 0):
        return _denied(" ".join(words))
    return deny(words, place)


def deny(words: Sequence[str], place: int) -> str:
    """The words with the verb at ``place`` denied: "not" after an auxiliary, "do not" before a
    verb.
    """
    before, verb, after = list(words[:place]), bare(words[place]), list(words[place + 1 :])
    opening = bare(after[0]) if after else ""
    if before and bare(before[-1]) == "there" and verb in BE:
        if opening in {"a", "an", "some", "any"}:
            return " ".join([*before, verb, "no", *after[1:]])
        if not tags(opening) & {"det", "r", "#", "prep"}:
            return " ".join([*before, verb, "no", *after])
    if opening == "sometimes":
        return " ".join([*before, words[place], "never", *after[1:]])
    if opening in {"always", "still"} and verb in AUXILIARIES:
        no = ["not", "always"] if opening == "always" else ["no", "longer"]
        return " ".join([*before, words[place], *no, *after[1:]])
    if _helps(verb, opening, after):
        if verb == "must" and opening in {"be", "have"}:
            many = is_plural(before[-1]) or bare(before[-1]) in PLURAL_PRONOUNS
            return " ".join([*before, "do not" if many else "does not", "have to", *after])
        return _joined([*before, words[place], "not", *after])
    core = bare(before[-1]) if len(before) > 1 else ""
    if core == "only":
        return _denied(" ".join(words))
    manner = is_manner(core) or core in {"often", "always", "just"}
    adverbs = [before.pop()] if manner else []  # "greatly help": do not greatly help
    helper, base = _with_do(words[place])
    return " ".join([*before, helper, "not", *adverbs, base, *after])


def _with_do(verb: str) -> tuple[str, str]:
    """ "drinks" gives "does" and "drink", "drank" "did" and "drink"."""
    found, lower = tags(verb), bare(verb)
    if lower in {"has", "does"}:
        return "does", {"has": "have", "does": "do"}[lower]
    if lower in {"had", "did"}:
        return "did", {"had": "have", "did": "do"}[lower]
    if "v" in found or lower in {"have", "do"}:
        return "do", lower
    tag = "z" if "z" in found else "d"
    return {"z": "does", "d": "did"}[tag], base_of(lower, tag) or lower


def _helps(verb: str, opening: str, after: Sequence[str]) -> bool:
    """True when ``verb`` is an auxiliary here: "has" before a participle, "does" before a verb."""
    if verb in HAVE:
        place = 1 if "r" in tags(opening) and len(after) > 1 else 0
        return bool(after) and ("p" in tags(after[place]) or bare(after[place]) == "been")
    if verb in DO:
        return opening == "not" or (verb_share(opening) > 0.5 and not is_plural(opening))
    return verb in AUXILIARIES


def main_verb(words: Sequence[str]) -> int | None:
    """Index of the auxiliary that carries a statement, or of a verb that is negated like one
    ("needs"), outside relative clauses; None for other verbs and where there is none.
    """
    found = finite_verb(words) if words else None
    like = "cannot needs need deserves deserve believe believes supports".split()
    return found if found is not None and bare(words[found]) in AUXILIARIES.union(like) else None


def _joined(words: Sequence[str]) -> str:
    return " ".join(words).replace("can not ", "cannot ")


def _denied(text: str) -> str:
    return "It is not true that " + mid_sentence(text)


def affirmed(predicate: Sequence[str]) -> list[str]:
    """The predicate of a question as an affirmation says it: "any less polluting" becomes "less
    polluting", "anything to say" becomes "something to say".
    """
    words = list(predicate)
    for tail in (["at", "all"], ["any", "more"], ["any", "longer"], ["anymore"], ["yet"]):
        if [bare(word) for word in words[-len(tail) :]] == tail and len(words) > len(tail):
            words = words[: -len(tail)]
    kept = []
    for i, word in enumerate(words):
        core, following = bare(word), bare(words[i + 1]) if i + 1 < len(words) else ""
        compares = following.endswith("er") and any(tag in "ar" for _, tag in readings(following))
        if core == "any" and (compares or following in DEGREES | {"different"}):
            continue
        kept.append(_SOME[core] + word[len(core) :] if core in _SOME else word)
    return kept


def without_asking(predicate: Sequence[str]) -> list[str]:
    """The predicate without the adverbs that only lend weight to a question ("really")."""
    kept = [word for word in predicate if bare(word) not in _ASKING_ADVERBS]
    return (kept[1:] if len(kept) > 1 and bare(kept[0]) == "even" else kept) or list(predicate)


def as_statement(text: str, *, trusted: bool = False) -> Statement | None:
    """A sentence that already is a statement, with its opposite; None where it has none.

    ``trusted`` as for ``negation_of``.
    """
    plain = text.strip().rstrip(".! ")
    opposite = negation_of(plain, trusted=trusted)
    return None if opposite is None else Statement(upper_first(plain), upper_first(opposite))


def auxiliary_of(word: str) -> str | None:
    """The auxiliary that a question's first word is ("Shouldn't" is "should"), or None."""
    core = bare(word)
    if core.endswith("n't"):
        core = {"ca": "can", "wo": "will", "ai": "is"}.get(core[:-3], core[:-3])
    return core if core in AUXILIARIES else None


def statement_of(question: str) -> Statement | None:
    """The statement whose truth a yes/no question asks for, with its opposite; None for any other
    question, and where the rules do not find the subject.

    ``"Should social media be banned for children?"`` gives ``"Social media should be banned for
    children"`` and ``"Social media should not be banned for children"``. A clause before the
    question ("If robots do most work, should ...") stays before both.
    """
    prefix, words = _prefix(question.strip().rstrip("?!. ").split(" "))
    auxiliary = auxiliary_of(words[0])
    if auxiliary == "ought":
        place = words.index("to") if "to" in words else len(words)
        words, auxiliary = [*words[:place], *words[place + 1 :]], "should"
    end = subject_end(words, auxiliary) if auxiliary is not None else None
    if auxiliary is None or end is None or end >= len(words):
        return None
    subject, predicate = words[1:end], words[end:]
    if bare(subject[-1]) == "not" and len(subject) > 1:
        subject = subject[:-1]  # "Should we not close zoos?"
    elif bare(predicate[0]) == "not" and len(predicate) > 1:
        predicate = predicate[1:]
    predicate = without_asking(predicate)
    ever = next(
        (i for i, word in enumerate(predicate[:6])
         if bare(word) == "ever" and (i == 0 or bare(predicate[i - 1]) not in {"than", "for"})),
        None,
    )  # fmt: skip
    if ever is not None:
        predicate = [*predicate[:ever], *predicate[ever + 1 :]]
    if not predicate:
        return None
    sometimes = ["sometimes"] if ever is not None and auxiliary not in _ONE_DAY else []
    some = subject[:1] if auxiliary in MODALS else affirmed(subject[:1])
    sides = [
        said([*some, *subject[1:]], auxiliary, affirmed(predicate), sometimes),
        _opposite(subject, auxiliary, predicate, ever is not None),
    ]
    if prefix:
        before = upper_first(" ".join(prefix))
        sides = [f"{before} {mid_sentence(upper_first(side))}" for side in sides]
    return Statement(*map(upper_first, sides))


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


def said(
    subject: Sequence[str], auxiliary: str, predicate: Sequence[str], adverbs: Sequence[str] = ()
) -> str:
    """The affirmation, with the verb inflected where the question has "do"."""
    subject = ["some", *subject[1:]] if bare(subject[0]) == "any" else subject
    if auxiliary not in DO:
        return " ".join([*subject, auxiliary, *adverbs, *predicate])
    verb = 0
    while verb < len(predicate) - 1 and (
        bare(predicate[verb]) in ADVERBS | {"no", "longer"} or is_manner(predicate[verb])
    ):
        verb += 1
    tag = {"does": "z", "did": "d"}.get(auxiliary, "v")
    words = [*predicate[:verb], inflected(predicate[verb], tag), *predicate[verb + 1 :]]
    return " ".join([*subject, *adverbs, *words])


def _opposite(subject: Sequence[str], auxiliary: str, predicate: Sequence[str], ever: bool) -> str:
    first, whole = bare(subject[0]), said(subject, auxiliary, affirmed(predicate))
    if first in _NONE:
        none = "none" if subject[1:2] == ["of"] else _NONE[first]
        return said([none, *subject[1:]], auxiliary, predicate)
    if first in _UNIVERSAL:
        if auxiliary == "must":
            has = "have" if first in {"all", "both"} else "has"
            whole = " ".join([*subject, has, "to", *predicate])
        return "not " + mid_sentence(whole)
    limited = auxiliary in DO and bare(predicate[0]) == "only"
    if limited or first in _DENIED_WHOLE - {"someone", "somebody"}:
        return _denied(whole)
    if ever:
        return said(subject, auxiliary, predicate, ["never"])
    if first == "there" and len(subject) == 1 and auxiliary in BE:
        return _nothing_there(auxiliary, predicate)
    for i, word in enumerate(predicate[:2]):
        if bare(word) == "still":
            longer = [*predicate[:i], "no", "longer", *predicate[i + 1 :]]
            return said(subject, auxiliary, longer)
    if auxiliary == "must":
        many = is_plural(subject[-1]) or first in PLURAL_PRONOUNS
        return " ".join([*subject, "do not" if many else "does not", "have to", *predicate])
    denied = "cannot" if auxiliary == "can" else f"{auxiliary} not"
    return " ".join([*subject, denied, *predicate])


def _nothing_there(auxiliary: str, predicate: Sequence[str]) -> str:
    """ "Is there life after death" denied: "there is no life after death"."""
    first, rest = bare(predicate[0]), list(predicate[1:])
    if first in {"something", "anything"}:
        return " ".join(["there", auxiliary, "nothing", *rest])
    if first == "such":
        rest = rest[1:] if bare(rest[0]) in {"a", "an"} else rest
        return " ".join(["there", auxiliary, "no", "such", *rest])
    if first in {"any", "a", "an", "some"}:
        return " ".join(["there", auxiliary, "no", *rest])
    if first in {"no", "nothing"}:
        some = ["something"] if first == "nothing" else ["some"] * (auxiliary in {"is", "was"})
        if rest and rest[0] in _NO_MORE:
            some, rest = [_NO_MORE[rest[0]]], rest[1:]
        return " ".join(["there", auxiliary, *some, *rest])
    counted = first in {"too", "enough", "more", "less", "really", "still", "the"} | POSSESSIVES
    return " ".join(["there", auxiliary, "not" if counted else "no", *predicate])


# Where the subject of a question ends: each place is scored by the words around it.
_NEVER = -9.0
_ENOUGH = 2.2
_SURE = 2.9  # of the start of a predicate behind "is"
_GIVING = frozenset("giving letting making offering paying teaching telling lending".split())
_BEFORE_VERB = frozenset("letting watching seeing hearing".split())
_TURNING = frozenset("becoming getting growing going turning being making".split())
_AMOUNTS = frozenset("much many little few".split())
_FIRM_PREPOSITIONS = frozenset("above beyond under behind against about within worth".split())
_WEAK_PREPOSITIONS = frozenset("of for to from with by between than as".split())
# Nouns that, behind a preposition, say how something is: "at risk", "in decline".
_STATES = frozenset(
    "advantage disadvantage risk decline crisis danger fault favour favor touch control threat"
    " trouble need charge odds war peace date debt ruins vain fashion line conflict interest"
    " principle hand reach proportion harmony collapse jeopardy".split()
)


def subject_end(words: Sequence[str], auxiliary: str) -> int | None:
    """Index of the first word of the predicate in "AUXILIARY SUBJECT PREDICATE".

    ``words[0]`` is the auxiliary, the subject is ``words[1:index]``. None where no place is
    plausible. The time is linear in the number of words.
    """
    if len(words) < 3:
        return None
    first, found = bare(words[1]), tags(words[2])
    if first in SUBJECT_PRONOUNS and bare(words[2]) not in CONJUNCTIONS:
        return 2
    if first in ANYONES and bare(words[2]) == "else":
        return 3
    if first in POINTERS:  # "this" and the like without a noun of their own
        noun = found & {"n", "s"} and len(words) > 3
        says = found & {"det", "a", "r", "prep"} and not noun
        if says if auxiliary in BE else verb_share(words[2]) > 0.5:
            return 2
    blocked = relative_parts(words)
    score = _predicate_score if auxiliary in BE else _verb_score
    scores = [_NEVER if i in blocked else score(words, i, auxiliary) for i in range(2, len(words))]
    chosen = _best(scores) if auxiliary in BE else _first_good(words, scores)
    if chosen is None:
        return None
    start = chosen + 2
    while start > 2:  # adverbs belong to the predicate
        word = bare(words[start - 1])
        compared = word == "any" and bare(words[start]) in DEGREES
        adverb = (word in ADVERBS or is_manner(word)) and (
            bare(words[start - 2]) not in DETERMINER_WORDS
        )
        if not (compared or adverb):
            break
        start -= 1
    return start


def _best(scores: Sequence[float]) -> int | None:
    """The best place, or one before it that is nearly as good and good by itself."""
    top = max(scores)
    good = min(top, max(_SURE, top - 0.4))
    return next(i for i, each in enumerate(scores) if each >= good) if top > 0 else None


def _first_good(words: Sequence[str], scores: Sequence[float]) -> int | None:
    """The first place that is good enough, unless the next word makes a better verb."""
    skipped = bare(words[1]) not in _BEFORE_VERB  # "letting teenagers sleep improves their marks"
    for k, score in enumerate(scores):
        following = scores[k + 1] if k + 1 < len(scores) else _NEVER
        if score < _ENOUGH:
            continue
        if not skipped and max(scores[k + 2 :], default=_NEVER) >= _ENOUGH:
            skipped = True
        elif following <= score + 0.3 or bare(words[k + 2]) in BEFORE_BASE:
            return k
    return _best(scores)


def _in_name(words: Sequence[str], i: int) -> float:
    """What a word with a capital behind another one loses: "Die Hard"."""
    return 1.5 if words[i][:1].isupper() and words[i - 1][:1].isupper() and i > 1 else 0.0


def _verb_score(words: Sequence[str], i: int, auxiliary: str) -> float:
    word, before = bare(words[i]), bare(words[i - 1])
    found, entry = tags(word), vocabulary().lemmas.get(word)
    acts = entry is not None and "v" in entry.classes  # however rarely
    if auxiliary in HAVE:
        own = 4.0 if word == "been" else 2.6 if "p" in found else _NEVER
    elif word in {"be", "have"}:
        own = 4.0
    elif word in PREPOSITIONS - {"like"} or not (found & {"v"} or word == "do" or acts):
        own = _NEVER
    else:
        own = 3.0 * verb_share(word)
    stranded = word in {"be", "have"} and before in PREPOSITIONS
    if own < 0 or (closed_before(words, i) and not stranded):
        return _NEVER
    own += 1.2 if is_manner(before) else 0.0  # "positively impact growth"
    following = words[i + 1] if i + 1 < len(words) else ""
    return own - _in_name(words, i) + before_verb(words, i) + after_verb(following, words[i])


def _predicate_score(words: Sequence[str], i: int, auxiliary: str) -> float:
    word, found, before = bare(words[i]), tags(words[i]), tags(words[i - 1])
    following = tags(words[i + 1]) if i + 1 < len(words) else frozenset[str]()
    ends = i + 1 == len(words) or words[i].endswith(",")
    if closed_before(words, i) or "aux" in before or ("#" in before and found & {"n", "s"}):
        return _NEVER
    if bare(words[i - 1]) in {"too", "so"} and word in _AMOUNTS:
        return _NEVER
    if word == "enough":
        return 1.0
    if word in {"to", "worth", "like"}:
        blamed = word == "to" and i + 1 < len(words) and bare(words[i + 1]) == "blame"
        return 3.0 if blamed or word == "worth" else 0.8
    if word in ADVERBS or word in {"more", "less", "as"}:
        late = word in {"as", "now", "once", "again"} or "p" in before - {"n", "s", "a"}
        return 1.0 if late else 3.6
    noun_before = before & {"n", "s", "P", "pron", "g", "#", "p", "r"} or not before
    scores = [0.1]
    if "a" in found and "det" not in found:
        scores.append(_adjective_score(words, i, bool(noun_before), following, ends))
    if "det" in found:
        scores.append(_article_score(words, i, before))
    if "r" in found and "prep" not in found and "p" not in before:
        scores.append(2.2 if following & {"a", "p", "det"} else 1.0)
    if "p" in found and before & {"n", "s", "P", "pron", "g"}:
        scores.append(2.4 + (0.4 if "prep" in following else 0.0))
    if "g" in found:
        scores.append(_progressive_score(words, i, following, ends))
    if "prep" in found:
        upto = next(
            (k for k in range(i + 1, i + 4) if "prep" in tags(" ".join(words[k : k + 1]))), i + 4
        )
        state = any(bare(each) in _STATES for each in words[i + 1 : upto])
        firm = 1.4 if word in _FIRM_PREPOSITIONS else 0.9 + 0.001 * i
        scores.append(2.6 if state else 0.2 if word in _WEAK_PREPOSITIONS else firm)
    if "wh" in found and word not in RELATIVES:
        scores.append(2.5)
    if found & {"n", "s", "P"} or not found:
        scores.append((1.6 if is_plural(words[i - 1]) else 0.7) + (0.4 if ends else 0.0))
    return max(scores) - _in_name(words, i)


def _adjective_score(
    words: Sequence[str], i: int, noun_before: bool, following: frozenset[str], ends: bool
) -> float:
    word, previous = bare(words[i]), words[i - 1]
    compares = word in DEGREES or (word.endswith("er") and "n" not in tags(word))
    own = 3.0 if readings(word)[:1] == ((word, "a"),) or word in DEGREES else 2.0
    own += 0.5 if compares else 0.0
    own -= 0.0 if noun_before or word in DEGREES else 1.5
    if ends or following & {"prep", "conj", "r", "wh", "det", "aux"}:
        return own
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


def _progressive_score(
    words: Sequence[str], i: int, following: frozenset[str], ends: bool
) -> float:
    word, rest = bare(words[i]), words[i + 1 : i + 3]
    if word in PREPOSITIONS or word == "being":
        return 0.3 if word in PREPOSITIONS else 2.4
    known, verb = vocabulary().lemmas, base_of(word, "g") or ""
    bands = [known[each].band if each in known else -1 for each in (word, verb)]
    noun = readings(word)[:1] == ((word, "n"),) and bands[0] >= bands[1] - 3
    if following & {"det", "pron"} and not (noun and bands[0] >= bands[1]):
        return 3.1
    if not noun and rest and bare(rest[0]) in {"too", "more", "less"}:
        described = bool(rest[1:]) and "a" in tags(rest[1]) and bare(rest[1]) not in _AMOUNTS
        if word in _TURNING or not described:
            return 3.7  # "Is English becoming too dominant", not "Is public spending too high"
    described = len(rest) > 1 and "a" in following and bool(tags(rest[1]) & {"n", "s"})
    described = described and bare(rest[0]) not in DEGREES and not bare(rest[0]).endswith("er")
    if following & {"P", "prep"} or (rest and is_plural(rest[0])) or described:
        return 1.6 if noun else 3.1
    return 0.9 if noun else 1.5 if ends else 2.0


# Whether a side is fit to be shown.
_DANGLING = (
    ARTICLES | POSSESSIVES | CONJUNCTIONS | frozenset("to of if than because very too".split())
) - frozenset("her his its".split())
_REPEATABLE = frozenset("had that is very".split())
_BRACKETS = (("“", "”"), ("(", ")"), ("[", "]"))


def sound(side: str) -> bool:
    """True for a statement with a verb, without dangling or doubled words, a second question or
    quotation marks left open.
    """
    words = side.split()
    if not 2 <= len(words) <= _MOST_SHOWN or "?" in side or "…" in side:
        return False
    lower = [bare(word) for word in words]
    asks = lower[0] in AUXILIARIES - {"will", "may", "can", "do", "might", "must"}
    asks |= lower[0] in WH_WORDS - {"what", "when", "where", "who"}
    doubled = any(a == b and a and a not in _REPEATABLE for a, b in pairwise(lower))
    opened = any(side.count(left) != side.count(right) for left, right in _BRACKETS)
    contracted = re.match(r"\w+['’](?:m|re|ve|ll)$", words[0]) and lower[1] in AUXILIARIES
    if asks or doubled or opened or contracted or lower[-1] in _DANGLING or lower.count("") > 1:
        return False
    if lower[0] in {"do", "not"}:
        return len(words) > 2
    return finite_verb(words, trusted=True) is not None


def sound_sides(sides: Sequence[str]) -> bool:
    """True for at least two sound sides that differ in more than case and punctuation."""
    keys = {" ".join(bare(word) for word in side.split()) for side in sides}
    return len(sides) > 1 and len(keys) == len(sides) and all(sound(side) for side in sides)
