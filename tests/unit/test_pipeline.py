"""One question from top to bottom over fakes with a known truth; bad input and failing parts."""

from __future__ import annotations

import asyncio
import copy
import math
import threading

import numpy as np
import pytest

from perspective_rag.cover.guard import CoverageError
from perspective_rag.cover.select import select
from perspective_rag.errors import (
    CapabilityError,
    ConfigError,
    JudgeError,
    PerspectiveRAGError,
    RetrievalError,
)
from perspective_rag.flow.steps import call
from perspective_rag.judge.support import coverage_of, judge, rule_of
from perspective_rag.local.callables import CallableEmbedder, CallableStore
from perspective_rag.local.stores import BM25Store
from perspective_rag.perspectives.find import extract
from perspective_rag.perspectives.queries import NoExpansion, expand
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.search.candidates import merge
from perspective_rag.search.search import search
from perspective_rag.testing import HashEmbedder, MemoryStore, TableJudge
from perspective_rag.types import Hit, Passage, Perspective

QUESTION = "Should zoos be closed?"
# Four passages echo the question; the one against is worded otherwise.
PASSAGES = [
    Passage("a", "zoos should be closed because cages are cruel", {"title": "A"}),
    Passage("b", "zoos should be closed and the animals freed"),
    Passage("c", "should zoos be closed yes closed soon"),
    Passage("d", "closed zoos should be parks"),
    Passage("e", "breeding programmes keep species alive that zoos alone protect"),
    Passage("f", "the recipe needs butter and flour"),
]
TRUTH = {(i, "support"): 0.9 for i in "abcd"} | {("e", "oppose"): 0.9}


def pipeline(store=None, judge="table", **options):
    embedder = HashEmbedder()
    store = store or MemoryStore(PASSAGES, embedder)
    judge = TableJudge(TRUTH) if judge == "table" else judge
    return PerspectivePipeline(store, embedder=embedder, judge=judge, k=3, **options)


def ids(result):
    return [p.id for p in result.passages]


def test_plain_retrieval_is_one_sided_and_the_guarded_one_is_not():
    plain = pipeline(judge=None, expander=NoExpansion()).retrieve(QUESTION)
    assert set(ids(plain)) <= set("abcd")
    assert not plain.coverage.judged
    guarded = pipeline().retrieve(QUESTION)
    assert "e" in ids(guarded)
    assert len(guarded.candidates) == 3
    assert guarded.coverage.complete
    assert [c.passage.id for c in guarded.supporting(guarded.perspectives[1])] == ["e"]


def test_a_result_carries_how_the_question_was_read_and_what_is_about_it():
    by_text = pipeline(BM25Store(PASSAGES))  # candidates are ranked by cosine
    result = by_text.retrieve(QUESTION, relevance_floor=-0.99)
    assert result.kind == "sides"
    assert "Zoos should not be closed" in result.reading
    assert result.related.all()
    assert not result.says_nothing
    nothing = by_text.retrieve(QUESTION, relevance_floor=1.0)
    document = nothing.to_dict()
    assert (document["kind"], document["says_nothing"]) == ("sides", False), "they name the zoos"
    assert document["related"] == [False] * 3
    assert pipeline().retrieve(QUESTION, coverage="off").to_dict()["related"] is None


@pytest.mark.parametrize(
    "options", [{}, {"mmr_lambda": 0.5}, {"fusion": "round-robin"}, {"coverage": "off"}]
)
def test_sync_and_async_agree(options):
    one = pipeline(**options)
    assert (
        asyncio.run(one.aretrieve(QUESTION)).to_dict()["candidates"]
        == one.retrieve(QUESTION).to_dict()["candidates"]
    )


def test_every_candidate_says_how_it_came():
    result = pipeline().retrieve(QUESTION)
    for candidate in result.candidates:
        assert set(candidate.found_by) <= {q.text for q in result.trace.queries}
        assert candidate.found_by
        assert all(math.isfinite(v) for v in candidate.scores.values())
        assert {"fused", "selected"} <= set(candidate.scores)
    scores = [candidate.score for candidate in result.candidates]
    assert scores == sorted(scores, reverse=True)
    assert result.trace.queries[0].text == QUESTION
    assert result.trace.counts["judged_pairs"] == 12
    assert result.trace.calls["search"] == 3


def test_each_text_is_embedded_once():
    one = pipeline(mmr_lambda=0.5)
    one.retrieve(QUESTION)
    embedded = one.embedder.embedded
    assert len(embedded) == len(set(embedded))


