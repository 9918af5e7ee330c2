"""Passages that attack: no script runs, no request leaves, no text hides or turns another."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ask, changed, screenshot
from tests.browser.serving import Serving

QUESTION = "Should zoos be closed?"
RAN = "window.__ran = true"
PASSAGES = [
    {
        "title": f"<script>{RAN}</script>",
        "text": f"Zoos should be closed. <script>{RAN};alert(1)</script> Zoos are cruel to animals that roam.",
        "url": "https://example.org/a?b='onclick='alert(1)",
    },
    {
        "title": f"<img src=x onerror='{RAN};alert(1)'>",
        "text": f"Zoos should be closed, for a cage is a prison. <svg onload='{RAN}'><iframe srcdoc='<script>{RAN}</script>'>",
        "url": f"javascript:{RAN}",
    },
    {
        "title": "![picture](https://evil.example/leak.png?q=zoos)",
        "text": "Zoos should not be closed. ![](https://evil.example/leak.png) <img src='https://evil.example/x.gif'> "
        "<link rel=stylesheet href='//evil.example/a.css'> Zoos save species from dying out.",
        "url": "data:text/html,<script>alert(1)</script>",
    },
    {
        "title": "Turned \u202e round \u2066 and \u200b hidden \U000e0041",
        "text": "Zoos should not be closed. \u202eevah\u202c Zoos te\u200bach chil\ufeffdren what a living animal is.",
        "url": " JaVaScRiPt:alert(1)//",
    },
    {
        "title": "\u0000Control \u001b[31mcharacters\u0007\u009b",
        "text": "Closing zoos would be wrong. \u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007 Zoos fund research.",
        "url": "http://example.org/\u202egnp.exe",
    },
]
DECEIVING = "\u202e\u2066\u202c\u200b\ufeff\u0000\u001b\u0007\u009b\U000e0041"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    corpus = tmp_path_factory.mktemp("hostile") / "passages.jsonl"
    rows = [{"id": f"<b>{n}</b>", "source": "<i>evil</i>", "leaning": "<u>left</u>", "date": "<s>1</s>", **row}
            for n, row in enumerate(PASSAGES)]  # fmt: skip
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    question = f"<img src=x onerror={RAN}>Should zoos be closed?"
    with Serving("--corpus", corpus, "--question", question) as serving:
        yield serving


@pytest.fixture
def attacked(opened, hostile, watched):
    page = opened(hostile.url)
    ask(page, QUESTION)
    for each in page.locator("details").all():
        each.evaluate("node => { node.open = true; }")
    return page


def test_every_passage_is_shown_and_none_of_it_is_mark_up(attacked, watched):
    assert attacked.locator(".card").count() == len(PASSAGES)
    assert attacked.evaluate("window.__ran") is None
    own = "b:not([data-hue] > b)"  # the page's counts are bold
    for tag in ("script", "img", "iframe", "svg", "link", own, "i", "u", "s"):
        assert attacked.locator(f"main {tag}").count() == 0, tag
    shown = attacked.locator("main").inner_text()
    for written in (
        "<script>",
        "onerror=",
        "<iframe",
        "![](https://evil.example/leak.png)",
        "<i>evil</i>",
        "outlet leaning: <u>left</u>",
    ):
        assert written in shown, written
    assert not [url for url in watched.requests if "evil" in url]
    screenshot(attacked, "hostile", full_page=True)


def test_links_lead_to_the_web_alone_and_tell_it_nothing(attacked):
    links = attacked.locator("main a")
    assert links.count() >= 1
    for each in links.all():
        assert each.get_attribute("href").startswith(
            ("https://example.org/", "http://example.org/")
        )
        assert each.get_attribute("rel") == "noopener noreferrer"
        assert each.get_attribute("target") == "_blank"


def test_the_page_defends_itself_where_a_server_would_not(opened, hostile):
    """The server takes these out already; here they come all the same."""
    page = opened(hostile.url)
    bad = f"<img src=x onerror='{RAN}'>{DECEIVING}end"
    addresses = iter([f"javascript:{RAN}", "data:text/html,x", "//evil.example", "https:evil"])

    def attack(name, data):
        for key in ("text", "question", "headline", "caution", "summary"):
            if key in data:
                data[key] = bad
        if "titles" in data:
            data["titles"] = dict.fromkeys(data["titles"], bad)
        for side in data.get("perspectives", []) + data.get("sides", []):
            side |= {"text": side["text"] + bad, "name": bad, "empty": bad}
            for card in side.get("cards", []):
                why = {"scores": {bad: bad}, "found_by": [bad], "support": {bad: None}}
                marks = {"title": bad, "source": bad, "date": bad, "leaning": bad, "state": bad}
                card |= {
                    "url": next(addresses, "vbscript:x"),
                    "text": bad,
                    "highlight": [3, 9],
                    "why": why,
                    **marks,
                }

    changed(page, attack)
    ask(page, QUESTION)
    assert page.locator(".card").count() >= 2
    assert page.evaluate("window.__ran") is None
    assert page.locator("main :is(img, script, iframe)").count() == 0
    assert [each.get_attribute("href") for each in page.locator("main a").all()] == [
        "https://evil/"
    ]
    everything = page.locator("body").text_content()
    assert [f"{ord(c):x}" for c in DECEIVING if c in everything] == []


def test_no_character_that_hides_or_turns_text_is_in_the_page(attacked):
    everything = attacked.locator("body").text_content()
    assert [f"{ord(c):x}" for c in DECEIVING if c in everything] == []
    assert "Zoos teach children what a living animal is." in everything


def test_a_hostile_link_is_text_too(opened, hostile):
    hostile_question = "<img src=x onerror=window.__ran=true>zoos"
    page = opened(
        f"{hostile.url}#q={hostile_question}&s=<script>window.__ran=true</script>&w=1&p=<b>x</b>"
    )
    expect(page.get_by_label("Your question")).to_have_value(hostile_question)
    page.get_by_label("Your question").press("Enter")
    expect(page.locator("#stage")).to_contain_text("Answered")
    expect(page.locator("#asked")).to_contain_text("<img")
    assert page.locator("main :is(img, script, b:not([data-hue] > b))").count() == 0
    assert page.evaluate("window.__ran") is None


def test_a_link_asks_nothing_by_itself_and_a_reload_asks_again(opened, hostile):
    page = opened("about:blank")
    asked = []
    page.on("request", lambda each: asked.append(each) if each.url.endswith("/api/ask") else None)
    page.goto(f"{hostile.url}#q=Should+zoos+be+closed%3F")
    expect(page.get_by_label("Your question")).to_have_value("Should zoos be closed?")
    page.evaluate("location.hash = '#q=Should+zoos+stay%3F'")  # as another window could
    expect(page.get_by_label("Your question")).to_have_value("Should zoos stay?")
    page.wait_for_load_state("networkidle")
    assert asked == []
    page.get_by_label("Your question").press("Enter")
    expect(page.locator("#stage")).to_contain_text("Answered")
    assert len(asked) == 1
    page.reload()
    expect(page.locator("#stage")).to_contain_text("Answered")
    assert len(asked) == 2


def test_the_example_of_an_operator_is_text(opened, hostile):
    page = opened(hostile.url)
    expect(page.locator(".example")).to_contain_text("<img src=x")
    assert page.locator("main img").count() == 0


def test_no_review_is_offered_where_the_operator_did_not_turn_it_on(attacked):
    expect(attacked.get_by_role("button", name="Wrong side?")).to_have_count(0)


def test_the_page_could_not_run_a_script_from_elsewhere(opened, hostile, watched):
    """The policy of the server, should the page ever fail."""
    page, refused = opened(hostile.url), []
    page.on("requestfailed", lambda request: refused.append(request.failure))
    page.evaluate(
        """() => {
            const inline = document.createElement("script"); inline.textContent = "window.__ran = true"; document.body.append(inline);
            const image = document.createElement("img"); image.src = "https://evil.example/x.png"; document.body.append(image);
            document.body.insertAdjacentHTML("beforeend", "<button id=bad onclick='window.__ran = true'>x</button>");
        }"""
    )
    page.locator("#bad").click()
    assert page.evaluate("window.__ran") is None
    assert refused == ["csp"]
    assert len([each for each in watched.errors if "Content Security Policy" in each]) == 3
    watched.errors.clear()
    watched.requests.clear()
