"""The sentences that an answer can quote, and how near they are to a text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from perspective_rag.answer.citations import without_marks
from perspective_rag.answer.excerpts import without_headings
from perspective_rag.maths.vectors import first_copies
from perspective_rag.text import split_sentences, text_key, words
from perspective_rag.types import Candidate

# Fewer words than this are a heading or a fragment.
_LEAST_WORDS = 4
_OPENING = "\"'“‘«([「『（"
# Words that tell nothing of what a question is about.
_EMPTY = frozenset(
    """a about all am an and any are as at be been being but by can could d did do does for from
    had has have he her his how i if in into is it its ll m may me might more most must my no not
    of on or our re s shall she should so some such t than that the their them then there these
    they this those to us ve was we were what when where which who whom whose why will with would
    you your good bad better best worse worst think tell""".split()
)
# Words that only add to what was said: the sentence stands without them.
_ADDS = re.compile(
    r"(?:moreover|furthermore|additionally|in addition|besides|also|again|finally|lastly|firstly?"
    r"|secondly?|thirdly?|first of all|for one thing|to begin with|on the one hand),?\s+",
    re.IGNORECASE,
)
# Openings that mean nothing without the sentence before.
_REFERS = re.compile(
    r"(?:therefore|thus|hence|however|consequently|accordingly|instead|otherwise|nevertheless"
    r"|nonetheless|similarly|likewise|conversely|meanwhile|but|and|or|so|yet|then|still|although"
    r"|(?:for|because of|given|despite|in spite of|due to|from|by|in) (?:all )?"
    r"(?:these|this|that|those|such)|as such|as a (?:result|consequence)|in (?:contrast|conclusion"
    r"|short|sum|other words|fact)|on the (?:other hand|contrary)|to (?:conclude|sum up)"
    r"|for (?:example|instance)|after all|that|this|these|those|they|them|he|she|it|its|his|hers?"
    r"|their|theirs|such|neither|the (?:former|latter|above|same|other)"
    r"|(?:some|many|most|all|none|one|each|both|much) of (?:these|this|those|them|it))\b",
    re.IGNORECASE,
)
# ... unless they do not refer: "It is cruel to ...", "This house would ...", "These days ...".
_ALONE = re.compile(
    r"(?:it(?:'s|’s| is| was| would be| seems| may be| makes| takes)(?: \w+){0,4}?"
    r" (?:to|that|when|if)|this house|these days|that \w+ \w+ \w+.{0,60} (?:is|was) )\b",
    re.IGNORECASE,
)
_BACK = 2  # sentences before that are taken along
_REASON = re.compile(
    r"\b(?:because|since|as a result|so that|leads? to|cause[sd]?|means that|otherwise)\b",
    re.IGNORECASE,
)
# What a reason is made of: causes, effects and worth.
_ARGUES = re.compile(
    r"\b(?:because|since|as a result|so that|would|will|lead|leads|cause[sd]?|means?|makes?|lets?"
    r"|allows?|forces?|helps?|harms?|hurts?|saves?|protects?|costs?|wastes?|loses?|gains?|risks?"
    r"|improves?|reduces?|increases?|prevents?|teach(?:es)?|suffers?|deserves?|damages?|benefits?"
    r"|better|worse|best|worst|more|less|fewer|too|only|dangerous|unfair|unjust|fair|cruel|wrong"
    r"|right|good|bad|dreadful|necessary|useless|useful|expensive|cheap(?:er)?|safe(?:r)?|free)\b",
    re.IGNORECASE,
)
_HAPPENED = re.compile(
    r"\b(?:announced|predict(?:ed|ing)|says?|said|told|promised|voted|tried|decided|asked|warned"
    r"|experiment|once upon)\b",
    re.IGNORECASE,
)
_DEMAND = re.compile(
    r"\b(?:should|must|ought|shall|needs? to|has to|have to)\b"
    r"|\b(?:i|we) (?:\w+ )?(?:agree|disagree|support|oppose|believe|think|favou?r)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and how it stands in each candidate that holds it or nearly the same words, by
    the candidate's place.
    """

    text: str
    holders: Mapping[int, str]


def quotable(
    candidates: Sequence[Candidate], places: Iterable[int], language: str = "en"
) -> list[Sentence]:
    """The distinct sentences of the candidates at these places; fragments only from one that has
    nothing else.

    What looks like a citation in them is left out. ``language`` is that of ``split_sentences``.
    """
    return _distinct(candidates, places, language, lambda texts: list(filter(_is_whole, texts)))


def tellable(
    candidates: Sequence[Candidate], places: Iterable[int], language: str = "en"
) -> list[Sentence]:
    """As ``quotable``, each so that it can stand alone in an answer.

    With a capital and a full stop, without "Moreover"; what refers to something said before
    ("Therefore", "They") together with at most two sentences before it; no question. Where a
    candidate has no such sentence, its others.
    """
    return _distinct(candidates, places, language, _standing_alone)


def stands_alone(text: str) -> bool:
    """Whether a text is no question and refers to nothing said before."""
    return not _asks(text) and not _refers(text)


