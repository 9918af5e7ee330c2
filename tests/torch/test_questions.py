"""Whole questions: read, shown beside both statements, learned from by list and by side."""

from __future__ import annotations

import json
import random
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from perspective_rag.errors import ConfigError, CorpusError
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL
from perspective_rag_train.data import LABELS, Augmentation, LabelledPair
from perspective_rag_train.hard_cases import HardSource, hard_pairs
from perspective_rag_train.listwise import list_loss, margin, question_loss, side_loss
from perspective_rag_train.loop import TrainingConfig, train
from perspective_rag_train.questions import (
    TOWARDS_OPPOSITE,
    TOWARDS_STATEMENT,
    Question,
    question_batches,
    read_questions,
    shown,
)
from perspective_rag_train.recipe import Recipe

ZOOS = Question(
    "q1",
    "Zoos should be closed.",
    "Zoos should stay open.",
    (
        ("Animals suffer in cages.", "S"),
        ("Zoos save species.", "O"),
        ("The zoo opened in 1874.", "N"),
        ("Cages are small, keepers are kind.", "M"),
        ("Some animals seem bored.", "s"),
    ),
)
NOTHING = Augmentation(negation=0.0, padding=0.0)


def test_soft_labels_are_distributions_that_keep_their_side():
    for label in "SsNoOM":
        towards, away = TOWARDS_STATEMENT[label], TOWARDS_OPPOSITE[label]
        assert sum(towards) == pytest.approx(1.0)
        assert sum(away) == pytest.approx(1.0)
        if label in "Ss":
            assert towards[0] > towards[1]
            assert away[1] > away[0]


def test_passages_with_a_side_stand_beside_both_statements_silent_ones_beside_one():
    found = shown(ZOOS, random.Random(0))
    beside = [pair.document for pair in found.pairs]
    assert beside.count("Animals suffer in cages.") == 2
    assert beside.count("The zoo opened in 1874.") == 1
    for which, statement in enumerate((ZOOS.statement, ZOOS.opposite)):
        for number, row in found.places[which].items():
            assert found.pairs[row].statement == statement
            assert found.pairs[row].document == ZOOS.passages[number][0]


def test_the_lists_of_the_opposite_are_those_of_the_statement_turned_round():
    found = shown(ZOOS, random.Random(0))
    rows, gains = found.gains(0, 0)
    assert dict(zip(rows, gains, strict=True))[found.places[0][0]] == 1.0  # S
    rows, gains = found.gains(1, 0)
    by_row = dict(zip(rows, gains, strict=True))
    assert by_row[found.places[1][0]] == 0.0
    assert by_row[found.places[1][1]] == 1.0  # O supports the opposite
    assert by_row[found.places[1][3]] == 0.5


def logits_of(found, sure):
    rows = []
    for pair in found.pairs:
        shares = np.array(pair.probabilities)
        rows.append(sure * np.log(shares))
    return torch.tensor(np.array(rows), dtype=torch.float32)


def test_what_the_labels_say_costs_less_than_its_reverse():
    found = shown(ZOOS, random.Random(0))
    right, wrong = logits_of(found, 1.0), logits_of(found, -1.0)
    nothing = logits_of(found, 0.0)
    costs = [
        float(question_loss(each, found, lists=1.0, sides=1.0)) for each in (right, nothing, wrong)
    ]
    assert costs == sorted(costs)
    assert float(side_loss(right, found)) < float(side_loss(wrong, found))
    assert float(question_loss(wrong, found, lists=0.0, sides=0.0)) == 0.0


def test_a_list_without_gains_or_with_two_rows_teaches_nothing():
    assert list_loss(torch.zeros(4), [0.0] * 4) is None
    assert list_loss(torch.zeros(2), [1.0, 0.0]) is None


def test_the_margin_is_the_log_odds():
    logits = torch.tensor([[1.0, 0.0, -1.0]])
    p = torch.softmax(logits, 1)[0, 0]
    assert float(margin(logits, 0)) == pytest.approx(float(torch.log(p / (1 - p))), abs=1e-6)


