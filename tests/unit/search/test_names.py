"""A question of a few words is answered by what names its topic."""

from __future__ import annotations

import pytest

from perspective_rag import Corpus, Passage, RuleExtractor, local_pipeline
from perspective_rag.judge.support import related, relevance_of
from perspective_rag.search.candidates import with_names
from perspective_rag.text import topic_words
from perspective_rag.types import Candidate, RelevanceFloor

FLOOR = RelevanceFloor(0.35, 0.55)
HOMEWORK = Passage("homework", "A child has worked six hours already.", {"title": "Homework"})
OTHER = Passage("other", "A child needs mud, supper and bed.", {"title": "Evenings"})


def measured(passage, cosine):
    return Candidate(passage, cosine, {"relevance": cosine})


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("homework", {"homew"}),
        ("zoos?", {"zoo"}),
        ("nuclear or wind?", {"nucle", "wind"}),
        ("What do you think about school uniforms", {"schoo", "unifo"}),
        ("Is it good?", set()),
    ],
)
def test_what_a_question_is_about(question, topic):
    assert topic_words(question) == topic


@pytest.mark.parametrize(
    ("question", "cosine", "about"),
    [
        ("homework", 0.40, True),
        ("homework", 0.26, True),
        ("homework", 0.24, False),  # the word in passing
        ("Should homework be set in every primary school?", 0.40, False),
        ("Does homework make a child of six tired?", 0.45, True),  # half of its words
        ("Does homework make a child of six tired?", 0.44, False),
        ("Does homework make a child tired?", 0.54, False),  # two of four say too little
        ("Should teachers set homework in primary school?", 0.54, False),
    ],
)
def test_what_names_a_short_topic_is_about_it_from_below_the_floor(question, cosine, about):
    candidates = with_names(question, [measured(HOMEWORK, cosine)])
    assert related(candidates, FLOOR).tolist() == [about]


def test_the_cosine_stays_as_it_was_measured():
    named, other = with_names("homework", [measured(HOMEWORK, 0.4), measured(OTHER, 0.4)])
    assert named.scores["relevance"] == other.scores["relevance"] == 0.4
    assert relevance_of([named, other], FLOOR).tolist() == [0.55, 0.4]
    assert relevance_of([named, other], None).tolist() == [0.4, 0.4]
    assert relevance_of(with_names("homework", [measured(HOMEWORK, 0.7)]), FLOOR).tolist() == [0.7]


@pytest.mark.parametrize("question", ["homework", "nuclear or wind?", "cars"])
def test_the_samples_have_something_to_say_on_a_topic_in_a_word(question):
    result = local_pipeline(Corpus.example(), extractor=RuleExtractor()).retrieve(question)
    assert not result.says_nothing


@pytest.mark.parametrize("question", ["surrogacy", "abortion", "whaling or sealing?"])
def test_the_samples_have_nothing_to_say_on_a_topic_they_lack(question):
    result = local_pipeline(Corpus.example(), discover=2).retrieve(question)
    assert result.says_nothing or not result.passages


def test_of_a_topic_that_is_only_mentioned_nothing_is_said():
    result = local_pipeline(Corpus.example(), discover=2).retrieve("football")
    assert result.passages
    assert not result.says_nothing, "a football club is in a passage on something else"
    assert not result.coverage.covered
