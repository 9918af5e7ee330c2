"""A question, its sides, its answer, and the way from a sentence to the passage it rests on."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import QUESTION, ask, finish, screenshot
from tests.browser.serving import Serving, SlowLine

FOR = "Homework should be abolished in primary schools"
AGAINST = "Homework should not be abolished in primary schools"


def column(page, side):
    return page.get_by_role("region", name=side, exact=True)


def test_a_question_is_answered_side_by_side(answered):
    expect(answered.locator("#asked")).to_have_text(QUESTION)
    expect(answered.locator("#headline")).to_contain_text("for, ")
    for side in (FOR, AGAINST):
        cards = column(answered, side).get_by_role("article")
        assert cards.count() >= 1
        expect(cards.first.locator("mark")).to_have_count(1)
        expect(cards.first).to_contain_text("sample debates")
        claims = answered.locator(
            ".cell", has=answered.get_by_role("heading", name=side, exact=True)
        )
        assert claims.locator("li").count() >= 1
    expect(answered.locator(".awaited")).to_have_count(0)
    for place, name in enumerate(("For", "Against")):
        expect(answered.locator(f"#side-{place} span:last-child")).to_have_text(name)
        expect(answered.locator(".bar-key li").nth(place)).to_have_text(re.compile(rf"\d {name}"))
    shown = answered.locator(".bar-key b").all_text_contents()
    assert sum(map(int, shown)) == answered.locator(".card").count()


def test_what_is_marked_is_the_sentence_the_server_found(page):
    ask(page)
    view = page.evaluate(
        """async (question) => {
            const headers = { "Content-Type": "application/json", Accept: "application/json" };
            const body = JSON.stringify({ question });
            return (await (await fetch("/api/ask", { method: "POST", headers, body })).json()).view;
        }""",
        QUESTION,
    )
    compared = 0
    for side in view["sides"]:
        for card in side["cards"]:
            shown = column(page, side["text"]).locator(f'[data-n="{card["n"]}"]')
            start, end = card["highlight"]
            units = card["text"].encode("utf-16-le")
            assert shown.locator("mark").text_content() == units[2 * start : 2 * end].decode(
                "utf-16-le"
            )
            assert shown.locator(".passage").text_content() == card["text"]
            compared += 1
    assert compared >= 2


def test_an_example_is_asked_by_its_chip(page, watched):
    chip = page.get_by_role("button", name=QUESTION)
    chip.click()
    finish(page)
    expect(page.get_by_label("Your question")).to_have_value(QUESTION)
    assert [body for _, body in watched.posted] == [{"question": QUESTION}]


def test_a_citation_leads_to_its_card_and_back(answered):
    cite = answered.locator(".claims .cite").last
    number = cite.text_content()
    cite.click()
    card = answered.locator(f'.card[data-n="{number}"]')
    expect(card).to_be_focused()
    expect(card).to_be_in_viewport()
    expect(card).to_have_class("card cited")
    card.get_by_role("button", name="Back to the answer").click()
    expect(cite).to_be_focused()
    answered.locator(".claims .cite").first.click()
    expect(answered.locator(".cited")).to_have_count(1)


def test_why_this_passage_shows_search_scores_and_probabilities(answered):
    card = column(answered, FOR).get_by_role("article").first
    card.get_by_text("Why this passage").click()
    for said in (
        "How probable the judge finds it",
        f"{FOR}",
        "%",
        "Found by the search for",
        "Scores",
    ):
        expect(card.locator(".why")).to_contain_text(said)


@pytest.mark.parametrize("width", [360, 1280])
def test_the_answer_streams_and_nothing_moves(opened, served, width):
    """Layout shifts that follow no input, over a line that brings an event every 0.6 s."""
    with SlowLine(served.port, 0.6) as line:
        page = opened(line.url, viewport={"width": width, "height": 900})
        page.get_by_label("Your question").fill(QUESTION)  # two lines make a narrow field grow
        page.evaluate(
            "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
        )
        page.evaluate(
            """() => { window.shifts = []; new PerformanceObserver((list) => {
                for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts.push([entry.value,
                    entry.sources.map(({node}) => node && (node.className || node.id || node.nodeName))]);
            }).observe({ type: "layout-shift", buffered: false }); }"""
        )
        page.keyboard.press("Enter")
        expect(page.locator(".claims li:not(.awaited)").first).to_be_visible()
        expect(page.locator("#stage")).to_have_text("Writing the answer …")
        assert page.locator(".awaited").count() >= 1, "the rest of the answer is still to come"
        assert page.locator(".card").count() >= 2, "the passages are there before the answer"
        screenshot(page, f"streaming-{width}")
        finish(page)
        shifts = page.evaluate("window.shifts")
    assert sum(value for value, _ in shifts) < 0.05, shifts  # Core Web Vitals: good below 0.1


def test_a_question_without_sides_is_answered_by_the_nearest_sentence(page):
    ask(page, "Should I give my child homework?")
    expect(page.locator("#understood")).to_contain_text("your own affairs")
    expect(page.locator(".common li")).to_have_count(1)
    number = page.locator(".common .cite").text_content()
    page.locator(".common .cite").click()
    expect(page.locator(f'.others .card[data-n="{number}"]')).to_be_focused()


def test_small_talk_has_no_answer(page):
    ask(page, "thanks")
    expect(page.locator("#understood")).to_contain_text("small talk")
    expect(page.locator("#answer")).to_have_count(0)


def test_a_follow_up_keeps_the_topic(page, watched):
    ask(page, "Should social media be banned for children?")
    page.get_by_label("Ask a follow-up").fill("and for teenagers?")
    page.keyboard.press("Enter")
    expect(page.locator("#follows")).to_have_text(
        "Follows: Should social media be banned for children?"
    )
    finish(page)
    assert watched.posted[-1][1] == {
        "question": "and for teenagers?",
        "previous": ["Should social media be banned for children?"],
    }
    expect(page.locator("#asked")).to_contain_text("teenagers")
    expect(page.locator("#asked")).to_contain_text("ocial media")
    page.get_by_text("Asked so far (2)").click()
    asked = page.locator("#history a")
    expect(asked.nth(1)).to_have_text("and for teenagers?")
    expect(asked.nth(1)).to_have_attribute("aria-current", "true")
    asked.nth(0).click()
    expect(page.locator("#asked")).to_have_text("Should social media be banned for children?")
    finish(page)
    page.reload()
    expect(page.get_by_text("Asked so far (2)")).to_be_visible()


def test_an_answer_can_be_stopped(opened, tmp_path):
    (tmp_path / "searching").touch()
    with gated(tmp_path) as serving:
        page = opened(serving.url)
        page.get_by_label("Your question").fill(QUESTION)
        page.keyboard.press("Enter")
        expect(page.locator("#stage")).to_have_text("Searching for every side …")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#stage")).to_have_text("Stopped")
        expect(page.locator("#notice")).to_be_hidden()
        expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def gated(folder):
    return Serving("--retriever", "tests.browser.gated:retriever", GATE=str(folder))


def test_loading_is_shown_and_a_question_waits_for_its_end(opened, tmp_path):
    (tmp_path / "loading").touch()
    with gated(tmp_path) as serving:
        page = opened(serving.url)
        expect(page.get_by_role("progressbar")).to_be_visible()
        page.get_by_label("Your question").fill(QUESTION)
        page.keyboard.press("Enter")
        expect(page.locator("#stage")).to_have_text("Waiting for the passages …")
        screenshot(page, "loading")
        (tmp_path / "loading").unlink()
        finish(page)
        expect(page.get_by_role("progressbar")).to_be_hidden()
        assert page.locator(".card").count() >= 2


def test_the_progress_of_indexing_is_shown_in_numbers(opened, served):
    """Of a corpus that takes longer than the example: the status of one, and then the real one."""
    page = opened("about:blank")
    status = {"ready": False, "phase": "indexing", "done": 12000, "total": 84000, "error": None}
    page.route("**/api/status", lambda route: route.fulfill(json=status))
    page.goto(served.url)
    expect(page.locator("#loading-text")).to_have_text("Indexing the passages: 12,000 of 84,000")
    expect(page.get_by_role("progressbar")).to_have_js_property("value", 12000)
    expect(page.get_by_role("progressbar")).to_have_js_property("max", 84000)
    page.unroute("**/api/status")
    ask(page)
    expect(page.get_by_role("progressbar")).to_be_hidden()


def test_what_the_corpus_says_nothing_about_is_said(page):
    ask(page, "Is surrogacy harmful?")
    expect(page.locator("#headline")).to_contain_text("says nothing")
    expect(page.locator("#answer")).to_have_count(0)
    expect(page.locator(".empty")).to_have_count(2)
    expect(page.get_by_text("The passages nearest to the question, not judged")).to_be_visible()
    assert page.locator("#body").inner_text().startswith("The passages")
