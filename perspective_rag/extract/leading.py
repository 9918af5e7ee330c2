"""Questions that suggest their answer: "How can anyone defend ...?", "Why is X so cruel?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perspective_rag.extract.clause import subject_end
from perspective_rag.extract.context import announces
from perspective_rag.extract.english import BE, bare, upper_first
from perspective_rag.extract.facts import DISPUTED
from perspective_rag.extract.inflection import participle
from perspective_rag.extract.lexicon import is_plural, tags, verb_share
from perspective_rag.extract.statement import Statement, as_statement, auxiliary_of, statement_of

_ADMITTED = re.compile(
    r"^(?:when|why|how|isn't it time|who) .{0,80}?\b(?:admit|accept|reali[sz]e|see|understand|learn"
    r"|acknowledge|recogni[sz]e|notice|agree|grasp|say|think|believe|deny|claim|pretend|insist"
    r"|face the fact|wake up to the fact)(?:s|ed)? that ",
    re.IGNORECASE,
)
_DEFENDED = re.compile(
    r"^how (?:can|could|do|does|dare) (?P<who>anyone|anybody|people|someone|somebody|you|we|they"
    r"|a person)"
    r"(?: in their right mind| possibly| seriously| still| even| ever| honestly| really| not)*"
    r" (?P<verb>\w+) (?P<object>.+)$",
    re.IGNORECASE,
)
_WHO_WOULD = re.compile(
    r"^who (?:in their right mind |on earth |the hell |in the world )?(?:would|could|can)"
    r"(?: ever| possibly| seriously| still| want to| even)* (?P<verb>\w+) (?P<object>.+)$",
    re.IGNORECASE,
)
_WRONG_WITH = re.compile(
    r"^what(?:'s| is| are) (?:so |really |actually )?(?P<word>wrong|bad|good|great|terrible"
    r"|special)"
    r" (?P<link>with|about|in) (?P<object>.+)$",
    re.IGNORECASE,
)
_POINT = re.compile(
    r"^what(?:'s| is) the (?P<noun>point|use|sense|harm|benefit|value) (?P<link>of|in)"
    r" (?P<object>.+)$",
    re.IGNORECASE,
)
_HOW_MUCH = re.compile(
    r"^how (?:much|big|serious|great)(?:,? if at all,?)? (?:of )?(?P<rest>an? \w+ (?:is|are|was)"
    r" .+)$",
    re.IGNORECASE,
)
_WHY = re.compile(
    r"^(?:why|how come|why on earth|why the hell|since when|for what reason)"
    r"(?: on earth| the hell| exactly| in the world)? ",
    re.IGNORECASE,
)
_WHY_NOT = re.compile(r"^why not (?P<verb>\w+) (?P<object>.+)$", re.IGNORECASE)
_HOW_ABOUT = re.compile(r"^(?:what|how) about (?P<object>\w+ing .+)$", re.IGNORECASE)
_ANYBODY = frozenset("anyone anybody someone somebody people".split())
_NEVER_DEFENDED = frozenset("defend justify excuse condone tolerate support accept".split())


def suggested(question: str) -> Statement | None:
    """The statement that a leading question suggests, with its opposite; None for any other."""
    text = question.strip().rstrip("?!. ")
    words = text.split(" ")
    match = _ADMITTED.match(text)
    if match and len(text) > match.end() + 5:
        return as_statement(text[match.end() :])
    if found := _exclaimed(words):
        return found
    if match := _DEFENDED.match(text):
        return _can_be(match["who"].lower(), match["verb"], match["object"])
    if match := _WHO_WOULD.match(text):
        return _can_be("anyone", match["verb"], match["object"])
    if match := _WRONG_WITH.match(text):
        thing = f"{match['link']} {match['object']}"
        word = match["word"].lower()
        return Statement(f"Something is {word} {thing}", f"Nothing is {word} {thing}")
    if match := _POINT.match(text):
        thing = f"{match['noun']} {'in' if match['noun'] in {'point', 'sense'} else match['link']}"
        return Statement(
            f"There is a {thing} {match['object']}", f"There is no {thing} {match['object']}"
        )
    if match := _WHY_NOT.match(text):
        return as_statement(f"We should {match['verb']} {match['object']}")
    if match := _HOW_ABOUT.match(text):
        return good_idea(match["object"])
    return _degree(text) or _why(text)


def good_idea(thing: str) -> Statement:
    """A topic as a statement: "taxing frequent flyers" gives "Taxing frequent flyers is a good
    idea".
    """
    words = thing.split(" ")
    gerund = "g" in tags(words[0])
    be = "are" if not gerund and is_plural(_head(words)) else "is"
    subject = upper_first(thing)
    return Statement(f"{subject} {be} a good idea", f"{subject} {be} not a good idea")


def _head(words: Sequence[str]) -> str:
    cut = next((i for i, word in enumerate(words) if i and "prep" in tags(word)), len(words))
    return words[cut - 1]


def _exclaimed(words: Sequence[str]) -> Statement | None:
    """ "... how useless parking minimums are": the clause at the end, put straight."""
    last = bare(words[-1])
    if last not in BE | {"get", "become", "got"} or len(words) < 5:
        return None
    for i in range(len(words) - 4, -1, -1):
        if bare(words[i]) == "how" and "a" in tags(words[i + 1]):
            subject = " ".join(words[i + 2 : -1])
            if i == 0:
                return None
            return as_statement(f"{subject} {last} {words[i + 1]}")
    return None


def _can_be(who: str, verb: str, thing: str) -> Statement | None:
    """ "How can anyone defend child labour": it can or cannot be defended."""
    verb = verb.lower()
    if verb in {"believe", "think", "say", "claim", "argue", "deny", "doubt", "pretend"}:
        rest = thing.removeprefix("that ")
        return as_statement(rest) if len(rest.split()) > 2 else None
    if verb == "be":
        return None
    unfair = verb in _NEVER_DEFENDED or who in _ANYBODY
    if (
        not unfair
        or verb_share(verb) < 0.3
        or any(bare(word) in {"for", "when", "if"} for word in thing.split()[:1])
    ):
        return None
    subject = upper_first(thing)
    if verb in _NEVER_DEFENDED:
        done = participle(verb)
        return Statement(f"{subject} can be {done}", f"{subject} cannot be {done}")
    done = participle(verb)
    return Statement(f"{subject} should be {done}", f"{subject} should not be {done}")


def _degree(text: str) -> Statement | None:
    """ "How safe is X", "How much of a problem is X": X is safe or is not."""
    words = text.split(" ")
    if bare(words[0]) != "how" or len(words) < 4:
        return None
    if match := _HOW_MUCH.match(text):
        rest = match["rest"].split(" ")
        return _straight(rest[:2], rest[2], rest[3:])
    place = 2
    if bare(words[1]) in {
        "much",
        "many",
        "old",
        "tall",
        "long",
        "far",
        "often",
        "big",
        "do",
        "does",
    }:
        return None
    if auxiliary_of(words[place]) not in BE or "a" not in tags(words[1]):
        return None
    if bare(words[1]) in {"worried", "concerned", "sure", "confident", "happy", "satisfied"}:
        return None
    if not DISPUTED.search(words[1]) and "you" in [bare(word) for word in words]:
        return None
    if not DISPUTED.search(words[1]):
        return None
    return _straight([words[1]], words[place], words[place + 1 :])


def _straight(
    complement: Sequence[str], auxiliary: str, subject: Sequence[str]
) -> Statement | None:
    if not subject or bare(subject[0]) == "you":
        return None
    if bare(subject[0]) == "it" and len(subject) > 2:
        text = " ".join(["it", auxiliary, *complement, *subject[1:]])
    else:
        place = _link(subject)
        text = " ".join([*subject[:place], auxiliary, *complement, *subject[place:]])
    return as_statement(text)


def _link(subject: Sequence[str]) -> int:
    """Where what belongs to the complement begins: "lenders" of "lenders to the poor" (harmful to
    them), "newspapers" of "newspapers in publishing it".
    """
    for i, word in enumerate(subject[1:-1], start=1):
        doing = bare(word) == "in" and "g" in tags(subject[i + 1])
        if (bare(word) in {"to", "for"} and tags(subject[i - 1]) & {"n", "s", "P"}) or doing:
            return i
    return len(subject)


def _why(text: str) -> Statement | None:
    """ "Why should X ...", "Why is X so cruel": what the question takes for granted."""
    match = _WHY.match(text)
    if match is None:
        return None
    rest = text[match.end() :]
    words = rest.split(" ")
    auxiliary = auxiliary_of(words[0])
    if auxiliary is None:
        return (
            as_statement(rest) if DISPUTED.search(rest) and match[0].lower()[:3] == "how" else None
        )
    indignant = match[0].lower().startswith("since when") and announces(words[1:])
    if indignant and bare(words[1]) == "it":
        return statement_of(rest)
    if auxiliary in {"should", "must", "shouldn't"} or bare(words[0]).endswith("n't"):
        return statement_of(rest)
    if auxiliary in {"do", "does"} and bare(words[1]) == "we" and "still" in map(bare, words[:4]):
        plain = [word for word in words[2:] if bare(word) != "still"]
        return statement_of(" ".join(["should we still", *plain]))
    end = subject_end(words, auxiliary)
    if end is None:
        return None
    predicate = words[end:]
    if bare(predicate[0]) in {"so", "such"} and len(predicate) > 1:
        predicate = predicate[1:]
    evaluates = bool(DISPUTED.search(" ".join(predicate))) or _evaluative(predicate)
    if not evaluates or auxiliary not in BE:
        return None
    return statement_of(" ".join([*words[:end], *predicate]))


def _evaluative(predicate: Sequence[str]) -> bool:
    return bare(predicate[0]) in _EVALUATIVE


_EVALUATIVE = frozenset(
    """
    terrible awful wonderful brilliant stupid dumb evil corrupt greedy lazy boring ridiculous absurd
    horrible amazing excellent disgusting pointless pathetic toxic cruel useless overpaid underpaid
    overpriced expensive broken lying hypocritical incompetent selfish arrogant annoying inferior
    superior
    """.split()
)
