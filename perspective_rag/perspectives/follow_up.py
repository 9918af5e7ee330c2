"""A follow-up completed from the question before it: "and for teenagers?"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perspective_rag.perspectives.cleaning import is_english
from perspective_rag.perspectives.context import announces, antecedents, is_plural_phrase
from perspective_rag.perspectives.kinds import asked_about, is_chat, is_code
from perspective_rag.perspectives.statements import CONDITIONS, auxiliary_of, subject_end
from perspective_rag.perspectives.words import (
    ARTICLES,
    MODALS,
    PREPOSITIONS,
    SUBORDINATORS,
    WH_WORDS,
    bare,
    base_of,
    inflected,
    is_plural,
    mid_sentence,
    tags,
    upper_first,
    verb_share,
    vocabulary,
)
from perspective_rag.perspectives.wrapping import is_talk
from perspective_rag.text import shares_words, split_sentences

MOST_WORDS = 24  # no follow-up is longer
MOST_OF_PHRASE = 8
LONGEST = 400  # characters of one, and of the question before it

_OPENERS = frozenset("and but or so ok okay well then yes no also hmm alright right now".split())
_MORE = frozenset("more details go on continue elaborate".split())
# Nouns that are of, to or for something: "what are the risks?"
_RELATED = dict.fromkeys(
    "risk benefit cost price effect impact consequence drawback advantage disadvantage danger"
    " downside upside limit harm point".split(),
    "of",
) | dict(
    pair.split("=")
    for pair in "alternative=to objection=to solution=to exception=to reason=for".split()
)
_SIDE = re.compile(
    r"^(?:what(?:'s| is| are| about) |how about |give me )?(?:the |any |some |more )*"
    r"(?:(?:arguments?|case|reasons?|points?) )?(?:(?P<side>for|against)(?: it| that| this)?"
    r"|other side|counter-?arguments?|objections?)$",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"^(?:(?:what|how) about|what of|as for|regarding|about) (.+)$", re.IGNORECASE)
_PEOPLE = frozenset(
    "children kids teenagers teens adolescents adults women men girls boys parents teachers"
    " students pupils workers employees patients doctors elderly pensioners people voters"
    " citizens immigrants migrants refugees tenants owners drivers families minors tourists"
    " residents prisoners farmers poor rich person family child teenager adult animals".split()
)
# What a question is looked at from, rather than asked of.
_ASPECTS = frozenset(
    "cost price money privacy safety security health environment climate economy job freedom"
    " right democracy justice fairness ethic law science evidence crime pollution waste energy"
    " welfare risk benefit effect alternative exception quality time future tax".split()
)
_SINGULAR = frozenset("it that this".split())
_MANY = frozenset("they them these those their".split())
_OWNED = frozenset("its their".split())
_MEASURES = frozenset("ban law policy idea plan measure rule proposal change step tax".split())
# What is said of something to do rather than of a thing: "is it legal?", "does it work?".
_OF_ACTS = frozenset(
    "legal illegal fair unfair possible realistic feasible necessary right wrong allowed"
    " worth work help happen cost justified enforced popular moral ethical good bad practical"
    " affordable effective sensible".split()
)
_PROPOSES = frozenset("should must ought shall".split())


@dataclass(frozen=True, slots=True)
class QuestionThread:
    """A conversation up to a question: what it asks, its topic, and how a further text is read.

    ``question`` stands alone. ``plain`` is the question without what a follow-up narrowed it to
    ("in Europe"), so that the next one narrows it instead of that. ``topic`` is the last question
    that stood alone, or that a follow-up asked of something else ("what about circuses?").
    ``follows``: the question was completed from those before it.
    """

    question: str = ""
    plain: str = ""
    topic: str = ""
    follows: bool = False

    def then(self, text: str) -> QuestionThread:
        """The thread with one more text. A follow-up takes from the thread what it leaves out; any
        other question begins a new one. By rule, English only; linear in the length.
        """
        alone = QuestionThread(text, text, text)
        said = " ".join(text.split())
        plain = said.rstrip("?!. ")
        if not self.topic or len(said) > LONGEST or not _letters(plain) or "? " in plain:
            return alone
        words, opened = _without_openers(plain.split(" "))
        if is_code(said) or is_chat(plain) or len(words) > MOST_WORDS or not is_english(said):
            return alone
        whole = self.question if self.plain == self.topic else self.topic  # with its narrowing
        for complete in _NARROWING:
            earlier = _last_question(self.plain)
            made = complete(words, earlier, opened) if earlier else None
            if made is not None:
                return self._narrowed(
                    made, earlier, complete(words, _last_question(self.topic), opened)
                )
        for complete in _COMPLETIONS:
            # "it" is what is proposed, "they" may be whom the last question was about
            late = complete is _alone or not _MANY.isdisjoint(map(bare, words))
            for earlier in map(_last_question, [self.question, whole] if late else [whole]):
                made = complete(words, earlier, opened) if earlier else None
                if made is not None:
                    question = _question(made)
                    return QuestionThread(question, question, self.topic, follows=True)
        return alone

    def _narrowed(self, made: str, earlier: Sequence[str], of_topic: str | None) -> QuestionThread:
        question = _question(made)
        if _holds(made, earlier):  # behind the question, nothing in it was replaced
            return QuestionThread(question, self.plain, self.topic, follows=True)
        apart = self.plain != self.topic
        topic = self.topic if apart else question
        if of_topic and apart and not _holds(of_topic, _last_question(self.topic)):
            topic = _question(of_topic)
        return QuestionThread(question, question, topic, follows=True)


def follow_up(question: str, previous: str | Sequence[str]) -> str:
    """The question as it stands alone: a follow-up takes from ``previous``, the question before it
    or those before it, oldest first, what it leaves out. Any other question, and small talk, comes
    back as it is.

    "And for teenagers?" after "Should social media be banned for children?" gives "Should social
    media be banned for teenagers?". What is recognised as a follow-up but cannot be put in one
    question is put behind the previous one.
    """
    thread = QuestionThread()
    for text in [previous] if isinstance(previous, str) else previous:
        if _letters(text) and not is_chat(text.rstrip("?!. ")):
            thread = thread.then(text)
    return thread.then(question).question


def _question(made: str) -> str:
    return f"{upper_first(made).rstrip('?!. ')}?"


def _holds(made: str, earlier: Sequence[str]) -> bool:
    """Whether what was made holds the question before unchanged, up to its colon."""
    return " ".join(earlier).partition(":")[0].casefold() in made.casefold()


def _last_question(previous: str) -> list[str]:
    """The words of the last question before, without its end mark and what it was asked about
    besides ("Considering the cost, ...").
    """
    found = split_sentences(" ".join(previous[-LONGEST:].split()))
    asked = [each for each in found if each.endswith("?")] or found
    text = asked[-1].rstrip("?!. ") if asked else ""
    text = re.sub(r"^Considering [^,]{1,80}, ", "", text)
    return _without_openers(text.split(" "))[0] if _letters(text) else []


def _letters(text: str) -> bool:
    return any(c.isalpha() for c in text)


def _without_openers(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words without "and", "but" and the like before them, and whether there were any."""
    start = 0
    while start < len(words) - 1 and bare(words[start]) in _OPENERS:
        if bare(words[start]) == "no" and not words[start].endswith(","):
            break
        start += 1
    return list(words[start:]), start > 0


