"""What the wrappers of frameworks share: parts, models held to a schema, adapters of stores."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from perspective_rag import (
    Completion,
    ConfigError,
    Limiter,
    LLMError,
    Passage,
    PipelineOptions,
    Prompt,
)
from perspective_rag.extend import (
    OPTION_NAMES,
    SEARCH_NAMES,
    ChooserArguments,
    StoreAdapter,
    WrappedEmbedder,
    WrappedLLM,
    WrapperArguments,
    WrapperParts,
    faiss_vectors,
    hit_of,
    token_counts,
)
from perspective_rag.testing import TableJudge


def test_keyword_arguments_become_parts_and_options():
    judge, limiter = TableJudge(), Limiter(3)
    given = {"judge": judge, "perspectives": ["Yes."], "top_k": 3, "lambda_mult": 0.5}
    parts = WrapperParts.of({**given, "limiter": limiter, "options": {"k": 9, "fetch_k": 7}})
    assert (parts.judge, parts.perspectives, parts.limiter) == (judge, ("Yes.",), limiter)
    assert parts.options == PipelineOptions(k=3, fetch_k=7, mmr_lambda=0.5)
    plain = WrapperParts.of({"limiter": None}, options=PipelineOptions(k=2))
    assert plain.judge == "default"
    assert isinstance(plain.limiter, Limiter)
    assert plain.options.k == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"lambda_mul": 0.5}, "lambda_mult"),
        ({"ilter": 1}, "filter"),
        ({"judge": "accurate"}, 'judge must be "default", None, or a Judge'),
        ({"limiter": 4}, "a Limiter"),
        ({"options": 4}, "options must be a mapping, or PipelineOptions"),
        ({"perspectives": "Zoos help"}, "perspectives must be a list"),
        ({"score_kind": "rank"}, "score_kind must be"),
    ],
)
def test_what_cannot_be_used_is_refused(given, said):
    with pytest.raises(ConfigError, match=said):
        WrapperParts.of(given, parameters=["filter"])


@pytest.mark.parametrize("name", SEARCH_NAMES)
def test_what_concerns_a_search_is_refused_where_nothing_is_searched(name):
    with pytest.raises(ConfigError, match=f"{name} has no effect here: nothing is searched"):
        WrapperParts.of({name: 1}, without=SEARCH_NAMES)


def test_type_checkers_know_every_part_and_every_option():
    parts = {each.name for each in dataclasses.fields(WrapperParts)}
    searching, choosing = WrapperArguments.__annotations__, ChooserArguments.__annotations__
    assert {*parts, *OPTION_NAMES} <= searching.keys()
    assert set(SEARCH_NAMES) == searching.keys() - choosing.keys()


class Model(WrappedLLM[str]):
    """Refuses schemas, or says nothing at all; its messages repeat its key."""

    def __init__(self, *, refuses=True, fails=False):
        super().__init__("model")
        self.refuses, self.fails, self.asked = refuses, fails, []

    def hold(self, prompt):
        return "held"

    def request(self, prompt, held):
        def send():
            self.asked.append(held)
            if self.fails or (held and self.refuses):
                raise ValueError("no: sk-secret")
            return "yes: sk-secret"

        return send, None

    def read(self, reply, held):
        return Completion(reply)

    def secrets(self):
        return ["sk-secret"]


async def replied(complete, prompt):
    reply = complete(prompt)
    return reply if isinstance(reply, Completion) else await reply


PLAIN = Prompt("sides", "Which?")
HELD = dataclasses.replace(PLAIN, schema={"type": "object"})


@pytest.mark.parametrize("way", ["complete", "acomplete"])
async def test_a_model_is_held_to_schemas_until_it_refuses_one(way):
    async def ask(model, prompt):
        return await replied(getattr(model, way), prompt)

    model = Model()
    for prompt in (HELD, HELD, PLAIN):
        reply = await ask(model, prompt)
        assert "sk-secret" not in reply.text
    assert model.asked == ["held", None, None, None]
    willing = Model(refuses=False)
    await ask(willing, HELD)
    await ask(willing, HELD)
    assert willing.asked == ["held", "held"]
    failing = Model(fails=True)
    for _ in range(2):
        with pytest.raises(LLMError, match="model gave no reply") as error:
            await ask(failing, HELD)
        assert "sk-secret" not in str(error.value)
    assert failing.asked == ["held", None] * 2, "it did not refuse the schema alone"


@pytest.mark.parametrize("way", ["complete", "acomplete"])
async def test_a_key_that_the_model_learns_during_the_request_is_not_told(way):
    class Lazy(Model):
        key = ""

        def request(self, prompt, held):
            def send():
                self.key = "opensesame"
                raise ValueError("no: opensesame")

            return send, None

        def secrets(self):
            return [self.key]

    with pytest.raises(LLMError, match="no: ") as error:
        await replied(getattr(Lazy(), way), PLAIN)
    assert "opensesame" not in f"{error.value}{error.value.__cause__}"


def test_queries_go_one_at_a_time_unless_the_model_embeds_them_as_passages():
    batches = []

    def many(texts):
        batches.append(texts)
        return [[2.0, 0.0]] * len(texts)

    apart = WrappedEmbedder(SimpleNamespace(relevance_floor=0.2), lambda text: [1.0, 0.0], many)
    assert apart.embed_queries(["a", "b"]).tolist() == [[1.0, 0.0]] * 2
    assert apart.relevance_floor == 0.2
    alike = WrappedEmbedder(object(), lambda text: [1.0, 0.0], many, alike=True)
    assert alike.embed_queries(["a", "b"]).tolist() == [[2.0, 0.0]] * 2
    assert (alike.relevance_floor, batches) == (None, [["a", "b"]])


def test_tokens_are_counted_wherever_a_server_tells_them():
    assert token_counts(None, {"input_tokens": 3}, SimpleNamespace(completion_tokens=2)) == (3, 2)
    assert token_counts({"prompt_tokens": "many"}) == (0, 0)


PASSAGES = [Passage("a", "One.", {"key": 7}), Passage("b", "Two."), Passage("a", "One.")]


def test_vectors_are_read_once_and_put_where_their_passages_are():
    asked = []

    def read(store, ids):
        asked.append(list(ids))
        return {"a": [3.0, 4.0]}

    adapter = StoreAdapter(vectors=read, at_hand=True)
    rows = adapter.matrix(None, PASSAGES)
    assert asked == [["a", "b"]]
    assert rows[[0, 2]].tolist() == [[3.0, 4.0]] * 2
    assert np.isnan(rows[1]).all()
    hits = adapter.hits(None, PASSAGES, np.array([1.0, 0.0]))
    assert [hit.score for hit in hits] == [pytest.approx(0.6), None, pytest.approx(0.6)]
    assert [hit.score for hit in adapter.hits(None, PASSAGES, None)] == [None] * 3
    far = dataclasses.replace(adapter, at_hand=False)
    assert [hit.score for hit in far.hits(None, PASSAGES, np.array([1.0, 0.0]))] == [None] * 3
    StoreAdapter(vectors=read, id_key="key").matrix(None, PASSAGES)
    assert asked[-1] == [7, "b", "a"]


def test_a_faiss_index_is_asked_by_place_and_changes_are_seen():
    class Index:
        def reconstruct_batch(self, places):
            return [[float(place)] for place in places]

    index, names = Index(), {0: "a", 1: "b"}
    assert faiss_vectors(index, names, ["b", "x"]) == {"b": [1.0]}
    names.clear()
    names.update({0: "b"})
    assert faiss_vectors(index, names, ["b"]) == {"b": [0.0]}

    def refuse(places):
        raise RuntimeError("direct map not initialized")

    index.reconstruct_batch = refuse
    assert faiss_vectors(index, names, ["b"]) == {}


def test_a_hit_has_a_cosine_where_both_vectors_are_known():
    row = np.array([0.0, 2.0])
    assert hit_of(PASSAGES[1], row, np.array([0.0, 1.0]), 9.0).score == 1.0
    for vector in (None, np.array([1.0])):
        hit = hit_of(PASSAGES[1], row, vector, 9.0)
        assert (hit.score, hit.embedding is row) == (9.0, True)


def test_a_store_has_the_adapter_of_its_nearest_known_class():
    class Base:
        pass

    class Own(Base):
        pass

    near, far = StoreAdapter(at_hand=True), StoreAdapter(id_key="pk")
    package = __name__.split(".")[0]
    assert StoreAdapter.of(Own(), {"Base": far, f"{package}.Own": near}) is near
    assert StoreAdapter.of(Own(), {"Base": far, "other.Own": near}) is far
    assert StoreAdapter.of(object(), {"Base": far}) == StoreAdapter()
