"""Answers from one passage: scores, data, sampling, cost, resuming, and a run against a server."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from benchmarks.ambigqa.__main__ import main
from benchmarks.ambigqa.data import read_answer_task
from benchmarks.ambigqa.scoring import contains, exact_match, f1, said
from benchmarks.ambigqa.summary import Row, summary
from benchmarks.core import local_server
from benchmarks.core.results import read, write
from benchmarks.downstream import commands
from benchmarks.downstream.asking import Request, ask, unanswered
from benchmarks.downstream.cost import Prices, estimate, is_paid, tokens_in
from benchmarks.downstream.prompts import read_template
from benchmarks.downstream.report import sections
from benchmarks.downstream.retrieving import (
    CONDITIONS,
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
from perspective_rag import (
    CachedLLM,
    ConfigError,
    CorpusError,
    LLMError,
    OpenAICompatibleLLM,
)
from perspective_rag.types import Completion, Prompt
from tests.benchmarks.downstream_samples import server_module, write_ambignq
from tests.benchmarks.pir_samples import letter_retriever, letters, sample_task, write_json

scripted = server_module()


def console():
    return Console(width=160, record=True, file=open("/dev/null", "w"))


# Scores


@pytest.mark.parametrize(
    ("answer", "accepted", "equal"),
    [
        ("The Red House.", ["red house"], 1.0),
        ("red  HOUSE!", ["a red house"], 1.0),
        ("house red", ["red house"], 0.0),
        ("May 4, 1932", ["4 May 1932", "may 4 1932"], 1.0),
        ("1,000", ["1000"], 1.0),
        ("theatre", ["atre"], 0.0),
        ("", ["red"], 0.0),
        ("red", [], 0.0),
    ],
)
def test_exact_match_compares_words_without_case_punctuation_and_articles(answer, accepted, equal):
    assert exact_match(answer, accepted) == equal


@pytest.mark.parametrize(
    ("answer", "accepted", "expected"),
    [
        ("big red car", ["red big truck"], 2 * 2 / 6),  # two words in common, three each
        ("red red", ["red"], 2 * 1 / 3),  # a word counts as often as both have it
        ("red", ["blue", "dark red"], 2 * 1 / 3),  # the best of the accepted ones
        ("the red", ["red"], 1.0),
        ("green", ["red"], 0.0),
    ],
)
def test_f1_counts_words(answer, accepted, expected):
    assert f1(answer, accepted) == pytest.approx(expected)


def test_contains_takes_whole_words_in_their_order():
    assert contains("It opened on May 4, 1932, I think", ["4 May 1932", "may 4 1932"]) == 1.0
    for text in ("party", "smart", "arts"):
        assert contains(text, ["art"]) == 0.0
    assert contains("house of red", ["red house"]) == 0.0
    assert contains("anything", ["the", "?"]) == 0.0


@given(st.text(alphabet="abc .,", max_size=12), st.text(alphabet="abc .,", max_size=12))
def test_scores_are_ordered(answer, accepted):
    """An exact match has F1 1; F1 does not depend on which side is which."""
    if exact_match(answer, [accepted]):
        assert f1(answer, [accepted]) == 1.0
    assert f1(answer, [accepted]) == f1(accepted, [answer])
    assert 0.0 <= f1(answer, [accepted]) <= 1.0


def test_what_a_reply_says_is_its_first_line():
    assert said("\n  Answer: 1931\nbecause trams") == "1931"
    assert said("**Short answer:** 1931") in ("1931", "** 1931")
    assert said("\n\n") == ""
    assert said("Answer:\n1931") == "1931"


# Data


def test_meanings_are_asked_on_the_fragments_that_answer_them(tmp_path):
    found = read_answer_task(write_ambignq(tmp_path / "ambigqa"))
    task = found.task
    assert len(task.corpus) == 5  # one fragment is there twice
    assert [query.text for query in task.queries] == [
        "When did the Harbour Bridge open to trams?",
        "When did the Harbour Bridge open to cars?",
        "Who wrote the words of Lanterns?",
        "Who wrote the music of Lanterns?",
    ]
    # 19990 is not 1999, so the third meaning has no passage and is left out.
    assert [sorted(query.gold) for query in task.queries] == [[0, 1], [1], [3], [4]]
    assert found.answers[1] == ("4 May 1932", "May 4, 1932")
    assert task.queries[0].root == "when did the harbour bridge open"
    assert found.answered


def test_a_task_of_ones_own_may_have_answers(tmp_path):
    rows = [
        {"kind": "doc", "id": "d", "text": "It is red."},
        {"kind": "query", "text": "q", "root": "r", "perspective": "p", "gold": ["d"]},
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, [rows[0], {**rows[1], "answers": ["red"]}])))
    assert read_answer_task(path).answers == (("red",),)
    path.write_text("\n".join(map(json.dumps, rows)))
    assert not read_answer_task(path).answered
    path.write_text("\n".join(map(json.dumps, [rows[0], {**rows[1], "answers": "red"}])))
    with pytest.raises(CorpusError, match=r"own\.jsonl:2.*list of texts"):
        read_answer_task(path)
    assert read_answer_task(write_json(tmp_path / "demo.json")).answers[0] == ()


def test_data_that_is_something_else_is_refused(tmp_path):
    with pytest.raises(CorpusError, match=r"ambignq_dev\.jsonl"):
        read_answer_task(tmp_path)
    folder = write_ambignq(tmp_path / "other")
    (folder / "ambignq_dev.jsonl").write_text('{"question": "When?"}\n')
    with pytest.raises(CorpusError, match="disambiguations"):
        read_answer_task(folder)


# Sampling and passages


def test_a_sample_depends_on_the_seed_alone_and_keeps_the_order():
    items = list(range(200))
    one = sample(items, 120, seed=13)
    assert one == sample(items, 120, seed=13) == sorted(set(one))
    assert len(one) == 120
    assert one != sample(items, 120, seed=14)
    assert sample(items, 500, seed=1) == items


def test_queries_without_an_answer_are_not_sampled(tmp_path):
    path = tmp_path / "own.jsonl"
    rows = [{"kind": "doc", "id": "d", "text": "t"}] + [
        {"kind": "query", "text": f"q{i}", "root": "r", "perspective": "p", "gold": ["d"]}
        | ({"answers": ["t"]} if i % 2 else {})
        for i in range(10)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    some = read_answer_task(path).sampled(4, seed=1)
    assert some.answered
    assert len(some.task.queries) == 4


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


class Answering:
    """A model that answers a prompt with ``function(prompt)``."""

    name = "answering"

    def __init__(self, function):
        self.function = function

    def complete(self, prompt):
        return Completion(self.function(prompt))


def request(number, condition="plain", text=None):
    return Request(condition, f"q{number}", (number,), Prompt("p", text or f"question {number}"))


def open_ledger(folder, llm="m"):
    return commands.Ledger(folder, "test", {"llm": llm})


def test_replies_come_in_order_and_equal_prompts_are_asked_once(tmp_path):
    asked = []

    def reply(prompt):
        asked.append(prompt.user)
        return prompt.user.upper()

    requests = [request(i) for i in range(6)] + [request(0, "pap")]
    with open_ledger(tmp_path) as ledger:
        rows = ask(Answering(reply), requests, ledger, concurrency=3)
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

        return Answering(reply)

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
        ask(Answering(lambda prompt: "fine"), requests, ledger, concurrency=1)
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
        assert len(ask(Answering(reply), requests, ledger, concurrency=4)) == 8


def test_a_prompt_file_needs_its_two_parts(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("only one")
    with pytest.raises(ConfigError, match="--- user ---"):
        read_template(path)


# The table's numbers


def test_the_summary_of_replies_by_hand():
    rows = {
        "gold": Row(["Answer: Ida Holm", "1931"], [1.0, 1.0]),
        "plain": Row(["Ida", "It was 1931."], [1.0, 0.0]),
    }
    found = summary(rows, [("Ida Holm",), ("1931",)], seed=1, resamples=200)
    assert found["gold"]["exact_match"]["mean"] == 1.0
    assert found["plain"]["exact_match"]["mean"] == 0.0
    # F1: 2 * 1 / 3 for the name, 2 * 1 / 4 for the year.
    assert found["plain"]["f1"]["mean"] == pytest.approx((2 / 3 + 1 / 2) / 2, abs=1e-6)
    assert found["plain"]["contains"]["mean"] == 0.5
    assert found["plain"]["hit"]["mean"] == 0.5
    assert found["gold"]["exact_match"]["against_plain"]["mean"] == 1.0
    assert found["plain"]["exact_match"]["against_plain"] is None
    without = summary(rows, [("Ida Holm",), ()], seed=1, resamples=50)
    assert set(without["plain"]) == {"hit", "agreement"}
    assert without["gold"]["agreement"]["mean"] == 1.0


# Whole runs


def reads(body, server):
    """A reader that knows nothing: it repeats the last two words of what it was given."""
    text = body["messages"][-1]["content"]
    knowledge = text.partition("\n\nQuestion:")[0] if "Knowledge:" in text else "no idea"
    return scripted.chat("Answer: " + " ".join(knowledge.rstrip(".").split()[-2:]))


def arguments(folder, server, tmp_path, *more):
    data = ["--data", str(folder), "--cache", str(tmp_path / "cache")]
    model = ["--llm", "tiny", "--base-url", server.url, "--resamples", "100"]
    return [*data, *model, "--out", str(tmp_path / "ambigqa-x.json"), *more]


def test_a_whole_run_resumes_and_makes_a_table(tmp_path):
    pytest.importorskip("openai")
    folder = write_ambignq(tmp_path / "ambigqa")
    with scripted.OpenAIServer(reads) as server:
        given = arguments(folder, server, tmp_path)
        assert main(given, console=console()) == 0
        asked = len(server.bodies)
        shown = console()
        assert main(given, console=shown) == 0
        assert len(server.bodies) == asked
        text = shown.export_text()
    assert "24 of 24 replies are known" in text
    assert "0 requests" in text
    assert "free" in text
    values = read(tmp_path / "ambigqa-x.json")
    found = values["results"]["conditions"]
    assert tuple(found) == CONDITIONS
    # The gold passages end in "Ida Holm", "Jon Reed", "in 1931" and "since 1931".
    assert found["gold"]["exact_match"]["mean"] == 0.5
    assert found["gold"]["contains"]["mean"] == 0.75
    assert found["no"]["contains"]["mean"] == 0.0
    assert found["gold"]["hit"]["mean"] == 1.0
    assert found["no"]["hit"]["mean"] == 0.0
    assert asked < 24  # conditions that find the same passage ask once
    assert values["results"]["tokens"] == {"in": 24 * 11, "out": 24 * 3}
    assert values["degradations"] == 0
    write(values, tmp_path / "results" / "ambigqa-x.json")
    texts = sections(tmp_path / "results")
    assert "| gold | 50.0 [" in texts["downstream-ambigqa"]
    assert "| 77.5 |" in texts["downstream-ambigqa"]
    assert "python -m benchmarks.ambigqa" in texts["downstream-commands"]


def test_a_task_without_answers_is_compared_with_the_reply_to_gold(tmp_path):
    pytest.importorskip("openai")
    path = write_json(tmp_path / "demo.json")
    with scripted.OpenAIServer(reads) as server:
        given = arguments(path, server, tmp_path, "--condition", "gold", "--condition", "no")
        assert main(given, console=console()) == 0
    found = read(tmp_path / "ambigqa-x.json")["results"]["conditions"]
    assert found["gold"]["agreement"]["mean"] == 1.0
    assert found["no"]["agreement"]["mean"] == 0.0
    assert "exact_match" not in found["no"]


def test_a_failing_server_ends_the_run_and_the_rest_is_asked_later(tmp_path):
    pytest.importorskip("openai")
    folder = write_ambignq(tmp_path / "ambigqa")

    def fails_late(body, server):
        return scripted.failure(400, "no more") if len(server.bodies) > 3 else reads(body, server)

    with scripted.OpenAIServer(fails_late) as server:
        given = arguments(folder, server, tmp_path, "--concurrency", "1")
        shown = console()
        assert main(given, console=shown) == 2
        assert "no more" in shown.export_text()
        assert not (tmp_path / "ambigqa-x.json").exists()
        server.behaviour = reads
        before = len(server.bodies)
        assert main(given, console=console()) == 0
        texts = [json.dumps(body["messages"]) for body in server.bodies]
    # Only the one that failed was sent twice.
    assert len(texts) - len(set(texts)) == 1
    assert texts[before] == texts[before - 1]


def test_a_paid_server_is_asked_only_when_that_was_agreed_to(tmp_path, monkeypatch):
    pytest.importorskip("openai")
    folder = write_ambignq(tmp_path / "ambigqa")
    monkeypatch.setattr(commands, "is_paid", lambda url: True)
    prices = ["--price-in", "1", "--price-out", "2", "--condition", "no"]
    with scripted.OpenAIServer(reads) as server:
        shown = console()
        given = arguments(folder, server, tmp_path, *prices)
        assert main(given, console=shown) == 2
        text = shown.export_text()
        assert "4 requests" in text
        assert "$0.00" in text
        assert "--yes" in text
        assert server.bodies == []
        assert main([*given, "--yes"], console=console()) == 0
        assert len(server.bodies) == 4


def test_what_cannot_be_read_is_said(tmp_path):
    shown = console()
    given = ["--data", str(tmp_path / "nothing.jsonl"), "--llm", "m", "--base-url", "http://x"]
    assert main(given, console=shown) == 2
    assert "nothing.jsonl" in shown.export_text()


# The small local server


class Echo:
    """A model that repeats; ``batches`` are how many prompts came at once."""

    def __init__(self, waits=0):
        self.batches = []
        self.prompts = []
        self.waits = waits

    def complete_many(self, prompts):
        self.batches.append(len(prompts))
        self.prompts += prompts
        if any(prompt.user == "crash" for prompt in prompts):
            raise RuntimeError("out of memory")
        return [
            LLMError("too long")
            if prompt.user == "long"
            else Completion(f"<{prompt.user}>", prompt_tokens=5, completion_tokens=2)
            for prompt in prompts
        ]


@pytest.fixture
def echo_server():
    model = Echo()
    server = local_server.server(model, model="echo")
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield model, f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


def test_the_local_server_speaks_the_protocol_of_its_client(echo_server):
    pytest.importorskip("openai")
    model, url = echo_server
    llm = OpenAICompatibleLLM("echo", base_url=url, max_retries=0)
    found = llm.complete(Prompt("p", "hello", system="be brief", max_tokens=7, seed=3))
    assert (found.text, found.prompt_tokens, found.completion_tokens) == ("<hello>", 5, 2)
    (prompt,) = model.prompts
    assert (prompt.system, prompt.max_tokens, prompt.temperature, prompt.seed) == (
        "be brief",
        7,
        0.0,
        3,
    )
    for text, reason in (("long", "too long"), ("crash", "out of memory")):
        with pytest.raises(LLMError, match=reason):
            llm.complete(Prompt("p", text))
    assert llm.complete(Prompt("p", "after")).text == "<after>"
    # Log-probabilities are refused, so the client asks again without.
    assert llm.complete(Prompt("p", "yes or no", choices=("yes", "no"))).text == "<yes or no>"


def test_the_local_server_refuses_what_is_no_chat(echo_server):
    import httpx

    _, url = echo_server
    assert httpx.get(f"{url}/models").json()["data"][0]["id"] == "echo"
    assert httpx.get(f"{url}/other").status_code == 404
    ask_at = f"{url}/chat/completions"
    good = {"messages": [{"role": "user", "content": "x"}]}
    assert httpx.post(ask_at, json=good).status_code == 200
    assert httpx.post(f"{url}/embeddings", json=good).status_code == 404
    for bad in (b"{", b"[]", b"{}"):
        assert httpx.post(ask_at, content=bad).status_code == 400
    assert httpx.post(ask_at, json={**good, "stream": True}).status_code == 400
    part = {"messages": [{"role": "tool", "content": "x"}]}
    assert httpx.post(ask_at, json=part).status_code == 400


def test_prompts_that_wait_are_answered_in_one_batch():
    held = threading.Event()
    model = Echo()
    answer = model.complete_many

    def waits(prompts):
        held.wait(20)
        return answer(prompts)

    model.complete_many = waits
    batcher = local_server.Batcher(model, size=4)
    found = {}
    threads = [
        threading.Thread(
            target=lambda i=i: found.update({i: batcher.complete(Prompt("p", str(i)))})
        )
        for i in range(9)
    ]
    for thread in threads:
        thread.start()
    held.set()
    for thread in threads:
        thread.join(20)
    assert {i: each.text for i, each in found.items()} == {i: f"<{i}>" for i in range(9)}
    assert max(model.batches) <= 4
    assert len(model.batches) < 9


def test_a_server_that_answers_is_used_and_one_that_cannot_start_is_reported(echo_server):
    port = int(echo_server[1].rpartition(":")[2].partition("/")[0])
    with local_server.started(python="no-such-python", port=port) as url:
        assert url == echo_server[1]
    with (
        pytest.raises(ConfigError, match="--local-python"),
        local_server.started(python="false", port=1),
    ):
        pass


def test_replies_are_kept_beyond_a_run(tmp_path):
    """The cache is the same for every experiment: another sample asks only what is new."""
    asked = []
    llm = Answering(lambda prompt: asked.append(prompt.user) or "fine")
    for _ in range(2):
        CachedLLM(llm, tmp_path / "replies.sqlite").complete(Prompt("p", "question"))
    assert asked == ["question"]
