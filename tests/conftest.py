"""What holds for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# Haystack reports its use to its makers unless it is told not to, before it is imported.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

# pytest-xdist sets it to 80, which the commands take for the width of a terminal.
os.environ.pop("COLUMNS", None)

# A busy machine is no failure: no test has a deadline on the clock.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")


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
