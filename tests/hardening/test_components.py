"""Components that break their promises: each degrades or is an error of the library's that says
which component it was.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from perspective_rag import (
    CachedLLM,
    CascadeJudge,
    ConfigError,
    PerspectivePipeline,
    PerspectiveRAGError,
    RetrievalError,
)
from perspective_rag.extend import WatchedJudge, annotations_of
from perspective_rag.flow.request import Recorder
from perspective_rag.flow.steps import Call, Reply
from perspective_rag.perspectives.llm import LLMExtractor
from perspective_rag.protocols import Projected, Reranked
from perspective_rag.search.search import Plain
from perspective_rag.storage.sqlite_cache import SqliteCache
from perspective_rag.testing import HashEmbedder, MemoryStore, RuleJudge, ScriptedLLM, TableJudge
from perspective_rag.testing.samples import PERSPECTIVES, QUESTION, SAMPLE
from perspective_rag.types import Completion, Extraction, Hit, Passage, Perspective, Prompt, Query


def str_of(value):
    return f"{value!r:.20}"


class Odd:
    """A store that returns whatever it is given."""

    takes_vector = False

    def __init__(self, returned):
        self.returned = returned

    def search(self, text, vector, *, k, filter=None):
        return self.returned() if callable(self.returned) else self.returned

    async def asearch(self, text, vector, *, k, filter=None):
        return self.search(text, vector, k=k, filter=filter)


def hits(count=6, **changes):
    return [Hit(passage, **changes) for passage in SAMPLE[:count]]


def fails_later():
    yield Hit(SAMPLE[0])
    raise ConnectionError("the cursor was closed")


def never_ends():
    while True:
        yield Hit(SAMPLE[0])


async def both(pipeline, question=QUESTION, **options):
    """The outcome of a request, which is the same when it is awaited."""
    outcomes = []
    for awaited in (False, True):
        try:
            if awaited:
                result = await pipeline.aretrieve(question, **options)
            else:
                result = pipeline.retrieve(question, **options)
            outcomes.append(([p.id for p in result.passages], result))
        except PerspectiveRAGError as error:
            outcomes.append(((type(error), str(error)), error))
    assert outcomes[0][0] == outcomes[1][0]
    return outcomes[0][1]


@pytest.mark.parametrize(
    "returned",
    [None, 7, "text", b"bytes", {"a": 1}, object(), [1, 2], ["text"], [None], [Hit(None)],
     [Hit(Passage("a", None))], [Hit(Passage("a", "text", metadata=None))], fails_later,
     lambda: (_ for _ in ()).throw(MemoryError()), lambda: 1 / 0],
)  # fmt: skip
async def test_a_store_that_returns_no_hits_is_an_error_that_names_it(returned):
    error = await both(PerspectivePipeline(Odd(returned)))
    assert isinstance(error, RetrievalError)
    assert "Odd" in str(error)


async def test_hits_among_other_things_are_used_and_the_others_recorded():
    store = Odd([Hit(SAMPLE[0]), None, Hit(Passage("b", None)), Hit(SAMPLE[1])])
    result = await both(PerspectivePipeline(store))
    assert [p.id for p in result.passages] == [SAMPLE[0].id, SAMPLE[1].id]
    assert "Odd returned None" in result.trace.degradations[0].message


async def test_a_store_that_goes_on_for_ever_is_read_as_far_as_it_was_asked_to():
    result = await both(PerspectivePipeline(Odd(never_ends)))
    assert result.passages == [SAMPLE[0]]


@pytest.mark.parametrize(
    "score", [math.nan, math.inf, -math.inf, "high", True, [1], 10**400], ids=str_of
)
async def test_a_score_that_is_no_number_is_no_score(score):
    result = await both(PerspectivePipeline(Odd(lambda: hits(score=score))))
    assert [p.id for p in result.passages] == [p.id for p in SAMPLE[:5]]
    assert all(math.isfinite(v) for c in result.candidates for v in c.scores.values())


class Array:
    def __array__(self, *args, **kwargs):
        raise RuntimeError("no array")


@pytest.mark.parametrize(
    "embedding",
    [[1.0, 2.0], np.ones((2, 2)), np.full(64, np.nan), "vector", 3.0, np.zeros(0), Array(),
     [[1.0], [1.0, 2.0]], np.ones(64, dtype=complex)],
)  # fmt: skip
async def test_vectors_that_are_none_are_made_anew(embedding):
    store = Odd(lambda: hits(embedding=embedding))
    result = await both(PerspectivePipeline(store, embedder=HashEmbedder(), mmr_lambda=0.5))
    plain = PerspectivePipeline(Odd(hits), embedder=HashEmbedder(), mmr_lambda=0.5)
    assert result.passages == plain.retrieve(QUESTION).passages


async def test_vectors_of_different_width_are_left_out_and_recorded():
    rows = [np.ones(64), np.ones(3), np.ones(64), np.ones(64), np.ones(7), np.ones(64)]
    store = Odd([Hit(p, embedding=row) for p, row in zip(SAMPLE, rows, strict=False)])
    store.embeddings_of = lambda passages: np.full((len(passages), 64), np.nan)
    result = await both(PerspectivePipeline(store, mmr_lambda=0.5))
    assert len(result.passages) == 5
    assert "Odd have 3, 7 dimensions instead of 64" in str(result.trace.degradations)


@pytest.mark.parametrize(
    "rows",
    [None, 3, "rows", [], [[1.0]], np.ones((6, 3)), [[1.0], [1.0, 2.0]], np.full((6, 64), np.inf)],
)
async def test_a_store_that_returns_odd_vectors_is_done_without_them(rows):
    store = Odd(hits)
    store.embeddings_of = lambda passages: rows
    result = await both(PerspectivePipeline(store, embedder=HashEmbedder(), mmr_lambda=0.5))
    assert len(result.passages) == 5


class Wide(HashEmbedder):
    def embed_passages(self, texts):
        return np.ones((len(texts), 7))

    def embed_queries(self, texts):
        return HashEmbedder().embed_queries(texts)


async def test_an_embedder_whose_vectors_differ_in_width_is_recorded_by_name():
    result = await both(
        PerspectivePipeline(MemoryStore(SAMPLE, takes_vector=False), embedder=Wide())
    )
    assert len(result.passages) == 5
    assert "embedder Wide has 7 dimensions where 64 are expected" in str(result.trace.degradations)


@pytest.mark.parametrize(
    "rows", [None, 3, "rows", [], [[1.0], [1.0, 2.0]], np.full((1, 64), np.nan), Array(), [["a"]]]
)
async def test_an_embedder_that_returns_no_vectors_is_an_error_that_names_it(rows):
    class Broken(HashEmbedder):
        def embed_queries(self, texts):
            return rows

    error = await both(PerspectivePipeline(MemoryStore(SAMPLE), embedder=Broken()))
    assert isinstance(error, PerspectiveRAGError)
    assert "Broken" in str(error)


class Judging:
    """A judge that returns whatever it is given."""

    name, threshold = "judging", 0.5

    def __init__(self, returned, threshold=0.5):
        self.returned, self.threshold = returned, threshold

    def judge(self, perspectives, passages):
        if callable(self.returned):
            return self.returned((len(passages), len(perspectives)))
        return self.returned


async def judged(judge):
    pipeline = PerspectivePipeline(MemoryStore(SAMPLE), embedder=HashEmbedder(), judge=judge)
    return await both(pipeline, perspectives=PERSPECTIVES)


@pytest.mark.parametrize("value", [1.0000001, -1e-7, np.float32(1.0000001)])
async def test_a_probability_that_passes_1_by_rounding_is_1(value):
    result = await judged(Judging(lambda shape: np.full(shape, value)))
    assert result.trace.degradations == ()
    assert set(result.coverage.support.ravel()) == {round(float(value))}


@pytest.mark.parametrize(
    "returned",
    [None, 1, "yes", [], {"a": 1}, [["a", "b"]], [[10**400]], Array(), np.ones((1, 1)),
     lambda shape: np.full(shape, 1.1), lambda shape: np.full(shape, -math.inf),
     lambda shape: np.full(shape, 1j), lambda shape: 1 / 0,
     lambda shape: (_ for _ in ()).throw(StopIteration())],
)  # fmt: skip
async def test_a_judge_that_gives_no_table_degrades_or_is_named(returned):
    outcome = await judged(Judging(returned))
    said = str(outcome if isinstance(outcome, Exception) else outcome.trace.degradations)
    assert "judging" in said
    if not isinstance(outcome, Exception):
        assert len(outcome.passages) == 5
        assert outcome.coverage.unjudged == outcome.perspectives


@pytest.mark.parametrize("threshold", [None, "0.5", math.nan, 2.0, [0.5]])
async def test_a_threshold_that_is_no_probability_is_an_error_that_names_the_judge(threshold):
    judge = Judging(lambda shape: np.zeros(shape), threshold)
    error = await judged(judge)
    assert isinstance(error, ConfigError)
    assert "judging" in str(error)
    with pytest.raises(ConfigError, match="judging"):
        CascadeJudge(judge)


class Extracting:
    def __init__(self, make):
        self.make = make

    def extract(self, question):
        return self.make(question)


PRO = Perspective("pro", "parking brings shoppers")


@pytest.mark.parametrize(
    "make",
    [lambda q: None, lambda q: 3, lambda q: "text", lambda q: Extraction(None),
     lambda q: Extraction(q, "text"), lambda q: Extraction(q, (PRO, PRO)),
     lambda q: Extraction(q, (PRO,), kind="no kind"), lambda q: [Perspective("p", None)],
     lambda q: [Perspective("p", "text", weight="heavy")], lambda q: [PRO, PRO], lambda q: 1 / 0,
     lambda q: q.no_such_method(), lambda q: (_ for _ in ()).throw(ValueError("later"))],
)  # fmt: skip
async def test_an_extractor_that_finds_no_perspectives_degrades_or_is_named(make):
    outcome = await both(
        PerspectivePipeline(
            MemoryStore(SAMPLE), embedder=HashEmbedder(), extractor=Extracting(make)
        )
    )
    if isinstance(outcome, Exception):
        assert isinstance(outcome, ConfigError)
    else:
        assert len(outcome.passages) == 5
        assert outcome.trace.degradations


async def test_an_extraction_without_a_root_is_searched_by_its_question():
    extractor = Extracting(lambda q: Extraction("  ", (PRO,)))
    pipeline = PerspectivePipeline(
        MemoryStore(SAMPLE), embedder=HashEmbedder(), extractor=extractor
    )
    assert (await both(pipeline)).trace.queries[0].text == QUESTION


class Expanding:
    def __init__(self, make):
        self.make = make

    def expand(self, question, perspectives):
        return self.make(question)


@pytest.mark.parametrize(
    "make",
    [lambda q: None, lambda q: 3, lambda q: "text", lambda q: [None], lambda q: [Query(None)],
     lambda q: 1 / 0, lambda q: (_ for _ in ()).throw(ValueError("later")),
     lambda q: [Query("a", "nobody")] * 1000],
)  # fmt: skip
async def test_an_expander_without_queries_degrades_or_is_named(make):
    pipeline = PerspectivePipeline(
        MemoryStore(SAMPLE), embedder=HashEmbedder(), expander=Expanding(make)
    )
    outcome = await both(pipeline, perspectives=PERSPECTIVES)
    if isinstance(outcome, Exception):
        assert isinstance(outcome, ConfigError)
        assert "Expanding" in str(outcome)
    else:
        assert len(outcome.passages) == 5


class Projecting(Plain):
    """A projection one of whose methods does as it is told."""

    def __init__(self, method, outcome):
        object.__setattr__(self, "name", "projecting")
        object.__setattr__(self, "told", (method, outcome))

    def _do(self, method, otherwise):
        return self.told[1]() if self.told[0] == method else otherwise

    def texts(self, query, extraction):
        return self._do("texts", ())

    def query_vector(self, query, extraction, vectors):
        plain = Projected(vectors[query.text], reranks=True)
        return self._do("query_vector", plain)

    def rerank(self, projected, rows):
        return self._do("rerank", Reranked(None))


Projecting.__dataclass_fields__ = {}


@pytest.mark.parametrize("method", ["texts", "query_vector", "rerank"])
@pytest.mark.parametrize(
    "outcome",
    [lambda: 1 / 0, lambda: None, lambda: [3], lambda: Projected(np.ones(3)),
     lambda: Projected(np.full(64, np.nan)), lambda: Projected(None),
     lambda: Reranked(np.ones(3)), lambda: Reranked(np.full(22, np.nan))],
)  # fmt: skip
async def test_a_projection_that_fails_leaves_the_plain_query(method, outcome):
    made = {"embedder": HashEmbedder(), "fetch_k": 22}
    pipeline = PerspectivePipeline(
        MemoryStore(SAMPLE), projection=Projecting(method, outcome), **made
    )
    result = await both(pipeline, perspectives=PERSPECTIVES)
    plain = PerspectivePipeline(MemoryStore(SAMPLE), **made)
    wanted = plain.retrieve(QUESTION, perspectives=PERSPECTIVES)
    assert result.passages == wanted.passages
    assert "projection Projecting" in str(result.trace.degradations)


@pytest.mark.parametrize(
    "answering", [lambda result: 1 / 0, lambda result: None, lambda result: "text"]
)
async def test_an_answerer_that_fails_is_an_error_that_names_it(answering):
    class Answering:
        def answer(self, result):
            return answering(result)

    pipeline = PerspectivePipeline(
        MemoryStore(SAMPLE), embedder=HashEmbedder(), answerer=Answering()
    )
    result = pipeline.retrieve(QUESTION)
    with pytest.raises(PerspectiveRAGError, match="Answering"):
        pipeline.answer(result)
    with pytest.raises(PerspectiveRAGError, match="Answering"):
        await pipeline.aanswer(result)


@pytest.mark.parametrize("tokens", ["many", None, -4, 2.5, math.nan, True, [1]])
def test_tokens_that_are_no_count_count_nothing(tokens):
    recorder = Recorder()
    said = Completion("text", prompt_tokens=tokens, completion_tokens=7)
    recorder.batch([Call("llm", print)], [Reply(said)], 0.1)
    assert recorder.trace().prompt_tokens == (1 if tokens is True else 0)
    assert recorder.trace().completion_tokens == 7


@pytest.mark.parametrize(
    "reply",
    [None, 3, "", "{", "[" * 5000, "\ud800", Completion(None), ValueError("no"), "[[[[1]]]]"],
)
async def test_whatever_a_model_replies_a_question_is_answered(reply):
    llm = ScriptedLLM(lambda prompt: reply)
    pipeline = PerspectivePipeline(
        MemoryStore(SAMPLE), embedder=HashEmbedder(), extractor=LLMExtractor(llm)
    )
    result = await both(pipeline)
    assert len(result.passages) == 5


@pytest.mark.parametrize(
    "stored", ["{", "[]", "null", '{"reply": 3}', '{"reply": {"no": 1}}', b"\xff\xfe", 3.5, None]
)
def test_a_damaged_reply_in_the_cache_is_asked_for_anew(tmp_path, stored):
    path, prompt = tmp_path / "llm.sqlite", Prompt("p", "user")
    llm = ScriptedLLM(["fresh"])
    cached = CachedLLM(llm, path)
    other = SqliteCache(path, "llm_replies")
    if stored is not None:
        other.put({cached._key(prompt): stored})
        with pytest.warns(UserWarning, match="could not be read"):
            assert cached.complete(prompt).text == "fresh"
    else:
        other.put({cached._key(prompt): json.dumps({"reply": {"text": "kept"}})})
        assert cached.complete(prompt).text == "kept"


def test_a_cascade_tells_passages_without_ids_apart():
    passages = [Passage("", "zebra stripes"), Passage("", SAMPLE[0].text)]
    judge = CascadeJudge(TableJudge({}, default=0.9), embedder=HashEmbedder(), unrelated_below=0.4)
    near = judge._cosines([SAMPLE[0].text] * 2, passages)
    assert near[0] < 0.4 < near[1]


class Unspeakable:
    """A value whose own code fails whatever is asked of it."""

    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


@pytest.mark.parametrize("name", ["source", "url", "title", "other"])
@pytest.mark.parametrize("identity", ["1", ""])
async def test_metadata_that_cannot_be_written_costs_no_answer(name, identity):
    found = [Passage(identity, "Zoos are cruel to animals.", {name: Unspeakable()})]
    judge = RuleJudge(lambda passage, side: 0.9 if side.stance == "support" else 0.1)
    pipeline = PerspectivePipeline(MemoryStore(found), embedder=HashEmbedder(), judge=judge)
    result = pipeline.retrieve("Should zoos be closed?", max_per_source=2)
    assert "<Unspeakable>" in json.dumps(result.to_dict())
    assert bool(result.single_source) is (name == "url"), "of the others no voice is known"
    assert pipeline.answer(result).claims
    assert annotations_of(result)
    again = await pipeline.aretrieve("Should zoos be closed?", max_per_source=2)
    assert again.passages == result.passages


@pytest.mark.parametrize("rule", ["clear", 0.5, object(), [0.5, 0.4]])
def test_a_judge_whose_rule_for_two_sides_is_none_is_refused_by_name(rule):
    class OfSides(RuleJudge):
        sides_listing = rule

        def judge_sides(self, sides, passages, relevance):
            return np.zeros((len(passages), 2))

    judge = OfSides(lambda passage, side: 0.5, name="of-sides")
    for each in (judge, WatchedJudge(judge, lambda step, name, inputs: step)):
        pipeline = PerspectivePipeline(MemoryStore(SAMPLE), embedder=HashEmbedder(), judge=each)
        with pytest.raises(ConfigError, match="judge 'of-sides': sides_listing must be"):
            pipeline.retrieve("Should zoos be closed?")
