"""Processes that are killed at random moments: what is on disk is whole, and the next run goes on.

The suite kills each kind of work twice; ``make test-kills`` ten times (``KILLS``).
"""

from __future__ import annotations

import os
import random
import sys

import pytest

from perspective_rag_train.append_log import slug
from tests.hardening.tasks import TASKS, Running

KILLS = int(os.environ.get("KILLS", "2"))
TRIES = 4

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there"),
]


@pytest.mark.parametrize("name", TASKS)
def test_what_was_killed_goes_on_and_finds_the_same(name, tmp_path, record_property):
    (tmp_path / "whole").mkdir()
    (kind, wanted), seconds = Running(name, tmp_path / "whole").outcome()
    assert kind == "done", wanted
    dice, hits, tries = random.Random(f"{name} {KILLS}"), 0, 0
    while hits < KILLS:
        tries += 1
        assert tries <= TRIES * KILLS, f"only {hits} of {tries} kills hit"
        folder = tmp_path / str(tries)
        folder.mkdir()
        if not Running(name, folder).kill_after(dice.uniform(0.0, seconds)):
            continue
        hits += 1
        (kind, found), _ = Running(name, folder).outcome()
        assert (kind, found) == ("done", wanted)
        assert left_in(folder) == left_in(tmp_path / "whole")
    record_property("kills", f"{hits} of {tries} hit")
    sys.stderr.write(f"\n{slug(name)}: {hits} of {tries} kills hit\n")


def left_in(folder):
    """The names of all files, but for those that SQLite keeps beside its own."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return sorted(name for name in names if not name.endswith(("-wal", "-shm")))
