"""What a card shows of its passage, from a corpus with metadata, repeats and a long text."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ask, changed, screenshot
from tests.browser.serving import Serving

QUESTION = "Should zoos be closed?"
# Few words and many characters: a file's passages are cut by words.
FILLER = "Zookeepers characteristically photographed extraordinary rhinoceroses throughout zoological gardens. "
ARGUMENT = "Zoos should be closed because a cage is no home for an animal that roams. "
EMOJI = "🦁🐘 "  # two UTF-16 code units each
PASSAGES = [
    {"id": "long", "title": "A walk", "source": "The Daily Walk", "text": FILLER * 5 + ARGUMENT * 2 + FILLER * 8},
    {"id": "emoji", "title": "Lions", "text": EMOJI + "Zoos should be closed. " + EMOJI * 3 + "Zoos are cruel to lions.",
     "url": "https://example.org/lions", "date": "2024-03-14", "leaning": "left", "source": "Example Post"},
    {"id": "copy", "title": "Lions again", "text": EMOJI + "Zoos should be closed. " + EMOJI * 3 + "Zoos are cruel to lions!"},
    {"id": "against", "title": "Arks", "text": "Zoos should not be closed. They save species from dying out.", "source": "The Ark"},
]  # fmt: skip


@pytest.fixture(scope="module")
def zoos(tmp_path_factory):
    corpus = tmp_path_factory.mktemp("zoos") / "passages.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in PASSAGES), encoding="utf-8")
    with Serving("--corpus", corpus) as serving:
        yield serving


@pytest.fixture
def shown(opened, zoos):
    page = opened(zoos.url)
    ask(page, QUESTION)
    return page


def card(page, title):
    return page.get_by_role("article", name=title, exact=True)


def test_a_card_names_source_date_leaning_and_link(shown):
    lions = shown.locator(".card", has_text="Zoos are cruel to lions")
    for said in ("Example Post", "2024-03-14", "outlet leaning: left"):
        expect(lions.locator(".meta")).to_contain_text(said)
    expect(lions.get_by_role("link", name="Open the source")).to_have_attribute(
        "href", "https://example.org/lions"
    )
    screenshot(shown, "cards", full_page=True)


def test_near_duplicates_are_one_card_with_a_count(shown):
    lions = shown.locator(".card", has_text="Zoos are cruel to lions")
    expect(lions).to_have_count(1)
    expect(lions).to_contain_text("1 nearly identical passage folded into this one")


def test_the_marked_sentence_is_exact_behind_characters_of_two_code_units(shown):
    marked = shown.locator(".card", has_text="Zoos are cruel to lions").locator("mark")
    assert marked.text_content().strip(EMOJI) in (
        "Zoos should be closed.",
        "Zoos are cruel to lions.",
        "Zoos are cruel to lions!",
    )


def test_a_long_passage_is_cut_around_its_sentence_until_it_is_opened(shown):
    walk = card(shown, "A walk")
    text = walk.locator(".passage")
    assert walk.locator("mark").text_content() == ARGUMENT.strip()
    cut = text.text_content()
    assert len(cut) < 1200
    assert cut.startswith("… ")
    assert cut.endswith(" …")
    walk.get_by_role("button", name="Show the whole passage").click()
    assert text.text_content().strip() == PASSAGES[0]["text"].strip()
    expect(text).to_be_focused()
    assert walk.locator("mark").text_content() == ARGUMENT.strip()


def test_key_points_failed_parts_and_doubtful_sentences_are_shown(opened, zoos):
    """Of a reply that a model and a larger corpus would give: a real one, with these added."""
    page = opened(zoos.url)

    def with_more(name, data):
        if name == "result":
            side = data["sides"][0]
            numbers = [each["n"] for each in side["cards"]]
            side["points"] = [{"text": "Cages", "cards": numbers[:1]}]
            data["mixed"] = [{**side["cards"][0], "n": 90, "title": "Both"}]
        if name == "claim":
            data |= {"verified": False, "reported": True}
        if name == "done":
            data["degradations"] = ["judge: it did not answer"]

    changed(page, with_more)
    ask(page, QUESTION)
    column = page.locator(".column").first
    expect(column.locator(".point h5").nth(0)).to_have_text("Cages1 passage")
    expect(column.locator(".point h5").nth(1)).to_have_text("Further arguments1 passage")
    expect(page.get_by_role("region", name="Arguing both ways")).to_contain_text("Both")
    page.get_by_role("button", name="Passage 90: Both").click()
    expect(card(page, "Both")).to_be_focused()
    expect(page.locator(".claims li").first).to_contain_text("its source does not clearly say so")
    expect(page.locator(".claims li").first).to_contain_text("reports what others say")
    expect(page.locator("#stage")).to_contain_text("1 part failed, see below")
    expect(page.locator("#spent")).to_contain_text("judge: it did not answer")


def test_the_picture_of_the_readme_is_drawn_by_its_command(tmp_path):
    """In a process of its own: the tests' browser is running in this one."""
    import subprocess
    import sys

    from tests.browser.serving import ROOT

    path = tmp_path / "page.png"
    command = [sys.executable, "-m", "examples.page_picture", QUESTION, str(path)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert json.loads(path.with_suffix(".json").read_text())["question"] == QUESTION
