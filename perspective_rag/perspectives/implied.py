"""Follow-ups that only make sense with the topic: "do visitors learn anything there?"."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.perspectives.act import act_of, topic_of
from perspective_rag.perspectives.clauses import auxiliary_of, subject_end
from perspective_rag.perspectives.context import antecedents, is_plural_phrase
from perspective_rag.perspectives.elliptic import PEOPLE
from perspective_rag.perspectives.words import BE, PREPOSITIONS, SUBORDINATORS, bare, mid_sentence
from perspective_rag.text import shares_words

_BE = BE | {"be", "been"}
_CONSEQUENCE = frozenset("then instead afterwards otherwise anyway".split())


def there_named(words: Sequence[str], earlier: Sequence[str], _: bool) -> str | None:
    """The words with "there" replaced by the place that the question before was about."""
    plain = [bare(word) for word in words]
    places = [i for i, word in enumerate(plain) if word == "there" and not _exists(plain, i)]
    place = _place(earlier)
    if not places or place is None:
        return None
    mark = words[places[0]][len("there") :]
    made = [*words[: places[0]], place + mark, *words[places[0] + 1 :]]
    return _with_topic(made, earlier)


def without_named(words: Sequence[str], earlier: Sequence[str], _: bool) -> str | None:
    """The words with "it" or "them" behind a last "without" replaced by the thing asked about."""
    plain = [bare(word) for word in words]
    if len(plain) < 4 or plain[-2] != "without" or plain[-1] not in {"it", "them"}:
        return None
    nouns = antecedents([earlier])
    active = auxiliary_of(earlier[0]) is not None and act_of(earlier) and "be" not in earlier
    if active and len(nouns) > 1 and bare(earlier[1]) not in {"we", "you", "one"}:
        nouns = nouns[1:]  # "Should schools ban phones?": without phones
    many = plain[-1] == "them"
    fitting = [noun for noun in nouns if is_plural_phrase(noun) == many]
    return " ".join([*words[:-1], mid_sentence(fitting[0])]) if fitting else None


def implied(words: Sequence[str], earlier: Sequence[str], _: bool) -> str | None:
    """The words behind "Considering TOPIC, " where they speak of people or of a consequence that
    only the topic explains: "are the animals happy?", "would people stop working?".
    """
    plain = [bare(word) for word in words]
    if any(word in SUBORDINATORS - {"that"} or word in {"without", "under"} for word in plain):
        return None
    follows = plain[-1] in _CONSEQUENCE and len(words) > 2
    if follows:
        words, plain = words[:-1], plain[:-1]
    asked = next((i for i, word in enumerate(words[:3]) if auxiliary_of(word)), None)
    end = None
    if asked is not None:
        found = subject_end(words[asked:], plain[asked])
        end = None if found is None else asked + found
    whose = plain[asked + 1 : end] if asked is not None and end is not None else []
    known = whose[:1] == ["the"] and whose[-1] in PEOPLE and len(whose) < 4
    known |= plain[-2:-1] == ["the"] and plain[-1] in PEOPLE and asked not in (None, 0)
    supposes = asked is not None and plain[asked] == "would" and whose[-1:] != ["you"]
    people = bool(whose) and whose[-1] in PEOPLE and PREPOSITIONS.isdisjoint(whose)
    proposes = asked is not None and plain[asked] in {"should", "must", "ought", "shall"}
    if not follows and (proposes or not (known or (supposes and people))):
        return None
    return _with_topic(words, earlier)


def _with_topic(words: Sequence[str], earlier: Sequence[str]) -> str:
    """The words, behind "Considering TOPIC, " where they do not name what the topic is of."""
    text, topic = " ".join(words), topic_of(earlier)
    thing = next(iter(antecedents([earlier])), "")
    if topic is None or shares_words(text, thing):
        return text
    return f"considering {topic}, {mid_sentence(text)}"


def _exists(plain: list[str], i: int) -> bool:
    """True for the "there" of "is there", "there are" and "would there be"."""
    return i < 3 and not _BE.isdisjoint(plain[max(i - 1, 0) : i + 2])


def _place(earlier: Sequence[str]) -> str | None:
    """Where the question before is set: its last phrase of place, else in what it is about."""
    nouns = antecedents([earlier])
    if not nouns:
        return None
    for i in range(len(earlier) - 2, 1, -1):
        if bare(earlier[i]) in {"in", "from", "at", "inside"}:
            where = " ".join(word.strip(",;:") for word in earlier[i + 1 :])
            link = "at" if bare(earlier[i]) == "at" else "in"
            return f"{link} {where}"
    return f"in {mid_sentence(nouns[0])}"