def test_the_original_question_is_always_searched():
    store = MemoryStore(PASSAGES)
    pipeline(store, max_queries=1).retrieve(QUESTION)
    assert store.requests[0][0] == QUESTION


def test_the_filter_reaches_every_search():
    store = MemoryStore(PASSAGES)
    keep = lambda passage: passage.id in "ab"
    result = pipeline(store).retrieve(QUESTION, filter=keep)
    assert all(given is keep for _, _, given in store.requests)
    assert set(ids(result)) == {"a", "b"}


def test_relevance_weight_one_is_plain_top_k():
    store = MemoryStore(PASSAGES)
    plain = pipeline(store, judge=None, expander=NoExpansion()).retrieve(QUESTION)
    vector = HashEmbedder().embed_queries([QUESTION])[0]
    assert ids(plain) == [hit.passage.id for hit in store.search(QUESTION, vector, k=3)]


def test_relevance_weight_zero_avoids_a_near_duplicate():
    twins = [
        Passage("x", "zoos closed now"),
        Passage("y", "zoos closed now please"),
        Passage("z", "parks"),
    ]
    one = pipeline(MemoryStore(twins), judge=None)
    assert set(ids(one.retrieve("zoos closed", k=2))) == {"x", "y"}
    assert "z" in ids(one.retrieve("zoos closed", k=2, mmr_lambda=0.0))


def test_a_text_only_store_is_ordered_by_cosine_when_there_is_an_embedder():
    store = MemoryStore(PASSAGES, takes_vector=False)
    result = pipeline(store, coverage="off").retrieve(QUESTION)
    relevance = [c.scores["relevance"] for c in result.candidates]
    assert relevance == sorted(relevance, reverse=True)


def test_given_perspectives_replace_the_rules():
    judge = TableJudge({("f", "p1"): 0.9})
    result = pipeline(judge=judge).retrieve(QUESTION, perspectives=["Butter is good"])
    assert [p.text for p in result.perspectives] == ["Butter is good"]
    assert "f" in ids(result)


def test_a_question_without_perspectives_is_left_as_it_is():
    one = pipeline()
    result = one.retrieve("recipe butter flour")
    assert result.perspectives == ()
    assert not result.coverage.judged
    assert one.judge.judged == []
    assert ids(result)[0] == "f"


@pytest.mark.parametrize("question", ["", "   ", None, 3])
def test_an_empty_question_is_refused(question):
    with pytest.raises(ConfigError, match="question"):
        pipeline().retrieve(question)


def test_bad_options_are_refused_at_the_call():
    with pytest.raises(ConfigError, match="k must be"):
        pipeline().retrieve(QUESTION, k=0)
    with pytest.raises(ConfigError, match="fetch_k"):
        pipeline().retrieve(QUESTION, fetchk=3)


def test_an_empty_store_gives_an_empty_result():
    result = pipeline(MemoryStore([])).retrieve(QUESTION)
    assert result.candidates == ()
    assert result.coverage.complete is False
    assert len(result.coverage.missing) == 2


@pytest.mark.parametrize("text", ["x", "word " * 5_000, "Zoos 動物園 Зоопарк", "\u200b", ""])
def test_odd_passages_pass_through(text):
    store = MemoryStore([*PASSAGES, Passage("odd", text)])
    assert len(pipeline(store).retrieve(QUESTION, k=7).candidates) == 7


def test_duplicate_ids_are_one_passage():
    store = MemoryStore([*PASSAGES, Passage("a", "zoos should be closed again")])
    result = pipeline(store).retrieve(QUESTION, k=10)
    assert len(ids(result)) == len(set(ids(result)))


def test_what_the_caller_owns_is_not_touched():
    source = {"any": ["thing"]}
    passages = [Passage(p.id, p.text, dict(p.metadata), source) for p in PASSAGES]
    before = copy.deepcopy(passages)
    result = pipeline(MemoryStore(passages)).retrieve(QUESTION)
    assert passages == before
    assert result.candidates[0].passage.source is source


# Parts that fail


