"""A follow-up completed from the question before it: "and for teenagers?"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from perspective_rag.perspectives.act import topic_of
from perspective_rag.perspectives.clauses import auxiliary_of, subject_end
from perspective_rag.perspectives.cleaning import is_english
from perspective_rag.perspectives.elliptic import about, condition, with_preposition
from perspective_rag.perspectives.kinds import is_chat, is_code
from perspective_rag.perspectives.pointing import pronouns_named
from perspective_rag.perspectives.words import WH_WORDS, bare, mid_sentence, tags, upper_first
from perspective_rag.text import split_sentences

MOST_WORDS = 24  # no follow-up is longer
LONGEST = 400  # characters of one, and of the question before it

_OPENERS = frozenset("and but or so ok okay well then yes no also hmm alright right now".split())
_AGAIN = re.compile(
    r"^(?:really|seriously|are you sure|is (?:that|this|it) (?:really )?(?:true|so|right|correct)"
    r"|(?:tell me|say|show me|give me)? ?more(?: about (?:it|this|that)| details?)?|go on|continue"
    r"|elaborate|(?:please )?explain(?: (?:it|this|that|more))?|what do you think|do you think so"
    r"|(?:is|are|was|does|do|did|should|can|could|will|would|has|have) (?:it|they|that|this|we)"
    r"(?: really)?)$",
    re.IGNORECASE,
)
_LINKS = {
    "of": "risk benefit cost price effect impact consequence drawback advantage disadvantage danger"
    " downside upside limit history harm merit con point",
    "to": "alternative objection solution exception",
    "for": "reason evidence case support",
    "with": "problem issue",
    "on": "study studies research opinion view",
}
_LINK_OF = {noun: link for link, nouns in _LINKS.items() for noun in nouns.split()}
_INQUIRY = re.compile(
    r"^(?:(?:since|for|by|in|at|from|to|of|with|on|says) )?"
    r"(?:who|whom|when|where|why|what|which|how)"
    r"(?: (?:much|many|long|often|far|soon|else|exactly|so|not|people))?$"
    r"|^(?:for|by|in|at|from|to|of|with|on) (?:what|which|whose|how much|how many) [\w'-]{2,30}$",
    re.IGNORECASE,
)
_ASPECT = re.compile(
    r"^(?:(?:what|which)(?:'s| is| are| were)?|(?:are|is) there|(?:list|name|give me|show me))?"
    r" ?(?:(?P<article>the|any|some|other) )?(?P<words>[\w' -]{2,40})$",
    re.IGNORECASE,
)
_SIDE = re.compile(
    r"^(?:what(?:'s| is| are| about)|how about|give me|show me|list)? ?(?:the |any |some |more )*"
    r"(?:(?P<noun>arguments?|case|reasons?|evidence|points?)? ?(?P<side>for|against)(?: (?:it|that"
    r"|this|them))?|(?P<other>other side|counter-?arguments?|opposite (?:view|side)|objections?))$",
    re.IGNORECASE,
)
_NO_NOUN = frozenset({"aux", "pron", "prep", "wh", "det"})
_WHO = {
    "pays": "for", "benefits": "from", "profits": "from", "suffers": "from", "decides": "on",
    "gains": "from", "loses": "from", "objects": "to", "agrees": "with",
}  # fmt: skip


def follow_up(question: str, previous: str) -> str:
    """The question as it stands alone: a follow-up takes from ``previous``, the question before it,
    what it leaves out. Any other question, and small talk, comes back as it is.

    "And for teenagers?" after "Should social media be banned for children?" gives "Should social
    media be banned for teenagers?". What is recognised as a follow-up but cannot be put in one
    question is put behind the previous one. By rule, English only; linear in the length.
    """
    text = " ".join(question.split())
    earlier = _last_question(previous)
    if not text or not earlier or len(text) > LONGEST or is_code(text) or not is_english(text):
        return question
    plain = text.rstrip("?!. ")
    if is_chat(plain) or not _letters(plain):
        return question
    words, opened = _without_openers(plain.split(" "))
    if not words or len(words) > MOST_WORDS:
        return question
    for complete in _COMPLETIONS:
        made = complete(words, earlier, opened)
        if made is not None:
            return f"{upper_first(made).rstrip('?!. ')}?"
    return question


def _last_question(previous: str) -> list[str]:
    """The words of the last question before, without its end mark and what it was asked about
    besides ("Considering the cost, ...").
    """
    sentences = split_sentences(" ".join(previous[-LONGEST:].split()))
    asked = [each for each in sentences if each.endswith("?")] or sentences
    text = asked[-1].rstrip("?!. ") if asked else ""
    text = re.sub(r"^Considering [^,]{1,80}, ", "", text)
    words, _ = _without_openers(text.split(" "))
    return words if _letters(text) else []


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


def _again(words: Sequence[str], earlier: Sequence[str], _: bool) -> str | None:
    return " ".join(earlier) if _AGAIN.match(" ".join(words)) else None


def _side(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """ "And the arguments against?"."""
    match = _SIDE.match(" ".join(words))
    topic = topic_of(earlier)
    if match is None or topic is None:
        return None
    side = match["side"] or "against"
    noun = (match["noun"] or "arguments").lower()
    noun = noun if noun in {"case", "evidence"} else "arguments"
    return f"what {'is' if noun in {'case', 'evidence'} else 'are'} the {noun} {side} {topic}"


def _wh_alone(words: Sequence[str], earlier: Sequence[str], _: bool) -> str | None:
    """ "Why?", "why not?", "how?": before the question; "who pays?", "for whom?"."""
    first = bare(words[0])
    polar = auxiliary_of(earlier[0]) is not None
    plain = [bare(word) for word in words]
    alone = len(words) == 1 or plain in (["how", "so"], ["why", "exactly"])
    if polar and alone and first in {"why", "how", "when", "where"}:
        return f"{first} {mid_sentence(' '.join(earlier))}"
    if polar and plain == ["why", "not"] and topic_of(earlier):
        return f"what are the arguments against {topic_of(earlier)}"
    if len(words) == 2 and first in {"who", "what"} and plain[1] in _WHO:
        topic = topic_of(earlier)
        return None if topic is None else f"{first} {plain[1]} {_WHO[plain[1]]} {topic}"
    if first == "which" and polar and (chosen := _which(words, earlier)):
        return chosen
    if _INQUIRY.match(" ".join(words)):
        return f"{' '.join(earlier)}? {upper_first(' '.join(words))}"
    return None


def _which(words: Sequence[str], earlier: Sequence[str]) -> str | None:
    """ "Which is cheaper?" of the alternatives asked about before."""
    end = subject_end(earlier, bare(earlier[0]))
    start = 2 if bare(words[1 % len(words)]) in {"one", "of"} else 1
    named = end is not None and "or" in map(bare, earlier[1:end])
    if not named or len(words) < start + 2 or auxiliary_of(words[start]) is None:
        return None
    return " ".join([bare(words[start]), *earlier[1:end], *words[start + 1 :]])


def _short(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """ "And there?": too short to stand alone behind an "and"."""
    if not opened or len(words) > 2:
        return None
    return f"{' '.join(earlier)}? {upper_first(' '.join(words))}"


def _aspect(words: Sequence[str], earlier: Sequence[str], opened: bool) -> str | None:
    """ "What are the risks?", "any alternatives?": of what was asked about before."""
    match = _ASPECT.match(" ".join(words))
    if match is None or len(words) > 6:
        return None
    asked = len(match["words"]) < len(" ".join(words)) and not opened
    asked &= not any(tags(each) & _NO_NOUN for each in match["words"].split(" "))
    noun = bare(match["words"].rpartition(" ")[2])
    link = _LINK_OF.get(noun) or _LINK_OF.get(noun.removesuffix("s"))
    topic = topic_of(earlier)
    if not asked or link is None or topic is None:
        return None
    many = noun.endswith("s")
    opening = " ".join(words) if bare(words[0]) in WH_WORDS | {"are", "is"} else ""
    if not opening:
        article = "some" if match["article"] in {"some", "other"} else "the"
        opening = f"what {'are' if many else 'is'} {article} {match['words'].lower()}"
    return f"{opening} {link} {topic}"


_COMPLETIONS: tuple[Callable[[Sequence[str], Sequence[str], bool], str | None], ...] = (
    _again,
    _side,
    _wh_alone,
    _aspect,
    with_preposition,
    condition,
    about,
    pronouns_named,
    _short,
)