def test_epochs_are_orders_of_all_questions_and_repeat():
    questions = [Question(str(n), "A.", "B.", (("text", "N"),)) for n in range(9)]
    others = [LabelledPair(f"d{n}", "s", "support") for n in range(5)]

    def epoch(number):
        return [
            (each.question.question_id, [p.document for p in drawn])
            for each, drawn in question_batches(
                questions, others, seed=1, epoch=number, others_each=2, augmentation=NOTHING
            )
        ]

    assert epoch(0) == epoch(0)
    assert epoch(0) != epoch(1)
    assert sorted(name for name, _ in epoch(0)) == [str(n) for n in range(9)]


def test_reading_groups_rows_by_question(tmp_path):
    path = tmp_path / "rows.jsonl"
    row = {"question_id": "a", "statement": "A.", "opposite": "B.", "document": "t", "label": "S"}
    path.write_text("\n".join(json.dumps({**row, "document": d}) for d in ("x", "y")))
    assert read_questions([path]) == [Question("a", "A.", "B.", (("x", "S"), ("y", "S")))]
    path.write_text(json.dumps({**row, "label": "Q"}))
    with pytest.raises(CorpusError, match=r"rows\.jsonl:1"):
        read_questions([path])


PAIRS = [
    LabelledPair("cages make animals ill", "Zoos should be closed.", "support", "a", "zoos"),
    LabelledPair("zoos save species", "Zoos should be closed.", "oppose", "a", "zoos"),
    LabelledPair("taxes pay for roads", "Taxes should rise.", "support", "a", "taxes"),
    LabelledPair("taxes harm trade", "Taxes should rise.", "oppose", "a", "taxes"),
]


def test_a_concession_counts_for_its_reply():
    for pair in hard_pairs(HardSource("concession", rows=40), PAIRS, 1):
        own = [p.document for p in PAIRS if (p.statement, p.label) == (pair.statement, pair.label)]
        assert any(pair.document.endswith(each) for each in own)


@pytest.mark.parametrize("kind", ["report", "other demand"])
def test_reports_and_other_demands_are_neutral(kind):
    made = hard_pairs(HardSource(kind, rows=40), PAIRS, 1)
    assert {pair.label for pair in made} == {"neutral"}
    assert all(pair.label in LABELS for pair in made)


def test_hard_pairs_that_cannot_be_made_are_refused():
    with pytest.raises(ConfigError, match="both sides"):
        hard_pairs(HardSource("concession"), PAIRS[:1], 1)
    with pytest.raises(ConfigError, match="kind of hard pairs"):
        HardSource("irony")


@pytest.fixture
def base(tmp_path):
    folder = tmp_path / "base"
    transformers.set_seed(0)
    tiny = transformers.BertConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        vocab_size=30522,
        initializer_range=0.1,
    )
    transformers.AutoModel.from_config(tiny).save_pretrained(folder)
    shutil.copy(DEFAULT_MODEL / "tokenizer.json", folder)
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]"})
    )
    return str(folder)


def test_a_run_learns_which_side_passages_of_whole_questions_take(base, tmp_path):
    words = {"S": "indeed", "O": "never", "N": "weather"}
    questions = [
        Question(
            str(n),
            "zoos should close",
            "zoos should stay",
            tuple((f"{word} number {n}{k}", label) for k in "ab" for label, word in words.items()),
        )
        for n in range(40)
    ]
    development = [
        LabelledPair(f"{word} number 99", "zoos should close", label)
        for label, word in (("support", "indeed"), ("oppose", "never"), ("neutral", "weather"))
    ]
    config = TrainingConfig(
        base,
        epochs=3.0,
        learning_rate=3e-3,
        max_tokens=32,
        others_each=2,
        dropout=0.0,
        augmentation=NOTHING,
    )
    figures = train(development, development, config, tmp_path / "out", questions=questions)
    assert figures["accuracy"] == 1.0
    # A finished run returns at once; other questions are another run.
    assert train(development, development, config, tmp_path / "out", questions=questions) == figures


def test_the_recipe_of_the_last_stage_asks_for_whole_questions():
    recipe = Recipe.read("retrieved")
    assert recipe.base == "packaged"
    (stage,) = recipe.stages
    assert stage.questions == ("judge_retrieved/train.jsonl.gz",)
    assert {hard.kind for hard in stage.hard} == {"concession", "report", "other demand"}
    assert stage.config("base", 1).list_weight > 0
