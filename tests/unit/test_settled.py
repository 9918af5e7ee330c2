"""Which questions invite perspectives, and that the others are searched as they are."""

from __future__ import annotations

import pytest

from perspective_rag.backends.callables import CallableStore
from perspective_rag.extract.rules import extract_by_rule
from perspective_rag.extract.settled import asks_for_a_word, invites_perspectives
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


@pytest.mark.parametrize("question", DISPUTED)
def test_a_disputed_question_keeps_its_perspectives(question):
    assert invites_perspectives(question)
    assert len(extract_by_rule(question).perspectives) == 2


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
    assert result.coverage is None
    assert result.trace.decisions == (
        {"stage": "extract", "query": question, "verdict": "no perspectives"},
    )
    assert result.trace.degradations == ()