def test_one_failing_search_degrades_and_all_failing_raise():
    store = MemoryStore(PASSAGES, failing=frozenset({"Zoos should not be closed"}))
    result = pipeline(store).retrieve(QUESTION)
    assert any(d.stage == "search" for d in result.trace.degradations)
    assert len(result.candidates) == 3
    every = frozenset({QUESTION, "Zoos should be closed", "Zoos should not be closed"})
    with pytest.raises(RetrievalError, match="3 searches") as caught:
        pipeline(MemoryStore(PASSAGES, failing=every)).retrieve(QUESTION)
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_a_failing_judge_never_fails_the_chain():
    result = pipeline(judge=TableJudge(failing=frozenset("abcdef"))).retrieve(QUESTION)
    assert len(result.candidates) == 3
    assert len(result.coverage.unjudged) == 2
    assert result.trace.degradations
    with pytest.raises(JudgeError):
        pipeline(judge=TableJudge(failing=frozenset("abcdef"))).retrieve(QUESTION, strict=True)


def test_a_failing_extractor_degrades_to_plain_retrieval():
    class Broken:
        def extract(self, question):
            raise KeyError("no")
            yield

    result = pipeline(extractor=Broken()).retrieve(QUESTION)
    assert result.perspectives == ()
    assert [d.stage for d in result.trace.degradations] == ["extract"]
    with pytest.raises(PerspectiveRAGError):
        pipeline(extractor=Broken()).retrieve(QUESTION, strict=True)


@pytest.mark.parametrize("bad", [np.full((3, 64), np.nan), np.ones((3,)), np.ones((1, 64))])
def test_an_embedder_that_returns_nonsense_is_refused(bad):
    class Bad(HashEmbedder):
        def embed_queries(self, texts):
            return bad

    one = PerspectivePipeline(MemoryStore(PASSAGES), embedder=Bad())
    with pytest.raises(ConfigError, match="embedder"):
        one.retrieve(QUESTION)


def test_passages_that_cannot_be_embedded_stay_in_search_order():
    class Half(HashEmbedder):
        def embed_passages(self, texts):
            raise RuntimeError("out of memory")

        def embed_queries(self, texts):
            return HashEmbedder().embed_passages(texts)

    one = PerspectivePipeline(MemoryStore(PASSAGES), embedder=Half(), mmr_lambda=0.5)
    result = one.retrieve(QUESTION)
    assert len(result.candidates) == 5
    assert any(d.stage == "embed" for d in result.trace.degradations)


def test_slow_parts_are_given_up():
    one = pipeline(judge=TableJudge(TRUTH, delay=0.5), timeout=0.05)
    result = one.retrieve(QUESTION)
    assert len(result.candidates) == 3
    assert result.coverage.covered == ()
    assert any("did not answer" in d.message for d in result.trace.degradations)


# The guard


COPIED = (
    "zoos should be closed because the cages in them are cruel to every animal that was born to "
    "run, to climb, to fly or to swim far"
)


def test_every_chosen_passage_has_a_similarity_where_one_has():
    embedder = HashEmbedder()

    class Forgetful(MemoryStore):
        def embeddings_of(self, passages):
            rows = HashEmbedder().embed_passages([p.text for p in passages])
            rows[[p.id in "ae" for p in passages]] = np.nan
            return rows

        def search(self, *given, **more):
            return [Hit(hit.passage) for hit in MemoryStore.search(self, *given, **more)]

    store = Forgetful(PASSAGES, embedder)
    result = PerspectivePipeline(store, embedder=embedder, judge=TableJudge(TRUTH), k=5).retrieve(
        QUESTION
    )
    assert {"a", "e"} <= set(ids(result))
    asked = HashEmbedder().embed_queries([QUESTION])[0]
    own = HashEmbedder().embed_passages([p.text for p in result.passages]) @ asked
    found = [c.scores["relevance"] for c in result.candidates]
    titled = ids(result).index("a")  # whose title is embedded with it
    assert 0.0 < found.pop(titled) < 1.0
    assert found == pytest.approx([*own[:titled], *own[titled + 1 :]])


def test_the_guard_fetches_what_the_first_searches_did_not_reach():
    # "hint" leans against and is found by the question; it shares its words with the rare passage.
    hint = Passage("hint", "zoos should be closed breeding programmes keep species alive")
    filler = [Passage(f"n{i}", f"zoos should not be closed {i}") for i in range(6)]
    store = MemoryStore([*PASSAGES[:4], hint, *filler, PASSAGES[4]])
    judge = TableJudge({**TRUTH, ("hint", "oppose"): 0.3})
    one = pipeline(store, judge=judge, fetch_k=11, judge_k=40)
    without = one.retrieve(QUESTION, guard_searches=0)
    assert [p.id for p in without.coverage.missing] == ["oppose"]
    found = one.retrieve(QUESTION, guard_searches=2)
    assert "e" in ids(found)
    assert found.coverage.complete
    assert hint.text in [query.text for query in found.trace.queries]


