"""Keyboard, screen reader, narrow and wide screens, light and dark."""

from __future__ import annotations

import re
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import QUESTION, ask, finish, screenshot

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
WIDTHS = [360, 768, 1440]


def serious(page):
    """What axe finds serious or critical, in short."""
    page.evaluate(AXE)
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {node['html'][:120]} {node['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_serious_and_nothing_is_cut_off(opened, served, width, scheme):
    page = opened(served.url, viewport={"width": width, "height": 900}, color_scheme=scheme)
    expect(page.locator("#corpus")).not_to_be_empty()
    shown = f"{width}-{scheme}"
    screenshot(page, f"start-{shown}", full_page=True)
    assert serious(page) == []
    ask(page)
    screenshot(page, f"answer-{shown}", full_page=True)
    assert serious(page) == []
    page.get_by_role("button", name="Change side A").click()
    for each in page.locator("summary:visible").all():
        each.click()
    page.locator(".claims .cite").first.click()
    screenshot(page, f"opened-{shown}", full_page=True)
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ask(page, "Is remote work good for cities?")
    screenshot(page, f"nothing-{shown}", full_page=True)
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_everything_is_done_with_the_keyboard(page):
    """From the address bar: ask, read a citation, change a side, ask again, follow up."""

    def focused():
        return page.evaluate("document.activeElement.innerText || document.activeElement.id")

    def tab_to(name, most=60):
        for _ in range(most):
            page.keyboard.press("Tab")
            if re.search(name, focused()):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline == "solid", f"the focus on {name} cannot be seen"
                return
        raise AssertionError(f"{name} was not reached")

    tab_to("Skip to the question")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator("#asked")).to_be_focused()
    finish(page)
    tab_to("Change side B")
    page.keyboard.press("Enter")
    expect(page.get_by_label("The side, as a sentence")).to_be_focused()
    page.keyboard.press("Escape")
    assert "Change side B" in focused()
    page.keyboard.press("Space")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Homework helps young children learn")
    page.keyboard.press("Enter")
    assert focused() == "Ask again with these sides"
    page.keyboard.press("Enter")
    expect(page.locator("#asked")).to_be_focused()
    finish(page)
    tab_to(r"^\d$")
    number = focused()
    page.keyboard.press("Enter")
    card = page.locator(f'.card[data-n="{number}"]').first
    expect(card).to_be_focused()
    tab_to("Why this passage")
    page.keyboard.press("Enter")
    expect(card.get_by_text("Found by the search for")).to_be_visible()
    tab_to("Back to the answer")
    page.keyboard.press("Enter")
    assert focused() == number
    tab_to("follow-question")
    page.keyboard.type("and for teenagers?")
    page.keyboard.press("Enter")
    expect(page.locator("#follows")).to_be_visible()
    finish(page)


def test_a_screen_reader_is_told_each_step(page):
    page.evaluate(
        """() => { window.told = []; const live = document.getElementById("live");
            new MutationObserver(() => window.told.push(live.textContent)).observe(live, { childList: true }); }"""
    )
    ask(page)
    told = page.evaluate("window.told")
    assert told[0] == "Waiting for the passages …"
    assert told[1] == "Searching for every side …"
    assert re.match(r"\d for, \d against", told[-2]), told
    assert told[-1].startswith("The answer is complete.")
    expect(page.locator("#live")).to_have_attribute("aria-live", "polite")


def test_words_and_letters_say_what_the_colours_say(answered):
    for place, letter in enumerate("AB"):
        expect(answered.locator(f"#side-{place} .badge")).to_have_text(letter)
    expect(answered.locator(".bar-key")).to_contain_text("For")
    expect(answered.locator(".bar-key")).to_contain_text("Against")
    marked = answered.locator("mark").first
    assert marked.evaluate("node => getComputedStyle(node).borderBottomStyle") == "solid"


def test_motion_stops_where_a_person_wants_none(opened, served):
    page = opened(served.url, reduced_motion="reduce")
    ask(page)
    page.locator("#result").evaluate("node => node.classList.add('busy')")
    moving = "getComputedStyle(document.getElementById('stage'), '::before').animationName"
    assert page.evaluate(moving) == "none"
