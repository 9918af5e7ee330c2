"""Our clients and our stand-ins against what a real server answered (tests/addons/scale/remote/record.py)."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("openai")

from perspective_rag import CrossEncoderJudge, OnnxMiniLM
from perspective_rag.errors import LLMError, RetrievalError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL
from perspective_rag.maths.vectors import normalised
from perspective_rag.storage.fingerprint import file_sha256
from tests.addons.scale.remote.exchanges import Recording, Replay, form
from tests.addons.scale.remote.scenarios import LONG, PASSAGES, SCENARIOS, SIDES, TEXTS
from tests.addons.scale.remote.servers import Refused, conforms, vllm
from tests.addons.scale.remote.test_failing import embeds
from tests.addons.scale.remote.test_judge import VOCABULARY


def replayed(name, model=None):
    recording = Recording.read(name)
    replay = Replay(recording)
    with replay.server() as server:
        found = SCENARIOS[name](server.url, model or recording.model)
    assert not replay.problems
    assert not replay.left
    return found, recording


def test_embeddings_are_read_as_the_server_gave_them():
    found, recording = replayed("embeddings")
    (first, cut) = recording.of("/v1/embeddings")
    assert first["request"]["input"] == [TEXTS[0], TEXTS[2]]  # a blank text is not sent
    vectors = np.array([each["embedding"] for each in first["answer"]["data"]], dtype=np.float32)
    np.testing.assert_allclose(found["rows"][[0, 2]], normalised(vectors), atol=1e-6)
    assert not found["rows"][1].any()
    assert cut["request"]["input"] == [LONG]
    assert cut["answer"]["usage"]["prompt_tokens"] <= 512
    local = OnnxMiniLM().embed_passages([TEXTS[0], TEXTS[2]])  # the same model in int8
    assert (np.sum(local * found["rows"][[0, 2]], axis=1) > 0.95).all()
    assert isinstance(found["long"], RetrievalError)
    assert "status 400" in str(found["long"])
    assert isinstance(found["unknown"], RetrievalError)
    assert "status 404" in str(found["unknown"])
    status, scores = found["scores"]
    assert status == 200
    near, far = (each["score"] for each in scores["data"])
    assert near > far


def test_verdicts_are_those_of_the_server():
    found, recording = replayed("classify")
    support = found["support"]
    assert support.shape == (len(PASSAGES), len(SIDES))
    if file_sha256(DEFAULT_MODEL / "model.onnx") == recording.files:
        local = run(CrossEncoderJudge().judge(SIDES, PASSAGES), Recorder(strict=True))
        np.testing.assert_allclose(support, local, atol=0.1)  # int8 here, float32 there
        assert support[0, 0] > support[0, 1]
        assert support[1, 1] > support[1, 0]
    assert found["out of vocabulary"][0] == 400
    # Why the judge asks /classify: for a model of three classes there is no /score.
    assert found["score"][0] == 404


def test_replies_and_their_probabilities_are_those_of_the_server():
    found, recording = replayed("chat")
    first = recording.of("/v1/chat/completions")[0]
    assert first["request"]["top_logprobs"] == 20
    assert set(found["choice"].choice_probabilities) == {"yes", "no"}
    assert sum(found["choice"].choice_probabilities.values()) == pytest.approx(1.0)
    assert found["again"] == found["choice"]
    assert found["choice"].prompt_tokens == first["answer"]["usage"]["prompt_tokens"]
    assert found["json"].text.lstrip().startswith("{")
    assert "Paris" in found["text"].text
    for name, status in (("long", 400), ("unknown", 404)):
        assert isinstance(found[name], LLMError)
        assert str(status) in str(found[name].__cause__)


@pytest.mark.parametrize("name", SCENARIOS)
def test_another_request_than_the_recorded_is_noticed(name):
    replay = Replay(Recording.read(name))
    post = next(each for each in replay.recording.exchanges if each["request"])
    body = post["request"]
    for other in (
        {**body, "surplus": 1},
        {key: body[key] for key in list(body)[1:]},
        {**body, "model": f"{body.get('model')}x"},
    ):
        replay._next, replay.problems = replay.recording.exchanges.index(post), []
        replay.answer(post["path"], other)
        assert "record anew" in replay.problems[0]
    replay._next = len(replay.recording.exchanges)
    with pytest.raises(Refused):
        replay.answer(post["path"], body)


KINDS = {"/classify": ("classify", "classes"), "/v1/embeddings": ("embed", "embeddings")}


@pytest.mark.parametrize("name", ["embeddings", "classify"])
def test_the_real_exchanges_have_the_form_that_stand_ins_are_held_to(name):
    recording = Recording.read(name)
    for each in recording.exchanges:
        if each["status"] != 200:
            continue
        if each["path"] == "/v1/models":
            conforms("vllm", "models", each["answer"])
        elif each["path"] in KINDS:
            asked, answered = KINDS[each["path"]]
            conforms("vllm", asked, each["request"])
            conforms("vllm", answered, each["answer"])


@pytest.mark.parametrize("name", ["embeddings", "classify"])
def test_stand_ins_say_nothing_that_the_real_server_does_not_say(name, packaged):
    recording = Recording.read(name)
    stand_in = {"embeddings": embeds, "classify": vllm(packaged, vocabulary=VOCABULARY)}[name]
    compared = 0
    for each in recording.exchanges:
        if each["path"] not in ("/v1/models", *KINDS):
            continue
        try:
            status, said = 200, stand_in(each["path"], each["request"])
        except Refused as refused:
            status, said = refused.status, refused.body
        if name == "embeddings" and each["status"] != 200:
            continue  # it knows no limits and no names
        assert status == each["status"]
        assert_within(form(said), form(each["answer"]), each["path"])
        compared += 1
    assert compared >= 2


def assert_within(said, real, where):
    """All that the stand-in says the real server says too, of the same type."""
    if isinstance(said, dict):
        assert isinstance(real, dict), where
        for name, value in said.items():
            assert name in real, f"{where}: {name}"
            assert_within(value, real[name], f"{where} {name}")
    elif isinstance(said, list):
        assert isinstance(real, list), where
        for mine, other in zip(said, real, strict=False):
            assert_within(mine, other, where)
    else:
        assert said is real or real is type(None), f"{where}: {said} for {real}"


@pytest.mark.parametrize("name", SCENARIOS)
def test_records_say_which_engine_answered_and_are_small(name):
    recording = Recording.read(name)
    assert (recording.engine, recording.scenario) == ("vllm", name)
    assert recording.version.startswith("0.")
    assert len(json.dumps(recording.exchanges)) < 150_000
    for each in recording.exchanges:
        assert each.keys() == {"method", "path", "request", "status", "answer"}