def test_the_guard_finds_passages_that_have_no_ids():
    nameless = [Passage("", p.text) for p in PASSAGES[:4]]
    rare = Passage("", "zoos protect what breeding programmes alone keep alive")
    hint = Passage("", "zoos should be closed breeding programmes keep species alive")

    class Reader(TableJudge):
        def _look_up(self, perspectives, passages):
            pro = {p.text for p in PASSAGES}
            con = {rare.text: 0.9, hint.text: 0.3}
            return np.array([[0.9 * (a.text in pro), con.get(a.text, 0.0)] for a in passages])

    filler = [Passage("", f"zoos should not be closed {i}") for i in range(6)]
    store = MemoryStore([*nameless, hint, *filler, rare])
    result = pipeline(store, judge=Reader(), fetch_k=11, judge_k=40).retrieve(QUESTION)
    assert rare.text in [p.text for p in result.passages]


def test_the_guard_keeps_its_budget():
    store = MemoryStore(PASSAGES[:4])
    for budget in (0, 1, 3):
        store.requests.clear()
        pipeline(store).retrieve(QUESTION, guard_searches=budget)
        assert len(store.requests) <= 3 + budget
    store.requests.clear()
    pipeline(store).retrieve(QUESTION, guard_searches=3, guard_seconds=0.0)
    assert len(store.requests) == 3


def test_require_raises_and_carries_the_result():
    one = pipeline(MemoryStore(PASSAGES[:4]), coverage="require")
    with pytest.raises(CoverageError, match="should not be closed") as caught:
        one.retrieve(QUESTION)
    assert len(caught.value.result.candidates) == 3
    assert pipeline(coverage="require").retrieve(QUESTION).coverage.complete


def test_off_neither_judges_nor_guards():
    one = pipeline(coverage="off")
    assert not one.retrieve(QUESTION).coverage.judged
    assert one.judge.judged == []


# Capabilities


def test_what_can_never_work_is_refused_at_construction():
    with pytest.raises(CapabilityError, match="embedder="):
        PerspectivePipeline(MemoryStore(PASSAGES))
    with pytest.raises(CapabilityError, match="projection"):
        PerspectivePipeline(MemoryStore(PASSAGES, takes_vector=False), projection="pap")
    with pytest.raises(CapabilityError, match="mmr_lambda"):
        PerspectivePipeline(MemoryStore(PASSAGES, takes_vector=False), mmr_lambda=0.5)
    with pytest.raises(CapabilityError, match="judge="):
        PerspectivePipeline(MemoryStore(PASSAGES, takes_vector=False), coverage="require")


@pytest.mark.parametrize(
    "method",
    [
        "pap",
        "pap+",
        "add",
        "add+",
        "concat",
        "concat+",
        "cast",
        "cast+",
        "dual-sum",
        "tri-sum",
        "adaptive",
    ],
)
def test_every_projection_runs_end_to_end(method):
    query = "Find a claim that opposes the argument: zoos should be closed"
    result = pipeline(projection=method).retrieve(query)
    assert len(result.candidates) == 3
    assert result.to_dict()["perspectives"][0]["stance"] == "oppose"


def test_each_step_can_be_driven_alone():
    one = pipeline()
    request = one.request(QUESTION)
    extraction = one.run_step(extract(request, one.extractor), request)
    queries = one.run_step(expand(request, one.expander, extraction), request)
    assert [q.perspective for q in queries] == [None, "support", "oppose"]
    rankings = one.run_step(search(request, extraction, queries), request)
    candidates = one.run_step(merge(request, rankings), request)
    judged = one.run_step(judge(request, extraction, candidates), request)
    chosen = select(request, extraction, judged)
    assert len(chosen) == 3
    assert coverage_of(chosen, extraction.perspectives, rule_of(request, extraction)).complete
    trace = request.recorder.trace()
    assert trace.queries == tuple(queries)
    assert {"search", "judge"} <= set(trace.calls)


