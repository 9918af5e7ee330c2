"""A follow-up completed from the question before it: "and for teenagers?"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perspective_rag.perspectives.act import topic_of
from perspective_rag.perspectives.clauses import auxiliary_of, subject_end
from perspective_rag.perspectives.cleaning import is_english
from perspective_rag.perspectives.context import antecedents
from perspective_rag.perspectives.elliptic import about, condition, with_preposition
from perspective_rag.perspectives.implied import implied, there_named, without_named
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
_MANY = frozenset("they them their theirs these those he she him her his".split())
_NO_NOUN = frozenset({"aux", "pron", "prep", "wh", "det"})
_WHO = {
    "pays": "for", "benefits": "from", "profits": "from", "suffers": "from", "decides": "on",
    "gains": "from", "loses": "from", "objects": "to", "agrees": "with",
}  # fmt: skip


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
        if not self.topic or not said or len(said) > LONGEST or is_code(said) or is_chat(plain):
            return alone
        if not _letters(plain) or not is_english(said):
            return alone
        words, opened = _without_openers(plain.split(" "))
        if not words or len(words) > MOST_WORDS:
            return alone
        for complete in _COMPLETIONS:
            for earlier in self._bases(complete, words):
                made = complete(words, earlier, opened)
                if made is not None:
                    return self._with(made, earlier, words, opened, complete)
        return alone

    def _bases(self, complete: _Completion, words: Sequence[str]) -> list[list[str]]:
        """The words of the questions that a completion may take from, likeliest first."""
        whole = self.question if self.plain == self.topic else self.topic  # with its narrowing
        texts = [self.question, whole]
        if complete in _NARROWING:
            texts = [self.plain]
        elif complete in _OF_TOPIC or (
            # "it" is what is proposed, "they" may be whom the last question was about
            complete is pronouns_named and _MANY.isdisjoint(map(bare, words))
        ):
            texts = [whole]
        found = [_last_question(text) for text in dict.fromkeys(texts)]
        return [each for each in found if each]

    def _with(
        self,
        made: str,
        earlier: Sequence[str],
        words: Sequence[str],
        opened: bool,
        complete: _Completion,
    ) -> QuestionThread:
        question = f"{upper_first(made).rstrip('?!. ')}?"
        if complete not in _NARROWING:
            return QuestionThread(question, question, self.topic, follows=True)
        if _holds(made, earlier):  # behind the question, nothing in it was replaced
            return QuestionThread(question, self.plain, self.topic, follows=True)
        if self.plain == self.topic:
            return QuestionThread(question, question, question, follows=True)
        before = _last_question(self.topic)
        thing = next(iter(antecedents([before])), "")
        if complete is with_preposition and thing in " ".join(earlier) and thing not in made:
            question = f"{upper_first(' '.join([*earlier, *words]))}?"  # "in zoos in Europe"
            return QuestionThread(question, self.plain, self.topic, follows=True)
        other = complete(words, before, opened)
        replaced = other is not None and not _holds(other, before)
        topic = f"{upper_first(other)}?" if other and replaced else self.topic
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


def _holds(made: str, earlier: Sequence[str]) -> bool:
    """Whether what was made holds the question before unchanged, up to its colon."""
    return " ".join(earlier).partition(":")[0].casefold() in made.casefold()


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


_Completion = Callable[[Sequence[str], Sequence[str], bool], str | None]
_NARROWING: tuple[_Completion, ...] = (with_preposition, condition, about)
_OF_TOPIC: tuple[_Completion, ...] = (_side, _aspect, there_named, without_named, implied)
_COMPLETIONS: tuple[_Completion, ...] = (
    _again,
    _side,
    _wh_alone,
    _aspect,
    *_NARROWING,
    there_named,
    without_named,
    pronouns_named,
    _short,
    implied,
)
