"""Which questions invite perspectives, and that the others are searched as they are."""

from __future__ import annotations

import pytest

from perspective_rag.local.callables import CallableStore
from perspective_rag.perspectives.kinds import asks_for_a_word, is_open
from perspective_rag.perspectives.reading import extract_by_rule
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.testing import TableJudge
from perspective_rag.types import Hit, Passage

SETTLED = (
    "Who wrote Faust?",
    "How do I reset a router?",
    "Is Paris the capital of France?",
    "Should I use a hash map or a tree here?",
    "Should I use POST or PUT in this API?",
    "Should I restart the server after changing the config?",
    "Did Goethe write Faust?",
    "Is 91 divisible by 7?",
    "Does Python support multiple inheritance?",
    "Do penguins live in Antarctica?",
    "Was Mozart born in Salzburg?",
    "Can I return my order after 30 days?",
    "Is my package delivered?",
    "Do I need a visa for Japan?",
    "Could you explain recursion?",
    "Can you tell me the time?",
    "Explain how TCP works.",
    "Will it rain tomorrow?",
    "Is there a pharmacy nearby?",
    "Is the store open on Sunday?",
    "Is the Nile longer than the Amazon?",
    "Which planet is largest: Mars, Venus or Jupiter?",
    "Is Sydney or Canberra the capital of Australia?",
    "The capital of France is Paris.",
    "Did the Roman Empire fall in 476?",
    "Did Einstein win the Nobel Prize?",
    "Does bread contain gluten?",
    "Does Norway border Russia?",
    "Is Spanish spoken in Brazil?",
    "In which year did Rome fall?",
    "The longest river in Africa is called?",
    "Lucy how many episodes are in season 3?",
)

DISPUTED = (
    "Should zoos be closed?",
    "Is nuclear power safe?",
    "Is capitalism better than socialism?",
    "Does God exist?",
    "Was Napoleon a tyrant?",
    "Is Pluto a planet?",
    "Does homeopathy work?",
    "Was the moon landing faked?",
    "Is euthanasia murder?",
    "Is Python better than Java for beginners?",
    "Should I rent or buy a house?",
    "Is the US the largest obstacle to peace?",
    "Can I be religious and believe in evolution?",
    "Are smartphones making teenagers lonely?",
    "Did the Soviet Union win the Second World War for the Allies?",
    "Do you believe that schools teach creativity well?",
    "Do you think companies make too much profit?",
    "Would you describe most families as comfortable?",
    "Could you tell me whether zoos should be closed?",
    "Degrees in the arts are luxuries that we can no longer afford",
    "Did Russia interfere in the election in 2016?",
    "Is the army made of heroes or of victims?",
    "Would you close zoos?",
    "You would close zoos?",
)


@pytest.mark.parametrize("question", SETTLED)
def test_a_settled_question_gets_no_perspectives(question):
    found = extract_by_rule(question)
    assert found.perspectives == ()
    assert found.root == question
    assert not found.invites_perspectives


@pytest.mark.parametrize("question", DISPUTED)
def test_a_disputed_question_keeps_its_perspectives(question):
    found = extract_by_rule(question)
    assert found.invites_perspectives
    assert len(found.perspectives) == 2


def test_a_place_left_open_is_told_from_a_statement_put_as_a_question():
    assert asks_for_a_word("For whom was the battle a victory?")
    assert asks_for_a_word("The war on poverty was a policy used in?")
    assert not asks_for_a_word("You would close zoos?")
    assert not asks_for_a_word("People who smoke should pay more?")


@pytest.mark.parametrize("question", SETTLED)
def test_retrieval_is_left_as_it_was(question):
    """One search in the question's own words, its order kept, no pair judged, and the trace says why."""
    passages = [Passage(f"p{n}", f"a passage about {n}") for n in range(30)]
    asked = []

    def search(text, k):
        asked.append(text)
        return [Hit(each, 1.0 - n / 100) for n, each in enumerate(passages[:k])]

    judge = TableJudge({(each.id, "oppose"): 0.9 for each in passages[10:]})
    result = PerspectivePipeline(CallableStore(search), judge=judge, k=5).retrieve(question)
    assert [each.passage.id for each in result.candidates] == ["p0", "p1", "p2", "p3", "p4"]
    assert asked == [question]
    assert judge.judged == []
    assert not result.coverage.judged
    assert result.trace.decisions == (
        {"stage": "extract", "query": question, "verdict": "no perspectives"},
    )
    assert result.trace.degradations == ()


KINDS = {
    "factual": (
        "Who painted Guernica?",
        "How do I bleed a radiator?",
        "how to renew a fishing permit",
        "How much does a horse weigh?",
        "How far is it to Lyon?",
        "How big is the moon?",
        "Does the museum shop open on Mondays?",
        "When did Iceland join NATO?",
        "Is Ottawa the capital of Canada?",
    ),
    "personal": (
        "Should I break up with my boyfriend?",
        "Will my hair grow back?",
        "Am I too old to learn the piano?",
        "Where did I put my keys?",
        "Is she in love with me?",
        "What should I cook for dinner?",
    ),
    "chat": ("thanks!", "hello there", "How are you?", "what can you do", "ok cool", "???"),
    "request": (
        "SELECT name FROM users WHERE id = 3;",
        "KeyError: 'name'",
        "npm install left-pad",
        "What is 15% of 80?",
        "12 + 30 / 6",
        "Play some jazz",
        "Remind me to call the vet at 5",
        "Write a poem about autumn",
    ),
    "not-english": (
        "Soll man Fleisch essen?",
        "sind hunde kluger als katzen",
        "Is het klimaat nog te redden?",
        "Deve o Brasil legalizar o aborto?",
        "Нужно ли запретить охоту?",
        "원자력은 안전한가?",
        "Pitäisikö Suomen liittyä Natoon?",
    ),
    "open": (
        "What should be done about truancy?",
        "Who is to blame for the bank crash?",
        "Which city should host the next world fair?",
        "What makes a good neighbour?",
        "thoughts on cryptocurrency?",
        "How do you feel about school prayer?",
        "How would you rate the new mayor?",
        "How reliable an ally is Peru?",
        "How much does noise bother you?",
        "After the strike, how do you feel about the rail company?",
        "If your neighbour confessed a crime to you, should you turn them in?",
        "How do farmers feel about wolves?",
        "veganism",
    ),
}


@pytest.mark.parametrize(("kind", "question"), [(k, q) for k, each in KINDS.items() for q in each])
def test_a_question_without_sides_is_told_apart_and_said_so(kind, question):
    found = extract_by_rule(question)
    assert (found.kind, found.perspectives) == (kind, ())
    assert found.reading.startswith("I understood: ")
    assert found.invites_perspectives == (kind == "open")


def test_a_topic_is_open_and_a_procedure_is_not():
    assert is_open("school uniforms")
    assert not is_open("How do I tie a tie?")


def test_another_language_is_said_not_read():
    found = extract_by_rule("Should zoos be closed?", language="fr")
    assert (found.kind, found.perspectives) == ("not-english", ())
    assert "'fr'" in found.reading
