"""What a tool tells a model of each passage, and of the sides that have none."""

from __future__ import annotations

import json

from perspective_rag.prompts.tool import tool_text

SIDES = {"support": "Zoos should be closed", "oppose": "Zoos should not be closed"}


def metadata(title, state, *supports, sides=SIDES, reported=False):
    texts = [sides[each] for each in supports]
    known = {key: {} for key in ("scores", "support", "verdicts")}
    known |= {"state": state, "sides": sides, "reported": reported, "contradicts": []}
    told = {**known, "found_by": [], "supports": list(supports), "perspectives": texts}
    return {"title": title, "perspective_rag_report": json.dumps(told)}


def test_each_passage_has_its_title_and_its_state_and_missing_sides_are_named():
    text = tool_text(
        [
            (metadata("On cages", "takes a side", "support"), "Cages harm."),
            (metadata("", "takes a side", "support", reported=True), "Critics say so."),
            (metadata("Hours", "takes no side"), "Hours: from ten."),
            (metadata("", "not sorted"), "Who knows?"),
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
    text = tool_text([(metadata("", "not judged"), "Cages harm.")])
    assert text.endswith(
        "Whether a passage supports a side was not judged: "
        "Zoos should be closed; Zoos should not be closed"
    )
    assert "    not judged\n" in text


def test_a_question_without_sides_gets_the_passages_alone():
    assert tool_text([(metadata("Zoos", "not judged", sides={}), "Text.")]) == "[1] Zoos: Text."
    assert tool_text([]) == "Nothing was found."
