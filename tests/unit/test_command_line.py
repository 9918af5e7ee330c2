"""The command as people first try it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import perspective_rag
from perspective_rag.cli import main


def test_python_m_runs_the_command():
    found = subprocess.run(
        [sys.executable, "-m", "perspective_rag", "--version"], capture_output=True, text=True
    )
    assert found.returncode == 0
    assert found.stdout.strip() == f"perspective-rag {perspective_rag.__version__}"


def test_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("perspective-rag 0.")
