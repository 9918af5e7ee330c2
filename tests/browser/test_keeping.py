"""Links, files and the review of a result."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import QUESTION, ask, finish

OTHER = "Homework helps young children learn"


def test_a_link_opens_the_same_result_in_another_tab(answered, watched, opened):
    answered.get_by_role("button", name="Change side B").click()
    answered.get_by_label("The side, as a sentence").fill(OTHER)
    answered.get_by_label("Weight").select_option("triple")
    answered.get_by_role("button", name="Keep").click()
    answered.get_by_role("button", name="Ask again").click()
    finish(answered)
    shown = answered.locator("#body").inner_text()
    second = opened(answered.url)
    expect(second.get_by_label("Your question")).to_have_value(QUESTION)
    assert second.locator("#result").is_hidden(), "a link fills in, a person asks"
    second.get_by_role("button", name="Ask", exact=True).click()
    finish(second)
    assert second.locator("#body").inner_text() == shown
    assert watched.posted[-1] == watched.posted[-2]


def test_a_link_names_the_question_in_the_fragment_alone(answered, watched):
    address = urlsplit(answered.url)
    assert parse_qs(address.fragment)["q"] == [QUESTION]
    assert (address.path, address.query) == ("/", "")
    assert not [
        url for url in watched.requests if "omework" in urlsplit(url)._replace(fragment="").geturl()
    ]


def test_back_and_forward_show_what_was_asked(page):
    ask(page)
    ask(page, "Should zoos be closed?")
    page.go_back()
    expect(page.locator("#asked")).to_have_text(QUESTION)
    finish(page)
    page.go_forward()
    expect(page.locator("#asked")).to_have_text("Should zoos be closed?")
    finish(page)
    page.go_back()
    page.go_back()
    expect(page.get_by_role("heading", name="Ask a question")).to_be_visible()
    expect(page.locator("#result")).to_be_hidden()


def test_the_link_is_copied(opened, served):
    page = opened(served.url, permissions=["clipboard-read", "clipboard-write"])
    ask(page)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Link copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.url


@pytest.mark.parametrize(
    ("name", "ending"), [("Markdown", ".md"), ("HTML", ".html"), ("JSON", ".json")]
)
def test_a_result_is_exported_with_its_sources(answered, name, ending):
    with answered.expect_download() as download:
        answered.get_by_role("button", name=name, exact=True).click()
    assert download.value.suggested_filename.endswith(ending)
    text = download.value.path().read_text(encoding="utf-8")
    assert QUESTION in text
    for card in answered.locator(".column .card header").all():
        assert card.locator(":is(h5, h6)").text_content() in text
    assert "sample debates" in text
    if name == "JSON":
        assert json.loads(text)


def test_wrong_side_writes_a_pair_for_review(answered, review_file):
    card = answered.locator("#body .column").first.locator(".card").first
    said = card.locator(".passage").text_content()
    card.get_by_role("button", name="Wrong side?").click()
    expect(card.get_by_text("Noted for review")).to_be_focused()
    [*_, last] = [json.loads(line) for line in review_file.read_text("utf-8").splitlines()]
    assert last["topic"] == QUESTION
    assert last["document"] == said
    assert last["statement"] == "Homework should be abolished in primary schools"
    assert last["label"] is None, "until a person has gone through it"
