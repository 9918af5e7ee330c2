"""The parts of the BERDS benchmark alone: data, corpora, retrievers, approaches, scores."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.berds.approaches import expanded, expansion_asks, identified, reranked
from benchmarks.berds.corpora import PassageStream, dpr_passages, jsonl_passages, open_stream
from benchmarks.berds.estimate import embedding_plans
from benchmarks.berds.expanding import expansions_by
from benchmarks.berds.judges import load_judge
from benchmarks.berds.loading import Loader
from benchmarks.berds.own import own_retriever
from benchmarks.berds.probe import EmbeddingProbe
from benchmarks.berds.questions import (
    Question,
    fingerprint,
    held_out,
    hub_questions,
    hub_rows,
    limited,
    read_questions,
)
from benchmarks.berds.retrievers import (
    Ask,
    DenseStore,
    OutputFile,
    PerQuestion,
    Reordered,
    StoreRetriever,
    cosine_scores,
)
from benchmarks.berds.scoring import (
    covers_all,
    intervals,
    lean,
    outcome_of_two,
    set_size,
    standard_values,
    values_of,
)
from benchmarks.berds.streamed import Best, DenseStream, bm25_search
from benchmarks.berds.train_probe import main as train_probe
from perspective_rag import (
    BM25Store,
    CallableEmbedder,
    CapabilityError,
    ConfigError,
    CorpusError,
    Hit,
    MissingDependency,
    Passage,
    Perspective,
    PerspectivePipeline,
    PerspectiveRAGError,
    run,
)
from perspective_rag.testing import HashEmbedder, MemoryStore, ScriptedLLM

QUESTION = Question(
    "s/1", "s", "Should zoos be banned?", ("yes", "no"), ("animals suffer", "children learn")
)


def passages(count=40):
    words = "zoo animal child ban harm law cost school tax canal".split()
    return [
        Passage(
            f"p{i}",
            " ".join(words[(i * j) % 10] for j in range(1, 7)) + f" w{i}",
            {"title": f"t{i}"},
        )
        for i in range(count)
    ]


# Questions


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_questions_of_either_shape_are_read_and_errors_name_file_and_line(tmp_path):
    write(
        tmp_path / "a.jsonl",
        [
            {
                "id": 7,
                "question": " Q? ",
                "perspectives": ["x", "y", "x"],
                "generated_perspectives": [{"name": "n", "text": "g"}],
            }
        ],
    )
    with gzip.open(tmp_path / "b.jsonl.gz", "wt") as stream:
        stream.write(
            json.dumps({"query": "R?", "perspectives": {"n": "x"}, "expansions": ["h"]}) + "\n"
        )
    first, second = read_questions(tmp_path)
    assert first == Question("a/7", "a", "Q?", ("x", "y"), ("g",))
    assert second == Question("b/0", "b", "R?", ("x",), ("h",))
    for bad, message in (
        ({"question": "Q"}, "perspectives"),
        ({"question": "Q", "perspectives": "x"}, "list of texts"),
        ({"question": "", "perspectives": ["x"]}, "empty"),
        (3, "JSON object"),
    ):
        with pytest.raises(CorpusError, match=f"bad.jsonl:1.*{message}"):
            read_questions(write(tmp_path / "bad.jsonl", [bad]))
    with pytest.raises(CorpusError, match="no questions"):
        read_questions(write(tmp_path / "none.jsonl", []))


def test_splits_of_the_hub_by_either_name(monkeypatch):
    row = {"question": "Q?", "perspectives": ["x", "y"]}
    assert hub_rows({"validation": [row]}, "kialo", "dev")[0].id == "kialo/0"
    with pytest.raises(CorpusError, match="no split 'test': validation"):
        hub_rows({"validation": [row]}, "kialo", "test")
    asked = []
    fake = type(
        "datasets",
        (),
        {
            "load_dataset": staticmethod(
                lambda name: asked.append(name) or {"test": [row, row | {"id": "b"}]}
            )
        },
    )
    monkeypatch.setitem(__import__("sys").modules, "datasets", fake)
    assert len(hub_questions(["kialo", "arguana"], "test")) == 4
    assert asked == ["timchen0618/Kialo", "timchen0618/Arguana"]

    def offline(name):
        raise ConnectionError("no route to the hub")

    fake.load_dataset = staticmethod(offline)
    with pytest.raises(CorpusError, match=r"timchen0618/Kialo .*no route.*--questions"):
        hub_questions(["kialo"], "test")
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(MissingDependency, match="hub"):
        hub_questions(["kialo"], "test")


def test_a_limit_takes_sets_in_turn_and_tuning_is_apart_and_stable():
    made = [Question(f"{s}/{i}", s, f"{s} {i}?", ("x",)) for s in "ab" for i in range(60)]
    assert [q.id for q in limited(made, 3)] == ["a/0", "a/1", "b/0"]
    drawn = limited(made, 20, seed=1)
    assert drawn == limited(made, 20, seed=1) != limited(made, 20, seed=2)
    assert [q.dataset for q in drawn] == ["a"] * 10 + ["b"] * 10
    assert [q.id for q in drawn[:10]] != [f"a/{i}" for i in range(10)]
    assert set(drawn) <= set(limited(made, 40, seed=1))
    tuning, kept = held_out(made, 0.25)
    assert not set(tuning) & set(kept)
    assert len(tuning) + len(kept) == 120
    assert 15 <= len(tuning) <= 45
    assert set(held_out(made[:50], 0.25)[0]) == set(tuning) & set(made[:50])
    assert fingerprint(made) != fingerprint(made[1:])


# Corpora


def test_the_dpr_and_sphere_forms_are_read(tmp_path):
    tsv = tmp_path / "psgs.tsv"
    tsv.write_text('id\ttext\ttitle\n1\t"A ""quoted"" text"\tFirst\n2\tplain\tSecond\n')
    assert list(dpr_passages(tsv)) == [
        Passage("1", 'A "quoted" text', {"title": "First"}),
        Passage("2", "plain", {"title": "Second"}),
    ]
    tsv.write_text("1\tonly two\n")
    with pytest.raises(CorpusError, match=r"psgs\.tsv:1"):
        list(dpr_passages(tsv))
    shards = tmp_path / "sphere"
    shards.mkdir()
    write(
        shards / "s1.jsonl",
        [{"id": "u", "raw": "text", "title": "T", "url": "http://x", "sha": "1"}],
    )
    write(shards / "s0.jsonl", [{"id": 5, "text": "other"}])
    assert list(jsonl_passages(shards)) == [
        Passage("5", "other"),
        Passage("u", "text", {"title": "T", "url": "http://x"}),
    ]
    write(shards / "s2.jsonl", [{"id": "u"}])
    with pytest.raises(CorpusError, match=r"s2\.jsonl:1"):
        list(jsonl_passages(shards))
    with pytest.raises(ConfigError, match="did you mean 'jsonl'"):
        open_stream("jsonll:x")


def test_a_corpus_is_streamed_in_constant_memory(tmp_path):
    path = tmp_path / "big.jsonl"
    peaks = []
    for count in (2_000, 20_000):
        with path.open("w") as stream:
            stream.writelines(
                json.dumps({"id": i, "text": f"text {i} " + "word " * 40}) + "\n"
                for i in range(count)
            )
        tracemalloc.start()
        assert sum(1 for _ in open_stream(str(path)).passages()) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 200_000


# Streamed search


def test_streamed_bm25_gives_the_scores_of_the_store():
    corpus = passages()
    queries = ["zoo animal", "tax tax law", "nothing known", "canal w7"]
    store = BM25Store(corpus)
    found = bm25_search(PassageStream("x", "x", lambda: iter(corpus)), queries, 8)
    for query, hits in zip(queries, found, strict=True):
        expected = store.search(query, None, k=8)
        assert [h.passage.id for h in hits] == [h.passage.id for h in expected]
        assert [h.score for h in hits] == pytest.approx([h.score for h in expected], abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 6))
def test_the_best_of_a_stream_are_those_of_a_stable_sort(scores, k):
    best = Best(k)
    for place, score in enumerate(scores):
        best.offer(float(score), place, None)
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k]
    assert [place for _, place, _ in best.ranked()] == order


def test_streamed_dense_search_is_exact_and_goes_on_after_the_last_block(
    tmp_path, interrupted_after
):
    corpus = passages()
    stream = PassageStream("x", "x", lambda: iter(corpus))
    embedder = HashEmbedder(before=interrupted_after(3))  # one for the size, two blocks
    with pytest.raises(KeyboardInterrupt):
        DenseStream(stream, embedder, tmp_path, model_name="m", block=8).build()
    [file] = tmp_path.glob("*.f16")
    file.write_bytes(file.read_bytes() + b"half a row")
    fresh = HashEmbedder()
    found = DenseStream(stream, fresh, tmp_path, model_name="m", block=8).search(
        ["zoo animal", "law"], 5
    )
    assert len([t for t in fresh.embedded if t in {p.text for p in corpus}]) == 40 - 16
    rows = HashEmbedder().embed_passages([p.text for p in corpus])
    for query, hits in zip(["zoo animal", "law"], found, strict=True):
        scores = rows @ HashEmbedder().embed_queries([query])[0]
        assert [h.score for h in hits] == pytest.approx(sorted(scores, reverse=True)[:5], abs=2e-3)
        assert [h.passage for h in hits] == [corpus[int(h.passage.id[1:])] for h in hits]


def test_a_dense_corpus_in_memory_is_a_store_for_the_pipeline_too(tmp_path):
    corpus = passages()
    stream, told = PassageStream("x", "x", lambda: iter(corpus)), []
    dense = DenseStream(
        stream, HashEmbedder(), tmp_path, model_name="m", block=8, on_progress=told.append
    )
    store = DenseStore(dense, corpus)
    assert "embeds 40 passages first" in embedding_plans([StoreRetriever("minilm", store)])[0]
    retriever = StoreRetriever("minilm", store, HashEmbedder())
    [hits] = retriever.rankings([Ask("zoo animal", QUESTION)], 5)
    assert sum(told) == 40
    assert embedding_plans([retriever]) == []
    streamed = DenseStream(stream, HashEmbedder(), tmp_path, model_name="m", block=8)
    [expected] = streamed.search(["zoo animal"], 5)
    assert [h.score for h in hits] == pytest.approx([h.score for h in expected], abs=2e-3)
    line = PerspectivePipeline(*retriever.store(QUESTION)[:1], embedder=HashEmbedder(), k=3)
    result = line.retrieve("zoo animal", mmr_lambda=0.5)
    assert len(result.candidates) == 3
    assert "embedded_texts" in result.trace.counts
    assert result.trace.counts["embedded_texts"] == 1  # vectors come from the store
    found = asyncio.run(store.asearch("", HashEmbedder().embed_queries(["zoo animal"])[0], k=5))
    assert [h.passage.id for h in found] == [h.passage.id for h in hits]


# Retrievers


def test_the_second_model_orders_the_first_ones_pool():
    corpus, embedder = passages(), HashEmbedder()
    first = StoreRetriever("bm25", BM25Store(corpus))
    ask = Ask("zoo animal child", QUESTION)
    pool = first.rankings([ask], 10)[0]
    [hits] = Reordered("r", first, cosine_scores(embedder), embedder, pool=10).rankings([ask], 5)
    assert {h.passage.id for h in hits} <= {h.passage.id for h in pool}
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
    with pytest.raises(CapabilityError):
        Reordered("r", first, cosine_scores(embedder)).store(QUESTION)


def test_every_question_has_its_own_store_made_once():
    made = []

    def make(question):
        made.append(question.id)
        return BM25Store([Passage("a", f"{question.id} zoo")]), None

    retriever = PerQuestion("web", make)
    other = Question("s/2", "s", "zoo?", ("x",))
    found = retriever.rankings([Ask("zoo", QUESTION), Ask("zoo", other), Ask("zoo", QUESTION)], 5)
    assert [hits[0].passage.text for hits in found] == ["s/1 zoo", "s/2 zoo", "s/1 zoo"]
    assert made == ["s/1", "s/2"]


def test_output_without_questions_is_known_by_its_perspectives(tmp_path):
    """As the authors' evaluation reads it: perspectives and contexts alone."""
    row = {
        "perspectives": ["Zoos help.", "Zoos  harm."],
        "ctxs": [{"text": "one"}, {"text": "two"}],
    }
    retriever = OutputFile(write(tmp_path / "out.jsonl", [row]))
    question = Question("s/z", "s", "Should zoos close?", ("Zoos harm.", "Zoos help."))
    (hits,) = retriever.rankings([Ask("Should zoos close?", question)], 5)
    assert [hit.passage.text for hit in hits] == ["one", "two"]
    with pytest.raises(CapabilityError, match="no output for 1 of 1 queries"):
        retriever.rankings([Ask("Zoos harm.", question)], 5)
    other = Question("s/y", "s", "Should zoos close?", ("Zoos harm.",))
    with pytest.raises(CapabilityError):
        retriever.rankings([Ask("Should zoos close?", other)], 5)


