"""The page how-to/evaluation-tools.md runs as it stands, where both tools are installed."""

from __future__ import annotations

import pytest

pytest.importorskip("deepeval")
pytest.importorskip("ragas")

from tests.docs.blocks import ROOT, run_page

PAGE = ROOT / "docs" / "how-to" / "evaluation-tools.md"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_block_of_evaluation_tools_md_runs():
    run_page(PAGE, {"__name__": "page"})
