"""What a follow-up is completed to, and what is left as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.perspectives.follow_up import follow_up, topic_of
from perspective_rag.perspectives.kinds import is_chat
from perspective_rag.perspectives.reading import extract_by_rule
from perspective_rag.perspectives.words import inflected

MEDIA = "Should social media be banned for children?"
ZOOS = "Should zoos be closed?"
HOMEWORK = "Should homework be abolished in primary schools?"
CARS = "Should private cars be banned from city centres?"
INCOME = "Should the state pay every adult a basic income?"
UNIFORMS = "Should school uniforms be compulsory?"
COAL = "Is nuclear power or wind power the better way to replace coal?"
PET = "Which is the best pet for a family with young children: a dog or a cat?"
AGE = "Should the voting age be lowered to sixteen?"
FRANCE = "Should zoos be closed in France?"
NUCLEAR = "Is nuclear power safe?"

COMPLETED = (
    (MEDIA, "and for teenagers?", "Should social media be banned for teenagers?"),
    (MEDIA, "And for young adults", "Should social media be banned for young adults?"),
    (MEDIA, "what about teenagers?", "Should social media be banned for teenagers?"),
    (MEDIA, "ok, and what about adults?", "Should social media be banned for adults?"),
    (MEDIA, "And in Europe?", "Should social media be banned for children in Europe?"),
    (MEDIA, "only at school?", "Should social media be banned for children at school?"),
    (
        MEDIA,
        "what about the cost?",
        "Considering the cost, should social media be banned for children?",
    ),
    (
        MEDIA,
        "and if their parents agree?",
        "Should social media be banned for children if their parents agree?",
    ),
    (MEDIA, "why?", "Why should social media be banned for children?"),
    (MEDIA, "why not?", "What are the arguments against banning social media for children?"),
    (MEDIA, "is it legal?", "Is banning social media for children legal?"),
    (MEDIA, "does it work?", "Does banning social media for children work?"),
    (MEDIA, "but is it addictive?", "Is social media addictive?"),
    (MEDIA, "would such a ban work?", "Would banning social media for children work?"),
    (
        MEDIA,
        "how would it be enforced?",
        "How would banning social media for children be enforced?",
    ),
    (MEDIA, "what are the risks?", "What are the risks of banning social media for children?"),
    (MEDIA, "any alternatives?", "What are the alternatives to banning social media for children?"),
    (
        MEDIA,
        "are there alternatives?",
        "Are there alternatives to banning social media for children?",
    ),
    (MEDIA, "who pays?", f"{MEDIA} Who pays?"),
    (
        MEDIA,
        "and the arguments against?",
        "What are the arguments against banning social media for children?",
    ),
    (ZOOS, "what about circuses?", "Should circuses be closed?"),
    (ZOOS, "and aquariums?", "Should aquariums be closed?"),
    (ZOOS, "what about the animals?", "Considering the animals, should zoos be closed?"),
    (ZOOS, "are they cruel?", "Are zoos cruel?"),
    (ZOOS, "what are their benefits?", "What are zoos' benefits?"),
    (ZOOS, "and in the US?", "Should zoos be closed in the US?"),
    (ZOOS, "what about Germany?", "Considering Germany, should zoos be closed?"),
    (ZOOS, "how?", "How should zoos be closed?"),
    (ZOOS, "who pays for it?", "Who pays for closing zoos?"),
    (ZOOS, "what would it cost?", "What would closing zoos cost?"),
    (ZOOS, "what do visitors think of them?", "What do visitors think of zoos?"),
    (ZOOS, "really?", ZOOS),
    (ZOOS, "tell me more", ZOOS),
    (ZOOS, "for whom?", "Should zoos be closed? For whom?"),
    (HOMEWORK, "and in secondary schools?", "Should homework be abolished in secondary schools?"),
    (HOMEWORK, "and in Europe?", "Should homework be abolished in primary schools in Europe?"),
    (
        HOMEWORK,
        "and if it is voluntary?",
        "Should homework be abolished in primary schools if it is voluntary?",
    ),
    (CARS, "and from villages?", "Should private cars be banned from villages?"),
    (CARS, "what about electric cars?", "Should electric cars be banned from city centres?"),
    (
        CARS,
        "except for ambulances?",
        "Should private cars be banned from city centres except for ambulances?",
    ),
    (INCOME, "and children?", "Should the state pay children a basic income?"),
    (INCOME, "is it affordable?", "Is the state paying every adult a basic income affordable?"),
    (
        INCOME,
        "what would that cost?",
        "What would the state paying every adult a basic income cost?",
    ),
    (UNIFORMS, "what about hats?", "Should hats be compulsory?"),
    (UNIFORMS, "do they help?", "Do school uniforms help?"),
    (COAL, "and gas?", "Is gas the better way to replace coal?"),
    (COAL, "which is cheaper?", f"{COAL} Which is cheaper?"),
    (PET, "and for an old person?", "Which is the best pet for an old person: a dog or a cat?"),
    (
        PET,
        "and with teenagers?",
        "Which is the best pet for a family with teenagers: a dog or a cat?",
    ),
    (AGE, "and to fourteen?", "Should the voting age be lowered to fourteen?"),
    (AGE, "in Austria?", "Should the voting age be lowered to sixteen in Austria?"),
    (AGE, "is that fair?", "Is lowering the voting age to sixteen fair?"),
    (FRANCE, "and Germany?", "Should zoos be closed in Germany?"),
    (FRANCE, "and in the UK?", "Should zoos be closed in the UK?"),
    (NUCLEAR, "what are its benefits?", "What are nuclear power's benefits?"),
    (NUCLEAR, "what about the waste?", "Considering the waste, is nuclear power safe?"),
    (NUCLEAR, "and wind power?", "Is wind power safe?"),
    ("Was Napoleon a great leader?", "was he a tyrant?", "Was Napoleon a tyrant?"),
    ("Considering the cost, should zoos be closed?", "why?", "Why should zoos be closed?"),
    (
        "I like animals. Should zoos be closed?",
        "and in Europe?",
        "Should zoos be closed in Europe?",
    ),
)

CONVERSATIONS = (
    ((ZOOS,), "Do visitors learn anything there?", "Do visitors learn anything in zoos?"),
    ((ZOOS,), "Are the animals happy?", "Considering closing zoos, are the animals happy?"),
    (
        (ZOOS,),
        "What happens to the animals then?",
        "Considering closing zoos, what happens to the animals?",
    ),
    (
        (ZOOS,),
        "Can children see wild animals without them?",
        "Can children see wild animals without zoos?",
    ),
    ((ZOOS, "and in small towns?"), "and in Europe?", FRANCE.replace("France", "Europe")),
    (
        (ZOOS, "is it legal in France?"),
        "and in Germany?",
        "Is closing zoos legal in Germany?",
    ),
    (
        (ZOOS, "Are the animals happy?"),
        "do they suffer?",
        "Do the animals suffer?",
    ),
    ((ZOOS, "and in France?"), "is it legal?", "Is closing zoos in France legal?"),
    (
        (ZOOS, "is it legal?", "what about circuses?"),
        "who pays for it?",
        "Who pays for closing circuses?",
    ),
    ((ZOOS, "thanks", "?!"), "and in France?", FRANCE),
    (
        (CARS,),
        "Would shops there lose customers?",
        "Considering banning private cars from city centres, would shops in city centres lose"
        " customers?",
    ),
    (
        ("Should cash be abolished?", "Would the poor suffer?"),
        "Would old people cope without it?",
        "Would old people cope without cash?",
    ),
    ((UNIFORMS, "do they cost much?"), "and for girls?", "Do school uniforms cost much for girls?"),
    (
        (HOMEWORK, "and if it is voluntary?"),
        "and in France?",
        "Should homework be abolished in primary schools in France?",
    ),
    (
        (INCOME, "is it affordable?"),
        "would people stop working?",
        "Considering the state paying every adult a basic income, would people stop working?",
    ),
    (
        ("Should the working week be cut to four days?", "Who would pay for it?"),
        "would it work in hospitals?",
        "Would cutting the working week to four days work in hospitals?",
    ),
    (
        (MEDIA, "and for teenagers?", "and at school?"),
        "and in Europe?",
        "Should social media be banned for teenagers in Europe?",
    ),
    ((ZOOS, "and in Europe?"), NUCLEAR, NUCLEAR),
    (
        ("Should schools ban phones?",),
        "can pupils learn without them?",
        "Can pupils learn without phones?",
    ),
)

UNCHANGED = (
    "Should zoos be closed?",
    "Is nuclear power safe?",
    "and is nuclear power safe?",
    "What is a basic income?",
    "Is it wrong to lie?",
    "Is it ever right to break the law?",
    "Is it time to leave the EU?",
    "Is it true that homework helps?",
    "In which year did Rome fall?",
    "For or against zoos: what do people say?",
    "What are the risks of nuclear power?",
    "What are the benefits and harms of homework?",
    "If robots do most work, should everyone get a basic income?",
    "Are zoos cruel, and should they be closed?",
    "Do parents harm children when they give them phones?",
    "Should schools ban phones or limit them?",
    "Who wrote Faust?",
    "Who pays for the elderly?",
    "Why should we trust scientists?",
    "Why are zoos closed on Mondays?",
    "How do I reset a router?",
    "What about banning cars?",
    "Are there too many tourists in Venice?",
    "Nuclear power",
    "Abolish private schools!",
    "Zoos should be closed.",
    "When did Ghana become independent?",
    "This house would abolish the penny",
    "Is torture ever justified? And does it work?",
    "Should the rich pay more taxes?",
    "Would people be happier without phones?",
    "Would there be less crime if drugs were legal?",
    "Is there life on Mars?",
    "Sollten Zoos geschlossen werden?",
    "¿y en Europa?",
    "for i in range(10): print(i)",
    "",
    "   ",
    "?!",
)

CHAT = (
    "thanks",
    "Thank you!",
    "ok",
    "hello",
    "hi there",
    "great, thanks a lot",
    "thanks, that helps",
    "I see",
    "got it",
    "never mind",
    "makes sense",
    "that's interesting",
    "no thanks",
    "goodbye",
    "how are you?",
)


@pytest.mark.parametrize(("previous", "question", "expected"), COMPLETED)
def test_a_follow_up_takes_what_it_leaves_out_from_the_question_before(
    previous, question, expected
):
    assert follow_up(question, previous) == expected


@pytest.mark.parametrize(("earlier", "question", "expected"), CONVERSATIONS)
def test_a_follow_up_is_read_with_the_topic_and_narrows_it_alone(earlier, question, expected):
    assert follow_up(question, earlier) == expected


@pytest.mark.parametrize("question", UNCHANGED)
@pytest.mark.parametrize("previous", [ZOOS, PET])
def test_a_question_that_stands_alone_is_left_as_it_is(question, previous):
    assert follow_up(question, previous) == question


@pytest.mark.parametrize("said", CHAT)
def test_small_talk_is_told_apart_and_left_as_it_is(said):
    assert is_chat(said.rstrip("?.! "))
    assert extract_by_rule(said).kind == "chat"
    assert follow_up(said, ZOOS) == said


@pytest.mark.parametrize(
    "said", ["That helps children", "Interesting times are over", "I see ghosts"]
)
def test_a_statement_is_not_taken_for_small_talk(said):
    assert not is_chat(said)


@pytest.mark.parametrize("previous", ["", "  ", "?!"])
def test_without_a_question_before_nothing_is_completed(previous):
    assert follow_up("and for teenagers?", previous) == "and for teenagers?"


def test_a_follow_up_of_a_follow_up_keeps_the_topic():
    asked = ZOOS
    for said in (
        "and in Europe?",
        "what about the cost?",
        "and in Africa?",
        "what about circuses?",
    ):
        asked = follow_up(said, asked)
    assert asked == "Should circuses be closed in Africa?"


@pytest.mark.parametrize(
    "completed",
    [each for _, _, each in COMPLETED if each.startswith(("Should", "Is", "Are", "Do", "Consid"))],
)
def test_what_a_yes_no_follow_up_is_completed_to_has_sides(completed):
    assert extract_by_rule(completed).perspectives


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        (ZOOS, "closing zoos"),
        (UNIFORMS, "making school uniforms compulsory"),
        (NUCLEAR, "nuclear power"),
        ("Should we ban cars?", "banning cars"),
        ("What should be done about homelessness?", "homelessness"),
        ("What are the benefits of zoos?", "zoos"),
        ("Who should pay for the elderly?", None),
    ],
)
def test_the_topic_of_a_question(question, topic):
    assert topic_of(question.rstrip("?").split()) == topic


def test_the_ing_form_of_verbs():
    verbs = "ban close lower cut be lie see forbid permit open visit raise tax run die admit pay"
    expected = (
        "banning closing lowering cutting being lying seeing forbidding permitting opening visiting"
        " raising taxing running dying admitting paying"
    )
    assert [inflected(verb, "g") for verb in verbs.split()] == expected.split()


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_are_answered_with_a_text(question, previous):
    assert isinstance(follow_up(question, previous), str)


PIECES = "and what about is it they the for in why ? , zoos children Europe if . : which of".split()


@given(
    st.lists(st.sampled_from(PIECES), max_size=12), st.lists(st.sampled_from(PIECES), max_size=9)
)
def test_any_words_of_follow_ups_are_answered_with_a_text(question, previous):
    assert follow_up(" ".join(question), " ".join(previous)).strip() or not question
