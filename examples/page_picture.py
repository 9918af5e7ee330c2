"""The picture at the top of the README: the page of `perspective-rag serve`, in a real browser.

python -m examples.page_picture                       # writes docs/images/page.png and page.json
python -m examples.page_picture "Should zoos be closed?" zoos.png

The file of the same name in .json says what the picture is of: the question, how many passages each
side has, and the picture's SHA-256. Nothing is written where a side has none.

Needs `pip install "perspective-rag[serve,browser]"` and a Chromium ($CHROMIUM; /usr/bin/chromium).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from examples.picture import QUESTION, parsed
from perspective_rag import Corpus, PerspectivePipeline, local_pipeline
from perspective_rag_serve.app import create_app

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "page.png"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WIDTH, HEIGHT, SCALE = 1180, 1060, 1.15


def facts_of(pipeline: PerspectivePipeline, question: str) -> dict[str, Any]:
    """The question and how many passages are listed under each side; raises where one has none."""
    result = pipeline.retrieve(question)
    sides = {each.text: len(result.supporting(each)) for each in result.perspectives}
    if len(sides) < 2 or not all(sides.values()):
        raise SystemExit(f"no picture of {question!r}: the sides have {sides}")
    return {"question": question, "sides": sides}


@contextmanager
def served(pipeline: PerspectivePipeline) -> Iterator[str]:
    """The address of a server over the pipeline's corpus."""
    app = create_app(pipeline)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()


def picture(question: str = QUESTION) -> tuple[bytes, dict[str, Any]]:
    """The top of the page with the answer, as PNG, and what it is of."""
    from playwright.sync_api import expect, sync_playwright

    pipeline = local_pipeline(Corpus.example(), k=6, discover=2)
    facts = facts_of(pipeline, question)
    pipeline.answer(pipeline.retrieve(question))  # loads the models
    with served(pipeline) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT},
            device_scale_factor=SCALE,
            color_scheme="light",
        )
        page.goto(url)
        page.get_by_label("Your question").fill(question)
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_text("Answered in").wait_for()
        for side in facts["sides"]:
            expect(page.get_by_text(side).first).to_be_visible()
        drawn = page.screenshot()
        browser.close()
    return drawn, {**facts, "sha256": hashlib.sha256(drawn).hexdigest()}


def main(arguments: list[str]) -> int:
    """Writes the picture and what it is of; 0."""
    options = parsed(arguments, PICTURE, "Draws the page with an answer.")
    drawn, facts = picture(options.question)
    options.path.write_bytes(drawn)
    options.path.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    print(f"Written: {options.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