def test_retrieval_output_in_the_authors_form(tmp_path):
    path = write(
        tmp_path / "out.jsonl",
        [
            {
                "question": "Should zoos be banned?",
                "perspectives": ["x"],
                "ctxs": [{"text": "a", "title": "T", "score": "2.5"}, {"text": "b"}],
            }
        ],
    )
    retriever = OutputFile(path)
    [hits] = retriever.rankings([Ask("should ZOOS be banned?", QUESTION)], 1)
    assert (hits[0].passage.text, hits[0].passage.title, hits[0].score) == ("a", "T", 2.5)
    with pytest.raises(CapabilityError, match=r"1 of 1 queries.*'other'"):
        retriever.rankings([Ask("other", QUESTION)], 1)
    with pytest.raises(CorpusError, match=r"bad\.jsonl:1"):
        OutputFile(write(tmp_path / "bad.jsonl", [{"question": "q"}]))


def langchain_factory(passages):
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Words(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [
                Document(page_content=p.text, metadata=dict(p.metadata))
                for p in passages
                if query.split()[0] in p.text
            ]

    return Words()


def llama_index_factory():
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    class One(BaseRetriever):
        def _retrieve(self, query_bundle):
            return [
                NodeWithScore(
                    node=TextNode(text=f"about {query_bundle.query_str}", id_="n"), score=0.5
                )
            ]

    return One()


def callable_factory():
    return lambda text, k: [(f"{text} {i}", 1.0 - i) for i in range(k)]


def store_factory():
    embedder = HashEmbedder()
    return MemoryStore(passages(), embedder), embedder


def wrong_factory():
    return 3


@pytest.mark.parametrize(
    "name", ["langchain_factory", "llama_index_factory", "callable_factory", "store_factory"]
)
def test_a_retriever_of_the_users_own(name, monkeypatch):
    monkeypatch.syspath_prepend(__import__("os").path.dirname(__file__))
    retriever = own_retriever(f"test_berds_parts:{name}", passages)
    [hits] = retriever.rankings([Ask("zoo", QUESTION)], 3)
    kept = identified(hits)
    assert 1 <= len(kept) <= 3
    assert all(hit.passage.id and "zoo" in hit.passage.text for hit in kept[:1])
    assert retriever.store(QUESTION)[0] is retriever.source


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("test_berds_parts:wrong_factory", "returned a int"),
        ("test_berds_parts:nothing", "has no 'nothing'"),
        ("no_such_module_x:f", "cannot be imported"),
        ("test_berds_parts:QUESTION", "expected a function"),
        ("x", "module:factory"),
    ],
)
def test_what_is_no_retriever_is_refused(spec, message, monkeypatch):
    monkeypatch.syspath_prepend(__import__("os").path.dirname(__file__))
    with pytest.raises(ConfigError, match=message):
        own_retriever(spec)


