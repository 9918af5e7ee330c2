"""What holds for all tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Haystack reports its use to its makers unless it is told not to, before it is imported.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

# pytest-xdist sets it to 80, which the commands take for the width of a terminal.
os.environ.pop("COLUMNS", None)

# The larger judge, where it is installed, would change what the default judge says: tests that are
# about it load it themselves.
sys.modules["perspective_rag_judge"] = None  # type: ignore[assignment]
_ABSENT = str(Path(__file__).parent / "absent")  # the same for programs that tests start
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_ABSENT, os.environ.get("PYTHONPATH")]))

# A busy machine is no failure: no test has a deadline on the clock.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")


@pytest.fixture(scope="session")
def small_larger_judge(tmp_path_factory):
    """The folder of a two-sided model of a few kB."""
    pytest.importorskip("onnx")
    pytest.importorskip("tokenizers")
    from tests.larger_model import write_small_judge

    return write_small_judge(tmp_path_factory.mktemp("larger"))


@pytest.fixture
def interrupted_after():
    """``interrupted_after(n)``, as ``before`` of a stand-in: Ctrl-C at the call after n calls."""

    def made(calls):
        left = iter(range(calls))

        def before(*_):
            if next(left, None) is None:
                raise KeyboardInterrupt

        return before

    return made
