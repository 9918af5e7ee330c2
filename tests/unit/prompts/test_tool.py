"""What a tool tells a model of each passage, and of the sides that have none."""

from __future__ import annotations

from perspective_rag.prompts.tool import tool_text

SIDES = {"support": "Zoos should be closed", "oppose": "Zoos should not be closed"}


def report(state, *supports, sides=SIDES, reported=False):
    texts = [sides[each] for each in supports]
    known = {"state": state, "sides": sides, "reported": reported}
    return {**known, "supports": list(supports), "perspectives": texts}


def test_each_passage_has_its_title_and_its_state_and_missing_sides_are_named():
    text = tool_text(
        [
            ("On cages", "Cages harm.", report("takes a side", "support")),
            ("", "Critics say so.", report("takes a side", "support", reported=True)),
            ("Hours", "Hours: from ten.", report("takes no side")),
            ("", "Who knows?", report("not sorted")),
        ]
    )
    assert text.split("\n\n") == [
        "[1] On cages: Cages harm.\n    supports: Zoos should be closed",
        "[2] Critics say so.\n    supports: Zoos should be closed, and only reports what others say",
        "[3] Hours: from ten.\n    takes no side",
        "[4] Who knows?\n    not sorted",
        "No passage is sorted under: Zoos should not be closed "
        "(1 not sorted: the judge cannot tell, read them)",
    ]


def test_what_nobody_judged_is_said_to_be_not_judged():
    text = tool_text([("", "Cages harm.", report("not judged"))])
    assert text.endswith(
        "Whether a passage supports a side was not judged: "
        "Zoos should be closed; Zoos should not be closed"
    )
    assert "    not judged\n" in text


def test_a_question_without_sides_gets_the_passages_alone():
    assert tool_text([("Zoos", "Text.", report("not judged", sides={}))]) == "[1] Zoos: Text."
    assert tool_text([]) == "Nothing was found."
