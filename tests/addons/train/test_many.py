"""Streams of pairs judged into a file that survives being killed."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
from itertools import islice

import numpy as np
import pytest

from perspective_rag.errors import ConfigError, JudgeError
from perspective_rag.testing import TableJudge
from perspective_rag.types import Passage, Perspective
from perspective_rag_train.many import Judged, judge_many

PRO = Perspective("pro", "zoos should close")


class Known(TableJudge):
    """A judge of pairs that says which it is, and cannot judge the passages of ``unsure``."""

    revision = "r1"
    unsure: frozenset[str] = frozenset()

    def judge_pairs(self, perspectives, passages):
        self.judged.extend((d.id, p.id) for d, p in zip(passages, perspectives, strict=True))
        values = [math.nan if d.id in self.unsure else len(d.text) % 7 / 7 for d in passages]
        return np.array(values)
        yield


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "verdicts"


def stream(n):
    for i in range(n):
        yield Passage(f"d{i}", "x" * (i % 50)), PRO


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_judge_that_does_not_say_which_it_is_is_refused(path):
    with pytest.raises(ConfigError, match="revision"):
        judge_many(TableJudge(), [], path)


def test_every_pair_has_its_line_in_order(path):
    told = []
    done = judge_many(Known(), stream(10), path, batch_size=4, progress=told.append)
    assert done == Judged(10, 0, 0)
    assert [(x["passage"], x["support"]) for x in lines(path)] == [
        (f"d{i}", i % 7 / 7) for i in range(10)
    ]
    assert told == [4, 8, 10]


@pytest.mark.parametrize("cut", [1, 5, 60, 150, 151, 152])
def test_a_torn_file_is_continued_without_loss_or_repetition(path, cut):
    judge_many(Known(), stream(20), path, batch_size=6)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    kept = whole[:-cut].count(b"\n")
    judge = Known()
    assert judge_many(judge, stream(20), path, batch_size=6) == Judged(20 - kept, kept, 0)
    assert path.read_bytes() == whole
    assert len(judge.judged) == 20 - kept


def test_other_pairs_or_another_judge_are_refused(path):
    judge_many(Known(), stream(5), path)
    before = path.read_bytes()
    other = Known()
    other.revision = "r2"
    for judge, pairs in ((other, stream(5)), (Known(), islice(stream(5), 1, None)), (Known(), ())):
        with pytest.raises(ConfigError, match="line"):
            judge_many(judge, pairs, path)
    assert path.read_bytes() == before


def test_pairs_that_cannot_be_judged_are_null_and_a_judge_that_is_down_stops_the_run(path):
    judge = Known()
    judge.unsure = frozenset({"d3"})
    assert judge_many(judge, stream(12), path, batch_size=10).failed == 1
    assert lines(path)[3]["support"] is None
    judge.unsure = frozenset(f"d{i}" for i in range(12, 40))
    with pytest.raises(JudgeError, match="12 pairs are in"):
        judge_many(judge, stream(40), path, batch_size=10)
    assert len(lines(path)) == 12
    assert judge_many(Known(), stream(40), path, batch_size=10) == Judged(28, 12, 0)


def test_strict_raises_for_one_pair(path):
    judge = Known()
    judge.unsure = frozenset({"d3"})
    with pytest.raises(JudgeError):
        judge_many(judge, stream(5), path, strict=True)
    assert lines(path) == []


def test_memory_does_not_grow_with_the_stream(path):
    judge = Known()

    class Forgetful(list):
        def extend(self, items):
            pass

    judge.judged = Forgetful()
    peaks = []
    for n in (500, 5_000):
        tracemalloc.start()
        judge_many(judge, stream(n), path.with_suffix(f".{n}"), batch_size=50)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


RUN = """
import sys, time
import numpy as np
from perspective_rag_train.many import judge_many
from perspective_rag.types import Passage, Perspective

class Slow:
    name, threshold, revision = "slow", 0.5, "r"
    def judge_pairs(self, perspectives, passages):
        time.sleep(0.02)
        with open(sys.argv[2], "a") as log:
            log.write("".join(f"{d.id}\\n" for d in passages))
        return np.full(len(passages), 0.5)
        yield
    def judge(self, perspectives, passages):
        raise NotImplementedError
    
pairs = ((Passage(str(i), "x"), Perspective("p", "y")) for i in range(300))
judge_many(Slow(), pairs, sys.argv[1], batch_size=3)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_run_loses_nothing_and_repeats_at_most_the_batch_it_died_in(tmp_path):
    out, log = tmp_path / "out.jsonl", tmp_path / "log"
    command = [sys.executable, "-c", textwrap.dedent(RUN), str(out), str(log)]
    kills = 0
    for wanted in (30, 120, 210):
        process = subprocess.Popen(command)
        while process.poll() is None:
            if out.exists() and out.read_bytes().count(b"\n") >= wanted:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.005)
        process.wait()
    subprocess.run(command, check=True)
    assert kills == 3
    assert [x["passage"] for x in lines(out)] == [str(i) for i in range(300)]
    assert len(log.read_text().splitlines()) <= 300 + 3 * kills