def act_of(words: Sequence[str]) -> str | None:
    """What a question proposes, as a gerund: "banning social media for children" for "Should
    social media be banned for children"; None where it proposes nothing.
    """
    auxiliary = auxiliary_of(words[0])
    end = subject_end(words, auxiliary) if auxiliary in _PROPOSES else None
    if end is None:
        return None
    subject, predicate = list(words[1:end]), [w for w in words[end:] if bare(w) != "not"]
    first, rest = bare(predicate[0]), predicate[1:]
    if first != "be":
        doer = [] if bare(subject[0]) in {"we", "one", "you", "i"} else subject
        return " ".join([*doer, inflected(first, "g"), *rest])
    verb = base_of(rest[0], "p") if rest and "p" in tags(rest[0]) else None
    if verb is not None:
        return " ".join([inflected(verb, "g"), *subject, *rest[1:]])
    return " ".join(["making", *subject, *rest]) if rest else None


def topic_of(words: Sequence[str]) -> str | None:
    """What a question without its end mark is about: what it proposes, else its subject; None where
    neither is found.
    """
    if bare(words[0]) in {"why", "how", "when", "where"} and len(words) > 2:
        words = words[1:]
    auxiliary = auxiliary_of(words[0])
    if auxiliary is not None:
        end = subject_end(words, auxiliary)
        return act_of(words) or (None if end is None else " ".join(words[1:end]))
    about = asked_about(words)
    if about is None and bare(words[0]).removesuffix("'s") in WH_WORDS:
        links = [i for i, word in enumerate(words[:7]) if bare(word) in {"of", "about"}]
        about = list(words[links[0] + 1 :]) if links else None
        return " ".join(about) if about else None
    text = " ".join(about or words)
    return mid_sentence(text) if about or len(words) < 5 else next(iter(antecedents([words])), None)