def test_many_threads_get_the_single_threaded_answer():
    one = pipeline()
    expected = one.retrieve(QUESTION).to_dict()["candidates"]
    wrong = []

    def work():
        for _ in range(20):
            if one.retrieve(QUESTION).to_dict()["candidates"] != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_query_vector_of_zeros_is_recorded():
    result = pipeline(judge=None).retrieve("??? !!!", perspectives=[])
    assert any("all zeros" in d.message for d in result.trace.degradations)
    assert not pipeline(judge=None).retrieve(QUESTION, perspectives=[]).trace.degradations


def test_a_stated_share_of_the_places_goes_to_a_perspective():
    pro = [Passage(f"pro{i}", f"zoos should be closed, reason {i}") for i in range(9)]
    con = [Passage(f"con{i}", f"zoos help animals live longer, reason {i}") for i in range(9)]

    class Sides:
        name, threshold = "sides", 0.5

        def judge(self, perspectives, passages):
            reply = yield from call(
                "judge",
                lambda: [[float(a.id.startswith(b.id)) for b in perspectives] for a in passages],
            )
            return reply.value

    def of(**shares):
        sides = [
            Perspective(name, text, share=shares.get(name, 0.0))
            for name, text in (("pro", "Zoos should go"), ("con", "Zoos should stay"))
        ]
        made = PerspectivePipeline(BM25Store([*pro, *con]), judge=Sides())
        found = ids(made.retrieve("Should zoos be closed?", perspectives=sides, k=10))
        return sum(each.startswith("con") for each in found)

    assert of(con=0.1) >= 1
    assert of(con=0.7) >= 7
    assert of(pro=0.7) <= 3


def test_a_buried_side_is_judged_in_the_order_of_its_own_query():
    """Nearest to the question are twenty passages of one side, then twenty of none that its own
    query only happened to find, then the other side.
    """
    near = {"apples": (1.0, 0.0), "figs": (0.8, 0.6), "pears": (0.1, 0.99)}
    texts = [f"{topic} matter most, says {i}" for topic in near for i in range(20)]

    def embedded(given):
        return np.array([near[text.removeprefix("Do ").split()[0]] for text in given])

    def search(text, k):
        return [
            Hit(Passage(each, each), float(score))
            for each, score in zip(texts, embedded(texts) @ embedded([text])[0], strict=True)
        ]

    judge = TableJudge(
        {(text, "a"): 0.9 for text in texts[:20]} | {(text, "b"): 0.9 for text in texts[40:]}
    )
    asked = PerspectivePipeline(
        CallableStore(search),
        embedder=CallableEmbedder(embedded),
        judge=judge,
        fetch_k=60,
        judge_k=20,
    )
    sides = [Perspective("a", "apples matter most"), Perspective("b", "pears matter most")]
    result = asked.retrieve("Do apples matter most?", perspectives=sides)
    assert result.coverage.complete


def test_what_was_found_for_a_missing_side_is_judged_before_anything_is_searched_again():
    pro = [Passage(f"pro{i}", f"zoos should be closed, reason {i}") for i in range(30)]
    con = [Passage(f"con{i}", f"animals live longer there, reason {i}") for i in range(5)]
    asked = []

    def search(text, k):
        asked.append(text)
        return [Hit(p) for p in ([*con, *pro] if " not " in text else pro)[:k]]

    judge = TableJudge({(p.id, "support"): 0.9 for p in pro} | {(p.id, "oppose"): 0.9 for p in con})
    sycophant = CallableStore(search)
    options = {"judge": judge, "k": 4, "judge_k": 8, "fetch_k": 20, "fusion": "rrf"}
    blind = PerspectivePipeline(sycophant, guard_searches=0, **options)
    assert not blind.retrieve(QUESTION).coverage.complete
    asked.clear()
    result = PerspectivePipeline(sycophant, **options).retrieve(QUESTION)
    assert result.coverage.complete
    assert len(asked) == 3
    assert result.trace.counts["judged_pairs"] <= 2 * 16


