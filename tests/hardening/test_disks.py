"""Full and read-only disks: what cannot be written is said in words, what was there stays good.

On a small file system in memory where one can be mounted (Linux, with the right to), else at the
system's own limit on the size of files; read-only disks by a mount alone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hardening.tasks import TASKS

ROOT = Path(__file__).parents[2]
CHILD = (
    "import logging, sys, pathlib, warnings; from tests.hardening import tasks; tasks.PAUSE = 0.0\n"
    "from perspective_rag import PerspectiveRAGError\n"
    "try: print('done', len(tasks.TASKS[sys.argv[1]](pathlib.Path(sys.argv[2]))))\n"
    "except (PerspectiveRAGError, OSError) as error: print('said', type(error).__name__, error)"
)


def run(name, folder, *before):
    """What a task says in a process of its own: "done ..." or "said Error ..."; not a crash."""
    command = [*before, sys.executable, "-c", CHILD, name, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout.strip(), done.stderr


def can_mount():
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    tried = ["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=100k", "none", "/mnt"]
    return subprocess.run(tried, capture_output=True).returncode == 0


MOUNTS = can_mount()
needs_mount = pytest.mark.skipif(not MOUNTS, reason="no file system can be mounted here")


def mounted(script):
    """A prefix that runs a command where ``script`` has mounted something of its own."""
    return ["unshare", "-rm", "sh", "-c", f'{script} && exec "$@"', "sh"]


def kept_by(name, said, log):
    """Whether what a task keeps aside could be done without, and that was said."""
    assert "not kept" in log or "cannot be written" in log or "not stored" in log, (name, said, log)


CACHES = ("bm25_index", "embedding_cache", "verdict_cache")
"""What goes on without its file; the others are there to write one."""


@needs_mount
@pytest.mark.parametrize("name", TASKS)
def test_on_a_full_disk_nothing_crashes_and_the_reason_is_said(name, tmp_path):
    full = mounted(f"mount -t tmpfs -o size=4k none {tmp_path} && mkdir {tmp_path}/in")
    said, log = run(name, tmp_path / "in", *full)
    if name in CACHES:
        assert said.startswith("done")
        kept_by(name, said, log)
    else:
        assert said.startswith("said")
        assert "No space left" in said or "disk is full" in said  # as SQLite puts it


@pytest.mark.slow
@needs_mount
@pytest.mark.parametrize("name", TASKS)
def test_on_a_read_only_disk_nothing_crashes_and_the_reason_is_said(name, tmp_path):
    read_only = mounted(
        f"mount --bind {tmp_path} {tmp_path} && mount -o remount,bind,ro {tmp_path}"
    )
    said, log = run(name, tmp_path, *read_only)
    if name in CACHES:
        assert said.startswith("done")
        kept_by(name, said, log)
    else:
        assert said.startswith("said")
        assert "Read-only file system" in said


@pytest.mark.slow
@needs_mount
@pytest.mark.parametrize("name", ["bm25_index", "dense", "embedding_cache", "verdict_cache"])
def test_what_a_read_only_disk_holds_is_used(name, tmp_path):
    first, _ = run(name, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    read_only = mounted(
        f"mount --bind {tmp_path} {tmp_path} && mount -o remount,bind,ro {tmp_path}"
    )
    assert run(name, tmp_path, *read_only)[0] == first
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
@pytest.mark.parametrize("name", TASKS)
def test_at_the_limit_on_the_size_of_files_nothing_crashes_and_the_next_run_goes_on(name, tmp_path):
    limited = ["sh", "-c", 'ulimit -f 8 && exec "$@"', "sh"]
    said, _ = run(name, tmp_path, *limited)
    assert said.startswith(("done", "said"))
    whole = tmp_path / "whole"
    whole.mkdir()
    wanted, _ = run(name, whole)
    assert wanted.startswith("done")
    assert run(name, tmp_path)[0] == wanted
