"""What a KServe v2 server really said, recorded: our requests have its form, its replies are read.

Each file of ``recorded/kserve-*.json`` names the server and its version, and holds every request as
it was sent with the reply as it came.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from perspective_rag import ConfigError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.types import Passage, Perspective
from perspective_rag_scale import RemoteJudge
from perspective_rag_scale.remote.failures import ServerError
from tests.addons.scale.remote.servers import ModelServer, Refused

FILES = sorted((Path(__file__).parent / "recorded").glob("kserve-*.json"))


@pytest.fixture(params=FILES, ids=[path.stem for path in FILES])
def recorded(request):
    return json.loads(request.param.read_text(encoding="utf-8"))


@pytest.fixture
def server(recorded):
    """Answers a request that was recorded with the bytes that were, and knows no other."""

    def answer(path, body):
        for each in recorded["exchanges"]:
            if (each["path"], each["body"]) == (path, body):
                raise Refused(each["status"], each["reply"])
        raise AssertionError(f"{path} was not asked so when it was recorded: {body}")

    with ModelServer(answer) as running:
        yield running


def judge_of(server, name="judge"):
    address = f"{server.url}/v2/models/{name}"
    return RemoteJudge(address, engine="kserve", batch_size=4, max_concurrency=1, max_retries=0)


def test_there_is_a_recording_with_engine_and_version():
    assert FILES
    for path in FILES:
        found = json.loads(path.read_text(encoding="utf-8"))
        assert found["engine"]
        assert found["version"].split(".")[0].isdigit()


def test_a_judgement_asks_and_reads_as_recorded(recorded, server):
    sides = [
        Perspective(str(place), text, stance, recorded["claim"])
        for place, (text, stance) in enumerate(
            zip(recorded["sides"], ("support", "oppose"), strict=True)
        )
    ]
    passages = [Passage(str(place), text) for place, text in enumerate(recorded["texts"])]
    found = run(judge_of(server).judge(sides, passages), Recorder(strict=True))
    np.testing.assert_allclose(found, recorded["support"], atol=1e-9)
    good = [each for each in recorded["exchanges"] if each["status"] == 200]
    assert server.paths == [each["path"] for each in good]
    assert server.bodies == [each["body"] for each in good]


def test_an_unknown_model_is_said_as_recorded(recorded, server):
    with pytest.raises(ConfigError, match=r"404.*nope.*ends in /v2/models/NAME"):
        judge_of(server, "nope").check()


def test_a_refused_request_is_said_as_recorded(recorded, server):
    (refused,) = (each for each in recorded["exchanges"] if each["status"] == 400)
    client = judge_of(server)._client
    with pytest.raises(ServerError, match="status 400") as caught:
        client.run(lambda: client.exchange("POST", "infer", refused["body"]))
    assert json.loads(refused["reply"])["error"] in str(caught.value)
