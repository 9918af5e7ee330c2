"""A question read by rule: its sides, or none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from perspective_rag.errors import ConfigError
from perspective_rag.perspectives.alternatives import listed_options, named_alternatives
from perspective_rag.perspectives.clauses import (
    Statement,
    as_statement,
    auxiliary_of,
    sound_sides,
    statement_of,
)
from perspective_rag.perspectives.cleaning import (
    LANGUAGES,
    check_language,
    cleaned,
    glued,
    is_english,
    shortened,
    unglued,
)
from perspective_rag.perspectives.context import antecedents, resolved, sentences
from perspective_rag.perspectives.kinds import asks_for_a_word, is_code, is_open, kind_of
from perspective_rag.perspectives.negation import negate
from perspective_rag.perspectives.topics import carried_side, motion, poles, topic_sides, whole
from perspective_rag.perspectives.words import WH_WORDS, bare, finite_verb, upper_first
from perspective_rag.perspectives.wrapping import core_of, suggested, trimmed
from perspective_rag.text import seen_keys
from perspective_rag.types import Extraction, Kind, Perspective, Stance

_VERDICT = re.compile(
    r"^(?:and |so |but |well,? )?(?:is|are|was|were) (?:that|this|it|he|she|they|these)"
    r"(?: really| actually| at all| all)? (?:true|right|so|correct|the case|fair|wrong|false|valid"
    r"|justified|accurate|a fact|reasonable|just|really so)?(?: or (?:not|false|wrong|no))?$"
    r"|^(?:do|would|don't) you (?:also |all )?(?:agree|disagree|think so|believe (?:that|it|this"
    r"|so)"
    r"|buy (?:that|it|this)|see it that way|share (?:this|that|his|her|their) view"
    r"|think (?:that's|that is|it is|he's|he is|she is|they are) (?:right|true|fair))"
    r"(?: or (?:not|disagree))?(?: with (?:that|this|him|her|them|it))?$"
    r"|^is there (?:any|some)(?:thing| truth) (?:to|in|behind) (?:it|that|this)$"
    r"|^(?:agree|disagree|true|false|right|thoughts|any thoughts|your thoughts|opinions|discuss"
    r"|why|why not|why or why not|explain|really|correct|comments|views|yes or no|true or false"
    r"|agree or disagree|fact or myth|please explain|what now|thanks|thank you|thanks in advance"
    r"|thanks a lot|cheers|help|please|please help|please advise|any ideas|just curious|ideas"
    r"|explain (?:your|why).{0,40}|give reasons.{0,40}|justify your.{0,40}|am i (?:right|wrong)"
    r"|is that so|does (?:that|this|it) (?:make sense|hold|hold up|hold water)|who knows"
    r"|can (?:that|this) be (?:true|right)|could (?:that|this) be true)$"
    r"|^(?:what|how) (?:do|would|about|did|is|are|say|does) (?:you|everyone|people|your|others"
    r"|the)\b"
    r".{0,30}?(?:think|say|feel|believe|reckon|view|take|opinion|thoughts|verdict|see it|you"
    r"|answer)?"
    r"(?: about (?:it|this|that)| of (?:it|this|that)| on (?:it|this|that))?$"
    r"|^(?:who|which (?:one|side|view|of them|of the two))(?: of (?:them|the two))?"
    r" (?:is|was|are|has|had|do you|would you)"
    r" (?:more )?(?:right|correct|wrong|true|better|the (?:better|stronger|best) (?:argument|case"
    r"|point)"
    r"|closer to the truth|agree with|side with|believe|support|think is right|a point)$"
    r"|^(?:where do you stand|what(?:'s| is) (?:right|true|your view|your opinion|your take)"
    r"|who(?:'s| is) right|whose side are you on|what do you make of (?:it|this|that))$",
    re.IGNORECASE,
)
_SAYS = (
    r"(?:say|says|said|think|thinks|thought|believe|believes|believed|argue|argues|argued|claim"
    r"|claims|claimed|hold|holds|held|insist|insists|maintain|maintains|wrote|taught|feel|feels"
    r"|reckon|reckons|contend|contends|swear|swears)"
)
_ONE = re.compile(rf"^(?P<who>(?:[\w'.-]+ ){{1,7}}?){_SAYS}(?: that)? (?P<view>.+)$", re.IGNORECASE)
_DISAGREED = re.compile(
    r"^(?:while |whereas |but |and |though |yet )?(?:[\w'.-]+ ){1,7}?(?:disagreed?s?|differ(?:s"
    r"|ed)?"
    r"|den(?:y|ies|ied)(?: (?:it|this|that))?|do(?:es)? not|don't|doesn't|did not|didn't"
    r"|(?:think|say|thought|said|believe)s? (?:not|otherwise|the opposite|the contrary)"
    r"|object(?:s|ed)?|beg(?:s|ged)? to differ|dispute(?:s|d)? (?:it|this|that)"
    r"|(?:was|were|is|are) (?:against (?:it|this|that)|not so sure|sceptical|skeptical"
    r"|unconvinced))$",
    re.IGNORECASE,
)
_CUT = re.compile(r"\s*[,;]\s+|\.\s+|\s+(?=(?:while|whereas|but) )")


def asks_verdict(sentence: str) -> bool:
    """True for a sentence that only asks what one thinks of what was said before it."""
    return len(sentence) < 90 and bool(_VERDICT.match(sentence.strip().rstrip("?!. ")))


_PLANS = re.compile(
    r"^(?P<who>.{3,80}?) (?:also |now |even )?(?:(?:wants?|plans?|intends?|proposes?|hopes?|wishes)"
    r"|(?:is|are) (?:going|planning|about|hoping)|has decided|have decided) to (?P<what>.+)$",
    re.IGNORECASE,
)
_PERSONS = frozenset("i we he she you they it who".split())


def planned(sentence: str) -> str | None:
    """What somebody is said to plan, as a demand: whether it is fair asks whether it should be.

    "The city wants to ban cars" gives "The city should ban cars"; None for any other sentence.
    """
    match = _PLANS.match(sentence.strip().rstrip("?!. "))
    if match is None or bare(match["who"].split(" ")[-1]) in _PERSONS:
        return None
    return f"{match['who']} should {match['what']}"


def contrasted(parts: Sequence[Sequence[str]]) -> list[str]:
    """The two views that a text sets against each other; empty where it does not."""
    text = " ".join(" ".join(part) for part in parts)
    if len(text) > 600:
        return []
    pieces = [piece.strip(" .?!,;") for piece in _CUT.split(text)]
    pieces = [piece for piece in pieces if piece]
    for i in range(len(pieces) - 1):
        found = _pair(pieces[i], pieces[i + 1])
        if found:
            return found
    return []


def _pair(one: str, other: str) -> list[str]:
    first = _ONE.match(one)
    if first is None or bare(first["who"].split(" ")[0]) in {"do", "would", "did", "what", "who"}:
        return []
    view = upper_first(first["view"])
    verb = finite_verb(view.split(" "), trusted=True)
    if verb is None:
        return []
    if _DISAGREED.match(other):
        claim = as_statement(view)
        return [claim.text, claim.negation] if claim else []
    opener = other.lower().removeprefix("while ").removeprefix("whereas ").removeprefix("but ")
    others = opener.removeprefix("and ").removeprefix("the ").startswith("other")
    second = _view(other, others)
    if second is None:
        return []
    subject = " ".join(view.split(" ")[:verb])
    words = second.split(" ")
    if bare(words[0]) in {"it", "they", "he", "she"} and bare(subject.split(" ")[0]) not in {"it"}:
        second = " ".join([subject, *words[1:]])
    whole = resolved(second, antecedents([view.split(" ")])) or second
    sides = [view, upper_first(whole)]
    return sides if sound_sides(sides) else []


def _view(piece: str, others: bool) -> str | None:
    """The view in "others that it is invented" or "Aristotle said that it is not"."""
    plain = re.sub(r"^(?:while|whereas|but|and|though|yet) ", "", piece, flags=re.IGNORECASE)
    match = _ONE.match(plain)
    if match is not None:
        return match["view"]
    if not others:
        return None
    rest = re.sub(
        r"^(?:the )?others?(?: (?:camp|side|half|people|experts|one|group))?(?: that)? ", "", plain,
        count=1, flags=re.IGNORECASE,
    )  # fmt: skip
    words = rest.split(" ")
    return rest if finite_verb(words) is not None else None


_SAID: dict[Kind, str] = {
    "open": "an open question, whose wording names no sides",
    "factual": "a question of fact, with an answer to look up",
    "personal": "a question about your own affairs",
    "request": "a task or a piece of code, not a question with sides",
    "chat": "small talk",
}
MOST_CLAIMS = 2
_IS = re.compile(r"\b([Ii]t|[Tt]hat|[Tt]here)['’]s (?!been\b|got\b|\w+ed\b|own\b)")
_DOTTED = re.compile(r"\b(?:[A-Z]\.)+[A-Z]$")  # "in the U.S", its last dot taken for a full stop


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
    if not check_language(language):
        return Reading(text, "not-english", explanation=_unread(language))
    found = _read(text)
    found = replace(found, explanation=found.explanation or _explained(found))
    if cut:
        note = " (only a part of the long text was read)"
        found = replace(found, explanation=found.explanation + note)
    return found


def _unread(language: str) -> str:
    known = ", ".join(LANGUAGES)
    return f"I understood: the rules read no {language!r}, only {known}; it is searched as it is"


def _read(text: str) -> Reading:
    if is_code(text):
        return Reading(text, "request")
    if not is_english(text):
        return Reading(text, "not-english")
    clean = cleaned(text)
    short = trimmed(clean)
    carried = carried_side(short)
    kind = None if carried else kind_of(short)
    if kind in ("chat", "request"):
        return Reading(text, kind)
    if carried is not None:
        return _carried(text, carried.root, carried.statement, carried.stance, carried.instruction)
    words = glued(short)
    parts = list(sentences(words))
    found = _sides_in(text, parts)
    if found is not None:
        return found
    return Reading(text, _without_sides(short, parts))


def _carried(
    text: str, root: str, statement: Statement, stance: Stance, instruction: str
) -> Reading:
    if not sound_sides([statement.text, statement.negation]):
        return Reading(text, "open")
    start = text.lower().find(instruction.lower())
    said = text[start : start + len(instruction)] if start >= 0 else instruction
    return Reading(root, "sides", (statement,), stance=stance, instruction=said)


def _sides_in(text: str, parts: Sequence[Sequence[str]]) -> Reading | None:
    """The reading of the sentences, or None where they name no sides."""
    judged = False
    kept = [list(part) for part in parts]
    while len(kept) > 1 and asks_verdict(" ".join(kept[-1])):
        kept, judged = kept[:-1], True
    if not kept:
        return None
    told = ". " in text and asks_verdict(text.rsplit(". ", 1)[-1])  # it may be cut off already
    if (judged or told) and (plan := planned(" ".join(kept[-1]))) is not None:
        kept[-1] = plan.split(" ")
    sides = contrasted(kept)
    if sides:
        return _alternatives(text, sides)
    options = [unglued(each) for each in poles(_joined(kept[-2:])) or listed_options(kept[-2:])]
    if len(options) > 1 and sound_sides(options) and kind_of(_joined(kept[-2:])) != "factual":
        return _alternatives(text, options)
    places = _asked(kept)
    if not places:
        return None
    found: list[Reading] = []
    for place in places:
        nouns = antecedents(kept[:place])
        one = _one(text, " ".join(kept[place]), nouns, judged)
        if one is not None:
            found.append(one)
    return _together(text, found)


def _joined(parts: Sequence[Sequence[str]]) -> str:
    return " ".join(" ".join(part) for part in parts)


def _asked(parts: Sequence[Sequence[str]]) -> list[int]:
    """The sentences that are asked: the yes/no questions, else the last question or sentence."""
    asked = [i for i, part in enumerate(parts) if part[-1].rstrip("\"'”’)").endswith("?")]
    if not asked:
        asked = [i for i, part in enumerate(parts) if _asks(part)]
    polar = [i for i in asked if _polar(" ".join(parts[i]))]
    if polar:
        return polar[:MOST_CLAIMS]
    return asked[-1:] or [len(parts) - 1]


def _asks(part: Sequence[str]) -> bool:
    return auxiliary_of(part[0]) is not None or bare(part[0]).removesuffix("'s") in WH_WORDS


def _polar(sentence: str) -> bool:
    first = trimmed(sentence).split(" ", 1)[0]
    return auxiliary_of(first) is not None


def _together(text: str, found: Sequence[Reading]) -> Reading | None:
    """The readings of several questions as one: the claims of all, or the first's alternatives."""
    if not found:
        return None
    first = found[0]
    kinds = [each for each in found if not (each.claims or each.alternatives)]
    if len(found) == 1 or first.alternatives or kinds:
        return next((each for each in found if each.claims or each.alternatives), first)
    claims: dict[str, Statement] = {}
    for each in found:
        for claim in each.claims:
            claims.setdefault(claim.text.lower(), claim)
    return replace(first, claims=tuple(claims.values())[:MOST_CLAIMS])