def test_retrievers_by_name(tmp_path):
    write(tmp_path / "c.jsonl", [{"id": p.id, "text": p.text} for p in passages()])
    whole, streamed = (
        Loader(str(tmp_path / "c.jsonl"), tmp_path / "cache", streamed=flag)
        for flag in (False, True)
    )
    ask = [Ask("zoo animal", QUESTION)]
    a, b = (each.retriever("bm25").rankings(ask, 5)[0] for each in (whole, streamed))
    assert [h.passage.id for h in a] == [h.passage.id for h in b]
    with pytest.raises(CapabilityError, match="known beforehand"):
        streamed.retriever("bm25").store(QUESTION)
    empty = Loader(str(write(tmp_path / "none.jsonl", [])), tmp_path / "cache")
    with pytest.raises(CorpusError, match=r"none\.jsonl holds no passages"):
        empty.retriever("bm25")
    for name, message in (("bm52", "known: bm25"), ("web", "search-url")):
        with pytest.raises(ConfigError, match=message):
            whole.retriever(name)
    with pytest.raises(ConfigError, match="--corpus"):
        Loader("", tmp_path).retriever("bm25")


# Approaches, in both readings


def hits_of(*pairs):
    return [Hit(Passage(name, f"text {name}", {"title": name}), score) for name, score in pairs]