def _side(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """ "And the arguments against?", "Why not?"."""
    match, topic = _SIDE.match(" ".join(words)), topic_of(earlier)
    why_not = [bare(word) for word in words] == ["why", "not"]
    if topic is None or not (match or why_not):
        return None
    return f"what are the arguments {(match and match['side']) or 'against'} {topic}"


def _alone(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """ "Why?", "for whom?", "really?", "tell me more", "and there?": what says nothing alone."""
    plain = [bare(word) for word in words]
    before, behind = " ".join(earlier), f"{' '.join(earlier)}? {upper_first(' '.join(words))}"
    if len(words) == 1 and plain[0] in {"why", "how", "when", "where"} and auxiliary_of(earlier[0]):
        return f"{plain[0]} {mid_sentence(before)}"
    asks = not WH_WORDS.isdisjoint(plain) and "think" not in plain
    which = plain[0] == "which" and len(words) < 5 and auxiliary_of(words[1 % len(words)])
    if which or (asks and (len(words) == 2 or (len(words) < 4 and is_talk(words)))):
        return behind
    again = is_talk([word for word in plain if word not in _MORE]) and not asks
    if again and (_OF_ACTS - {"right"}).isdisjoint(plain):
        return before if len(words) > 1 or not opened else behind
    return behind if opened and len(words) < 3 else None


def _aspect(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """ "What are the risks?", "any alternatives?": of what was asked about before."""
    plain = [bare(word) for word in words]
    link = _RELATED.get(plain[-1]) or _RELATED.get(plain[-1].removesuffix("s"))
    topic = topic_of(earlier)
    leads = plain[0].removesuffix("'s") in WH_WORDS | {"any", "other", "are", "is"}
    if link is None or topic is None or len(words) > 6 or not leads or plain[1:2] == ["about"]:
        return None
    if set(plain) & (_SINGULAR | _MANY | _OWNED):
        return None
    if plain[0] in {"any", "other"}:
        words = ["what", "are", "the", *words[1:]]
    return f"{' '.join(words)} {link} {topic}"


def _with_preposition(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """The question before with this phrase: in the place of its own with the same preposition where
    the two are of one sort, else behind it ("and for teenagers?", "what about in Europe?").
    """
    words = _phrase(words)
    if words and bare(words[0]) in {"even", "also", "only", "just", "especially", "not"}:
        words = words[1:]
    first = bare(words[0]) if words else ""
    opening = (PREPOSITIONS | {"except"}) - {"than", "as", "like", "vs", "versus", "of", "about"}
    if not 2 <= len(words) <= MOST_OF_PHRASE or first not in opening or _asks(words):
        return None
    head, tail = _split(earlier)
    for start in range(len(head) - 2, 0, -1):
        if bare(head[start]) == first:
            border = _subject_end(head) or 0
            end = border if start < border else len(head)
            found, sort = _sort(head[start + 1 : end]), _sort(words[1:])
            if found == sort or (first == "for" and {found, sort} <= {"people", "other"}):
                return " ".join([*head[:start], *words, *head[end:]]) + tail
            break
    return " ".join([*head, *words]) + tail


def _condition(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """ "And if it is voluntary?", "even when they are older?": behind the question before."""
    plain = [bare(word) for word in words]
    start = 1 if plain[0] in {"even", "only", "but", "especially", "what"} else 0
    start = 2 if plain[:2] == ["how", "about"] else start
    opens = plain[start : start + 1] and plain[start] in (CONDITIONS | {"because"}) - {"where"}
    if not opens or len(words) < start + 3 or any(word.endswith(",") for word in words):
        return None
    if plain[start] == "when" and auxiliary_of(words[start + 1]):
        return None  # "When did Ghana become independent?"
    head, tail = _split(earlier)
    return " ".join([*head, *words[start if start and plain[0] in {"what", "how"} else 0 :]]) + tail


def _about(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """The question before of something else, or seen from another side: "what about circuses?",
    "and the cost?".
    """
    named = _ABOUT.match(" ".join(words)) is not None
    phrase = _phrase(words)
    first = tags(phrase[0]) if phrase else frozenset[str]()
    if not (named or opened) or not 1 <= len(phrase) <= MOST_OF_PHRASE or _asks(phrase):
        return None
    if first & {"prep", "wh", "conj"} or bare(phrase[0]) in _SINGULAR | _MANY:
        return None
    acts = "g" in first and "n" not in first and len(phrase) > 1
    if acts or not (named or _is_noun_phrase(phrase)):
        return None  # "what about banning cars?" stands alone
    head, tail = _split(earlier)
    place = _replaced(head, phrase)
    if place is not None:
        return " ".join([*head[: place[0]], *phrase, *head[place[1] :]]) + tail
    return f"considering {mid_sentence(' '.join(phrase))}, {mid_sentence(' '.join(head))}{tail}"


def _phrase(words: Sequence[str]) -> list[str]:
    """The words behind "what about", without "too" and the like at their end."""
    match = _ABOUT.match(" ".join(words))
    kept = [word.strip(",;:") for word in (match[1].split(" ") if match else words)]
    while len(kept) > 1 and bare(kept[-1]) in {"then", "too", "instead", "though", "either"}:
        kept.pop()
    return [word for word in kept if word]


def _asks(words: Sequence[str]) -> bool:
    return any(auxiliary_of(word) or bare(word) in WH_WORDS for word in words)


def _is_noun_phrase(words: Sequence[str]) -> bool:
    first, last = tags(words[0]), tags(words[-1])
    base = "v" in first and (first == {"v"} or (len(words) > 2 and not first & {"n", "a", "det"}))
    opens = bare(words[0]) in ARTICLES or not first & {"pron", "aux", "r"}
    return opens and not base and (not last or bool(last & {"n", "s", "P", "g"}))


def _split(earlier: Sequence[str]) -> tuple[list[str], str]:
    """The question up to a colon, and the rest as it stood."""
    place = next((i for i, word in enumerate(earlier[:-1]) if word.endswith(":")), None)
    if place is None:
        return list(earlier), ""
    return [*earlier[:place], earlier[place][:-1]], f": {' '.join(earlier[place + 1 :])}"


def _subject_end(head: Sequence[str]) -> int | None:
    auxiliary = auxiliary_of(head[0])
    return None if auxiliary is None else subject_end(head, auxiliary)


def _sort(words: Sequence[str]) -> str:
    """Number, name, people or another noun phrase, by the phrase up to its own preposition."""
    head = _head(words)
    if "#" in tags(head):
        return "number"
    if head[:1].isupper() or (bare(head) in vocabulary().names and not tags(head) - {"P"}):
        return "name"
    return "people" if bare(head) in _PEOPLE else "other"


def _head(words: Sequence[str]) -> str:
    links = (i for i, word in enumerate(words) if i and bare(word) in PREPOSITIONS)
    return words[next(links, len(words)) - 1]


def _replaced(head: Sequence[str], phrase: Sequence[str]) -> tuple[int, int] | None:
    """The part of the question before that a phrase of the same sort takes the place of."""
    last, sort, border = bare(phrase[-1]), _sort(phrase), _subject_end(head)
    if last in _ASPECTS or last.removesuffix("s") in _ASPECTS:
        return None
    if sort in {"name", "people"}:
        ends = (end for end in range(len(head), 1, -1) if _sort([head[end - 1]]) == sort)
        end = next(ends, 0)
        start = end - 1
        own = {"P"} if sort == "name" else {"det", "a", "#"}
        while start > 1 and tags(head[start - 1]) & own and "p" not in tags(head[start - 1]):
            start -= 1
        return (start - (bare(head[start - 1]) == "the"), end) if end else None
    if border is None or bare(phrase[0]) == "the" or _sort(head[1:border]) == "people":
        return None
    alike = is_plural(_head(head[1:border])) == is_plural(_head(phrase))
    return (1, border) if alike else None


def _pronoun_named(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """The words with the pronoun that points back replaced by what the question before was about;
    None where they have none, or the question names what it stands for itself.
    """
    plain = [bare(word) for word in words]
    place = _pointer(words, plain)
    if place is None:
        return None
    end, word = place + 1, plain[place]
    if word == "there":
        place_of = _place(earlier)
        made = [*words[:place], f"{place_of}{words[place][5:]}", *words[end:]]
        return _considering(made, earlier) if place_of else None
    elif _general(plain, place):
        end, thing = _general(plain, place), topic_of(earlier)
    else:
        thing = _thing(plain, earlier, many=word in _MANY | {"their"})
    if thing is None:
        return f"{' '.join(earlier)}? {' '.join(words)}"
    if word in _OWNED:
        thing += "'" if thing.endswith("s") else "'s"
    mark = words[end - 1][len(words[end - 1].rstrip(",;:")) :]
    return " ".join([*words[:place], mid_sentence(thing) + mark, *words[end:]])


def _pointer(words: Sequence[str], plain: Sequence[str]) -> int | None:
    """The place of the pronoun that points back to the question before, if there is one."""
    start = 0
    while start < len(plain) - 1 and plain[start].removesuffix("'s") in WH_WORDS | {"much", "many"}:
        start += 1
    subject = start + (auxiliary_of(words[start]) is not None)
    subject = 1 if plain[0].endswith("'s") else subject
    for i in range(subject, len(plain)):
        word, after = plain[i], tags(words[i + 1]) if i + 1 < len(words) else frozenset[str]()
        if _general(plain, i):
            return i
        if word == "there" and i > subject and not {"is", "are", "be"} & set(plain[i - 1 : i + 2]):
            return i
        if word == "it" and announces(words[i:]):
            return None
        if i == subject and word in _SINGULAR | _MANY | _OWNED | {"he", "she"}:
            noun = bool(after & {"n", "s", "P"}) and "a" not in after and i + 2 < len(plain)
            described = noun and word not in _OWNED | {"it", "they"}
            opens = i == 0 and word in {"this", "that"} and not auxiliary_of(words[1 % len(words)])
            return None if described or (opens and len(plain) > 2) else i
        if i > subject and word in {"it", "them"} | _OWNED:
            named = plain[i - 1] != "without" and _named_before(words[subject:i], word)
            return None if named else i
    return None


def _general(plain: Sequence[str], place: int) -> int:
    """The end of "such a ban", "this law"; 0 for any other words."""
    end = place + 1 + (plain[place + 1 : place + 2] in (["a"], ["an"]))
    pointing = plain[place] in {"this", "that", "such", "these", "those"}
    known = end < len(plain) and plain[end].removesuffix("s") in _MEASURES
    return end + 1 if pointing and known else 0


def _named_before(words: Sequence[str], pronoun: str) -> bool:
    """True where another noun phrase than the subject stands before the pronoun."""
    nouns, inside = 0, False
    for i, word in enumerate(words):
        found = tags(word)
        verb = (i > 0 and "s" in tags(words[i - 1]) and "v" in found) or (
            verb_share(base_of(word, "s") or word) >= 0.5
        )
        noun = bool(found & {"n", "s", "P"}) and not found & {"prep", "aux", "det"} and not verb
        nouns += noun and not inside
        inside = noun
    return nouns > (0 if pronoun in _OWNED else 1)


def _thing(plain: Sequence[str], earlier: Sequence[str], *, many: bool) -> str | None:
    """What the pronoun stands for: what was proposed where the words speak of an act, else a noun
    of its number.
    """
    proposed, nouns = act_of(earlier), antecedents([earlier])
    of_act = "be" not in map(bare, earlier) or not _OF_ACTS.isdisjoint(plain)
    if proposed is not None and of_act and not many and "without" not in plain:
        return proposed
    fitting = [each for each in nouns if is_plural_phrase(each) == many]
    if "without" in plain and proposed and len(fitting) > 1 and "be" not in map(bare, earlier):
        fitting = fitting[1:]  # "Should schools ban phones?": without phones
    subject = topic_of(earlier) if proposed is None else None
    if subject is not None and (not fitting or is_plural_phrase(subject) == many):
        return subject
    return next(iter(fitting), proposed if not many else next(iter(nouns), None))


def _implied(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """The words behind "Considering TOPIC, " where they speak of people or of a consequence that
    only the topic explains: "are the animals happy?", "would people stop working?".
    """
    plain = [bare(word) for word in words]
    follows = plain[-1] in {"then", "instead", "afterwards", "otherwise"} and len(words) > 2
    kept = words[:-1] if follows else words
    auxiliary = auxiliary_of(words[0])
    asks = auxiliary in MODALS | {"is", "are", "do", "does"}
    end = subject_end(words, auxiliary) if auxiliary and asks else None
    whose = plain[1:end] if end is not None else []
    known = whose[:1] == ["the"] or auxiliary == "would"
    people = bool(whose) and whose[-1] in _PEOPLE | {"animals"} and len(whose) < 4 and known
    if not SUBORDINATORS.isdisjoint(plain) or "without" in plain or not (follows or people):
        return None
    proposes = auxiliary in _PROPOSES
    return None if proposes and not follows else _considering(kept, earlier)


def _considering(words: Sequence[str], earlier: Sequence[str]) -> str:
    """The words, behind "Considering TOPIC, " where they do not name what the topic is of."""
    text, topic = " ".join(words), topic_of(earlier)
    thing = next(iter(antecedents([earlier])), "")
    if topic is None or shares_words(text, thing):
        return text
    return f"considering {topic}, {mid_sentence(text)}"


def _place(earlier: Sequence[str]) -> str | None:
    """Where the question before is set: its last phrase of place, else in what it is about."""
    for i in range(len(earlier) - 2, 1, -1):
        if bare(earlier[i]) in {"in", "from", "at", "inside"}:
            link = "at" if bare(earlier[i]) == "at" else "in"
            return f"{link} {' '.join(word.strip(',;:') for word in earlier[i + 1 :])}"
    noun = next(iter(antecedents([earlier])), None)
    return f"in {mid_sentence(noun)}" if noun else None


_Completion = Callable[[Sequence[str], Sequence[str], bool], str | None]
_NARROWING: tuple[_Completion, ...] = (_with_preposition, _condition, _about)
_COMPLETIONS: tuple[_Completion, ...] = (_side, _aspect, _alone, _pronoun_named, _implied)