def _one(text: str, sentence: str, nouns: Sequence[str], judged: bool) -> Reading | None:
    """The reading of one sentence, or None where it names no sides."""
    short = trimmed(sentence)
    core = core_of(short, judged=judged)
    asked = trimmed(core.text)
    prefix_nouns = [*antecedents([_before_comma(short)]), *nouns]
    kind = kind_of(unglued(asked))
    if kind is not None and not (core.said and kind == "factual"):
        return Reading(text, kind)
    for each in _double(asked):
        found = [
            _claim(
                part,
                core.said,
                [*antecedents([part.split(" ") for part in each[:i]]), *prefix_nouns],
            )
            for i, part in enumerate(each)
        ]
        if all(found):
            return Reading(text, "sides", tuple(claim for claim in found if claim))
    if not core.said and topic_sides(asked) is None:
        options = [resolved(each, prefix_nouns) for each in named_alternatives(asked)]
        if options:
            named = [unglued(each) for each in options if each]
            sound = len(named) == len(options) and sound_sides(named)
            return _alternatives(text, named) if sound else Reading(text, "open")
        ends = poles(asked)
        if ends:
            return _alternatives(text, ends)
    claim = _claim(asked, core.said, prefix_nouns)
    return None if claim is None else Reading(text, "sides", (claim,))


