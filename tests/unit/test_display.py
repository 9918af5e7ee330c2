"""What people see of results and pipelines is short, and says what they look for first."""

from __future__ import annotations

from perspective_rag import Passage, Perspective, PerspectivePipeline, PipelineOptions
from perspective_rag.testing import HashEmbedder, MemoryStore, TableJudge

QUESTION = "Should zoos be closed?"
SIDES = (Perspective("for", "Zoos should be closed"), Perspective("against", "Zoos should stay"))
PASSAGES = [
    Passage("a", "Zoos keep animals in cages,\nand cages   harm them. " + "More. " * 100),
    Passage("b", "Zoos save species from extinction."),
]
JUDGE = TableJudge({("a", "for"): 0.9})


def pipeline(**changes):
    return PerspectivePipeline(
        MemoryStore(PASSAGES), embedder=HashEmbedder(), judge=JUDGE, k=2, **changes
    )


def test_a_result_prints_the_question_the_perspectives_and_what_each_passage_supports():
    lines = str(pipeline().retrieve(QUESTION, perspectives=SIDES)).splitlines()
    assert lines[:3] == [
        QUESTION,
        "  [for] Zoos should be closed (covered)",
        "  [against] Zoos should stay (missing)",
    ]
    said = sorted(line[4:] for line in lines[3:5])
    assert said[1] == "[takes no side] Zoos save species from extinction."
    assert any(
        line[3:].startswith(" [for] Zoos keep animals in cages, and cages harm") for line in lines
    )
    assert max(map(len, lines)) <= 100


def test_a_result_without_a_judge_says_nothing_of_support_and_shows_what_degraded():
    store = MemoryStore(PASSAGES, failing=frozenset({SIDES[0].text}))
    result = PerspectivePipeline(store, embedder=HashEmbedder()).retrieve(
        QUESTION, perspectives=SIDES
    )
    text = str(result)
    assert "  [for] Zoos should be closed (not judged)" in text
    assert "degraded, search: the search for" in text
    assert repr(result) == (
        "RetrievalResult('Should zoos be closed?', 2 passages, 2 perspectives not judged, "
        "1 degradation)"
    )


def test_a_result_in_a_line():
    result = pipeline().retrieve(QUESTION, perspectives=SIDES)
    assert repr(result) == (
        "RetrievalResult('Should zoos be closed?', 2 passages, 1 of 2 perspectives covered)"
    )


def test_a_pipeline_and_options_show_what_is_not_the_default():
    assert repr(pipeline(projection="pap")) == (
        "PerspectivePipeline(MemoryStore, embedder=HashEmbedder, judge=TableJudge, "
        "extractor=RuleExtractor, options=PipelineOptions(k=2, projection='pap'))"
    )
    assert repr(PipelineOptions()) == "PipelineOptions()"
    options = PipelineOptions(k=2, timeout=None, coverage="off")
    assert eval(repr(options)) == options
