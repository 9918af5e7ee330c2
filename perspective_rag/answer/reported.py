"""Whether a sentence reports somebody's position instead of taking it, by wording."""

from __future__ import annotations

import re

from perspective_rag.text import split_sentences

_LONGEST = 600

# Who is known by a position. "We" and "I" take theirs.
_CAMP = (
    r"(?:critics?|opponents?|supporters?|proponents?|advocates?|detractors?|sceptics?|skeptics?"
    r"|campaigners?|activists?|defenders?|backers?|adherents?|lobbyists?|commentators?"
    r"|conservatives?|liberals?|progressives?|libertarians?|republicans?|democrats?|politicians?"
    r"|economists?|philosophers?|scholars?|those (?:who|in favou?r|opposed|against)"
    r"|the other side|one side|both sides)"
)
_ANYBODY = (
    r"(?:(?:some|many|most|several|few|other|a (?:majority|minority|number) of|the majority of)"
    r"(?: (?:other )?(?:people|experts|americans|britons|europeans|adults|voters|respondents"
    r"|citizens|residents|parents|teachers|students|scientists|doctors|researchers|observers"
    r"|authors|writers|of them|of us|would|have|also|still|even))?|people|others|respondents"
    r"|voters|the public)"
)
_SAY = (
    r"(?:say|says|said|argue[ds]?|arguing|claim(?:s|ed|ing)?|contend(?:s|ed)?|believe[ds]?"
    r"|thinks?|thought|maintain(?:s|ed)?|insist(?:s|ed)?|assert(?:s|ed)?|allege[ds]?"
    r"|complain(?:s|ed)?|warn(?:s|ed)?|worry|worries|worried|fear(?:s|ed)?|suggest(?:s|ed)?"
    r"|object(?:s|ed)?|counter(?:s|ed)?|repl(?:y|ies|ied)|point(?:s|ed)? out|feel|feels|felt"
    r"|call(?:s|ed)? for)"
)
# "Critics of the plan also say": a few words may stand between a camp and what it does.
_REPORTS = re.compile(
    rf"\b{_CAMP}\b(?:[ ,][\w'’%-]{{1,30}}){{0,6}}?,? (?:{_SAY}|favou?rs?|oppose[ds]?)\b"
    rf"|(?<!if )\b{_ANYBODY} (?:{_SAY}|favou?r(?:ed)?|oppose[d]?|(?:dis)?agree[d]?)\b",
    re.IGNORECASE,
)
_FORMS = re.compile(
    r"\baccording to (?!me\b|us\b)\w"
    r"|\bit (?:is|has been|was) (?:often |sometimes |widely |commonly |also |frequently )?"
    r"(?:said|argued|claimed|believed|alleged|thought|suggested|feared|objected)\b"
    r"|\b(?:is|are|was|were) (?:\w+ )?(?:said|alleged|thought|believed|claimed|considered) to\b"
    r"|\b(?:one|a|the|another|main|common|chief|usual) (?:\w+ )?"
    r"(?:argument|objection|criticism|claim|complaint|concern|case) "
    r"(?:\w+ )?(?:for|against|is|goes|of|made|raised|by|that)\b"
    r"|\b(?:per ?cent|percent|%) of\b.{0,80}?\b(?:say|said|think|thought|believe[ds]?"
    r"|support(?:s|ed)?|oppose[ds]?|favou?r(?:s|ed)?|agree[ds]?|disagree[ds]?|want(?:s|ed)?)\b"
    r"|\b(?:poll|survey)s? (?:\w+ ){0,4}?(?:found|finds|find|show(?:s|ed)?|suggest(?:s|ed)?)\b"
    r"|\b(?:most|many|some|majority of)(?: \w+){0,3} (?:want|prefer|support)\b"
    r"|\bmajority of(?: \w+){4,9} (?:want|prefer|support)\b"
    r"|\b(?:has|have|had|is|are|was|were) (?:also |often |widely )?(?:been )?"
    r"(?:accused of|critici[sz]ed)\b|\breceiv(?:e[sd]?|ing) (?:\w+ )?criticism\b"
    r"|\b(?:allegedly|supposedly|reportedly|purportedly|so-called)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:wrong|mistaken|false|falsely|wrongly|ignore|forget|but|however|yet)\b", re.IGNORECASE
)


def only_reports(text: str) -> bool:
    """True for a passage that tells positions of others and takes none itself: at least half of its
    sentences are reports, by ``is_reported``. English wording.
    """
    said = [is_reported(sentence) for sentence in split_sentences(text)]
    return bool(said) and 2 * sum(said) >= len(said)


def is_reported(sentence: str) -> bool:
    """True for a sentence that tells what others say ("critics say", "it is argued", polls).

    False where the sentence itself answers what it reports ("opponents are wrong to say ...", "some
    say X, but Y"). The time is linear in the length; of long sentences the first 600 characters
    are read.
    """
    text = sentence[:_LONGEST]
    found = _REPORTS.search(text) or _FORMS.search(text)
    return found is not None and not _DENIED.search(text)
