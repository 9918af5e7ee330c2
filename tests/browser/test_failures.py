"""What a person is told when something is wrong, and that the page goes on."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import QUESTION, ask, finish, screenshot
from tests.browser.serving import Serving


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("   ", "Please write a question first."),
        ("Why? " * 101, "The question has 504 characters; at most 500 can be asked."),
    ],
)
def test_what_cannot_be_asked_is_said_beside_the_field(page, watched, question, said):
    field = page.get_by_label("Your question")
    field.fill(question)
    page.keyboard.press("Enter")
    expect(page.locator("#question-error")).to_have_text(said)
    expect(field).to_be_focused()
    assert field.get_attribute("aria-invalid") is not None
    assert watched.posted == []
    ask(page)
    expect(page.locator("#question-error")).to_have_text("")


@pytest.mark.parametrize("question", ["?!", "…", "​"])
def test_what_the_server_refuses_is_shown_in_its_words(page, question):
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    notice = page.get_by_role("alert").filter(has_text="no word in it")
    expect(notice).to_be_visible()
    ask(page)
    expect(notice).to_be_hidden()


def test_a_link_with_nonsense_in_it_does_no_harm(opened, served):
    page = opened(f"{served.url}#q={QUESTION}&w=x&s=Homework+helps&w=-1&s=Homework+harms&p=%00")
    expect(page.get_by_label("Your question")).to_have_value(QUESTION)
    page.get_by_label("Your question").press("Enter")
    finish(page)
    expect(page.locator(".chip:not(.add)")).to_have_count(2)
    page = opened(f"{served.url}#%&q=&&==")
    expect(page.get_by_role("heading", name="Ask a question")).to_be_visible()


def test_a_server_that_is_gone_in_the_middle_is_said_and_tried_again(opened, tmp_path, watched):
    (tmp_path / "searching").touch()
    with Serving("--retriever", "tests.browser.gated:retriever", GATE=str(tmp_path)) as serving:
        page = opened(serving.url)
        page.get_by_label("Your question").fill(QUESTION)
        page.keyboard.press("Enter")
        expect(page.locator(".chip:not(.add)")).to_have_count(2)
        serving.kill()
        notice = page.get_by_role("alert").filter(
            has_text="The connection ended before the answer was complete"
        )
        expect(notice).to_be_visible()
        expect(page.locator("#stage")).to_have_text("Not finished")
        screenshot(page, "server-gone")
        page.get_by_role("button", name="Try again").click()
        expect(page.locator("#loading-text")).to_contain_text(
            "The server does not answer; trying again"
        )
        expect(page.get_by_label("Your question")).to_have_value(QUESTION)
    (tmp_path / "searching").unlink()
    arguments = ("--retriever", "tests.browser.gated:retriever", "--port", serving.port)
    with Serving(*arguments, GATE=str(tmp_path)):
        finish(page)  # without being asked
        expect(page.locator("#loading")).to_be_hidden()
        assert page.locator(".card").count() >= 2


def test_a_corpus_that_cannot_be_loaded_is_said(opened):
    with Serving("--retriever", "tests.browser.gated:nothing_there") as serving:
        page = opened(serving.url)
        expect(page.locator("#notice")).to_contain_text("could not be loaded")
        assert "gated" not in page.locator("body").inner_text(), "no module of the operator's"


def test_one_question_too_many_is_told_when_to_try_again(opened, tmp_path):
    (tmp_path / "searching").touch()
    limits = ("--running", "1", "--waiting", "0")
    with Serving(
        "--retriever", "tests.browser.gated:retriever", *limits, GATE=str(tmp_path)
    ) as serving:
        first, second = opened(serving.url), opened(serving.url)
        for page in (first, second):
            page.get_by_label("Your question").fill(QUESTION)
            page.keyboard.press("Enter")
            expect(page.locator("#stage")).not_to_have_text("Waiting for the passages …")
        expect(second.locator("#notice")).to_contain_text(
            "as many questions as it can. Try again in"
        )
        (tmp_path / "searching").unlink()
        finish(first)
        second.get_by_role("button", name="Try again").click()
        finish(second)