def _standing_alone(texts: Sequence[str]) -> list[str]:
    found = []
    for place, text in enumerate(texts):
        if not _is_whole(text) or _asks(text):
            continue
        first = place
        while first > place - _BACK and first > 0 and _refers(texts[first]):
            first -= 1
        if not _refers(texts[first]):
            found.append(" ".join([_without_adding(texts[first]), *texts[first + 1 : place + 1]]))
    return list(map(polished, found or texts))


def _asks(text: str) -> bool:
    return text.rstrip("\"'”’)» ").endswith(("?", "？"))


def polished(text: str) -> str:
    """A text with a capital at its beginning and a full stop, or another end, behind it."""
    begun = text[:1].upper() + text[1:]
    if begun.rstrip("\"'”’)]»」』）")[-1:] in set(".!?…。！？"):
        return begun
    return begun.rstrip(" ,;:-–—") + "."


def restates(statement: str, sentence: str) -> bool:
    """Whether a sentence says a statement over again, or the contrary of it, and gives no reason:
    it has no words of its own that say something, or is a demand with at most two of them.
    """
    if text_key(statement) == text_key(sentence):
        return True
    if _REASON.search(sentence):
        return False
    known = {_stem(word) for word in words(statement)}
    telling = {_stem(word) for word in words(sentence) if word not in _EMPTY}
    own = telling - known
    return len(own) < len(telling) and (not own or (len(own) <= 2 and demands(sentence)))


def demands(sentence: str) -> bool:
    """Whether a sentence says what is to be done, or what somebody holds, and not why."""
    return _DEMAND.search(sentence) is not None and _REASON.search(sentence) is None


def argues(sentence: str) -> bool:
    """Whether a sentence has a word of a reason: of a cause, an effect or a worth."""
    return _ARGUES.search(sentence) is not None


def tells_a_story(sentence: str) -> bool:
    """Whether a sentence tells what somebody said or did once."""
    return _HAPPENED.search(sentence) is not None


def _refers(text: str) -> bool:
    bare = _without_adding(text).lstrip(_OPENING)
    return _REFERS.match(bare) is not None and _ALONE.match(bare) is None


def _without_adding(text: str) -> str:
    return _ADDS.sub("", text, count=1) if _ADDS.match(text) else text


def _distinct(
    candidates: Sequence[Candidate],
    places: Iterable[int],
    language: str,
    chosen: Callable[[Sequence[str]], list[str]],
) -> list[Sentence]:
    """What ``chosen`` makes of each candidate's sentences, repeats once; all where that is none."""
    found: list[tuple[str, int]] = []
    for place in dict.fromkeys(places):
        split = split_sentences(without_headings(candidates[place].passage.text), language)
        texts = [without_marks(" ".join(each.split())) for each in split]
        texts = [text for text in texts if text_key(text)]
        found += [(text, place) for text in chosen(texts) or texts]
    first = first_copies([text for text, _ in found])
    holders: dict[int, dict[int, str]] = {}
    for (text, place), same in zip(found, first, strict=True):
        holders.setdefault(same, {}).setdefault(place, text)
    return [Sentence(found[same][0], held) for same, held in holders.items()]


def proving(candidate: Candidate, perspective: str, language: str = "en") -> list[str]:
    """The sentences, as ``quotable`` has them, that hold words of the candidate's proof for a
    perspective, in order; none where it has no proof.
    """
    proof = candidate.proofs.get(perspective)
    if proof is None:
        return []
    text = candidate.passage.text
    found, end = [], 0
    for each in split_sentences(text, language):
        start = text.index(each, end)
        end = start + len(each)
        if start < proof.end and proof.start < end:
            found.append(without_marks(" ".join(each.split())))
    return [each for each in found if text_key(each)]


def overlaps(target: str, sentences: Sequence[Sentence]) -> list[float]:
    """The share of the target's words in each sentence, rarer words counting more."""
    bags = [frozenset(words(sentence.text)) for sentence in sentences]
    frequency = Counter(word for bag in bags for word in bag)
    weights = {word: 1.0 / (1 + frequency[word]) for word in set(words(target))}
    total = sum(weights.values()) or 1.0
    return [sum(w for word, w in weights.items() if word in bag) / total for bag in bags]


def nearest(targets: Sequence[str], sentences: Sequence[Sentence], limit: int) -> list[Sentence]:
    """At most ``limit`` sentences, in their order: as many for each target, those that share most
    of its words.
    """
    shares = [overlaps(each, sentences) for each in targets]
    ranks = [sorted(range(len(sentences)), key=lambda i: -own[i]) for own in shares]
    first = dict.fromkeys(i for row in zip(*ranks, strict=True) for i in row)
    return [sentences[i] for i in sorted(islice(first, limit))]


def shares_topic(question: str, sentence: Sentence) -> bool:
    """Whether a sentence holds any word of the question that says what it is about."""
    asked = {_stem(word) for word in words(question) if word not in _EMPTY}
    return bool(asked & {_stem(word) for word in words(sentence.text)})


def _stem(word: str) -> str:
    for ending in ("ies", "es", "ing", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word[: -len(ending)]
    return word.removesuffix("e").removesuffix("y") if len(word) > 3 else word


def _is_whole(text: str) -> bool:
    starts = not text.lstrip(_OPENING)[:1].islower()
    ends = not text[-1].isalnum() and text[-1] not in ",;:-–—"
    return starts and ends and len(words(text)) >= _LEAST_WORDS
