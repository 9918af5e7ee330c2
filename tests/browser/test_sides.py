"""The sides as a person changes them, and a side for which nothing was found."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ask, finish, screenshot

FOR = "Homework should be abolished in primary schools"
AGAINST = "Homework should not be abolished in primary schools"
THIRD = "Homework should be voluntary"


def chips(page):
    return page.get_by_role("list", name="I understood").locator(".chip:not(.add)")


def asked_again(page, watched):
    """The sides of the last question, after it was asked again."""
    page.get_by_role("button", name="Ask again with these sides").click()
    finish(page)
    return [(each["text"], each["weight"]) for each in watched.posted[-1][1]["perspectives"]]


def test_the_sides_that_were_understood_are_chips(answered):
    expect(chips(answered)).to_have_count(2)
    expect(chips(answered).nth(0)).to_contain_text(FOR)
    expect(chips(answered).nth(1)).to_contain_text(AGAINST)


def test_a_side_is_renamed_and_asked_again(answered, watched):
    chips(answered).nth(1).click()
    text = answered.get_by_label("The side, as a sentence")
    expect(text).to_be_focused()
    screenshot(answered, "sides")
    text.fill("Homework helps young children learn")
    answered.get_by_role("button", name="Keep").click()
    expect(answered.get_by_role("button", name="Ask again with these sides")).to_be_focused()
    wanted = [(FOR, 1), ("Homework helps young children learn", 1)]
    assert asked_again(answered, watched) == wanted
    expect(
        answered.get_by_role("region", name="Homework helps young children learn")
    ).to_be_visible()


def test_a_side_is_added_and_weighed(answered, watched):
    answered.get_by_role("button", name="Add a side").click()
    answered.get_by_label("The side, as a sentence").fill(THIRD)
    answered.get_by_label("Weight").select_option("double")
    answered.get_by_role("button", name="Add", exact=True).click()
    expect(chips(answered).nth(2)).to_contain_text("×2")
    assert asked_again(answered, watched) == [(FOR, 1), (AGAINST, 1), (THIRD, 2)]
    expect(answered.locator("#side-2")).to_have_text(f"C{THIRD}")


def test_two_sides_are_merged(answered, watched):
    chips(answered).nth(0).click()
    answered.get_by_label("Merge with").select_option(f"B: {AGAINST}")
    answered.get_by_role("button", name="Merge", exact=True).click()
    expect(answered.get_by_label("The side, as a sentence")).to_have_value(f"{FOR} or {AGAINST}")
    answered.get_by_role("button", name="Keep").click()
    expect(chips(answered)).to_have_count(1)
    assert asked_again(answered, watched) == [(f"{FOR} or {AGAINST}", 1)]


def test_a_side_is_removed_and_the_change_undone(answered):
    chips(answered).nth(0).click()
    answered.get_by_role("button", name="Remove this side").click()
    expect(chips(answered)).to_have_count(1)
    answered.get_by_role("button", name="Undo the changes").click()
    expect(chips(answered)).to_have_count(2)
    expect(answered.get_by_role("button", name="Ask again with these sides")).to_have_count(0)


@pytest.mark.parametrize(
    ("text", "said"),
    [("  ", "Write the side as a sentence."), (f"{FOR.upper()}.", "Another side says the same.")],
)
def test_a_side_that_says_nothing_new_is_refused(answered, text, said):
    chips(answered).nth(1).click()
    answered.get_by_label("The side, as a sentence").fill(text)
    answered.get_by_role("button", name="Keep").click()
    expect(answered.get_by_role("alert").filter(has_text=said)).to_be_visible()
    expect(answered.get_by_label("The side, as a sentence")).to_be_focused()


def test_a_side_without_passages_shows_what_was_searched_and_searches_further(page, watched):
    ask(page)
    page.get_by_role("button", name="Add a side").click()
    page.get_by_label("The side, as a sentence").fill("Homework should be paid for")
    page.get_by_role("button", name="Add", exact=True).click()
    asked_again(page, watched)
    column = page.get_by_role("region", name="Homework should be paid for")
    expect(column).to_contain_text("No passage is sorted under this")
    expect(column.locator(".queries li").first).to_contain_text("Homework should be paid for")
    address = page.url
    column.get_by_role("button", name="Search further").click()
    finish(page)
    posted = watched.posted[-1][1]
    assert posted["further"] == "Homework should be paid for"
    assert len(posted["perspectives"]) == 3
    assert page.url == address
    expect(page.locator("#side-2")).to_be_focused()
