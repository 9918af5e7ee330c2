"""The published judges by name, asked through a real HTTP server on localhost."""

from __future__ import annotations

import numpy as np
import pytest

from perspective_rag.errors import ConfigError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.cross_encoder import CrossEncoderJudge
from perspective_rag.judge.llm import PRESETS, LLMJudge
from perspective_rag.local.judges import load_judge
from perspective_rag.prompts import load_prompt
from perspective_rag.types import Passage, Perspective
from tests.contract import openai_server as fake

pytest.importorskip("openai")

PRO = Perspective("pro", "zoos should close")
PASSAGES = [Passage("a", "cages are cruel"), Passage("b", "zoos save species")]
SERVED = [name for name, preset in PRESETS.items() if "server" in preset.engines]


@pytest.mark.parametrize("name", SERVED)
def test_every_served_preset_asks_in_its_own_way(name):
    preset = PRESETS[name]

    def answer(body, server):
        yes = 0.6 if "cages" in str(body["messages"]) else 0.1
        return fake.chat("Yes", logprobs=[{"Yes": yes, " yes": 0.1, "No": 0.8 - yes, "Hm": 0.1}])

    with fake.OpenAIServer(answer) as server:
        judge = load_judge(name, engine="server", base_url=server.url)
        book = Recorder(strict=True)
        found = run(judge.judge([PRO], PASSAGES), book)
    np.testing.assert_allclose(found[:, 0], [0.7 / 0.9, 0.2 / 0.9])
    assert book.counts["judged_pairs"] == 2
    assert {body["model"] for body in server.bodies} == {preset.model}
    wording = preset.wording
    roles = [message["role"] for message in server.bodies[0]["messages"]]
    assert roles == (["system", "user"] if wording.system == "own" else ["user"])
    said = server.bodies[0]["messages"][-1]["content"]
    told = load_prompt(wording.prompt).system
    assert (told in said) == (wording.system == "user")
    assert ("<passage-example>" in said) == (name == "gpt-4-one-shot")


def test_a_prompt_of_the_users_own_takes_the_place_of_ours(tmp_path):
    path = tmp_path / "theirs.txt"
    path.write_text("Be short.\n--- user ---\nD: {{passage}} S: {{perspective}}", encoding="utf-8")
    with fake.OpenAIServer(lambda body, server: fake.chat("Yes, it does.")) as server:
        judge = load_judge("gpt-4", base_url=server.url, prompt=path)
        assert run(judge.judge([PRO], PASSAGES[:1]))[0, 0] == 1.0
    assert server.bodies[0]["messages"][0] == {"role": "system", "content": "Be short."}
    assert server.bodies[0]["messages"][1]["content"].endswith("S: zoos should close")
    assert judge.revision != load_judge("gpt-4", base_url=server.url).revision


def test_every_preset_is_made_without_loading_anything():
    for name, preset in PRESETS.items():
        judge = load_judge(name)
        assert isinstance(judge, CrossEncoderJudge if preset.wording is None else LLMJudge)
        assert preset.model.split("/")[-1] in judge.name
        assert judge.threshold == 0.5
    assert len({load_judge(name).revision for name in PRESETS}) == len(PRESETS)


def test_what_does_not_go_together_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="classifier"):
        load_judge("roberta-large-mnli", prompt=tmp_path / "p.txt")
    with pytest.raises(ConfigError, match="server"):
        load_judge("gpt-4", engine="transformers")
    with pytest.raises(ConfigError, match="adapters"):
        load_judge("zephyr-7b", engine="server", adapter="x")
