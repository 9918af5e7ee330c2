"""What lines do in a conversation, without a terminal."""

from __future__ import annotations

import argparse
import io
import re

import pytest

from perspective_rag.commands.showing import SafeConsole, linked
from perspective_rag.errors import LLMError
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.testing import MemoryStore, RuleJudge
from perspective_rag.types import Passage
from perspective_rag_serve.commands import chat, serve
from perspective_rag_serve.commands.conversation import Conversation

PASSAGES = [
    Passage("a", "Zoos should be closed because cages are cruel.", {"url": "https://a.example/x"}),
    Passage("b", "Zoos should not be closed since they save species."),
    *(Passage(f"c{n}", f"Zoos should not be closed, reason {n}.") for n in range(9)),
]


def takes_its_side(passage, perspective):
    return 0.9 if (" not " in passage.text) == (" not " in perspective.text) else 0.05


class Talk:
    """A conversation and what it showed."""

    def __init__(self, *lines, **parts):
        self.lines = iter(lines)
        self.file = io.StringIO()
        store = MemoryStore(PASSAGES, takes_vector=False)
        pipeline = PerspectivePipeline(store, judge=RuleJudge(takes_its_side), k=3, **parts)
        console = SafeConsole(file=self.file, width=100)
        self.conversation = Conversation(pipeline, console, self.read)
        self.conversation.run()

    def read(self):
        line = next(self.lines, None)
        if line is None:
            raise EOFError
        if isinstance(line, BaseException):
            raise line
        return line

    @property
    def shown(self):
        return " ".join(self.file.getvalue().split())


ASK = "Should zoos be closed?"


def test_more_finds_further_passages_of_one_side_and_only_shows_that_side():
    talk = Talk(ASK, "/more against")
    after = talk.shown.partition("Searched further")[2]
    assert ": 3 new passages for Zoos should not be closed" in after
    assert "cages are cruel" not in after
    assert len(talk.conversation.last.result.candidates) == 6


@pytest.mark.parametrize("named", ["against", "con", "2", "should not be closed", "AGAINST"])
def test_a_side_is_named_by_stance_number_or_words(named):
    assert "new passages for Zoos should not be closed" in Talk(ASK, f"/more {named}").shown


@pytest.mark.parametrize("named", ["", "bananas", "3", "zoos"])
def test_what_names_no_one_side_is_told_what_there_is(named):
    shown = Talk(ASK, f"/more {named}").shown
    assert "1 Zoos should be closed; 2 Zoos should not be closed" in shown


@pytest.mark.parametrize(("named", "meant"), [("for", "Zoos teach"), ("against", "Zoos are cruel")])
def test_of_two_sides_of_ones_own_for_is_the_first(named, meant):
    shown = Talk(ASK, "/sides Zoos teach | Zoos are cruel", f"/more {named}").shown
    assert re.search(rf"Searched further: \d+ new passages? for {meant}", shown), shown


def test_sides_stay_for_follow_ups_and_end_with_the_next_question():
    own = "/sides Zoos teach | Zoos are cruel"
    talk = Talk(ASK, own, "and in Europe?").conversation
    assert [each.text for each in talk.last.result.perspectives] == ["Zoos teach", "Zoos are cruel"]
    talk = Talk(ASK, own, "Should cash be abolished?").conversation
    first, second = talk.last.result.perspectives
    assert (first.text, first.stance) == ("Cash should be abolished", "support")
    assert second.stance == "oppose"


def test_what_points_back_is_read_with_the_topic_and_sides_end_with_another():
    own = "/sides Zoos teach | Zoos are cruel"
    talk = Talk(ASK, own, "Do visitors learn anything there?", "/more against").conversation
    assert talk.question == "Do visitors learn anything in zoos?"
    assert [each.text for each in talk.last.result.perspectives] == ["Zoos teach", "Zoos are cruel"]
    talk.take("When did Ghana become independent?")
    assert talk.question == "When did Ghana become independent?"
    assert talk.sides is None


def test_sides_that_read_the_same_are_refused_and_the_others_stay():
    talk = Talk(ASK, "/sides Zoos teach | Z\u043e\u043es teach", "really?")
    assert "read the same" in talk.shown
    assert len(talk.conversation.last.result.perspectives) == 2
    assert talk.conversation.sides is None


def test_a_narrowing_takes_the_place_of_the_one_before():
    talk = Talk(ASK, "and in small towns?", "and in Europe?", "/more against")
    assert talk.conversation.question == "Should zoos be closed in Europe?"
    assert "for Zoos should not be closed in Europe" in talk.shown


@pytest.mark.parametrize("line", ["/more for", "/why 1", "/sources", "/export x.md"])
def test_commands_about_an_answer_need_one(line):
    assert "ask a question first" in Talk(line).shown


def test_a_follow_up_keeps_the_topic_and_small_talk_does_not_change_it():
    talk = Talk(ASK, "thanks", "and in Europe?", "ok", "why?")
    assert talk.conversation.question == "Why should zoos be closed in Europe?"
    assert talk.shown.count("Ask me a question that people answer differently") == 2


def test_sides_of_ones_own_hold_until_auto():
    talk = Talk("/sides Zoos teach | Zoos do not teach", ASK, "/auto")
    first, second = re.split(r"\d+\.\d s", talk.shown, maxsplit=1)
    assert "Zoos do not teach" in first
    assert "Zoos do not teach" not in second
    assert "'Zoos should not be closed'" in second


def test_an_error_is_one_line_and_the_conversation_goes_on():
    class Broken:
        def answer(self, result):
            raise LLMError("the model said \x1b[2J no")

    shown = Talk(ASK, "/help", answerer=Broken()).shown
    assert "the model said no" in shown
    assert "Follow-ups keep the topic" in shown


def test_ctrl_c_at_the_prompt_and_in_an_answer_end_nothing():
    class Stopped:
        def answer(self, result):
            raise KeyboardInterrupt

    shown = Talk(KeyboardInterrupt(), ASK, "/help", answerer=Stopped()).shown
    assert "/quit ends" in shown
    assert "stopped" in shown
    assert "Follow-ups keep the topic" in shown


@pytest.mark.parametrize(
    ("url", "links"),
    [
        ("https://a.example/x?y=1#z", True),
        ("http://a.example", True),
        ("javascript:alert(1)", False),
        ("https://user@a.example/", False),
        ("https://a.example/\x1b\\", False),
        ("https://а.example/", False),  # a letter that only looks like an a
        ("ftp://a.example/", False),
        (None, False),
    ],
)
def test_only_plain_web_addresses_become_links(url, links):
    file = io.StringIO()
    SafeConsole(file=file, force_terminal=True, width=60).print(linked("Title", url))
    assert ("\x1b]8;" in file.getvalue()) == links
    assert "Title" in file.getvalue()


def test_mark_up_makes_no_link_even_to_a_web_address():
    file = io.StringIO()
    SafeConsole(file=file, force_terminal=True).print("[link=https://a.example/]x[/link]")
    assert "\x1b]8;" not in file.getvalue()


def test_web_serves_the_page_over_the_same_corpus(monkeypatch, tmp_path):
    served = []
    monkeypatch.setattr(serve, "_run", served.append)
    parser = argparse.ArgumentParser()
    chat.add_command(parser.add_subparsers())
    options = parser.parse_args(["chat", "--corpus", str(tmp_path), "--web", "-k", "4"])
    options.run(options)
    (given,) = served
    assert (given.corpus, given.k, given.host, given.port) == (tmp_path, 4, "127.0.0.1", 8000)