def test_expansion_asks_with_the_perspective_or_as_published_with_the_question_before_it():
    assert [a.text for a in expansion_asks(QUESTION, QUESTION.generated, as_published=False)] == [
        "animals suffer",
        "children learn",
    ]
    assert expansion_asks(QUESTION, ["x"], as_published=True)[0].text == "Should zoos be banned? x"


def test_expansion_skips_repeats_or_as_published_keeps_them():
    rankings = [hits_of(("a", 3.0), ("b", 2.0)), hits_of(("a", 5.0), ("c", 1.0))]
    assert [(h.passage.id, h.score) for h in expanded(rankings, as_published=False)] == [
        ("a", 5.0),
        ("b", 2.0),
        ("c", 1.0),
    ]
    assert [h.passage.id for h in expanded(rankings, as_published=True)] == ["a", "a", "b", "c"]


def test_mmr_in_both_readings():
    hits = hits_of(("a", 1.0), ("b", 0.9), ("c", 0.5))
    table, read = {"a": [1, 0], "b": [1, 0], "c": [0, 1]}, []

    def rows(texts):
        read.extend(texts)
        return [table[text.split()[1]] for text in texts]

    vectors = CallableEmbedder(rows)

    def order(**options):
        return [
            h.passage.id
            for h in reranked(
                hits,
                vectors,
                **{"mmr_lambda": 0.5, "maximum": 1.0, "as_published": False, **options},
            )
        ]

    assert order() == ["a", "c", "b"]
    assert order(mmr_lambda=1.0) == ["a", "b", "c"]
    # Divided by a maximum of 10 the scores hardly count, by the question's own they do.
    assert order(maximum=10.0, mmr_lambda=0.75) == ["a", "c", "b"]
    assert order(maximum=10.0, mmr_lambda=0.75, as_published=True) == ["a", "b", "c"]
    assert read[-3:] == ["text a a", "text b b", "text c c"]
    assert read[0] == "text a"
    assert reranked([], vectors, mmr_lambda=0.5, maximum=None, as_published=False) == []