def _before_comma(sentence: str) -> list[str]:
    """What stands before the question in its own sentence: "With the World Cup coming, ..."."""
    words = sentence.split(" ")
    for i in range(len(words) - 3, 0, -1):
        if words[i].endswith((",", ";")) and auxiliary_of(words[i + 1]) is not None:
            return words[: i + 1]
    return []


def _double(asked: str) -> list[list[str]]:
    """Two questions joined by "and": "Is it safe, and should it be allowed?"."""
    words = asked.rstrip("?!. ").split(" ")
    if auxiliary_of(words[0]) is None:
        return []
    for i, word in enumerate(words[:-3]):
        if bare(word) == "and" and auxiliary_of(words[i + 1]) is not None and i > 2:
            return [[" ".join(words[:i]).rstrip(","), " ".join(words[i + 1 :])]]
    return []


def _claim(asked: str, said: bool, nouns: Sequence[str]) -> Statement | None:
    """The claim in a sentence, its pronouns resolved; None where there is none fit to be shown."""
    asked = _IS.sub(r"\1 is ", asked.rstrip("?! ") if said else asked)
    makers = (_short, motion) if said else (topic_sides, statement_of, suggested, motion, _stated)
    question = asked.endswith("?") and auxiliary_of(asked.split(" ", 1)[0]) is not None
    for make in makers:
        made = None if question and make is motion else make(asked)
        if made is None:
            continue
        sides = [resolved(side, nouns) for side in (made.text, made.negation)]
        if sides[0] is None or sides[1] is None:
            return None
        claim = Statement(*(_DOTTED.sub(r"\g<0>.", unglued(side)) for side in sides if side))
        return claim if sound_sides([claim.text, claim.negation]) else None
    return None


