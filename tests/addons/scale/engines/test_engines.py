"""The engine of one machine, errors between processes, and Ray's engine where there is no Ray."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import pickle

import numpy as np
import pytest

from perspective_rag import LocalEngine
from perspective_rag.cli import main
from perspective_rag.errors import (
    ConfigError,
    CorpusError,
    LLMReplyError,
    MissingDependency,
    PerspectiveRAGError,
)
from perspective_rag.judge.cross_encoder import CrossEncoderJudge
from perspective_rag.testing import HashEmbedder, RuleJudge
from perspective_rag.types import Passage, Perspective
from perspective_rag_scale import RayEngine, build_dense_index
from perspective_rag_scale.carried import dumps
from perspective_rag_scale.ray_feed import DONE, Feed
from perspective_rag_train.many import judge_many
from perspective_rag_train.pair_file import read_pairs

PAIRS = [
    (Passage(str(i), f"zoos number {i}"), Perspective("p", "zoos save cats")) for i in range(20)
]


class Revised(RuleJudge):
    revision = "1"


def judge():
    return Revised(lambda passage, perspective: int(passage.id) / 100)


# The engine of one machine


def test_one_worker_maps_batches_in_order_as_results_are_taken():
    made, taken = [], []

    def batches():
        for number in range(5):
            taken.append(number)
            yield number

    def make_worker():
        made.append(1)
        return lambda number: number**2

    results = LocalEngine().map(batches(), make_worker)
    assert (made, taken) == ([], [])
    assert next(results) == 0
    assert taken == [0]
    assert list(results) == [1, 4, 9, 16]
    assert made == [1]


def test_judging_and_embedding_with_an_engine_are_those_without(tmp_path):
    plain, by_engine = tmp_path / "plain", tmp_path / "engine"
    judge_many(judge(), PAIRS, plain, batch_size=6)
    judge_many(judge(), PAIRS, by_engine, batch_size=6, engine=LocalEngine())
    assert plain.read_bytes() == by_engine.read_bytes()
    passages = [passage for passage, _ in PAIRS]
    rows = [
        build_dense_index(
            passages, HashEmbedder(8), tmp_path / name, model_name="m", batch=3, engine=engine
        )
        for name, engine in (("a", None), ("b", LocalEngine()))
    ]
    np.testing.assert_array_equal(*rows)


def test_an_engine_that_reads_ahead_judges_each_pair_once_and_writes_in_order(tmp_path):
    class Ahead:
        """Takes all batches before the first result, as one with many workers may."""

        name = "ahead"

        def map(self, batches, make_worker):
            worker = make_worker()
            yield from [worker(each) for each in batches]

    plain, ahead = tmp_path / "plain", tmp_path / "ahead"
    judge_many(judge(), PAIRS, plain, batch_size=6)
    ahead.write_bytes(plain.read_bytes()[:-30])
    done = judge_many(judge(), PAIRS, ahead, batch_size=6, engine=Ahead())
    assert (done.judged, done.resumed) == (1, 19)
    assert plain.read_bytes() == ahead.read_bytes()


# Errors between processes


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("no"),
        MissingDependency("ray", "working"),
        LLMReplyError("bad", reply="x", prompt="p"),
        OSError(2, "gone", "file"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    ],
)
def test_an_error_arrives_as_it_was_raised_with_its_cause(error):
    error.__cause__ = ValueError("the cause")
    [carried] = pickle.loads(dumps([error]))
    assert type(carried) is type(error)
    assert (str(carried), vars(carried)) == (str(error), vars(error))
    assert repr(carried.__cause__) == "ValueError('the cause')"


def test_an_error_that_cannot_be_sent_arrives_as_one_of_ours():
    class Here(Exception):
        pass

    carried = pickle.loads(dumps(Here("odd")))
    assert type(carried) is PerspectiveRAGError
    assert str(carried) == "Here: odd"
    held = pickle.loads(dumps(ValueError(lambda: 0)))
    assert type(held) is PerspectiveRAGError


# The feed


def test_the_feed_holds_what_is_in_work_and_can_be_read_again():
    async def use():
        feed = Feed()
        waiting = asyncio.ensure_future(feed.get(0))
        await asyncio.sleep(0)
        assert not waiting.done()
        await feed.put(1, b"one", 0)  # calls may overtake one another
        await feed.put(0, b"zero", 0)
        assert await waiting == b"zero"
        assert [await feed.begin(1) for _ in range(3)] == [1, 2, 3]
        await feed.put(2, b"two", 1)
        await feed.put(3, None, 1)
        return [await feed.get(number) for number in range(4)]

    assert asyncio.run(use()) == [DONE, b"one", b"two", None]


# What can be sent to other processes


def test_a_judge_is_sent_without_its_loaded_model():
    pytest.importorskip("onnxruntime")
    own = CrossEncoderJudge(threads=1)
    expected = own.pair_probabilities(["Zoos are cruel."], ["Zoos should close."])["support"]
    sent = pickle.loads(pickle.dumps(own))
    assert len(pickle.dumps(own)) < 10_000
    assert sent.revision == own.revision
    found = sent.pair_probabilities(["Zoos are cruel."], ["Zoos should close."])["support"]
    np.testing.assert_array_equal(found, expected)


# Ray that is not there, and what is refused without it


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_extra_is_named():
    with pytest.raises(MissingDependency, match=r"perspective-rag\[ray\]"):
        next(RayEngine().map([1], lambda: str))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"address": "ray://head:10001"}, "ray job submit"),
        ({"workers": 0}, "workers"),
        ({"cpus_per_worker": 0}, "cpus_per_worker"),
        ({"gpus_per_worker": -1}, "gpus_per_worker"),
    ],
)
def test_options_out_of_range_are_refused(options, said):
    with pytest.raises(ConfigError, match=said):
        RayEngine(**options)


# Pairs in a file, and the command


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_pairs_of_a_file(tmp_path):
    path = write(
        tmp_path / "pairs.jsonl",
        [
            {"document": "d", "statement": "s", "label": "support"},
            {"document": "d", "statement": "s", "passage": "a", "perspective": "b", "title": "T"},
            {"document": "d", "statement": "not s", "stance": "oppose", "claim": "s"},
        ],
    )
    assert list(read_pairs(path)) == [
        (Passage("1", "d"), Perspective("1", "s")),
        (Passage("a", "d", {"title": "T"}), Perspective("b", "s")),
        (Passage("3", "d"), Perspective("3", "not s", "oppose", claim="s")),
    ]


@pytest.mark.parametrize(
    "bad",
    [
        {"statement": "s"},
        {"document": " ", "statement": "s"},
        {"document": "d", "statement": 1},
        {"document": "d", "statement": "s", "stance": "con"},
        {"document": "d", "statement": "s", "title": ["T"]},
    ],
)
def test_a_bad_line_is_named_and_those_before_it_are_kept(bad, tmp_path):
    path = write(tmp_path / "pairs.jsonl", [{"document": "d", "statement": "s"}, bad])
    out = tmp_path / "out.jsonl"
    with pytest.raises(CorpusError, match=r"pairs\.jsonl:2"):
        judge_many(judge(), read_pairs(path), out, batch_size=1)
    assert len(out.read_text().splitlines()) == 1


def test_the_command_judges_a_file_and_goes_on(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    rows = [{"document": f"Zoos are cruel, {i}.", "statement": "Close zoos."} for i in range(5)]
    path, out = write(tmp_path / "pairs.jsonl", rows), tmp_path / "out.jsonl"
    assert main(["judge", "run", str(path), str(out), "--batch-size", "2"]) == 0
    whole = out.read_bytes()
    out.write_bytes(whole[:-5])
    assert main(["judge", "run", str(path), str(out), "--batch-size", "2"]) == 0
    assert out.read_bytes() == whole
    assert '"resumed": 4' in capsys.readouterr().out
    assert main(["judge", "run", str(path), str(out), "--workers", "2"]) == 2
    assert "--engine ray" in capsys.readouterr().err