def test_a_passage_without_an_id_is_the_same_passage_wherever_it_is_found():
    kept = identified(
        [Hit(Passage("", "same")), Hit(Passage("", "same")), Hit(Passage("", "other"))]
    )
    assert len(kept) == 2
    assert all(hit.passage.id for hit in kept)


@pytest.mark.parametrize("reply", ["{}", "[]", ConnectionError("down")])
def test_a_model_that_writes_no_perspectives_is_an_error_and_no_silent_default(reply):
    with pytest.raises(PerspectiveRAGError, match="s/1"):
        expansions_by(ScriptedLLM(lambda prompt: reply), [QUESTION])


def test_a_model_writes_the_perspectives_of_the_expansion_in_their_order():
    llm = ScriptedLLM(lambda prompt: json.dumps({"perspectives": ["Zoos teach.", "Zoos harm."]}))
    assert expansions_by(llm, [QUESTION]) == {"s/1": ("Zoos teach.", "Zoos harm.")}
    assert "yes" not in llm.prompts[0].user.split("banned?")[-1]


# Scores


def test_values_of_a_ranking_by_hand():
    gold = {"0": {"a", "b"}, "1": {"d"}}
    assert values_of(["a", "x", "b", "y", "z", "d"], gold, 5) == {
        "mrecall@5": 0.0,
        "precision@5": 0.4,
        "precision@1": 1.0,
    }
    assert values_of(["a", "x", "b", "y", "z", "d"], gold, 10)["mrecall@10"] == 1.0
    # A place counts, so a passage that stands twice (as published) counts twice.
    assert values_of(["a", "a"], gold, 5)["precision@5"] == 0.4
    assert set_size(["a", "x", "b", "d"], gold) == 4
    assert set_size(["a", "b"], gold) is None
    assert covers_all(["d", "b"], gold) == 1.0
    assert covers_all(["a", "b"], gold) == 0.0