def _stated(text: str) -> Statement | None:
    """A text in the order of a statement; none for a question that leaves a place open."""
    first = bare(text.split(" ", 1)[0]).removesuffix("'s")
    asks = first in WH_WORDS or _asked_behind(text) is not None
    if asks or asks_for_a_word(text):
        return None
    ended = text.endswith((".", "!"))
    return whole(text.rstrip("?! "), trusted=ended and len(text.split()) > 3)


def _asked_behind(text: str) -> str | None:
    """The open question behind "After the flood, "; None where there is none."""
    words = text.split(" ")
    for i, word in enumerate(words[1:-1], start=1):
        opens = bare(word) in {"how", "what", "why"} and auxiliary_of(words[i + 1]) is not None
        if opens and words[i - 1].endswith(","):
            return " ".join(words[i:])
    return None


def _short(text: str) -> Statement | None:
    """A text that must be a statement, of two words or more ("ghosts exist")."""
    return whole(text, least=2, trusted=True)


def _alternatives(text: str, options: Sequence[str]) -> Reading:
    return Reading(text, "alternatives", alternatives=tuple(options))


def _without_sides(text: str, parts: Sequence[Sequence[str]]) -> Kind:
    """The kind of a text in which no sides were found."""
    last = trimmed(" ".join(parts[-1])) if parts else text
    last = _asked_behind(last) or last
    kind = kind_of(text) or kind_of(last)
    if kind is not None:
        return kind
    words = last.split(" ")
    asked = any(
        (i == 0 or words[i - 1].endswith(",")) and auxiliary_of(word) is not None
        for i, word in enumerate(words)
    )
    listed = "or" in words and bare(words[0]).removesuffix("'s") not in WH_WORDS
    return "open" if asked or listed or is_open(text) or is_open(last) else "factual"


