"""A real Chromium before a real server. ``make test-browser`` installs what this needs."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.serving import ROOT, Serving

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",  # it runs as root in a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREENSHOTS = ROOT / "screenshots"
QUESTION = "Should homework be abolished in primary schools?"

expect.set_options(timeout=30_000)


@dataclass
class Watched:
    """What a page must not do, kept while it is used."""

    requests: list[str] = field(default_factory=list)
    posted: list[tuple[str, dict]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def look_at(self, page: Page):
        page.on("request", self._requested)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._said)
        page.on("dialog", self._asked)

    def _requested(self, request):
        self.requests.append(request.url)
        if request.method == "POST":
            self.posted.append((request.url, json.loads(request.post_data)))

    def _said(self, message):
        # The browser's own line for a status of 4xx or a server that is gone.
        expected = message.text.startswith("Failed to load resource")
        if message.type in ("error", "warning") and not expected:
            self.errors.append(message.text)

    def _asked(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.dismiss()


@pytest.fixture(scope="session")
def review_file(tmp_path_factory):
    return tmp_path_factory.mktemp("review") / "review.jsonl"


@pytest.fixture(scope="session")
def served(review_file):
    with Serving("--example", "--review", review_file) as serving:
        yield serving


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def watched():
    """Any page that was opened: no error, no dialog, no request to another server."""
    seen = Watched()
    yield seen
    assert seen.errors == []
    assert seen.dialogs == []
    homes = ("http://127.0.0.1:", "blob:http://127.0.0.1:", "data:", "about:blank")
    assert [url for url in seen.requests if not url.startswith(homes)] == []


@pytest.fixture
def opened(chromium, watched):
    """``opened(url, **options)`` is a page in a context of its own."""
    contexts = []

    def made(url, **options):
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        contexts.append(chromium.new_context(**options))
        page = contexts[-1].new_page()
        watched.look_at(page)
        page.goto(url)
        return page

    yield made
    for each in contexts:
        each.close()


@pytest.fixture
def page(opened, served):
    return opened(served.url)


@pytest.fixture
def answered(page):
    """The page with the answer to QUESTION."""
    ask(page)
    return page


def ask(page, question=QUESTION):
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).first.click()
    finish(page)


def finish(page):
    """Waits for the end of the answer."""
    expect(page.locator("#stage")).to_contain_text("Answered in")


def changed(page, change):
    """The page gets the server's own events after ``change(name, data)`` has changed them."""

    def answer(route):
        events = []
        for block in route.fetch().text().replace("\r", "").strip().split("\n\n"):
            name, data = block.removeprefix("event: ").split("\ndata: ")
            data = json.loads(data)
            change(name, data)
            events.append(f"event: {name}\ndata: {json.dumps(data)}\n\n")
        route.fulfill(body="".join(events), content_type="text/event-stream")

    page.route("**/api/ask", answer)


def screenshot(page, name, **options):
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=Path(SCREENSHOTS, f"{name}.png"), **options)