GOLDS = st.dictionaries(st.sampled_from("01"), st.sets(st.sampled_from("abcde")), min_size=1)


@settings(max_examples=80, deadline=None)
@given(st.permutations("abcde"), GOLDS)
def test_the_set_needed_is_the_shortest_beginning_that_covers_all(ranking, gold):
    sizes = [n for n in range(1, 6) if all(set(ranking[:n]) & ids for ids in gold.values())]
    assert set_size(ranking, gold) == (min(sizes) if sizes else None)


def test_the_standard_metrics_by_hand():
    golds = {
        "q": {"0": {"a"}, "1": {"b"}},
        "none": {"0": set(), "1": set()},
        "half": {"0": {"a"}, "1": set()},
    }
    found = standard_values({"q": ["a", "x", "b"], "none": ["a"], "half": ["a"]}, golds, 5)
    best = 1 / np.log2(2) + 1 / np.log2(3)
    assert found["q"]["alpha_ndcg@5"] == pytest.approx(
        (1 / np.log2(2) + 1 / np.log2(4)) / best, abs=1e-4
    )
    assert found["q"]["subtopic_recall@5"] == 1.0
    assert found["half"]["subtopic_recall@5"] == 0.5
    assert set(found["none"].values()) == {0.0}
    for ids in combinations("ab", 2):
        assert standard_values({"q": list(ids)}, golds, 5)["q"]["alpha_ndcg@5"] == pytest.approx(
            1.0
        )


def _err_ia(ranking, gold, k):
    """The mean over perspectives of the expected reciprocal rank, each passage satisfying with
    probability 1/2, as a share of the best that k passages can have.
    """

    def err(taken):
        left, total = 1.0, 0.0
        for place, takes in enumerate(taken, start=1):
            total += left * takes / 2 / place
            left *= 1 - takes / 2
        return total

    mean = np.mean([err([each in ids for each in ranking[:k]]) for ids in gold.values()])
    return mean / err([True] * k)


def _alpha_dcg(ranking, gold, k):
    seen, total = dict.fromkeys(gold, 0), 0.0
    for place, each in enumerate(ranking[:k], start=1):
        for name in (name for name, ids in gold.items() if each in ids):
            total += 0.5 ** seen[name] / np.log2(place + 1)
            seen[name] += 1
    return total


def test_the_standard_metrics_against_brute_force():
    """Perspectives that nothing takes, rankings shorter than k, passages that take several."""
    random, ids = np.random.default_rng(7), [f"d{n}" for n in range(6)]
    golds, rankings = {}, {}
    for number in range(60):
        shares = random.choice([0.0, 0.2, 0.5], size=random.integers(2, 5))
        golds[f"q{number}"] = {
            str(n): {each for each in ids if random.random() < share}
            for n, share in enumerate(shares)
        }
        rankings[f"q{number}"] = list(random.permutation(ids)[: random.integers(1, 7)])
    assert any(not all(gold.values()) and any(gold.values()) for gold in golds.values())
    for k in (3, 5):
        found = standard_values(rankings, golds, k)
        for query, gold in golds.items():
            top, values = rankings[query], found[query]
            taken = sum(not ids.isdisjoint(top[:k]) for ids in gold.values())
            assert values[f"subtopic_recall@{k}"] == pytest.approx(taken / len(gold), abs=1e-5)
            assert values[f"err_ia@{k}"] == pytest.approx(_err_ia(top, gold, k), abs=1e-5)
            best = max(_alpha_dcg(each, gold, k) for each in permutations(ids, k))
            share = _alpha_dcg(top, gold, k) / best if best else 0.0
            # The reference's ideal is greedy, and so at times a little below the best.
            assert share - 1e-5 <= values[f"alpha_ndcg@{k}"] <= 1.05 * share + 1e-5


