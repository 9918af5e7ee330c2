"""The picture at the top of the README: the page of `perspective-rag serve`, in a real browser.

python -m examples.page_picture                       # writes docs/images/page.png
python -m examples.page_picture "Should zoos be closed?" zoos.png

Needs `pip install "perspective-rag[serve,browser]"` and a Chromium ($CHROMIUM; /usr/bin/chromium).
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from perspective_rag import Corpus, local_pipeline
from perspective_rag.serve.app import create_app

QUESTION = "Should homework be abolished in primary schools?"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "page.png"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WIDTH, HEIGHT, SCALE = 1180, 1100, 1.2


@contextmanager
def served() -> Iterator[str]:
    """The address of a server over the sample debates."""
    pipeline = local_pipeline(Corpus.example(), k=6, discover=2)
    pipeline.answer(pipeline.retrieve("Should zoos be closed?"))  # loads the models
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


def picture(question: str = QUESTION) -> bytes:
    """The top of the page with the answer, as PNG."""
    from playwright.sync_api import sync_playwright

    with served() as url, sync_playwright() as playwright:
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
        drawn = page.screenshot()
        browser.close()
    return drawn


def main(arguments: list[str]) -> int:
    """Writes the picture; 0."""
    parser = argparse.ArgumentParser(description="Draws the page with an answer.")
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("path", nargs="?", type=Path, default=PICTURE)
    options = parser.parse_args(arguments)
    options.path.parent.mkdir(parents=True, exist_ok=True)
    options.path.write_bytes(picture(options.question))
    print(f"Written: {options.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
