"""The README says what the committed results say."""

from __future__ import annotations

from benchmarks.report import filled, main


def test_the_readme_is_made_from_the_committed_results():
    assert main(["--check"]) == 0


def test_a_section_without_results_is_left_alone(tmp_path):
    text = "a\n<!-- results:coverage -->\nold\n<!-- /results:coverage -->\nb"
    assert filled(text, tmp_path) == text
