"""Judges on servers: the same verdicts as here, whatever the wire format."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest

from perspective_rag import ConfigError, JudgeError
from perspective_rag.flow.driver import arun, run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL, CrossEncoderJudge
from perspective_rag.protocols import Judge, JudgesSides
from perspective_rag.testing import JUDGE_CHECKS, JudgeCase
from perspective_rag.types import Passage, Perspective
from perspective_rag_scale import RemoteJudge
from perspective_rag_scale.named_servers import remote_embedder, remote_judge
from tests.addons.scale.remote.conftest import LABELS
from tests.addons.scale.remote.servers import HELD, ModelServer, Refused, kserve, tei, vllm

VOCABULARY = json.loads((DEFAULT_MODEL / "config.json").read_text(encoding="utf-8"))["vocab_size"]
CLAIM = "Zoos should be closed."
SIDES = (
    Perspective("for", CLAIM, "support", CLAIM),
    Perspective("against", "Zoos should stay open.", "oppose", CLAIM),
)
TEXTS = [
    "Zoos keep animals in cages far too small for them, and many fall ill.",
    "The zoo in the old town was opened in 1874 and has two cafes.",
    "Zoos have saved several species that had died out in the wild.",
    "",
    "港を駐車場にするべきではない。",
    "A sign says [SEP] Zoos should be closed. [CLS] and nobody [MASK] reads it.",
    "The keepers were kind. The cages were clean. " * 40 + "Still, zoos must be closed at once.",
    "zoos" * 400,
]
PASSAGES = [Passage(str(place), text) for place, text in enumerate(TEXTS)]
ENGINES = ["tei", "vllm", "kserve"]


def served(engine, model, vocabulary=VOCABULARY):
    made = {"tei": tei, "kserve": kserve}
    return ModelServer(
        made[engine](model) if engine in made else vllm(model, vocabulary=vocabulary)
    )


def judge_at(server, engine, **options):
    address = f"{server.url}/v2/models/judge" if engine == "kserve" else server.url
    return RemoteJudge(address, engine=engine, **options)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_packaged_judge_on_a_server_says_what_it_says_here(engine, packaged):
    local = CrossEncoderJudge()
    with served(engine, packaged) as server:
        judge = judge_at(server, engine, batch_size=7)
        assert isinstance(judge, Judge)
        assert isinstance(judge, JudgesSides)
        book = Recorder(strict=True)
        found = run(judge.judge(SIDES, PASSAGES), book)
        expected = run(local.judge(SIDES, PASSAGES), Recorder(strict=True))
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert book.counts["judged_pairs"] == len(PASSAGES)
        relevance = np.linspace(0.3, 0.8, len(PASSAGES))
        np.testing.assert_allclose(
            run(judge.judge_sides(SIDES, PASSAGES, relevance)),
            run(local.judge_sides(SIDES, PASSAGES, relevance)),
            atol=1e-5,
        )
    assert (judge.threshold, judge.listing) == (local.threshold, local.listing)
    assert judge.sides_listing == local.sides_listing
    assert max(len(body.get("inputs", body.get("input"))) for body in server.bodies if body) <= 7


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("check", JUDGE_CHECKS)
def test_conformance(engine, check, tiny, folder):
    words = len(
        json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    )
    down = ModelServer(lambda path, body: (_ for _ in ()).throw(Refused(500, "down")))
    with served(engine, tiny, words) as server, down:

        def failing():
            return judge_at(down, engine, model=folder, max_retries=0)

        case = JudgeCase(lambda: judge_at(server, engine, model=folder), failing)
        assert JUDGE_CHECKS[check](case)


def test_a_server_that_gives_probabilities_for_logits_is_read_as_such(packaged):
    with ModelServer(vllm(packaged, vocabulary=VOCABULARY, knows_activation=False)) as server:
        found = run(judge_at(server, "vllm").judge(SIDES, PASSAGES[:3]), Recorder(strict=True))
    np.testing.assert_allclose(
        found, run(CrossEncoderJudge().judge(SIDES, PASSAGES[:3])), atol=1e-5
    )


def test_a_text_with_special_tokens_is_read_as_text(packaged):
    with served("tei", packaged) as server:
        run(judge_at(server, "tei").judge(SIDES, PASSAGES[5:6]))
        (body,) = server.asked("/predict")
    assert "[SEP]" not in body["inputs"][0][0]
    ids = packaged.tokenizer.encode(*body["inputs"][0]).ids
    assert ids.count(packaged.tokenizer.token_to_id("[SEP]")) == 2  # its own


@pytest.mark.parametrize("engine", ENGINES)
async def test_the_event_loop_goes_on_while_a_server_thinks(engine, tiny, folder):
    words = tiny.tokenizer.get_vocab_size()
    with served(engine, tiny, words) as server:
        server.fault = lambda number, path: HELD if number > 0 else None
        judge = judge_at(server, engine, model=folder)
        asked = asyncio.ensure_future(arun(judge.judge(SIDES, [Passage("a", "yes")])))
        while len(server.paths) < 2:
            await asyncio.sleep(0.005)
        server.released.set()
        assert (await asked)[0, 0] > 0.9


def labelled(labels):
    def change(model):
        return type(model)(labels, model.tokenizer, model.logits)

    return change


@pytest.mark.parametrize("engine", ["tei", "vllm"])
@pytest.mark.parametrize(
    "labels",
    [
        ("oppose", "support", "neutral"),
        ("entailment", "neutral", "contradiction"),
        ("LABEL_0", "LABEL_1", "LABEL_2"),
    ],
)
def test_other_labels_are_an_error_that_names_both(engine, labels, tiny, folder):
    model = labelled(labels)(tiny)
    # vLLM names the label of the best class alone: the first class must be it once.
    asked = [Passage("a", "yes"), Passage("b", "no"), Passage("c", "maybe")]
    with served(engine, model, tiny.tokenizer.get_vocab_size()) as server:
        judge = judge_at(server, engine, model=folder)
        with pytest.raises(
            ConfigError, match=r"expected .*'support', 'oppose', 'neutral'"
        ) as caught:
            run(judge.judge(SIDES, asked))
        assert labels[0] in str(caught.value) or engine == "vllm"
    with served("tei", model) as server, pytest.raises(ConfigError, match="labels"):
        judge_at(server, "tei", model=folder).check()


def test_an_order_that_changes_while_the_server_runs_is_found(tiny, folder):
    with served("tei", tiny) as server:
        judge = judge_at(server, "tei", model=folder)
        judge.check()
        server.answer = tei(labelled(("yes", "no", "maybe"))(tiny))
        with pytest.raises(ConfigError, match="'yes'"):
            run(judge.judge(SIDES, PASSAGES[:1]))


@pytest.mark.parametrize("engine", ENGINES)
def test_another_number_of_classes_is_an_error(engine, tiny, folder):
    two = type(tiny)(LABELS[:2], tiny.tokenizer, lambda ids, kinds: tiny.logits(ids, kinds)[:2])
    there = served(engine, two, tiny.tokenizer.get_vocab_size())
    with there as server, pytest.raises(ConfigError, match=r"expected .*'neutral'"):
        judge_at(server, engine, model=folder).check()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": {"embedding": {"pooling": "mean"}}}, "serves embedding model; expected a"),
        ({"max_input_length": 16}, "reads at most 16 tokens, the judge 32"),
    ],
)
def test_a_server_of_embeddings_or_of_short_texts_is_an_error(change, message, tiny, folder):
    there = ModelServer(lambda path, body: {**tei(tiny)("/info", None), **change})
    with there as server, pytest.raises(ConfigError, match=message):
        judge_at(server, "tei", model=folder).check()


def test_vllm_with_a_folder_that_was_not_exported_says_what_to_do(tiny, folder):
    with served("vllm", tiny, tiny.tokenizer.get_vocab_size() // 2) as server:
        with pytest.raises(ConfigError, match="judge export --to vllm"):
            judge_at(server, "vllm", model=folder).check()
        with pytest.raises(ConfigError, match="serves '/models/judge'; expected 'other'"):
            judge_at(server, "vllm", model=folder, served="other").check()


def test_of_several_models_on_vllm_one_must_be_named(tiny, folder):
    def two(path, body):
        found = vllm(tiny)(path, body)
        if path == "/v1/models":
            found["data"].append({**found["data"][0], "id": "other"})
        return found

    with ModelServer(two) as server:
        with pytest.raises(ConfigError, match="'other'; name one of them: served="):
            judge_at(server, "vllm", model=folder).check()
        judge_at(server, "vllm", model=folder, served="other").check()


def test_vllm_is_probed_anew_by_each_check(tiny, folder):
    with ModelServer(vllm(tiny, knows_activation=False)) as server:
        judge = judge_at(server, "vllm", model=folder)
        judge.check()
        assert judge._wire._logits is False
        server.answer = vllm(tiny)
        judge.check()
        assert judge._wire._logits is True


def test_a_triton_model_with_other_inputs_is_an_error(tiny, folder):
    card = kserve(tiny)("/v2/models/judge", None)
    other = {**card, "inputs": [{"name": "x", "datatype": "FP32", "shape": [1]}]}
    there = ModelServer(lambda path, body: other)
    with there as server, pytest.raises(ConfigError, match="takes x; expected input_ids"):
        judge_at(server, "kserve", model=folder).check()


def test_nobody_there_is_a_judge_error_at_the_start_and_a_degradation_later(folder):
    judge = RemoteJudge("http://127.0.0.1:9", model=folder, max_retries=0)
    with pytest.raises(JudgeError, match=r"http://127\.0\.0\.1:9: ConnectError"):
        judge.check()
    book = Recorder()
    assert np.isnan(run(judge.judge(SIDES, PASSAGES[:2]), book)).all()
    assert "4 of 4 pairs" in book.degradations[0].message
    with pytest.raises(JudgeError):
        run(judge.judge(SIDES, PASSAGES[:2]), Recorder(strict=True))


def test_a_call_that_is_given_up_hangs_up(tiny, folder):
    with served("tei", tiny) as server:
        judge = judge_at(server, "tei", model=folder, timeout=600)
        judge.check()
        server.fault = lambda number, path: HELD
        book = Recorder()
        assert np.isnan(run(judge.judge(SIDES, PASSAGES[:1]), book, Limits(timeout=1.0))).all()
        assert "did not answer within" in repr(book.degradations[0].error)
        for _ in range(1000):
            if server.hung_up == len(server.paths) - 1:
                break
            server.released.wait(0.01)
        assert server.hung_up == len(server.paths) - 1  # whatever came of it


def test_a_folder_without_tokenizer_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"config\.json is missing: a judge on a server needs"):
        RemoteJudge("http://127.0.0.1:9", model=tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "tie"}, "did you mean 'tei'"),
        ({"max_retry": 1}, "did you mean 'max_retries'"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0"),
        ({"batch_size": 0}, "batch_size must be a whole number, at least 1"),
        ({"served": "m"}, "served names a model of a vLLM server"),
    ],
)
def test_options_are_checked(options, message, folder):
    with pytest.raises(ConfigError, match=message):
        RemoteJudge("http://127.0.0.1:9", model=folder, **options)


def test_servers_by_a_word(folder, monkeypatch):
    monkeypatch.setenv("TEI_API_KEY", "tk-123456789")
    judge = remote_judge(f"tei:{folder}@http://me:word@host:1/", timeout=5)
    assert judge.name == f"{folder}@host:1"
    assert remote_judge("kserve:http://host:1/v2/models/judge").name.endswith(
        "host:1/v2/models/judge"
    )
    assert remote_embedder("vllm:some/model@http://host:1/v1").name == "some/model@host:1"
    for wrong in ("tei:host:8080", "tie:http://host", "tei:"):
        with pytest.raises(ConfigError, match="expected tei or vllm or kserve, then"):
            remote_judge(wrong)
    with pytest.raises(ConfigError, match="needs model="):
        remote_embedder("openai:http://host/v1")
    assert judge.revision != remote_judge(f"tei:{folder}@http://other:1").revision


@pytest.mark.parametrize(
    ("path", "reply", "said"),
    [
        (
            "/v2/models/nope",
            Refused(404, {"error": "Model nope not found"}),
            "Model nope not found",
        ),
        ("/v2/models/nope", Refused(400, {"error": "unknown model: 'nope'"}), "unknown model"),
        ("", Refused(404, {"detail": "Not Found"}), "Not Found"),
        ("/v2", {"name": "mlserver", "version": "1.7.1", "extensions": []}, "names no inputs"),
        ("/v2/models/bare", {"name": "bare", "platform": ""}, "names no inputs"),
    ],
)
def test_kserve_at_an_address_of_no_such_model_says_what_to_give(path, reply, said, folder):
    def answer(asked, body):
        assert asked == (path or "/")
        if isinstance(reply, Refused):
            raise reply
        return reply

    with ModelServer(answer) as server:
        judge = RemoteJudge(f"{server.url}{path}", engine="kserve", model=folder, max_retries=0)
        with pytest.raises(ConfigError, match="ends in /v2/models/NAME") as caught:
            judge.check()
        assert said in str(caught.value)


def test_tei_counts_each_pair_as_a_request(tiny, folder):
    """A batch of more pairs than --max-concurrent-requests is overloaded, however often."""

    def narrow(path, body):
        found = tei(tiny)(path, body)
        if path == "/info":
            return {**found, "max_concurrent_requests": 5}
        if len(body["inputs"]) > 5:
            raise Refused(429, {"error": "Model is overloaded", "error_type": "Overloaded"})
        return found

    with ModelServer(narrow) as server:
        judge = judge_at(server, "tei", model=folder, max_concurrency=1, max_retries=0)
        support = run(judge.judge(SIDES[:1], PASSAGES), Recorder(strict=True))
        assert np.isfinite(support).all()
        assert max(len(body["inputs"]) for body in server.asked("/predict")) == 5