def _explained(found: Reading) -> str:
    """The reading said to a person."""
    if found.kind == "not-english":
        return "I understood: not English, which is the only language that the rules read"
    if found.stance is not None:
        side = found.claims[0].text if found.stance == "support" else found.claims[0].negation
        return f"I understood: only one side is asked for: {side!r}"
    if found.claims:
        said = "; ".join(f"{claim.text!r} or {claim.negation!r}" for claim in found.claims)
        return f"I understood: {said}"
    if found.alternatives:
        return "I understood: " + " / ".join(repr(each) for each in found.alternatives)
    return f"I understood: {_SAID[found.kind]}"


@dataclass(frozen=True, slots=True)
class GivenPerspectives:
    """Perspectives named in advance, the same for every question.

    Attributes:
        perspectives: The perspectives, with different ids.
    """

    perspectives: tuple[Perspective, ...]

    def extract(self, question: str) -> Extraction:
        """The given perspectives.

        Args:
            question: The question.

        Returns:
            The question with the perspectives; exclusive where they are the sides of claims.
        """
        return Extraction(
            question,
            self.perspectives,
            kind="sides" if exclude_each_other(self.perspectives) else "alternatives",
            exclusive=exclude_each_other(self.perspectives),
        )


def exclude_each_other(perspectives: Sequence[Perspective]) -> bool:
    """True where each perspective is one side of a claim, and some claim has both of its sides."""
    sides: dict[str, set[str]] = {}
    for each in perspectives:
        if each.claim is None or each.stance is None:
            return False
        sides.setdefault(each.claim, set()).add(each.stance)
    return any(len(stances) == 2 for stances in sides.values())


def as_perspectives(given: Sequence[Perspective | str]) -> tuple[Perspective, ...]:
    """Makes perspectives of texts.

    Args:
        given: Texts, which get the ids p1, p2, ..., or Perspectives.

    Returns:
        The perspectives, in their order.

    Raises:
        ConfigError: Something else, an empty text, an id given twice, or two that read
            the same.
    """
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ConfigError(f"perspectives must be a list of texts or Perspectives, got {given!r}")
    made = []
    for number, item in enumerate(given, start=1):
        if isinstance(item, str):
            item = Perspective(f"p{number}", item)
        if not isinstance(item, Perspective) or not seen_keys(item.text):
            raise ConfigError(f"a perspective must be a text that is not empty, got {item!r}")
        made.append(item)
    if len({item.id for item in made}) < len(made):
        raise ConfigError(f"perspectives must have different ids, got {[p.id for p in made]}")
    for one, other in _alike(made):
        raise ConfigError(
            f"perspectives {one.id} and {other.id} read the same, {one.text!r:.80} and"
            f" {other.text!r:.80} (letters that only look alike count as the same): give each once"
        )
    return tuple(made)


def distinct(found: Sequence[Perspective | str]) -> list[Perspective | str]:
    """What an extractor found, without those that read the same as one before."""
    known = (str, Perspective)  # as_perspectives refuses others
    made = [each if isinstance(each, Perspective) else Perspective("", str(each)) for each in found]
    again = {id(other) for _, other in _alike(made)}
    pairs = zip(found, made, strict=True)
    return [each for each, one in pairs if id(one) not in again or not isinstance(each, known)]


def _alike(made: Sequence[Perspective]) -> Iterator[tuple[Perspective, Perspective]]:
    """Each perspective that reads the same as an earlier one, behind that one."""
    seen: dict[tuple[str, str | None, str | None], Perspective] = {}
    for each in made:
        keys = [(key, each.stance, each.claim) for key in seen_keys(each.text)]
        earlier = next((seen[key] for key in keys if key in seen), None)
        if earlier is not None:
            yield earlier, each
        for key in keys:
            seen.setdefault(key, each)


def both_sides(claim: str | Statement, *, number: int = 1) -> tuple[Perspective, Perspective]:
    """A claim and its opposite: the perspectives ``support`` and ``oppose`` of one claim.

    A text that the rules cannot negate is denied as a whole. The ids of a second claim of the same
    question end in its ``number``.
    """
    if isinstance(claim, str):
        text = claim.strip()
        claim = as_statement(text) or Statement(text, negate(text))
    end = "" if number == 1 else str(number)
    return (
        Perspective(f"support{end}", claim.text, "support", claim.text),
        Perspective(f"oppose{end}", claim.negation, "oppose", claim.text),
    )


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
