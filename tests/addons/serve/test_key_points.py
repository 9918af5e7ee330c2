"""The arguments that several passages of a side share."""

from __future__ import annotations

import numpy as np
import pytest

from perspective_rag import Perspective, RetrievalResult
from perspective_rag.flow.driver import run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.request import Recorder
from perspective_rag.types import PACKAGED, Candidate, Coverage, ListingRule, Passage, Trace
from perspective_rag_serve.key_points import KeyPoint, key_points
from perspective_rag_serve.view import view_of

CLOSE = Perspective("close", "Zoos should be closed")
# Directions a few degrees apart stand for one argument, a right angle apart for two.
DIRECTIONS = {"cages": 0, "bars": 10, "money": 90, "costs": 95, "cages again": 5, "noise": 45}


class ByAngle:
    """Embeds a word as its direction in the plane."""

    name = "by angle"

    def embed_passages(self, texts):
        angles = np.radians([DIRECTIONS[text] for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    embed_queries = embed_passages


class Broken(ByAngle):
    def embed_passages(self, texts):
        raise RuntimeError("no model")


def result_of(words, *, scale=PACKAGED):
    strength = np.linspace(0.9, 0.8, len(words))
    candidates = tuple(
        Candidate(Passage(word, f"Because of {word}, number {n}."), 1.0, support={"close": value})
        for n, (word, value) in enumerate(zip(words, strength, strict=True))
    )
    coverage = Coverage((CLOSE,), strength[:, None], ListingRule(0.5, 0.3), scale=scale)
    return RetrievalResult("Should zoos be closed?", candidates, (CLOSE,), coverage, Trace())


def points_of(words, *, embedder=None, recorder=None, **given):
    result = result_of(words, **given)
    sentences = {(place, "close"): word for place, word in enumerate(words)}
    flow = key_points(embedder or ByAngle(), result, sentences)
    return run(flow, recorder, Limits()), result


def test_sentences_that_are_near_each_other_are_one_argument():
    found, _ = points_of(["cages", "money", "bars", "costs", "noise"])
    assert found == {"close": [KeyPoint("cages", (0, 2)), KeyPoint("money", (1, 3))]}


def test_a_sentence_joins_only_where_it_is_near_to_all():
    # noise is within the limit of neither group's far end
    found, _ = points_of(["cages", "bars", "cages again", "noise"])
    assert found == {"close": [KeyPoint("cages", (0, 1, 2))]}


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["cages", "bars", "cages again"], {}),  # few passages need no heads
        (["cages", "bars", "cages again", "money"], {"scale": None}),  # cosines mean nothing
    ],
)
def test_no_points(words, given):
    assert points_of(words, **given)[0] == {}


def test_an_encoder_that_fails_is_recorded():
    recorder = Recorder()
    words = ["cages", "bars", "cages again", "money"]
    assert points_of(words, embedder=Broken(), recorder=recorder)[0] == {}
    assert [each.stage for each in recorder.degradations] == ["answer"]


def test_the_view_names_the_cards_of_each_point():
    found, result = points_of(["cages", "money", "bars", "costs", "noise"])
    (side,) = view_of(result, points=found).sides
    assert [(point.text, point.cards) for point in side.points] == [
        ("cages", (1, 3)),
        ("money", (2, 4)),
    ]