@pytest.mark.parametrize("words", ["Zoos should be closed", "Zoos should not be closed"])
def test_a_store_that_agrees_with_whoever_asks_shows_both_sides(words):
    """Ten passages agree with each wording, and the store finds those alone; the trace says which
    query brought what was chosen.
    """

    def search(text, k):
        side = "con" if " not " in text else "pro"
        return [Passage(f"{side}{i}", f"{side}, zoos, reason number {i}") for i in range(10)][:k]

    judge = TableJudge(
        {(f"pro{i}", "p1"): 0.9 for i in range(10)} | {(f"con{i}", "p2"): 0.9 for i in range(10)}
    )
    sides = ["Zoos should be closed.", "Zoos should not be closed."]
    asked = PerspectivePipeline(CallableStore(search), judge=judge, guard_searches=0)
    result = asked.retrieve(words, perspectives=sides)
    shown = [each.id[:3] for each in result.passages]
    assert abs(shown.count("pro") - shown.count("con")) == 1
    brought = [each.found_by[0] for each in result.candidates]
    assert result.trace.counts["chosen_by_question"] == brought.count(words)
    assert result.trace.counts["chosen_by_perspectives"] == 5 - brought.count(words) >= 2
    assert result.trace.calls["search"] == 2  # the question is one of the sides


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("options", [{}, {"projection": "pap", "mmr_lambda": 0.5}])
def test_a_question_to_be_skipped_is_searched_as_it_is(way, options):
    one = pipeline(skip_if=lambda question: "thanks" in question, **options)

    def ask(question, **changes):
        if way == "sync":
            return one.retrieve(question, **changes)
        return asyncio.run(one.aretrieve(question, **changes))

    asked = "Should I say thanks for the breeding?"
    skipped = ask(asked, perspectives=["Zoos are cruel"], coverage="require")
    assert [query.text for query in skipped.trace.queries] == [asked]
    assert skipped.trace.calls["search"] == skipped.trace.calls["skip"] == 1
    assert skipped.perspectives == ()
    assert not skipped.coverage.judged
    assert one.judge.judged == []
    assert skipped.trace.decisions == ({"stage": "skip", "query": asked},)
    assert skipped.trace.degradations == ()
    assert len(skipped.candidates) == 3
    other = ask(QUESTION)
    assert other.coverage.complete
    assert other.trace.decisions == ()


def test_what_could_never_say_no_is_refused():
    async def later(question):
        return False

    with pytest.raises(ConfigError, match="plain function"):
        pipeline(skip_if=later)
    with pytest.raises(ConfigError, match="function of the question"):
        pipeline(skip_if="thanks")


def test_passages_that_share_a_key_take_one_place():
    passages = [Passage(p.id, p.text, {"page": p.id if p.id in "ef" else "one"}) for p in PASSAGES]
    for key in ("page", lambda passage: passage.metadata["page"]):
        # Nothing is covered, so that what the guard finds goes by the same key.
        result = pipeline(
            MemoryStore(passages, HashEmbedder()), judge=TableJudge({}), dedup_key=key
        ).retrieve(QUESTION, projection="adaptive")
        assert result.trace.calls["search"] > 3
        pages = [passage.metadata["page"] for passage in result.passages]
        assert sorted(pages) == ["e", "f", "one"]


def test_without_expansion_the_sides_are_searched_only_where_they_are_missing():
    store = MemoryStore(PASSAGES, HashEmbedder())
    covered = pipeline(store, expander=NoExpansion()).retrieve(QUESTION)
    assert covered.coverage.complete
    assert covered.trace.calls["search"] == 1
    blind = pipeline(store, expander=NoExpansion(), judge=TableJudge({}))
    assert blind.retrieve(QUESTION).trace.calls["search"] == 1 + 2
    assert blind.retrieve(QUESTION, max_queries=1).trace.calls["search"] == 1


def test_a_misspelt_question_is_searched_and_measured_as_it_was_meant():
    asked = "Shoud zooos be closed for the breeding?"
    meant = "Should zoos be closed for the breeding?"
    by_words = PerspectivePipeline(BM25Store(PASSAGES), embedder=HashEmbedder())
    result, right = by_words.retrieve(asked), by_words.retrieve(meant)
    assert [query.text for query in result.trace.queries[:2]] == [meant, asked]
    assert {"stage": "extract", "query": asked, "mended": meant} in result.trace.decisions
    assert result.question == asked
    measured = [
        {c.passage.id: c.scores["relevance"] for c in r.candidates} for r in (result, right)
    ]
    assert measured[0] == pytest.approx(measured[1])
    assert not right.trace.decisions
    named = pipeline().retrieve(asked, perspectives=["Zoos should go", "Zoos should stay"])
    assert [query.text for query in named.trace.queries[:2]] == [meant, asked]
    german = pipeline().retrieve("Solte man alle Zoos schliesen?", perspectives=["Ja", "Nein"])
    assert german.trace.queries[0].text == "Solte man alle Zoos schliesen?"
