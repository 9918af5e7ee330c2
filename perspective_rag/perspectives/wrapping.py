"""What stands around the matter of a question, and is taken off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perspective_rag.perspectives.alternatives import without_or_not
from perspective_rag.perspectives.clauses import (
    Statement,
    as_statement,
    auxiliary_of,
    statement_of,
    subject_end,
)
from perspective_rag.perspectives.context import announces
from perspective_rag.perspectives.kinds import DISPUTED
from perspective_rag.perspectives.words import (
    AUXILIARIES,
    BE,
    PREPOSITIONS,
    WH_WORDS,
    bare,
    is_plural,
    participle,
    readings,
    tags,
    upper_first,
    verb_share,
)

# What may open a question without being part of it; each is taken off as often as it is there.
_FILLER = re.compile(
    r"^(?:(?:ok|okay|so|well|hi|hey|hello|um+|uh+|erm|hmm+|oh|and|but|like|anyway|right|now|look"
    r"|honestly|seriously|basically|actually|personally|please|sorry|yo|guys|folks|also|then"
    r"|good (?:morning|evening|afternoon)|hi there|hello there|hey there|dear all)\b[,.!:]?"
    r"|(?:just )?(?:a |one )?(?:quick|simple|silly|stupid|random|serious|genuine|honest|dumb|short)"
    r" (?:question|one|thought)\b[,.!:]?(?: for you\b[,.:]?)?|question\s*[:,-]"
    r"|(?:i am |i'm |we're )?(?:just )?curious\b[,:]?|just wondering\b(?! (?:if|whether))[,:]?"
    r"|(?:i(?:'ve| have) (?:got )?|here's )?a question(?: for you)?\s*[:,-]"
    r"|(?:i(?: would|'d) like to|can i|may i|let me|i want to|i wanted to|could i) ask(?: you)?"
    r"(?: something)?\s*[:,-]?(?! (?:if|whether|about))"
    r"|(?:in|according to) (?:your|my) (?:honest |humble |personal )?(?:opinion|view)\b,?"
    r"|(?:generally|broadly|frankly|strictly) speaking,?|overall,|(?:all|other) things considered,?"
    r"|(?:all in all|on balance|at the end of the day|to be honest|tbh|imo|imho|be honest),?[:.]?"
    r"|(?:yes or no|true or false|agree or disagree|debate|discuss|hot take|opinion"
    r"|poll|topic|debate topic|essay question|essay title|exam question|question of the"
    r" day)\s*[:?,-]"
    r"|tell me(?: honestly)?[,:](?! (?:if|whether)))\s*",
    re.IGNORECASE,
)
_INTENSE = re.compile(
    r"^(who|what|why|how|where|when|which) (?:on earth|in the world|the hell|the heck)\b",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?:[,.?!]?\s*(?:please|pls|thanks(?: a lot| in advance| so much)?|thank you(?: very much| in"
    r" advance)?|thx|cheers|lol|haha|tbh|imo|imho|though|then|anyway|guys|folks|everyone|mate"
    r"|in your (?:honest |humble |personal )?(?:opinion|view)|in your mind|do you think|would you"
    r" say"
    r"|what do you (?:think|say|reckon)|any thoughts|thoughts|discuss|and why|and if so,? why|why"
    r"|why or why not|if so,? why|(?:please )?explain|yes or no|true or false|agree or disagree"
    r"|do you agree(?: or disagree)?|(?:or )?am i (?:right|wrong)"
    r"|or what|or is it just me|help|just curious"
    r"|right or wrong\?|no offence|any ideas|your thoughts|is that (?:right|true|so|fair|correct)"
    r"|is (?:he|she|it|this) (?:right|true|correct)|are they right|don't you think|wouldn't you"
    r" agree"
    r"|is there (?:any|some)(?:thing| truth) (?:to|in|behind) (?:it|that|this)"
    r"|wouldn't you say|don't you agree|right|surely|no|eh|huh|innit|correct|true or not)"
    r"\s*[?!.,]*)$",
    re.IGNORECASE,
)
_TAG = re.compile(
    r",\s*(?:is|are|was|were|do|does|did|has|have|had|should|can|could|will|would|must)"
    r"(?:n't| not)? (?:it|they|he|she|we|you|there|this|that|i)(?: not)?\s*[?.!]*$",
    re.IGNORECASE,
)
_CLAUSE_HEADS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^(?:do|don't|did|would|wouldn't|can) (?:you|people|we|any of you|others|americans)"
        r"(?: personally| really| honestly| also| not| still| generally| actually| truly| all)*"
        r" (?:think|believe|agree|feel|reckon|say|accept|suppose|find|maintain|argue|consider it"
        r" (?:right|true))(?: or (?:not|disagree))?(?: that it is true)?"
        r"(?: with (?:the |this )?(?:statement|view|idea|claim|notion|proposition|opinion)s?"
        r"(?: that)?| with those who (?:say|think|believe)(?: that)?| with people who say(?: that)?"
        r"| that)?\s*[:,]?\s+",
        r"^(?:is|isn't|was|wasn't) it (?:really |actually |simply |not |still )?(?:true|the case"
        r"|fair to say"
        r"|correct(?: to say)?|a fact|right to (?:say|think)|obvious|clear|a myth|a lie|possible"
        r"|safe to say|reasonable to (?:say|think)|just me or is it|plausible|likely)"
        r"(?: to say)? that\s+",
        r"^(?:to what (?:extent|degree)|how far|how (?:strongly|much|firmly|fully))"
        r"(?:, if at all,)? (?:do|would|can) (?:you|we|people) (?:personally )?(?:agree|disagree"
        r"|believe|think|feel|say|accept|support the (?:idea|view))"
        r"(?: or (?:disagree|agree))?(?: with (?:the |this )?(?:following )?"
        r"(?:statement|view|idea|claim|notion|proposition|opinion)?)?\s*[:,]?\s*(?:that\s+)?",
        r"^how (?:likely|obvious|clear|certain|true|probable|plausible|worried|concerned"
        r"|sure|confident|convinced|afraid)(?:, if at all,)? (?:do you think it is|is it"
        r"|are you|would you say it is)(?:,? if at all,?)? that\s+",
        r"^on a scale (?:of|from) \w+ (?:to|-) \w+,? (?:how (?:much|strongly|far) do you agree"
        r"(?: with (?:the )?(?:statement|view|idea|claim))?|rate|do you agree)(?:"
        r" that)?\s*[:,]?\s*",
        r"^(?:(?:strongly |somewhat |fully |completely |partly |totally )?"
        r"(?:agree|disagree|neutral|neither|undecided|unsure|don't know)"
        r"(?:,? or |,\s*|/| / )?){2,7}\s*[:?.-]\s*(?:that\s+)?",
        r"^(?:agree|disagree) (?:or|/) (?:disagree|agree)(?: that|[:?,-])?\s+",
        r"^(?:rate|evaluate|assess|consider|discuss|comment on|respond to)"
        r" (?:the |this )?(?:following )?(?:statement|claim|view|idea|proposition)"
        r"(?: that|\s*[:,-])\s*",
        r"^(?:true or false|yes or no|fact or (?:fiction|myth)|myth or (?:fact"
        r"|reality))\s*[:?,-]\s*",
        r"^(?:resolved|motion|the motion|proposition|claim|statement|thesis|thbt|this house"
        r" believes(?! in\b)"
        r"|this house (?:thinks|holds|is of the opinion|maintains)|be it resolved)"
        r"(?:,? that\b|\s*[:,-])?\s*(?:that\s+)?",
        r"^(?:today's|tonight's|this week's|the) (?:motion|debate|topic|question)"
        r"(?: is| was)?\s*[:,-]?\s*(?:that |whether |if )?",
        r"^that (?=(?:the|this|an?|all|every|no|our|we)\b)(?!.* (?:is|are|was) .* (?:is|are|was) )",
        r"^surely,?\s+",
        r"^(?:can|can't|could|couldn't|shall|should|shouldn't|must|don't) (?:we|you|people)"
        r"(?: all| just| not| please| finally)* (?:agree|admit|accept|acknowledge)(?: on this:?)?"
        r"(?: that)?\s+",
        r"^(?:is|are|am) (?:you|people|i)(?: really| still| also| personally)*"
        r" (?:convinced|sure|certain|right(?: in thinking)?|wrong to (?:think|believe|say)"
        r"|crazy to think|of the opinion|persuaded) that\s+",
        r"^(?:what do you (?:think|say|make)|what's your (?:view|take|opinion)|thoughts?|opinions?"
        r"|views?|any thoughts|your thoughts)"
        r" (?:about|of|on|to|regarding) (?:the )?(?:idea|claim|view|notion|argument|statement|fact"
        r"|suggestion|theory|belief|proposal) that\s+",
        r"^there(?:'s| is) (?:no|little) (?:doubt|question) that\s+",
        r"^(?:i|we) (?:do not|don't|can't|cannot) (?:see|understand) why\s+(?!should|would|do)",
        r"^it is (?:often |sometimes |widely |commonly |frequently )?(?:said|claimed|argued"
        r"|believed"
        r"|held|thought) that\s+",
    )
)
_FIRST_PERSON = frozenset(
    "i me my we us our you your question debate issue matter people opinions views experts wonder"
    " wondering unsure undecided tell discuss debate explain say know argue idea torn settle i'm"
    " i've"
    " i'd whether".split()
)
_REPORTS = frozenset(
    "say claim argue think believe insist maintain swear reckon tell hear read assert suggest state"
    " hold know realise realize contend feel declare announce warn complain write keep convince"
    " admit".split()
)
_NEED_THAT = frozenset("keep keeps hold holds held".split())
_REPORT_NOUNS = frozenset("idea claim view notion argument belief statement theory opinion".split())
_REPORTERS = frozenset(
    "i we people some many they everyone everybody critics experts scientists economists you most"
    " somebody someone others philosophers teachers doctors politicians it".split()
)
_OWNERS = frozenset("my our your a the some many most".split())


@dataclass(frozen=True, slots=True)
class Core:
    """The clause that a question is about. ``said``: in the order of a statement."""

    text: str
    said: bool


def trimmed(text: str) -> str:
    """The text without words of courtesy and filler at its ends, and without a tag question."""
    for _ in range(6):
        shorter = _INTENSE.sub(r"\1", _FILLER.sub("", text, count=1))
        shorter = _without_trailing(shorter)
        if shorter == text or len(shorter.split()) < 2:
            break
        text = shorter
    words = text.rstrip("?!. ").split(" ")
    kept = without_or_not(words)
    return " ".join(kept) + ("?" if text.endswith("?") else "") if kept != words else text


def _without_trailing(text: str) -> str:
    """The text without a remark behind its last comma, dash or mark."""
    tail = text[-60:]
    tag = _TAG.search(tail)
    if tag:
        return text[: len(text) - len(tail) + tag.start()]
    match = _TRAILING.search(tail)
    if match is None:
        return text
    place = len(text) - len(tail) + match.start()
    kept = text[:place].rstrip()
    courtesy = bare(match[0]).startswith(("please", "thank", "thx", "cheers", "lol", "or "))
    separated = match[0][:1] in ",.?!" or kept[-1:] in ",.?!-–—;:"
    if not kept or not (separated or courtesy):
        return text
    return kept.rstrip(" ,;:-–—") + ("?" if "?" in match[0] or text.endswith("?") else "")


def core_of(text: str, *, judged: bool = False) -> Core:
    """The clause inside a question; the text itself where nothing is wrapped around it.

    ``judged``: another sentence asks whether it is true ("Is that so?").
    """
    said = False
    text = _without_context(text)
    for _ in range(4):
        found = _unwrapped(text, judged)
        if found is None:
            break
        text, said = trimmed(found.text), True
    plain = text.strip('"“” ')
    first = plain.split(" ", 1)[0]
    asks = auxiliary_of(first) is not None or bare(first) in WH_WORDS
    return Core(plain if said else text, said and not asks)


def _without_context(text: str) -> str:
    """The question behind "With the World Cup coming to our town," or "After the flood,"; a
    condition stays.
    """
    words = text.split(" ")
    if auxiliary_of(words[0]) is not None:
        return text
    condition = bare(words[0]) in _KEPT_CLAUSES
    for i in range(len(words) - 4, 0, -1):
        link = bare(words[i + 1]) in {"but", "so", "and", "now", "then"}
        start = i + 2 if link else i + 1
        if words[i].endswith((",", ";")) and auxiliary_of(words[start]) is not None:
            behind = words[start:]
            if link and start + 2 < len(words):
                return " ".join(behind)
            if condition:
                return text
            return text if bare(words[0]) in WH_WORDS - {"when", "where"} else " ".join(behind)
    return text


_DEMANDED = re.compile(  # "Resolved, that the council be dissolved"
    rf"^((?:(?!(?:{'|'.join(sorted(AUXILIARIES))}|to|cannot|not)\b)[\w'’-]+ ){{1,12}})(not )?be ",
    re.IGNORECASE,
)
_KEPT_CLAUSES = frozenset("if when unless once whenever where while".split())


def _unwrapped(text: str, judged: bool) -> Core | None:
    for pattern in _CLAUSE_HEADS:
        match = pattern.match(text)
        if match and len(text) - match.end() > 5:
            return Core(_DEMANDED.sub(r"\1should \2be ", text[match.end() :]), True)
    words = text.split(" ")
    found = _whether(words) or _reported(words, judged)
    if found is not None:
        return Core(" ".join(found), True)
    return _behind_heading(text)


def _whether(words: Sequence[str]) -> Sequence[str] | None:
    """What "I wonder whether", "the question is whether", "tell me if" ask about."""
    places = [i for i, word in enumerate(words) if bare(word) == "whether"]
    if not places:
        places = [
            i for i, word in enumerate(words)
            if bare(word) == "if" and i and _tells(words[:i])
        ]  # fmt: skip
    if not places or len(words) - places[-1] < 3:
        return None
    place = places[0] if len(words) - places[-1] < 4 else places[-1]
    before = {bare(word) for word in words[:place]}
    own = place == 0 or bool(before & _FIRST_PERSON) or auxiliary_of(words[0]) is None
    others = auxiliary_of(words[0]) is not None and not before & {"i", "you", "we", "me"}
    if [bare(word) for word in words[place + 1 : place + 3]] == ["or", "not"]:
        place += 2
    return list(words[place + 1 :]) if own and not others else None


def _tells(words: Sequence[str]) -> bool:
    last = bare(words[-1])
    known = last in {"wonder", "wondering", "know", "sure", "ask", "asking", "unsure", "decide",
                     "see", "idea", "wondered", "out", "say"}  # fmt: skip
    return known or (last in {"me", "us"} and any(bare(w) in {"tell", "ask"} for w in words))


def _reported(words: Sequence[str], judged: bool) -> Sequence[str] | None:
    """What "My uncle keeps claiming that ..." or "the idea that ..." reports."""
    if auxiliary_of(words[0]) is not None:
        return None
    if bare(words[0]) in WH_WORDS:
        return None
    for i, word in enumerate(words[:14]):
        core = bare(word)
        if not i or i + 3 > len(words):
            continue
        following = bare(words[i + 1])
        noun = core in _REPORT_NOUNS and following == "that"
        if noun and i < 6:
            return list(words[i + 2 :])
        if not _is_report(core) or not word.islower() or bare(words[i - 1]) == "to":
            continue
        marked = following == "that" or (following in {"me", "us"} and bare(words[i + 2]) == "that")
        people = bare(words[0]) in _REPORTERS | _OWNERS or judged
        start = i + 1 + marked + (following in {"me", "us"})
        if not marked and (not people or core in _NEED_THAT or following == "to"):
            continue
        if following.endswith("ing") and not marked:
            continue
        return list(words[start:])
    return None


def _is_report(word: str) -> bool:
    return any(lemma in _REPORTS and tag in "vzdpg" for lemma, tag in readings(word))


def _behind_heading(text: str) -> Core | None:
    """The question behind "Dead languages: " or "Friday's topic - "."""
    words = text.split(" ")
    for i, word in enumerate(words[:14]):
        mark = word in {"-", "–", "—", ":", "|"} or (
            word.endswith((":", ";")) and i + 1 < len(words)
        )
        rest = words[i + 1 :]
        if mark and len(rest) > 2 and auxiliary_of(rest[0]) is not None:
            return Core(" ".join(rest), False)
    return None


__all__ = ["AUXILIARIES", "Core", "core_of", "trimmed"]


_ADMITTED = re.compile(
    r"^(?:when|why|how|isn't it time|who) .{0,80}?\b(?:admit|accept|reali[sz]e|see|understand|learn"
    r"|acknowledge|recogni[sz]e|notice|agree|grasp|say|think|believe|deny|claim|pretend|insist"
    r"|face the fact|wake up to the fact)(?:s|ed)? that ",
    re.IGNORECASE,
)
_DEFENDED = re.compile(
    r"^how (?P<how>can|could|do|does|dare) (?P<who>anyone|anybody|people|someone|somebody|you|we"
    r"|they|a person)"
    r"(?P<doubt>(?: in their right mind| possibly| seriously| still| even| ever| honestly| really"
    r"| not)*)"
    r" (?P<verb>\w+) (?P<object>.+)$",
    re.IGNORECASE,
)
_WHO_WOULD = re.compile(
    r"^(?:who (?:in their right mind )?(?:would|could|can)"
    r"|why would (?:anyone|anybody|somebody|someone)(?: in their right mind)?)"
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
    r"^(?:why|how come|since when|for what reason)(?: exactly)? ",
    re.IGNORECASE,
)
_OPPOSED = re.compile(
    r"^why (?:are|do|would) (?:(?:so many|many|some|most) \w+|people|they|anyone|anybody)"
    r"(?: so| still| strongly)? (?:against|opposed to|in favou?r of|oppose|object to|support"
    r"|favou?r|reject|not want) (?P<object>.+)$",
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
        doubted = bool(match["doubt"]) or match["verb"].lower() in _NEVER_DEFENDED
        asks_how = match["how"].lower() in {"do", "does"} or match["who"].lower() == "people"
        if doubted or not asks_how:  # "How do people make cheese?" has no sides
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
    if match := _OPPOSED.match(text):
        return good_idea(match["object"])
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
        or bare(thing.split()[0]) in {"when", "if"} | PREPOSITIONS
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
