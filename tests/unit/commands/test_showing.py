"""What a person sees of a result: the reading, the balance, each side, and no probabilities."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from perspective_rag.commands.ask import write_json
from perspective_rag.commands.showing import SafeConsole, show
from perspective_rag.types import (
    Answer,
    Candidate,
    Claim,
    Coverage,
    ListingRule,
    Passage,
    Perspective,
    Query,
    RetrievalResult,
    Trace,
)

CLAIM = "Zoos are good"
SIDES = (
    Perspective("support", CLAIM, "support", CLAIM),
    Perspective("oppose", "Zoos are not good", "oppose", CLAIM),
)
RULE = ListingRule(0.7, 0.4, 0.1)
QUERIES = (Query("Are zoos good?"), Query("zoos harm", "oppose"))


def result_of(rows, *, related=None, ids=None, reading="I understood: zoos", texts=None):
    """A result with support (for, against) by row."""
    found = [
        Passage(f"p{i}" if ids is None else ids[i], texts[i] if texts else f"Text number {i}.")
        for i in range(len(rows))
    ]
    candidates = tuple(
        Candidate(p, 0.123, support={"support": pro, "oppose": con})
        for p, (pro, con) in zip(found, rows, strict=True)
    )
    about = None if related is None else np.array(related, dtype=bool)
    support = np.array(rows, dtype=float).reshape(len(rows), 2)
    coverage = Coverage(SIDES, support, RULE, ~np.eye(2, dtype=bool), about)
    trace = Trace(queries=QUERIES)
    return RetrievalResult(
        "Are zoos good?", candidates, SIDES, coverage, trace, reading, "sides", about
    )


def shown(result, answer=None, width=100, **options):
    file = io.StringIO()
    show(result, answer or Answer(()), SafeConsole(file=file, width=width), **options)
    return file.getvalue()


def test_the_reading_stands_first_and_how_to_change_it():
    screen = shown(result_of([(0.9, 0.1)]))
    assert "I understood: zoos (to name other sides: --perspective TEXT" in screen
    assert screen.index("I understood") < screen.index("1 for, none sorted against")
    assert "/sides A | B" in shown(result_of([(0.9, 0.1)]), change="other sides: /sides A | B")
    assert "I understood: 'Zoos are good' / 'Zoos are not good'" in shown(
        result_of([(0.9, 0.1)], reading="")
    )


def test_every_passage_stands_in_one_place_in_words_and_without_numbers():
    rows = [(0.91, 0.13), (0.83, 0.82), (0.01, 0.02), (0.52, 0.11), (0.12, 0.14), (0.01, 0.01)]
    screen = shown(result_of(rows, related=[1, 1, 1, 1, 1, 0]))
    titles = [
        "Zoos are good",
        "Zoos are not good",
        "Arguing both ways",
        "Taking no side",
        "Not sorted: the judge cannot tell for these 3; read them",
    ]
    panels = re.findall(r"╭─+ (.+?) ─+╮", screen)
    assert panels == titles
    places = [screen.index(f"Text number {i}.") for i in range(6)]
    assert places == sorted(places)
    assert screen.count("Zoos are good") == 1  # what only leans names no side
    said = "1 for, none sorted against, 1 arguing both ways, 1 taking no side, 3 not sorted."
    assert said in screen
    assert not re.search(r"0\.\d\d", screen)


def test_the_sentence_of_proof_is_shown_in_its_context_and_the_whole_passage_if_asked_for():
    text = f"# On zoos\n{'Much was said. ' * 60}Keepers save frogs. {'More was said. ' * 60}End."
    result = result_of([(0.9, 0.1), (0.1, 0.2)], texts=[text, text])
    proofs = {(0, "support"): "Keepers save frogs."}
    screen = shown(result, None, 100, proofs=proofs)
    assert screen.count("Keepers save frogs.") == 1
    assert "# On zoos" not in screen
    assert screen.count("End.") == 1, "the one that is not sorted: its beginning and its end"
    whole = shown(result, None, 100, proofs=proofs, full=True)
    assert whole.count("End.") == 2
    file = io.StringIO()
    console = SafeConsole(file=file, width=100, force_terminal=True)
    show(result, Answer(()), console, proofs)
    assert re.search(r"\x1b\[1;4mKeepers save frogs\.\x1b", file.getvalue())


def test_no_side_stands_three_times_on_a_screen():
    reading = "I understood: 'Zoos are good' or 'Zoos are not good'"
    answer = Answer((Claim("They help.", ("p0",), "support"),))
    screen = shown(result_of([(0.9, 0.1), (0.1, 0.9)], reading=reading), answer)
    assert (screen.count("Zoos are good"), screen.count("Zoos are not good")) == (1, 1)
    assert re.findall(r"╭─+ (.+?) ─+╮", screen) == ["For", "Against"]
    lines = [line.strip() for line in screen.splitlines()]
    assert lines[lines.index("• They help. [1]") - 1] == "For (1 passage)"


def test_a_listed_passage_that_only_reports_is_said_to():
    texts = ["Critics say zoos are cruel. Opponents argue that cages are small.", "Zoos teach."]
    result = result_of([(0.1, 0.9), (0.9, 0.1)], texts=texts)
    screen = shown(result)
    assert screen.count("(reports what others say)") == 1
    assert "1 for, 1 against, 1 of those listed only reports." in screen


def test_a_statement_too_long_for_its_title_is_whole_inside_its_panel():
    text = "Zoos are good for " + " and ".join(f"animal number {n}" for n in range(9))
    sides = (Perspective("support", text, "support", text), SIDES[1])
    result = result_of([(0.9, 0.1)])
    result = replace(
        result, perspectives=sides, coverage=replace(result.coverage, perspectives=sides)
    )
    narrow = shown(result, width=60)
    assert re.findall(r"╭─+ (.+?) ─+╮", narrow)[:2] == ["for", "Zoos are not good"]
    assert text in " ".join(narrow.replace("│", " ").split())
    assert f"╭─ {text} ─" in shown(result, width=250 * 2)


def test_where_the_judge_cannot_tell_that_is_said_of_the_judge_and_not_of_the_corpus():
    screen = shown(result_of([(0.52, 0.1)]), Answer((), SIDES))
    assert "No passage is sorted under a side; 1 not sorted." in screen
    assert "Zoos are" not in screen, "no empty panel for what the line on top says"
    assert "Not sorted: the judge cannot tell for this one; read it" in screen
    assert not re.search("leaning|nothing|Nothing|found|corpus", screen)
    screen = " ".join(shown(result_of([(0.9, 0.1), (0.52, 0.1)]), width=80).split())
    said = "No passage is sorted under this; 1 not sorted. 1 search looked for it."
    assert screen.count(said) == 1


UNREAD = result_of([(np.nan, np.nan)] * 2, related=[0, 0])
SILENT = "This corpus says nothing about it: no passage is near the question or has its"
NEAREST = "The passages nearest to the question; whether they answer it"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"says_nothing": True}, SILENT),
        ({}, f"{NEAREST}, and for which side they speak, was not judged."),
        ({"says_nothing": True, "kind": "personal"}, f"{NEAREST} was not judged."),
        ({"says_nothing": True, "kind": "chat"}, f"{NEAREST} was not judged."),
        ({"says_nothing": True, "caution": "French."}, f"{NEAREST} was not judged."),
    ],
)
def test_a_corpus_is_said_to_be_silent_only_where_that_is_known(changes, says):
    screen = " ".join(shown(replace(UNREAD, **changes)).split())
    assert says in screen
    assert ("says nothing" in screen) == (says == SILENT)
    assert "The passages nearest to the question, not judged" in screen


def test_what_invites_no_sides_is_said():
    reading = "I understood: a question of fact, with an answer to look up"
    screen = shown(RetrievalResult("q", (), (), None, Trace(), reading, "factual"))
    assert reading in screen
    assert "No sides were looked for." in screen
    assert "No passage was found." in screen


def test_claims_stand_under_their_side_with_the_number_of_their_passage():
    result = result_of([(0.1, 0.9), (0.9, 0.1)], ids=["", ""])
    from perspective_rag.answer.passages import citation_keys

    first, second = citation_keys(result.candidates)
    answer = Answer(
        (
            Claim("They help.", (second,), "support"),
            Claim("Critics say they hurt.", (first,), "oppose", reported=True),
        ),
        summary="1 for, 1 against.",
    )
    lines = [line.strip() for line in shown(result, answer).splitlines()]
    at = lines.index("• They help. [2]")
    assert lines[at - 1] == "Zoos are good (1 passage)"
    assert lines[at + 1 : at + 3] == [
        "Zoos are not good (1 passage)",
        "• Critics say they hurt. (reported) [1]",
    ]


ATTACK = "\x1b[2J\x1b]0;owned\x07\x9b31mred\x08\r\x00\u202eevil"


def test_nothing_shown_steers_the_terminal():
    result = result_of([(0.9, 0.1)], texts=[f"Good {ATTACK} text."], reading=f"I {ATTACK}")
    answer = Answer((Claim(f"Claim {ATTACK}", ("p0",), "support"),), SIDES, summary=ATTACK)
    screen = shown(result, answer)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", screen)
    assert "owned" not in screen
    file = io.StringIO()
    SafeConsole(file=file, force_terminal=True, width=80).print(
        f"[bold]a {ATTACK}[/bold]", highlight=False
    )
    assert set(re.findall(r"\x1b\[[0-9;]*[A-Za-z]", file.getvalue())) == {"\x1b[1m", "\x1b[0m"}
    assert file.getvalue().count("\x1b") == 2


def test_json_holds_the_numbers_and_no_nan(capsys):
    write_json(result_of([(0.9, float("nan"))], texts=["C1 \x9b31m"]), Answer(()))
    out = capsys.readouterr().out
    document = json.loads(out, parse_constant=lambda name: pytest.fail(name))
    (candidate,) = document["result"]["candidates"]
    assert candidate["support"] == {"support": 0.9, "oppose": None}
    assert candidate["text"] == "C1 \x9b31m"
    assert "\x9b" not in out
    assert document["result"]["reading"] == "I understood: zoos"
