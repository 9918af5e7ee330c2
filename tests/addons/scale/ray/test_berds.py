"""``python -m benchmarks berds --engine ray``: the figures of one process, whatever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ray")
pytest.importorskip("ray.data")
pytest.importorskip("bm25s")

ROOT = Path(__file__).parents[4]
TOPICS = ("zoos", "cars", "exams", "phones", "taxes", "drones")
WITHIN = 600.0


class WordJudge:
    """Says that a passage supports a statement when both or neither hold "not"; ``marks`` is a
    folder in which the passages are noted whose judging ends the process, once each.
    """

    name, threshold, revision = "words", 0.5, "1"

    def __init__(self, marks, delay):
        self.marks, self.delay = marks, delay

    def judge_pairs(self, perspectives, passages):
        time.sleep(self.delay)
        for passage in passages:
            mark = Path(self.marks) / passage.text.split()[-1]
            if "deadly" in passage.text and self.marks and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        pairs = zip(perspectives, passages, strict=True)
        return np.array([("not" in a.text) == ("not" in b.text) for a, b in pairs], dtype=float)
        yield

    def judge(self, perspectives, passages):
        raise NotImplementedError


def word_judge():
    """A factory for the command line."""
    return WordJudge(os.environ.get("BERDS_MARKS", ""), float(os.environ.get("BERDS_DELAY", "0")))


@pytest.fixture
def data(tmp_path):
    """Six questions, and eight passages on each, of which one is deadly in all."""
    questions = [
        {
            "id": topic,
            "question": f"Should {topic} be banned?",
            "perspectives": [f"{topic} should be banned.", f"{topic} should not be banned."],
            "generated_perspectives": [{"name": "a", "text": f"{topic} harm"}],
        }
        for topic in TOPICS
    ]
    passages = [
        {"id": f"{topic}{i}", "text": f"{topic} {'not ' * (i % 2)}banned {dead} {topic}{i}"}
        for topic in TOPICS
        for i in range(8)
        for dead in ["deadly" if (topic, i) == ("phones", 3) else "harm"]
    ]
    for name, rows in (("questions", questions), ("corpus", passages)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def command(data, name, *more):
    return [
        *(sys.executable, "-m", "benchmarks", "berds", "--no-figures", "--selector=none"),
        *(
            "--approach=default",
            "--approach=expansion",
            "--judge=tests.addons.scale.ray.test_berds:word_judge",
        ),
        *(f"--questions={data / 'questions.jsonl'}", f"--corpus={data / 'corpus.jsonl'}"),
        *(f"--cache={data / name}", f"--out={data / name / 'out.json'}", *more),
    ]


def environment(**more):
    return (
        os.environ
        | {
            "PYTHONPATH": os.pathsep.join(
                [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
            "HF_HUB_OFFLINE": "1",
        }
        | more
    )


def run(data, name, *more, **variables):
    done = subprocess.run(
        command(data, name, *more),
        env=environment(**variables),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def ledger(data, name):
    """The verdicts in the order of the file, without its first line."""
    lines = [
        line
        for path in (data / name / "berds").glob("verdicts*.jsonl")
        for line in path.read_text().splitlines(keepends=True)
    ]
    return lines[1:]


def figures(data, name):
    """All that is reported but what tells the time, the figures and the tables."""
    document = json.loads((data / name / "out.json").read_text())
    assert document["degradations"] == 0
    return timeless(document["results"])


def timeless(value):
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if "seconds" not in k}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def test_the_same_figures_with_a_worker_killed(data):
    run(data, "local")
    marks = data / "marks"
    marks.mkdir()
    run(data, "ray", "--engine=ray", "--workers=2", BERDS_MARKS=str(marks))
    assert [each.name for each in marks.iterdir()] == ["phones3"]  # a worker was ended
    assert ledger(data, "local") == ledger(data, "ray")
    assert len(ledger(data, "ray")) == len(set(ledger(data, "ray"))) >= 2 * 8 * len(TOPICS)
    assert figures(data, "local") == figures(data, "ray")


def test_a_killed_command_goes_on_where_it_stopped(data):
    run(data, "local")
    kept = 0
    started = subprocess.Popen(
        command(data, "ray", "--engine=ray", "--workers=2"),
        env=environment(BERDS_DELAY="0.25"),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + WITHIN
    while started.poll() is None and kept < 24 and time.monotonic() < until:
        kept = len(ledger(data, "ray"))
        time.sleep(0.01)
    started.kill()
    started.wait()
    kept = len(ledger(data, "ray"))
    assert 24 <= kept < len(ledger(data, "local"))
    run(data, "ray", "--engine=ray", "--workers=2")
    assert ledger(data, "local") == ledger(data, "ray")
    assert figures(data, "local") == figures(data, "ray")


def test_a_judge_that_cannot_be_sent_is_refused(data):
    judge = ("--judge=llm:model@http://127.0.0.1:9/v1", "--engine=ray", "--workers=1")
    done = subprocess.run(
        command(data, "ray", *judge),
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    assert done.returncode == 2
    assert "the worker cannot be sent to another process" in done.stdout + done.stderr
