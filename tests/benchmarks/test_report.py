"""Documents say what the committed results say."""

from __future__ import annotations

import io

from rich.console import Console

from benchmarks import report
from benchmarks.core.results import RESULTS


def test_every_document_is_made_from_the_committed_results():
    screen = io.StringIO()
    assert report.main(["--check"], console=Console(file=screen)) == 0, screen.getvalue()


def test_a_changed_document_is_found_and_written_anew(tmp_path, monkeypatch):
    page = tmp_path / "README.md"
    right = f"<!-- results:load -->\n{report.bodies(RESULTS)['load']}<!-- /results:load -->\n"
    page.write_text(right.replace("/ask", "/other"))
    monkeypatch.setattr(report, "CHECKOUT", tmp_path)
    assert report.main(["--check"]) == 1
    assert report.main([]) == 0
    assert page.read_text() == right
    assert report.main(["--check"]) == 0


def test_every_block_of_the_documents_has_results():
    known = set(report.bodies(RESULTS))
    pages = {path for pattern in report.DOCUMENTS for path in report.CHECKOUT.glob(pattern)}
    named = {
        line.removeprefix("<!-- results:").removesuffix(" -->")
        for page in pages
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("<!-- results:")
    }
    assert len(named) > 25
    assert named <= known
