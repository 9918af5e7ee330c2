"""Whether a question is English, the language that the rules read."""

from __future__ import annotations

import unicodedata

from perspective_rag.extract.cleaning import shortened
from perspective_rag.extract.english import (
    ADVERBS,
    ANYONES,
    AUXILIARIES,
    DETERMINER_WORDS,
    OBJECT_PRONOUNS,
    PREPOSITIONS,
    PRONOUNS,
    WH_WORDS,
    bare,
)
from perspective_rag.extract.lexicon import is_known, vocabulary
from perspective_rag.text import is_language

LANGUAGES = ("en",)
"""The languages that the rules read."""

_NEITHER = frozenset(
    "is in an die was a me on as do no of to so over will men he by we had den must all at for i or"
    " am it us or per via sei la que tu elle sin pro plus son do has via".split()
)
_ENGLISH = (
    AUXILIARIES | WH_WORDS | PREPOSITIONS | PRONOUNS | DETERMINER_WORDS | OBJECT_PRONOUNS
    | ANYONES | ADVERBS
    | frozenset("be been being not and but if whether think good bad people because".split())
) - _NEITHER  # fmt: skip
# Frequent words of other languages that are no English words.
_FOREIGN = frozenset(
    """
    à doit devons hij ich mij der das und nicht ein eine einen einem einer ist sind soll
    sollte
    sollten sollen kann muss darf wird werden wurde haben auf mit von zum zur für über auch
    noch oder aber warum wie wer wo wenn
    dem des im ich du wir ihr sie es man mehr als nach bei sein mein gibt geworden zu
    het een van en niet moet moeten mag kan zijn wordt worden voor naar ook nog deze dit deze
    uit
    waarom hoe wie wat wil wij zij jij mijn onze meer dan bij geen wel heeft hebben zou tegen
    le les des du et est sont une un pas pour avec sur dans qui ce cette ces doit doivent faut
    peut peuvent pourquoi comment où quel quelle mais ou plus nous vous ils elles être avoir
    il on
    el los las una del con por para es son debe deben debería deberían puede pueden qué cómo
    quién
    cuál pero más muy ser hay está están este esta como se al lo su sus nos si
    os uma do da dos das não em no na com por são deve devem deveria pode podem porque quem
    qual
    mas mais muito ser há está é ou se ao
    il lo gli di che non è sono dovrebbe dovrebbero deve può perché chi quale ma più con per
    della delle degli nel nella alla uno questo questa
    och att det som är inte på för med av ett ska borde kan vi ni han hon eller skal skulle
    ikke og
    av til fra jeg vil bør må hvorfor hvordan hvem hva hvad er
    nie jest czy się na do że to jak ale powinien powinna powinno powinny być dla od przez
    mi ve bir bu için değil mı mu mü gerek olmalı ne nasıl neden
    yang dan di untuk apakah tidak dengan ini itu harus akan bisa ada dari adalah boleh perlu
    ang ng mga sa ba dapat hindi ay kung
    na ya wa kwa je ni za katika
    on ei ja että onko pitäisikö voiko mitä miksi kuka se
    van nem egy hogy kell az vagy miért
    je se že měl měla mělo jsou není proč jak
    có không nên phải là của và được cho người
    """.split()
) - _ENGLISH - frozenset(
    "do no on as man per plus son es in do wie ni ay se do mais mas il wo so dan sa al lo si bin za"
    " ja je ya na mi to an of ve".split()
)  # fmt: skip


def is_english(text: str) -> bool:
    """True for a text that reads as English, or is too short or too full of names to tell.

    Letters of other scripts, frequent words of other languages, and a lack of English ones speak
    against it.
    """
    letters = [c for c in text if c.isalpha()]
    if not letters:
        return True
    if sum(not _latin(c) for c in letters) > 0.3 * len(letters):
        return False
    parts = text.replace("-", " ").split()
    words = [word for each in parts if (word := bare(each)) and word[0].isalpha()]
    english = sum(word in _ENGLISH or word.partition("'")[0] in _ENGLISH for word in words)
    foreign = sum(word in _FOREIGN for word in words)
    strange = sum(_strange(word) for word in words)
    accented = sum(not word.isascii() and _strange(word) for word in words)
    if accented and foreign + accented > english:
        return False
    if foreign >= 2 and foreign > english:
        return False
    if "¿" in text or "¡" in text:
        return False
    if english:
        return not (strange + foreign > 0.6 * len(words) and english < 0.15 * len(words))
    if foreign and strange + foreign >= 0.5 * len(words):
        return len(words) < 2
    return len(words) < 3 or strange < 0.6 * len(words)


def _latin(letter: str) -> bool:
    return letter.isascii() or "LATIN" in unicodedata.name(letter, "")


def _strange(word: str) -> bool:
    """A word that the English vocabulary lacks."""
    stem = word.removesuffix("'s")
    return not is_known(stem) and stem not in vocabulary().names


def check_language(language: str) -> bool:
    """True when the rules read this language."""
    return any(is_language(language, known) for known in LANGUAGES)


def caution(question: str, *, found: bool, judge: object | None) -> str:
    """What a question in another language than English gets, in a sentence or two; empty where
    nothing is to be said.

    ``found``: it has perspectives; ``judge`` is the one that looked at them, if any did, whose
    ``languages`` say what it knows (none: nobody has said).
    """
    if is_english(shortened(question)[0]):
        return ""
    said = []
    if not found:
        said.append(
            "The rules read English only: the question was searched as it is, and no sides were "
            "looked for. Name them yourself, or pass an extractor that reads the language."
        )
    languages = tuple(getattr(judge, "languages", ()))
    if languages:
        known = "English" if languages == LANGUAGES else ", ".join(languages)
        said.append(f"The judge knows {known} only: its verdicts here are guesses.")
    return " ".join(said)
