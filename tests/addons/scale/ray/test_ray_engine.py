"""Work on a local Ray cluster: the files of one process, whatever is killed. Run: make test-ray"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ray")
pytest.importorskip("ray.data")

from perspective_rag import OnnxMiniLM
from perspective_rag.cli import main
from perspective_rag.errors import ConfigError, CorpusError, EngineError, JudgeError
from perspective_rag.types import Passage, Perspective
from perspective_rag_scale import build_dense_index, dense_index
from perspective_rag_train.many import Judged, judge_many

P = Perspective("p", "Zoos should be closed.")


def pairs(count):
    for i in range(count):
        yield Passage(str(i), f"Zoos keep {i} animals in cages, and that is cruel."), P


class Killing:
    """A judge that kills its process at some passages, as often as ``times`` says."""

    name, threshold = "killing", 0.5
    revision = "1"

    def __init__(self, folder, at=(), times=1, fails=()):
        self.folder, self.at, self.times, self.fails = str(folder), at, times, fails

    def judge_pairs(self, perspectives, passages):
        for passage in passages:
            if passage.id in self.at:
                marks = list(Path(self.folder).glob(f"{passage.id}-*"))
                if len(marks) < self.times:
                    (Path(self.folder) / f"{passage.id}-{len(marks)}").touch()
                    os.kill(os.getpid(), signal.SIGKILL)
            if passage.id in self.fails:
                raise ValueError(f"cannot judge {passage.id}")
        return np.array([len(passage.text) * int(passage.id) % 97 / 97 for passage in passages])
        yield

    def judge(self, perspectives, passages):
        raise NotImplementedError


def without(judge):
    return Killing(judge.folder, fails=judge.fails)


def test_a_killed_worker_changes_nothing(cluster, tmp_path):
    judge = Killing(tmp_path, at=("33", "71"))
    plain, by_ray = tmp_path / "plain", tmp_path / "ray"
    assert judge_many(without(judge), pairs(200), plain, batch_size=9) == Judged(200, 0, 0)
    done = judge_many(judge, pairs(200), by_ray, batch_size=9, engine=cluster)
    assert done == Judged(200, 0, 0)
    assert plain.read_bytes() == by_ray.read_bytes()
    assert len(list(tmp_path.glob("33-*"))) == len(list(tmp_path.glob("71-*"))) == 1


def test_a_batch_that_always_kills_ends_the_run_and_keeps_what_was_before(cluster, tmp_path):
    judge = Killing(tmp_path, at=("33",), times=99)
    out, plain = tmp_path / "out", tmp_path / "plain"
    with pytest.raises(EngineError, match="batch 3 ended the process of its worker 4 times"):
        judge_many(judge, pairs(60), out, batch_size=10, engine=cluster)
    assert len(out.read_text().splitlines()) == 30
    judge_many(without(judge), pairs(60), plain, batch_size=10)
    done = judge_many(without(judge), pairs(60), out, batch_size=10, engine=cluster)
    assert done == Judged(30, 30, 0)
    assert plain.read_bytes() == out.read_bytes()


def test_failures_are_those_of_one_process(cluster, tmp_path):
    judge = Killing(tmp_path, fails=("5", *map(str, range(40, 60))))
    said, files = [], []
    for name, engine in (("a", None), ("b", cluster)):
        with pytest.raises(JudgeError) as raised:
            judge_many(judge, pairs(60), tmp_path / name, batch_size=5, engine=engine)
        said.append(str(raised.value).replace(str(tmp_path / name), "FILE"))
        assert isinstance(raised.value.__cause__, ValueError)
        files.append((tmp_path / name).read_bytes())
    assert said[0] == said[1]
    assert files[0] == files[1]
    assert len(files[0].splitlines()) == 45


def test_bad_input_and_workers_that_cannot_be_made_are_said_as_in_one_process(cluster, tmp_path):
    def bad():
        yield from pairs(12)
        raise CorpusError("line 13 is bad")

    for name, engine in (("a", None), ("b", cluster)):
        with pytest.raises(CorpusError, match="line 13"):
            judge_many(Killing(tmp_path), bad(), tmp_path / name, batch_size=5, engine=engine)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def broken():
        raise ConfigError("no model here")

    with pytest.raises(ConfigError, match="no model here"):
        list(cluster.map([1, 2], broken))
    held = threading.Lock()
    with pytest.raises(ConfigError, match="cannot be sent"):
        list(cluster.map([1], lambda: held.acquire))
    with pytest.raises(ConfigError, match="cannot be sent"):
        list(cluster.map([held], lambda: str))


def test_the_packaged_judge_and_embedder_and_the_command(cluster, tmp_path, capsys):
    rows = [{"document": d.text, "statement": p.text} for d, p in pairs(40)]
    source = tmp_path / "pairs.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["judge", "run", str(source), "--batch-size", "7"]
    assert main([*command[:3], str(tmp_path / "a"), *command[3:]]) == 0
    assert main([*command[:3], str(tmp_path / "b"), *command[3:], "--engine", "ray"]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    passages = [passage for passage, _ in pairs(50)]
    before, dense_index.WINDOW = dense_index.WINDOW, 20
    try:
        for name, engine in (("plain", None), ("ray", cluster)):
            build_dense_index(
                passages, OnnxMiniLM(), tmp_path / name, model_name="m", batch=8, engine=engine
            )
    finally:
        dense_index.WINDOW = before
    for name in ("embeddings.npy", "manifest.json"):
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "ray" / name).read_bytes()


def test_few_batches_are_in_work_however_many_there_are(cluster):
    taken = 0

    def batches():
        nonlocal taken
        for number in range(300):
            taken += 1
            yield number

    ahead = 0
    for done, result in enumerate(cluster.map(batches(), lambda: abs)):
        assert result == done
        ahead = max(ahead, taken - done)
    assert taken == 300
    assert ahead <= 8


DRIVER = """
import sys
sys.path.insert(0, {root!r})
from tests.addons.scale.ray.test_ray_engine import Killing, pairs
from perspective_rag_scale import RayEngine
from perspective_rag_train.many import judge_many

if __name__ == "__main__":
    with RayEngine(workers=2) as engine:
        print(judge_many(Killing("."), pairs(400), sys.argv[1], batch_size=4, engine=engine))
"""


def test_a_killed_driver_goes_on_where_it_stopped(tmp_path):
    root = str(Path(__file__).parents[4])
    program, out, plain = tmp_path / "driver.py", tmp_path / "out.jsonl", tmp_path / "plain"
    program.write_text(textwrap.dedent(DRIVER.format(root=root)))
    command = [sys.executable, str(program), str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None and not (out.exists() and out.read_bytes().count(b"\n") >= 40):
        time.sleep(0.01)
    process.kill()
    process.wait()
    kept = out.read_bytes().count(b"\n")
    assert 40 <= kept < 400
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"resumed={kept}," in done.stdout
    judge_many(Killing(tmp_path), pairs(400), plain, batch_size=4)
    assert plain.read_bytes() == out.read_bytes()


def test_an_address_without_a_cluster_is_refused(tmp_path):
    code = (
        "from perspective_rag import ConfigError\n"
        "from perspective_rag_scale import RayEngine\n"
        "try:\n    next(RayEngine('127.0.0.1:1').map([1], lambda: str))\n"
        "except ConfigError as error:\n    print('refused', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert "refused no Ray cluster listens at '127.0.0.1:1'" in done.stdout, done.stderr
