"""What a question in another language gets is said, and the parts take a language."""

from __future__ import annotations

import numpy as np
import pytest

from perspective_rag import CascadeJudge, CrossEncoderJudge, Passage, PerspectivePipeline
from perspective_rag.answer.extractive import ExtractiveAnswerer
from perspective_rag.judge.windows import windows
from perspective_rag.perspectives.reading import RuleExtractor
from perspective_rag.testing import HashEmbedder, MemoryStore, TableJudge
from perspective_rag.text import is_language, split_sentences

GERMAN = "Soll die Wehrpflicht wieder eingeführt werden?"
SIDES = ["Die Wehrpflicht soll zurück.", "Die Wehrpflicht soll nicht zurück."]


def pipeline(judge=None):
    store = MemoryStore([Passage("a", "Die Wehrpflicht ist teuer.")])
    return PerspectivePipeline(store, embedder=HashEmbedder(), judge=judge, k=1)


class English(TableJudge):
    languages = ("en",)


TABLE = {("a", "p1"): 0.2, ("a", "p2"): 0.8}


def test_without_sides_it_is_said_that_none_were_looked_for():
    result = pipeline(English(TABLE)).retrieve(GERMAN)
    assert result.kind == "not-english"
    assert "The rules read English only" in result.caution
    assert "verdicts" not in result.caution  # nothing was judged
    assert "The rules read English only" in str(result)
    assert result.to_dict()["caution"] == result.caution


@pytest.mark.parametrize(
    ("judge", "said"),
    [(English(TABLE), "The judge knows English only"), (TableJudge(TABLE), ""), (None, "")],
)
def test_with_sides_only_the_judge_is_warned_of(judge, said):
    result = pipeline(judge).retrieve(GERMAN, perspectives=SIDES)
    assert result.caution.startswith(said) if said else not result.caution


def test_in_english_nothing_is_said():
    assert not pipeline(English(TABLE)).retrieve("Should the draft come back?").caution


def test_the_packaged_judge_says_what_it_knows_and_others_do_not():
    assert CrossEncoderJudge().languages == ("en",)
    assert CrossEncoderJudge("some/model").languages == ()
    assert CascadeJudge(CrossEncoderJudge()).languages == ("en",)
    assert CascadeJudge(CrossEncoderJudge(), llm_judge=TableJudge({})).languages == ()


def test_sentences_are_cut_by_the_rules_of_the_language():
    text = "Das kostet ca. Zehn Euro. M. Curie kam."
    assert split_sentences(text) == ["Das kostet ca. Zehn Euro.", "M. Curie kam."]
    assert split_sentences(text, "de") == ["Das kostet ca.", "Zehn Euro.", "M. Curie kam."]
    assert split_sentences("Mr. Smith left.", "en-GB") == ["Mr. Smith left."]
    assert is_language("en_US")
    assert not is_language("eng")


def test_the_parts_take_a_language():
    text = "Es kostet ca. Zehn Euro. Das ist viel Geld."
    assert len(windows(text, 6)) == 2
    assert windows(text, 3, language="de")[0] == "Es kostet ca."
    seen = []

    class Classifier:
        labels = ("support", "oppose", "neutral")

        def pieces(self, text, statements):
            seen.append(text)
            return [text]

        def logits(self, documents, statements):
            return np.zeros((len(documents), 3))

    judge = CrossEncoderJudge("x", classifier=Classifier(), language="de")
    judge.pair_probabilities(["kurz ca. " * 100], ["Ja."])
    assert all(piece.endswith("ca.") for piece in seen)
    assert ExtractiveAnswerer(language="de").language == "de"
    assert RuleExtractor(language="de").language == "de"
