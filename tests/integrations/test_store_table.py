"""The table of stores in the reference is written by the checks, and kept true by them."""

from __future__ import annotations

import pytest

from tests.integrations.store_table import StoreTable


@pytest.fixture
def document(tmp_path):
    path = tmp_path / "stores.md"
    path.write_text("before\n<!-- stores:mine -->\n<!-- /stores:mine -->\nafter\n", "utf-8")
    return path


def test_the_table_is_written_and_then_kept_true(document, monkeypatch):
    monkeypatch.setenv("WRITE_STORE_TABLE", "1")
    table = StoreTable(document, "mine")
    table.record("memory", "PAP", lambda: "exact")
    table.absent("away", "no such package")
    with pytest.raises(ZeroDivisionError):
        table.record("memory", "score", lambda: 1 / 0)
    table.write()
    text = document.read_text("utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| memory | not run | exact |" in text
    assert "FAILS" in text
    assert "| away | not run: no such package |" in text
    monkeypatch.delenv("WRITE_STORE_TABLE")
    table = StoreTable(document, "mine")
    table.record("memory", "PAP", lambda: "exact")
    with pytest.raises(AssertionError, match="write the table again"):
        table.record("memory", "PAP", lambda: "refused")
    with pytest.raises(AssertionError, match="write the table again"):
        table.record("new", "PAP", lambda: "exact")
    table.expect_rows(["memory", "away"])
    with pytest.raises(AssertionError, match="tested are"):
        table.expect_rows(["memory"])
    table.write()
    assert document.read_text("utf-8") == text, "nothing is written unless it is asked for"


def test_a_document_without_the_marks_is_refused(tmp_path):
    path = tmp_path / "other.md"
    path.write_text("nothing", "utf-8")
    with pytest.raises(ValueError, match="add the two marks"):
        StoreTable(path, "mine")
