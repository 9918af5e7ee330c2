"""The guard's further searches: in other words, and what they find takes part in the choice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag import PerspectivePipeline
from perspective_rag.cover.guard import feedback_terms
from perspective_rag.local.callables import CallableStore
from perspective_rag.testing import TableJudge
from perspective_rag.text import words
from perspective_rag.types import Hit, Passage

TEXTS = (
    "zoos should close because captivity makes animals suffer, captivity is cruel",
    "zoos should close because captivity harms elephants",
    "zoos cost money and visitors like zoos",
    "zoos open at nine and visitors pay money",
)


def test_the_words_that_tell_the_supporting_passages_from_the_others_come_first():
    found = feedback_terms(TEXTS, [0.8, 0.5, 0, 0], known="Should zoos close?", count=3)
    assert found[0] == "captivity"
    assert not {"zoos", "close", "money", "visitors", "should"} & set(found)
    other_side = feedback_terms(TEXTS, [0, 0, 0.5, 0.5], known="Should zoos close?", count=2)
    assert other_side == ["money", "visitors"]
    assert feedback_terms(TEXTS, [0, 0, 0, 0], known="") == []
    assert feedback_terms([], [], known="") == []


@given(st.lists(st.tuples(st.text(max_size=60), st.floats(0, 1)), max_size=6), st.text(max_size=20))
def test_terms_are_new_words_of_the_weighty_texts(pairs, known):
    texts, weights = [text for text, _ in pairs], [weight for _, weight in pairs]
    found = feedback_terms(texts, weights, known=known, count=5)
    assert len(found) == len(set(found)) <= 5
    said = {word for text, weight in pairs if weight > 0 for word in words(text)}
    assert set(found) <= said
    assert not {word[:5] for word in found} & {word[:5] for word in words(known)}


@pytest.mark.parametrize("listed", [True, False])
def test_what_the_guard_finds_is_chosen_and_the_trace_says_who_brought_it(listed):
    """Nothing that the three queries find opposes; one passage leans to it, and its telling words
    find those that do.
    """
    pro = [Passage(f"pro{i}", f"zoos should close, says reason {i}") for i in range(6)]
    hint = Passage("hint", "zoos keep species from extinction, breeding helps extinction little")
    con = [Passage(f"con{i}", f"breeding prevents extinction, case {i}") for i in range(3)]
    asked = []

    def search(text, k):
        asked.append(text)
        found = con if "extinction" in text else [*pro, hint]
        return [Hit(each) for each in found[:k]]

    sure = 0.9 if listed else 0.4
    judge = TableJudge(
        {(each.id, "p1"): 0.9 for each in pro}
        | {("hint", "p2"): 0.3}
        | {(each.id, "p2"): sure for each in con}
    )
    made = PerspectivePipeline(CallableStore(search), judge=judge, k=4)
    sides = ["Zoos should close", "Zoos should stay"]
    result = made.retrieve("Should zoos close?", perspectives=sides)
    assert len(asked) == (4 if listed else 5)
    assert asked[3].startswith("Zoos should stay ")
    assert "extinction" in asked[3]
    brought = [each.id for each in result.passages if each.id.startswith("con")]
    assert brought
    assert result.trace.counts["chosen_by_guard"] == len(brought)
    assert result.coverage.complete == listed
    assert sum(each.id.startswith("pro") for each in result.passages) >= 2
