"""The view of a result whose verdicts are known."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytest.importorskip("fastapi")

from perspective_rag import Passage, Proof
from perspective_rag.answer.extractive import supporting_sentences
from perspective_rag.answer.passages import origin_of
from perspective_rag_serve.view import LONGEST_TEXT, in_utf16, span_of, view_of
from tests.addons.serve.http.samples import PASSAGES, PRO, QUESTION, marked, pipeline


def seen(passages=PASSAGES, **options):
    made = pipeline(passages, **options)
    result = made.retrieve(QUESTION)
    request = made.request(QUESTION)
    return view_of(result, made.run_step(supporting_sentences(made.judge, result), request)), result


def test_every_passage_is_one_card_in_the_column_of_its_state():
    view, _result = seen()
    columns = {side.text: [card.id for card in side.cards] for side in view.sides}
    assert [side.name for side in view.sides] == ["For", "Against"]
    assert columns == {PRO: ["suffer"], "Zoos should not be closed": ["species"]}
    assert [c.id for c in view.mixed] == ["both"]
    assert [c.id for c in view.neither] == ["hours"]
    assert [c.id for c in view.unsorted] == ["perhaps"]
    states = {card.id: card.state for card in view.cards.values()}
    assert states == {
        "suffer": "takes a side",
        "species": "takes a side",
        "both": "argues both ways",
        "perhaps": "not sorted",
        "hours": "takes no side",
    }
    said = "1 for, 1 against, 1 arguing both ways, 1 taking no side, 1 not sorted"
    assert view.headline.startswith(said)
    assert view.titles == {
        "mixed": "Arguing both ways",
        "neither": "Taking no side",
        "unsorted": "Not sorted: the judge cannot tell for this one; read it",
    }
    json.dumps(view.to_dict(), allow_nan=False)


def test_near_duplicates_are_folded_and_cited_by_the_card_that_stands_for_them():
    view, result = seen()
    card = view.sides[0].cards[0]
    assert card.copies == 1
    assert view.citations["suffer-copy"] == view.citations["suffer"] == card.n
    assert result.candidates[card.n - 1].passage.id == "suffer"
    assert sum(1 + each.copies for each in view.cards.values()) == len(PASSAGES)


def test_the_highlight_is_the_supporting_sentence_in_utf_16_units():
    card = seen()[0].to_dict()["sides"][0]["cards"][0]
    assert "🐘" in card["text"]
    assert (
        marked(card)
        == "🐘 Elephants in zoos suffer every single day of their long and lonely lives."
    )
    assert card["highlight"][1] > len(card["text"][: card["text"].index(" Tickets")]), (
        "the elephant counts twice"
    )


def test_a_sentence_broken_over_lines_and_with_a_false_citation_is_still_found():
    text = "First one here.\nElephants in zoos\nsuffer [3] every day, all of them. Last one here."
    view, _ = seen([Passage("broken", text, {})])
    assert (
        marked(view.to_dict()["sides"][0]["cards"][0])
        == "Elephants in zoos\nsuffer [3] every day, all of them."
    )


def test_a_sentence_that_only_reports_is_marked_after_one_that_argues():
    text = "Critics say that elephants suffer in zoos. The elephants suffer from cold and boredom."
    view, _ = seen([Passage("report", text, {})])
    assert marked(view.to_dict()["sides"][0]["cards"][0]).startswith("The elephants suffer")


def test_the_same_sentence_twice_is_marked_once_and_what_is_not_there_nowhere():
    assert span_of("It is so.", "It is so. It is so.") == (0, 9)
    assert span_of("It is not so.", "It is so.") is None
    assert in_utf16("a😀b", (1, 2)) == (1, 3)


def test_a_side_without_a_passage_stays_with_what_was_searched_for_it():
    view, _ = seen([PASSAGES[2], PASSAGES[5]])
    empty = view.sides[0]
    assert empty.text == PRO
    assert empty.cards == ()
    assert PRO in empty.searched
    assert empty.empty == "No passage is sorted under this."
    assert {side.empty for side in view.sides[1:]} == {""}


def test_a_failing_judge_leaves_the_words_to_choose_the_sentence_and_is_recorded():
    calls = []

    def once(passage, side):
        calls.append(passage)
        if "#" in passage.id:
            raise RuntimeError("the judge is down")
        return 0.9 if side.stance == "support" else 0.1

    made = pipeline(PASSAGES[:1], rule=once)
    result = made.retrieve(QUESTION)
    request = made.request(QUESTION)
    found = made.run_step(supporting_sentences(made.judge, result), request)
    assert found[(0, "support")] in (
        "Zoos 🏛 are old.",
        "🐘 Elephants in zoos suffer every single day of their long and lonely lives.",
    )
    assert [each.stage for each in request.recorder.degradations]


def test_why_holds_scores_queries_and_probabilities_and_no_nan():
    why = seen()[0].sides[0].cards[0].why
    assert why.support == {PRO: 0.95, "Zoos should not be closed": 0.02}
    assert QUESTION in why.found_by
    assert "fused" in why.scores


def test_control_characters_and_turned_writing_never_reach_the_page():
    text = "Elephants \x1b[31msuffer\u202e every day in these cages.\x00"
    card = seen([Passage("evil\u202e", text, {"title": "a\u202eb\x07"})])[0].to_dict()["sides"][0][
        "cards"
    ][0]
    for name in ("text", "title", "id"):
        assert not set("\x1b\u202e\x00\x07") & set(card[name])
    assert marked(card).startswith("Elephants")


def test_a_very_long_passage_is_cut_around_the_sentence():
    filler = "The river is wide and the hills are green here. " * 1000
    text = filler + "Elephants suffer in zoos every day. " + filler
    card = seen([Passage("long", text, {})])[0].to_dict()["sides"][0]["cards"][0]
    assert len(card["text"]) <= LONGEST_TEXT + 4
    assert marked(card) == "Elephants suffer in zoos every day."


@pytest.mark.parametrize(
    ("metadata", "url", "source"),
    [
        ({"source": "javascript:alert(1)"}, None, "javascript:alert(1)"),
        ({"url": "JaVaScript:alert(1)"}, None, ""),
        ({"url": "data:text/html,x"}, None, ""),
        ({"url": "https://user:secret@host.example/x"}, None, ""),
        ({"url": "https://host.example/a?b=c"}, "https://host.example/a?b=c", "host.example"),
        ({"url": 'https://host.example/"><script>'}, None, ""),
        ({"source": "https://host.example/a"}, "https://host.example/a", "https://host.example/a"),
        ({"source": "/home/anna/private/notes.pdf"}, None, "notes.pdf"),
        ({"source": r"C:\Users\anna\notes.pdf"}, None, "notes.pdf"),
        ({"source": "file:///home/anna/notes.pdf"}, None, "notes.pdf"),
        ({"file": "essays/zoos.md"}, None, "essays/zoos.md"),
        ({"source": {"a": 1}}, None, ""),
        ({"url": "https://[broken/"}, None, ""),
    ],
)
def test_only_harmless_addresses_are_links_and_no_folder_is_shown(metadata, url, source):
    origin = origin_of(Passage("p", "Text.", metadata))
    assert (origin.url, origin.source) == (url, source)


def test_date_and_leaning_come_from_the_metadata_where_it_has_them():
    card = seen()[0].sides[0].cards[0]
    assert (card.title, card.source, card.url) == (
        "Cages",
        "The Herald",
        "https://herald.example/1",
    )
    assert (card.date, card.leaning) == ("2024-05-01", "left")
    assert seen()[0].unsorted[0].date is None


def test_the_words_that_the_judge_quotes_are_marked_instead_of_the_sentence():
    made = pipeline()
    result = made.retrieve(QUESTION)
    side = result.perspectives[0]
    place = view_of(result).sides[0].cards[0].n - 1
    candidates = list(result.candidates)
    text = candidates[place].passage.text
    start = text.index(" ") + 1
    proofs = {side.id: Proof(start, len(text) - 2)}
    candidates[place] = replace(candidates[place], proofs=proofs)
    card = view_of(replace(result, candidates=tuple(candidates))).sides[0].cards[0]
    first, last = card.highlight
    shown = card.text.encode("utf-16-le")[2 * first : 2 * last].decode("utf-16-le")
    assert shown == text[start:-2]