def test_the_average_is_that_of_the_sets_with_its_own_interval():
    found = intervals({"a": [0.0, 0.0], "b": [1.0] * 50, "empty": []}, seed=1)
    assert set(found) == {"a", "b", "average"}
    assert (found["average"].mean, found["average"].low, found["average"].high) == (0.5, 0.5, 0.5)
    spread = intervals({"a": [0.0, 1.0] * 20, "b": [0.0, 1.0] * 20}, seed=1)
    assert spread["a"].low < spread["average"].low < 0.5 < spread["average"].high < spread["a"].high


def test_lean_and_outcome_by_hand():
    gold = {"0": {"a", "b"}, "1": {"c"}}
    cases = [(["a", "b", "c"], gold, (0, 1)), (["a", "x", "y"], gold, (0, 1))]
    found = lean(cases, 5, seed=1)
    assert (found["p"], found["n"]) == (0.3, 0.1)
    assert found["delta"] == pytest.approx(2 / 3, abs=1e-5)
    assert lean([(["x"], gold, (0, 1))], 5, seed=1)["delta"] is None
    assert lean(cases, 5, seed=1)["difference"] == pytest.approx(
        -lean([(r, g, (1, 0)) for r, g, _ in cases], 5, seed=1)["difference"]
    )
    assert lean([], 5, seed=1)["questions"] == 0
    wanted = {"both": ["a", "c"], "supporting": ["b"], "opposing": ["c"], "neither": ["x"]}
    for name, ranking in wanted.items():
        assert outcome_of_two(ranking, gold, (0, 1), 5) == name


# Judges


def test_a_probe_learns_to_tell_statements_apart_and_knows_its_embedder(tmp_path):
    rows = []
    for label, word in (("support", "agree"), ("oppose", "deny"), ("neutral", "other")):
        rows += [
            {"document": f"{word} {word} x{i}", "statement": "claim", "label": label}
            for i in range(70)
        ]
    folder = tmp_path / "train"
    folder.mkdir()
    with gzip.open(folder / "a.jsonl.gz", "wt") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    out = tmp_path / "probe.npz"
    train_probe(
        [
            f"--train={folder}",
            f"--dev={folder / 'a.jsonl.gz'}",
            "--rows=210",
            "--epochs=20",
            f"--out={out}",
            f"--cache={tmp_path}",
        ],
        embedder=HashEmbedder(),
    )
    probe = EmbeddingProbe(HashEmbedder(), weights=out)
    texts = [Passage("a", "agree agree y"), Passage("b", "deny deny y")]
    support = np.asarray(run(probe.judge([Perspective("p", "claim")], texts)))
    assert support.shape == (2, 1)
    assert support[0, 0] >= probe.threshold > support[1, 0]
    with pytest.raises(ConfigError, match="trained with"):
        EmbeddingProbe(CallableEmbedder(np.asarray))
    with pytest.raises(ConfigError, match="train_probe"):
        EmbeddingProbe(HashEmbedder(), weights=tmp_path / "none.npz")


def test_judges_by_name_know_when_they_are_the_same(tmp_path):
    from perspective_rag.judge.cross_encoder import DEFAULT_MODEL

    by_name, first = load_judge("default", HashEmbedder(), cache=tmp_path)
    by_folder, second = load_judge(str(DEFAULT_MODEL), HashEmbedder(), cache=tmp_path)
    assert first["files"] == second["files"] is not None
    assert by_name.threshold == by_folder.threshold
    _, third = load_judge("llm:m@http://localhost:1/v1", HashEmbedder(), cache=tmp_path)
    _, fourth = load_judge("llm:m@http://localhost:1/v1", HashEmbedder(), cache=tmp_path)
    assert third["name"] == fourth["name"]
    published, fifth = load_judge(
        "mistral-7b-berds@http://localhost:1/v1", HashEmbedder(), cache=tmp_path
    )
    assert fifth["name"] == "timchen0618/Mistral_BERDS_evaluator_full"
    assert published.threshold == 0.5
    for misspelt, meant in (("scorrer", "scorer"), ("mistral-7b-berd", "mistral-7b-berds")):
        with pytest.raises(ConfigError, match=f"did you mean '{meant}'"):
            load_judge(misspelt, HashEmbedder(), cache=tmp_path)
