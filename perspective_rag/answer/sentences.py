"""The sentences that an answer can quote, and what their wording tells: whether they stand alone,
give a reason, only report, and how near they are to a text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from perspective_rag.answer.passages import without_headings, without_marks
from perspective_rag.maths.vectors import first_copies
from perspective_rag.text import shares_words, split_sentences, text_key, words
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
# Praise, blame and stress that give no reason.
_WORTH = frozenset(
    """acceptable alternative bad clearly concept essential everybody everyone good great idea
    important just longer necessary needed notion now really right simply still thing truly
    unacceptable unnecessary very way wrong""".split()
)
# What stands before a sentence and only adds to what was said, or names it: it is left out.
_ADDS = re.compile(
    r"^(?:(?:[-*•·]+|\(?\d{1,2}[.)])\s+|(?:[\w'’-]{1,30} ){0,3}[\w'’-]{1,30}: (?=(?-i:[\"“‘A-Z]))"
    r"|(?:moreover|furthermore|additionally|in addition|besides|also|again|finally|lastly|firstly?"
    r"|secondly?|thirdly?|first of all|for one thing|to begin with|on the one hand|indeed|of course"
    r"|certainly|clearly|obviously|(?:un)?fortunately|sadly),?\s+)+",
    re.IGNORECASE,
)
_PRONOUNS = "this|these|those|they|them|he|she|it|its|his|hers?|their|theirs"
# Openings that mean nothing without the sentence before.
_REFERS = re.compile(
    r"(?:therefore|thus|hence|however|consequently|accordingly|instead|otherwise|nevertheless"
    r"|nonetheless|similarly|likewise|conversely|meanwhile|but|and|or|so|yet|then|still|although"
    r"|(?:for|because of|given|despite|in spite of|due to|from|by|in|at|on|with|under|since|to"
    r"|among|like) "
    r"(?:all )?(?:these|this|that|those|them|such|then|other)"
    r"(?! (?:house|country|nation|world|planet|century|year|age|day)s?\b)"
    r"|as such|as a (?:result|consequence)"
    r"|in (?:contrast|conclusion|short|sum|other words|fact|response|turn)"
    rf"|the \w+ (?:of|with|for|behind) (?:{_PRONOUNS})"
    r"|(?:in|at|for|with|after|during|under|on) (?:[\w'’-]{1,30} ){1,5}[\w'’-]{1,30}, this"
    r"|on the (?:other (?:hand|side)|contrary)|to (?:conclude|sum up)"
    r"|for (?:example|instance)|after all"
    rf"|that|such|neither|others|another|which|whereas|{_PRONOUNS}"
    r"|the (?:former|latter|above|same|other)"
    r"|the (?:first|second|third|next|final|last) (?:\w+ )?(?:is|was)|one of the \w+ (?:is|was)"
    r"|(?:some|many|most|all|none|one|each|both|much) of (?:these|this|those|them|it)"
    r"|(?:some|most|none|both|each) (?:just |simply |also |even |still )?(?:is|are|was|were|do"
    r"|does|don['’]t|did|have|has|had|will|would|can|could|may|might|should|must)"
    # "If they are ...", "What it comes to", "Closing it": nobody was named yet.
    r"|\w{2,20}ing (?:this|that|these|those|them|him|her|it)"
    # "Remote work takes that away"
    r"|(?:[\w'’-]{1,30} ){2,5}(?:this|that|these|those) (?:away|back|down|off|out|up)"
    r"|(?:(?:and|as|because|even|if|once|since|than|that|though|unless|until|what|when|whether"
    rf"|while|why|how) ){{1,3}}(?:{_PRONOUNS})"
    r")\b"
    # "True, ...", "If so, ...", "Because it is wrong."
    r"|(?:true|yes|no|wrong|right|agreed|exactly|not so)\s?[,;:–—-]"
    r"|(?:if|when|once) (?:so|not|\w{2,20}ed),"
    r"|because\b[^,;]*$"
    # "In most places, however, ..."
    r"|(?:[\w'’-]{1,30} ){0,3}[\w'’-]{1,30}, (?:however|therefore|thus|hence|consequently|instead"
    r"|nevertheless|nonetheless|meanwhile|likewise|similarly|though|too|for example|for instance"
    r"|in contrast|as a result|on the other hand),",
    re.IGNORECASE,
)
# ... unless they do not refer: "It is cruel to ...", "This house would ...", "These days ...".
_ALONE = re.compile(
    r"(?:(?:and|as|because|even|if|since|that|though|when|while) ){0,2}"
    r"(?:it(?:'s|’s| is| was| would be| seems| may be| makes| takes)(?: \w+){0,4}?"
    r" (?:to|that|when|if)|it comes to|this house|these days|that \w+ \w+ \w+.{0,60} (?:is|was) )"
    r"\b",
    re.IGNORECASE,
)
# "this cruelty", "that day": a thing that was named before. After "this" a word in -s is a verb.
_POINTS = re.compile(
    r"\b(?:(?:this|these) ([a-z-]{3,})|that (argument|case|claim|day|decision|group|idea|law|money"
    r"|plan|point|policy|problem|reason|right|situation|system|time|view|way|year))\b",
    re.IGNORECASE,
)
_HERE = frozenset(
    """house country nation world planet century year age day days times and are can could does had
    have may might must should was were will would""".split()
)
# What a speaker puts before a sentence.
_THINKS = re.compile(
    r"(?:i|we) (?:(?:\w+|don['’]t) ){0,2}?(?:think|believe|feel|know|say|argue|tell you)"
    r"(?: that)? ",
    re.IGNORECASE,
)
_THEY = re.compile(r"\b(?:they|them|their|theirs)\b", re.IGNORECASE)
_SEVERAL = frozenset(
    """a an any anybody anyone children each either every everybody everyone men nobody no one
    people persons police public somebody someone those whoever women youth""".split()
)
_LONGEST = 600  # characters of a sentence in which it is looked for
_BACK = 2  # sentences before that are taken along
_REASON = re.compile(
    r"\b(?:because|since|as (?:it|they|we)|as a result|so that|leads? to|cause[sd]?|means that"
    r"|otherwise)\b",
    re.IGNORECASE,
)
# What a reason is made of: causes, effects and worth.
_ARGUES = re.compile(
    r"\b(?:because|since|as a result|so that|would|will|lead|leads|cause[sd]?|means?|makes?|lets?"
    r"|keeps?|costs?|gains?|better|worse|best|worst|more|less|fewer|too|only|unfair|unjust|fair"
    r"|wrong|right|good|bad|dreadful|useless|useful|expensive|cheap(?:er)?|safe(?:r)?|free|cannot"
    r"|(?:abus|afford|allow|awful|benefi|bring|creat|cruel|damag|danger|deser|destroy|distract"
    r"|enabl|encourag|ensur|exploit|forc|guarante|harm|help|hurt|improv|increas|inhuman|kill|los[et]"
    r"|mislead|necess|poison|prevent|promot|protect|provid|reduc|risk|ruin|sav[ei]|spread|stab"
    r"|suffer|support|teach|threat|undermin|vital|violat|wast)\w{0,8})\b",
    re.IGNORECASE,
)
# Said of what once happened, or of what a word means; or good and bad at once.
_TELLS = re.compile(
    r"\b(?:announced|predict(?:ed|ing)|says|said|told|promised|voted|tried|decided|asked|warned"
    r"|(?:last|this) (?:year|month|week)|controversial|contested|once upon"
    r"|defined as|refers? to|(?:an|the) (?:organi[sz]ation|association|term"
    r"|word|government) (?:of|that|which|for)"
    r"|(?:good and bad|positive and negative|pros and cons|advantages and disadvantages"
    r"|(?:costs|risks) and benefits|benefits and (?:costs|drawbacks|risks)"
    r"|desirable and undesirable))\b",
    re.IGNORECASE,
)
_DEMAND = re.compile(
    r"\b(?:should|must|ought|shall|needs? to|has to|have to)\b"
    r"|\b(?:i|we) (?:\w+ )?(?:agree|disagree|support|oppose|believe|think|favou?r)\b",
    re.IGNORECASE,
)
_STANDS = re.compile(
    r"\b(?:stand|am|are|['’]m|['’]re|speak) (?:\w+ ){0,4}?"
    r"(?:in (?:favou?r|support|opposition|proposition)|oppose|propose|against the)\b"
    r"|\bwhat (?:i|we) mean\b"
    r"|\b(?:the (?:motion|proposition|opposition|framework)"
    r"|areas? of clash|(?:my|our) (?:\w+ )?(?:argument|point|claim)s? (?:is|are) (?:about|the))\b"
    r"|\b(?:let me|let us|(?:i|we)(?:['’]ll| will| shall|['’]re going to| (?:am|are) going to"
    r"|['’]d like to| would like to)) (?:\w+ )?(?:refer|talk|discuss|show|explain|look|address"
    r"|argue|prove|examine|start|begin|define|present|provide|give|speak|say)\b",
    re.IGNORECASE,
)


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
            found.append(" ".join([_ADDS.sub("", texts[first]), *texts[first + 1 : place + 1]]))
    return list(map(polished, found or texts))


def _asks(text: str) -> bool:
    return text.rstrip("\"'”’)» .").endswith(("?", "？"))


def polished(text: str) -> str:
    """A text with a capital at its beginning and a full stop, or another end, behind it."""
    begun = text[:1].upper() + text[1:]
    if begun.rstrip("\"'”’)]»」』）")[-1:] in set(".!?…。！？"):
        return begun
    return begun.rstrip(" ,;:-–—") + "."


def restates(statement: str, sentence: str) -> bool:
    """Whether a sentence says a statement over again, or the contrary of it, and gives no reason:
    it has no words of its own that say something, is a demand with at most two of them, or tells
    where the speaker stands or what the speech will be about.
    """
    if text_key(statement) == text_key(sentence):
        return True
    if _REASON.search(sentence):
        return False
    if _STANDS.search(sentence):
        return True
    known = {_stem(word) for word in words(statement)}
    telling = {_stem(word) for word in words(sentence) if word not in _EMPTY}
    own = telling - known - {_stem(word) for word in _WORTH}
    return len(own) < len(telling) and (not own or (len(own) <= 2 and demands(sentence)))


def demands(sentence: str) -> bool:
    """Whether a sentence says what is to be done, or what somebody holds, and not why."""
    return _DEMAND.search(sentence) is not None and _REASON.search(sentence) is None


def argues(sentence: str) -> bool:
    """Whether a sentence has a word of a reason: of a cause, an effect or a worth."""
    return _ARGUES.search(sentence) is not None


def tells(sentence: str) -> bool:
    """Whether a sentence tells what somebody said or did once, what a word means, or of good and
    bad alike: no reason for a side.
    """
    return _TELLS.search(sentence) is not None


def _refers(text: str) -> bool:
    bare = _ADDS.sub("", text[:_LONGEST]).lstrip(_OPENING)
    bare = bare[found.end() :] if (found := _THINKS.match(bare)) else bare
    if _REFERS.match(bare) is not None and _ALONE.match(bare) is None:
        return True
    if (found := _THEY.search(bare)) and not any(
        word in _SEVERAL or (word.endswith("s") and not word.endswith(("ss", "us", "is")))
        for word in words(bare[: found.start()])
    ):
        return True  # "they", and nobody before who could be meant
    for found in _POINTS.finditer(bare):
        noun = (found[1] or found[2]).lower()
        verb = found[0][:5].lower() == "this " and noun.endswith("s") and not noun.endswith("ss")
        before = map(_stem, words(bare[: found.start()]))
        if not verb and (found[2] or noun not in _HERE) and _stem(noun) not in before:
            return True
    return False


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
    near = bool(asked & {_stem(word) for word in words(sentence.text)})
    return near or shares_words(question, sentence.text)


def _stem(word: str) -> str:
    for ending in ("ies", "es", "ing", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word[: -len(ending)]
    return word.removesuffix("e").removesuffix("y") if len(word) > 3 else word


def _is_whole(text: str) -> bool:
    starts = not text.lstrip(_OPENING)[:1].islower()
    ends = not text[-1].isalnum() and text[-1] not in ",;:-–—"
    return starts and ends and len(words(text)) >= _LEAST_WORDS and not _is_heading(text)


def _is_heading(text: str) -> bool:
    """Whether every longer word begins with a capital: "Why Home Schooling Harms Society."."""
    longer = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 3]
    return len(longer) > 2 and all(word[0].isupper() for word in longer)


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
