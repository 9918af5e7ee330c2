"""What the experiments share: sampling, passages, cost, and asking with resumption."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from benchmarks.downstream.asking import Request, ask, unanswered
from benchmarks.downstream.cost import Prices, estimate, is_paid, tokens_in
from benchmarks.downstream.retrieving import (
    METHOD_OF,
    best,
    dense_ranker,
    hits,
    passages_for,
    ranker,
    sample,
)
from benchmarks.pir.methods import METHODS
from benchmarks.pir.retrievers import load_retriever
from benchmarks.pir.tasks import PirQuery, Task
from perspective_rag import CachedLLM, ConfigError, LLMError
from perspective_rag.testing import ScriptedLLM
from perspective_rag.types import Prompt
from perspective_rag_train.append_log import AppendLog
from tests.benchmarks.pir_samples import letter_retriever, letters, sample_task

# Sampling and passages


def test_a_sample_depends_on_the_seed_alone_and_keeps_the_order():
    items = list(range(200))
    one = sample(items, 120, seed=13)
    assert one == sample(items, 120, seed=13) == sorted(set(one))
    assert len(one) == 120
    assert one != sample(items, 120, seed=14)
    assert sample(items, 500, seed=1) == items


def test_a_repeated_text_is_shown_once():
    task = Task("t", ("a", "b", "a", "c"), (PirQuery("q", "r", "p", "", frozenset({2})),))
    assert best(task, np.array([[0.9, 0.5, 0.9, 0.1]]), 3) == [(0, 1, 3)]
    assert hits(task, [(0,)]) == [1.0]  # another copy of the gold text
    assert hits(task, [(1, 3)]) == [0.0]
    assert hits(task, [()]) == [0.0]


def test_each_condition_gives_its_own_passages(tmp_path):
    task = sample_task()
    rank = dense_ranker(task, letter_retriever(), tmp_path)
    assert passages_for(task, "no", 2, rank) == [()] * 5
    assert passages_for(task, "gold", 1, rank) == [(1,), (0,), (2,), (3,), (4,)]
    vectors = [
        np.array([letters([t])[0] for t in texts])
        for texts in (
            [q.text for q in task.queries],
            [q.root for q in task.queries],
            [q.perspective for q in task.queries],
            task.corpus,
        )
    ]
    for condition in ("plain", "pap", "pap+"):
        scores = METHODS[METHOD_OF[condition]](*(v.astype(np.float32) for v in vectors))
        assert passages_for(task, condition, 2, rank) == best(task, scores, 2)


def test_a_perspective_that_is_the_query_becomes_the_difference(tmp_path):
    """With p = q nothing is left of q, and PAP would be plain."""
    queries = tuple(PirQuery(q.text, q.root, q.text, "", q.gold) for q in sample_task().queries)
    task = Task("same", sample_task().corpus, queries)
    rank = dense_ranker(task, letter_retriever(), tmp_path)
    q, r, c = (
        letters(texts).astype(np.float32)
        for texts in ([q.text for q in queries], [q.root for q in queries], task.corpus)
    )
    assert rank("pap", 6) == best(task, METHODS["pap"](q, r, q - r, c), 6)
    assert rank("pap", 6) != rank("plain", 6)


def test_a_retriever_without_vectors_knows_plain_alone(tmp_path):
    task = sample_task()
    rank = ranker(task, load_retriever("bm25"), tmp_path)
    assert len(passages_for(task, "plain", 3, rank)[0]) == 3
    with pytest.raises(ConfigError, match=r"no vectors for 'pap'.*--condition"):
        passages_for(task, "pap", 3, rank)


# Cost


def test_the_estimate_counts_equal_prompts_once():
    prompts = [Prompt("p", "x" * 400, max_tokens=50)] * 2 + [Prompt("p", "y y", max_tokens=50)]
    found = estimate(prompts, Prices(2.0, 10.0), tokens_per_second=25.0, concurrency=2)
    assert found.requests == 2
    assert found.prompt_tokens == (100 + 12) + (3 + 12)  # two words are 2.67 tokens, rounded up
    assert found.completion_tokens == 100
    assert found.dollars == pytest.approx((127 * 2.0 + 100 * 10.0) / 1e6)
    assert found.seconds == pytest.approx(100 / 25.0 / 2)
    assert "at most $0.0013" in str(found)


def test_without_prices_the_cost_is_unknown():
    assert Prices(1.0).of(10, 10) is None
    found = estimate([Prompt("p", "x")], Prices(), tokens_per_second=1.0, concurrency=1)
    assert "price unknown" in str(found)
    assert tokens_in("") == 0
    with pytest.raises(ConfigError, match="price"):
        Prices(-1.0)
    with pytest.raises(ConfigError, match="tokens_per_second"):
        estimate([], Prices(), tokens_per_second=0.0, concurrency=1)


@pytest.mark.parametrize(
    ("url", "paid"),
    [
        (None, True),
        ("http://localhost:8000/v1", False),
        ("http://127.0.0.1:8000/v1", False),
        ("http://[::1]:8000/v1", False),
        ("https://api.example.com/v1", True),
        ("http://192.0.2.7:8000/v1", True),
    ],
)
def test_what_leaves_the_machine_may_cost_money(url, paid, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert is_paid(url) is paid
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert is_paid(url) is (paid and url is not None)


# Asking


def request(number, condition="plain", text=None):
    return Request(condition, f"q{number}", (number,), Prompt("p", text or f"question {number}"))


def open_ledger(folder, llm="m"):
    return AppendLog(folder, "test", {"llm": llm})


def test_replies_come_in_order_and_equal_prompts_are_asked_once(tmp_path):
    asked = []

    def reply(prompt):
        asked.append(prompt.user)
        return prompt.user.upper()

    requests = [request(i) for i in range(6)] + [request(0, "pap")]
    with open_ledger(tmp_path) as ledger:
        rows = ask(ScriptedLLM(reply), requests, ledger, concurrency=3)
    assert [row["reply"] for row in rows] == [each.prompt.user.upper() for each in requests]
    assert sorted(asked) == [f"question {i}" for i in range(6)]


def test_a_run_that_failed_goes_on_where_it_stopped(tmp_path):
    asked = []

    def fails_at(bad):
        def reply(prompt):
            asked.append(prompt.user)
            if prompt.user == bad:
                raise LLMError("overloaded")
            return "fine"

        return ScriptedLLM(reply)

    requests = [request(i) for i in range(8)]
    with open_ledger(tmp_path) as ledger, pytest.raises(LLMError, match="overloaded"):
        ask(fails_at("question 5"), requests, ledger, concurrency=1)
    assert asked == [f"question {i}" for i in range(6)]
    with open_ledger(tmp_path) as ledger:
        assert [each.query for each in unanswered(requests, ledger)] == ["q5", "q6", "q7"]
        rows = ask(fails_at(None), requests, ledger, concurrency=2)
    assert len(rows) == 8
    assert len(asked) == 9
    with open_ledger(tmp_path) as ledger:
        assert not unanswered(requests, ledger)
        # Another prompt, another model: nothing is taken over.
        assert len(unanswered([request(0, text="changed")], ledger)) == 1
    with open_ledger(tmp_path, llm="other") as ledger:
        assert len(unanswered(requests, ledger)) == 8


def test_a_line_torn_by_a_kill_is_asked_again(tmp_path):
    requests = [request(i) for i in range(3)]
    with open_ledger(tmp_path) as ledger:
        ask(ScriptedLLM(lambda prompt: "fine"), requests, ledger, concurrency=1)
        path = ledger.path
    path.write_bytes(path.read_bytes()[:-9])
    with open_ledger(tmp_path) as ledger:
        assert [each.query for each in unanswered(requests, ledger)] == ["q2"]


def test_several_requests_are_under_way(tmp_path):
    """Would wait for ever if replies were written one after another."""
    together = threading.Barrier(4, timeout=20)

    def reply(prompt):
        together.wait()
        return "fine"

    requests = [request(i) for i in range(8)]
    with open_ledger(tmp_path) as ledger:
        assert len(ask(ScriptedLLM(reply), requests, ledger, concurrency=4)) == 8


def test_replies_are_kept_beyond_a_run(tmp_path):
    """The cache is the same for every experiment: another sample asks only what is new."""
    asked = []
    llm = ScriptedLLM(lambda prompt: asked.append(prompt.user) or "fine")
    for _ in range(2):
        CachedLLM(llm, tmp_path / "replies.sqlite").complete(Prompt("p", "question"))
    assert asked == ["question"]
