"""What our clients ask a real server: the same when it is recorded and when it is answered again.

Each takes the server's address, without a path, and the name that the server has for its model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perspective_rag import OpenAICompatibleLLM
from perspective_rag.errors import LLMError, RetrievalError
from perspective_rag.flow.driver import run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.request import Recorder
from perspective_rag.types import Passage, Perspective, Prompt
from perspective_rag_scale import RemoteEmbedder, RemoteJudge
from tests.addons.scale.remote.exchanges import asked

SECONDS = 600.0
CLAIM = "Zoos should be closed."
SIDES = (
    Perspective("for", CLAIM, "support", CLAIM),
    Perspective("against", "Zoos should stay open.", "oppose", CLAIM),
)
PASSAGES = [
    Passage("close", "Zoos lock animals up for our amusement, and so they should be closed."),
    Passage("keep", "Zoos should stay open, for they have saved species from extinction."),
    Passage("other", "The tram to the harbour runs every ten minutes."),
]
TEXTS = ["Zoos keep animals in cages.", " ", "Animals live behind bars in a zoo."]
LONG = "zoos are old " * 400
YES_NO = Prompt("p", "Is Paris in France? Answer yes or no.", choices=("yes", "no"), max_tokens=4)
SCHEMA = {
    "type": "object",
    "properties": {"sides": {"type": "array", "items": {"type": "string"}, "maxItems": 2}},
    "required": ["sides"],
    "additionalProperties": False,
}
JSON = Prompt("p", "Name two sides of the debate on zoos.", "Be brief.", SCHEMA, max_tokens=40)
FREE = Prompt("p", "What is the capital of France?", max_tokens=8)
TOO_LONG = Prompt("p", LONG, choices=("yes", "no"), max_tokens=4)


def embeddings(url: str, model: str) -> dict[str, Any]:
    """An embedding model: vectors, a text that is too long, a model that is not there, scores."""
    found: dict[str, Any] = {}
    embedder = RemoteEmbedder(f"{url}/v1", engine="vllm", model=model, timeout=SECONDS)
    found["rows"] = embedder.embed_passages(TEXTS)
    found["cut"] = embedder.embed_passages([LONG])
    embedder.close()
    # As an OpenAI-compatible server it is not told to cut a text, and refuses one.
    for name, served, text in (("long", model, LONG), ("unknown", "other", "Zoos.")):
        other = RemoteEmbedder(f"{url}/v1", engine="openai", model=served, timeout=SECONDS)
        try:
            found[name] = other.embed_queries([text])
        except RetrievalError as error:
            found[name] = error
        other.close()
    pair = {"model": model, "text_1": TEXTS[0], "text_2": [TEXTS[2], PASSAGES[2].text]}
    found["scores"] = asked(f"{url}/score", pair)
    return found


def classify(url: str, model: str) -> dict[str, Any]:
    """The packaged judge, exported: verdicts, and what it is not asked for."""
    found: dict[str, Any] = {}
    judge = RemoteJudge(url, engine="vllm", timeout=SECONDS)
    flow = judge.judge(SIDES, PASSAGES)
    found["support"] = run(flow, Recorder(strict=True), Limits(timeout=None))
    judge.close()
    ids = {"model": model, "input": [[101, 10**6, 102]], "add_special_tokens": False}
    found["out of vocabulary"] = asked(f"{url}/classify", ids)
    pair = {"model": model, "text_1": CLAIM, "text_2": [PASSAGES[0].text]}
    found["score"] = asked(f"{url}/score", pair)
    return found


def chat(url: str, model: str) -> dict[str, Any]:
    """A language model: choices with log-probabilities, JSON, text, and what it refuses."""
    found: dict[str, Any] = {}
    how: dict[str, Any] = {"base_url": f"{url}/v1", "timeout": SECONDS, "max_retries": 0}
    llm = OpenAICompatibleLLM(model, constrain_choices=True, **how)
    for name, prompt in (("choice", YES_NO), ("json", JSON), ("text", FREE)):
        found[name] = llm.complete(prompt)
    other = OpenAICompatibleLLM("other", **how)
    for name, client, prompt in (("long", llm, TOO_LONG), ("unknown", other, FREE)):
        try:
            found[name] = client.complete(prompt)
        except LLMError as error:
            found[name] = error
        client.close()
    found["again"] = llm.complete(YES_NO)  # what refused a prompt still gives log-probabilities
    llm.close()
    return found


SCENARIOS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "embeddings": embeddings,
    "classify": classify,
    "chat": chat,
}
