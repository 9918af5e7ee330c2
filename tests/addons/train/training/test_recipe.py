"""Recipes: what they say, which pairs their stages hold, and what is refused."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from perspective_rag.errors import ConfigError
from perspective_rag_train.mix import stage_pairs
from perspective_rag_train.recipe import NeutralSource, PairSource, Recipe, Stage

TOPICS = {
    "zoos": "animals cages visitors",
    "taxes": "income money state",
    "trains": "rails tickets",
}


@pytest.fixture
def root(tmp_path):
    """Two sources, three topics, passages on them."""
    with (tmp_path / "pairs.jsonl").open("w") as file:
        for i in range(10):
            for topic, words in TOPICS.items():
                row = {
                    "document": f"{words} number {i} are good for all of us",
                    "statement": f"{topic} help no. {i}",
                    "label": "support" if i % 2 else "oppose",
                    "source": "even" if i % 2 else "odd",
                    "topic": topic,
                }
                file.write(json.dumps(row) + "\n")
    with (tmp_path / "passages.jsonl").open("w") as file:
        for topic, words in TOPICS.items():
            for i in range(4):
                text = f"{topic} help {words} item {i} {'filler ' * 30}"
                file.write(json.dumps({"text": text, "source": "news" if i else "wiki"}) + "\n")
    return tmp_path


def stage(*data, neutral=()):
    return Stage("one", data, tuple(neutral))


def test_sources_caps_repeats_weights_and_cuts(root):
    source = PairSource(
        "*.jsonl".replace("*", "pairs"),
        caps={"even": 3},
        repeat=2,
        weight=0.5,
        smoothing=0.2,
        max_characters=20,
        licence="CC0",
    )
    pairs, facts = stage_pairs(stage(source), root, 1)
    assert Counter(pair.source for pair in pairs) == {"odd": 30, "even": 6}
    assert {(pair.weight, pair.smoothing) for pair in pairs} == {(0.5, 0.2)}
    assert max(len(pair.document) for pair in pairs) <= 20
    assert facts[0]["rows"] == 18
    assert (facts[0]["licence"], facts[0]["files"][0]["file"]) == ("CC0", "pairs.jsonl")
    assert len(facts[0]["files"][0]["sha256"]) == 64
    assert stage_pairs(stage(source), root, 1)[0] == pairs
    assert stage_pairs(stage(source), root, 2)[0] != pairs


def test_retrieved_neutrals_are_on_the_topic_and_leave_out_what_is_excluded(root):
    excluded = json.loads((root / "passages.jsonl").read_text().splitlines()[1])
    (root / "gold.jsonl").write_text(json.dumps({"text": excluded["text"].upper()}))
    neutral = NeutralSource(
        "retrieved", passages=("passages.jsonl",), passage_sources=("news",), exclude=("gold.jsonl",),
        statements=30, top=2, each=2,
    )  # fmt: skip
    pairs, facts = stage_pairs(stage(PairSource("pairs.jsonl"), neutral=[neutral]), root, 1)
    made = [pair for pair in pairs if pair.label == "neutral"]
    assert len(made) == facts[1]["rows"] == 60
    assert all(pair.statement.split()[0] in pair.document for pair in made)
    assert excluded["text"].strip() not in {pair.document.strip() for pair in made}
    assert not any("item 0" in pair.document for pair in made)


def test_arguments_on_another_topic_are_never_on_the_statements_own(root):
    neutral = NeutralSource("other topic", statements=30, top=30, each=2)
    pairs, _ = stage_pairs(stage(PairSource("pairs.jsonl"), neutral=[neutral]), root, 1)
    made = [pair for pair in pairs if pair.label == "neutral"]
    assert len(made) > 20
    for pair in made:
        assert not pair.document.startswith(TOPICS[pair.statement.split()[0]])


def test_random_neutrals_are_no_labelled_pair(root):
    neutral = NeutralSource("random", rows=200)
    pairs, _ = stage_pairs(stage(PairSource("pairs.jsonl"), neutral=[neutral]), root, 1)
    labelled = {(p.document, p.statement) for p in pairs if p.label != "neutral"}
    made = [(p.document, p.statement) for p in pairs if p.label == "neutral"]
    assert len(made) > 100
    assert not labelled & set(made)


@pytest.mark.parametrize(
    ("name", "first", "frozen"),
    [
        ("default", "natural language inference", [0, 2, 2, 2]),
        ("accurate", "stances and silence", [4]),
    ],
)
def test_the_packages_recipes_read(name, first, frozen):
    recipe = Recipe.read(name)
    assert recipe.name == name
    assert recipe.base_licence == "Apache-2.0"
    assert recipe.stages[0].name == first
    files = {source.file for stage in recipe.stages for source in stage.data}
    for shut in ("anli_dev", "imppres", "control", "sick"):  # non-commercial licences
        assert f"nli_train/{shut}.jsonl.gz" not in files
    assert all(source.licence != "not stated" for s in recipe.stages for source in s.data)
    assert [each.config("b", 13).frozen_layers for each in recipe.stages] == frozen


DEVELOPMENT = '[[development]]\nfile = "d"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "not valid TOML"),
        ('name = "a"\nbase = "b"\n', "at least one"),
        (DEVELOPMENT + '[[stage]]\nname = "s"\n', "stage 1: a stage needs"),
        (DEVELOPMENT + '[[stage]]\nname="s"\nepoch=1\n[[stage.data]]\nfile="f"\n', "unknown epoch"),
        (DEVELOPMENT + '[[stage]]\nname="s"\n[[stage.data]]\nfiles="f"\n', "unknown files"),
        (
            DEVELOPMENT
            + '[[stage]]\nname="s"\n[[stage.data]]\nfile="f"\n[[stage.neutral]]\nkind="x"\n',
            "stage 1, neutral: kind must be 'retrieved'",
        ),
        (DEVELOPMENT + "[[stage]]\n[[stage.data]]\nrows=1\n", "stage 1, data: file is missing"),
        (
            DEVELOPMENT + '[[stage]]\nname="s"\n[[stage.data]]\nfile="f"\nrows="9"\n',
            "stage 1, data: rows must be a valid integer, got '9'",
        ),
        (
            DEVELOPMENT + '[[stage]]\nname="s"\nepochs="two"\n[[stage.data]]\nfile="f"\n',
            "recipe.toml, stage 1: epochs must be a valid number, got 'two'",
        ),
        (
            DEVELOPMENT + '[[stage]]\nname="s"\n[[stage.data]]\nfile="f"\ncaps={a="x"}\n',
            r"stage 1, data: caps\.a must be a valid integer",
        ),
        (
            DEVELOPMENT
            + '[[stage]]\nname="s"\naugmentation={padding=2}\n[[stage.data]]\nfile="f"\n',
            r"stage 1, augmentation: padding is a probability in \[0, 1\], got 2",
        ),
        (
            "base=3\n" + DEVELOPMENT + '[[stage]]\nname="s"\n[[stage.data]]\nfile="f"\n',
            "recipe.toml: name is missing",
        ),
        (
            'name="n"\nbase=3\n' + DEVELOPMENT + '[[stage]]\nname="s"\n[[stage.data]]\nfile="f"\n',
            "recipe.toml: base must be a valid string, got 3",
        ),
    ],
)
def test_what_a_recipe_gets_wrong_is_named(tmp_path, text, message):
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        Recipe.read(path)


def test_a_recipe_that_is_not_there_and_a_source_that_is_not_there(root):
    with pytest.raises(ConfigError, match="default"):
        Recipe.read("defualt")
    with pytest.raises(ConfigError, match="holds no source many"):
        stage_pairs(stage(PairSource("pairs.jsonl", sources=("many",))), root, 1)
    with pytest.raises(ConfigError, match="does not exist"):
        stage_pairs(stage(PairSource("none.jsonl")), root, 1)
