"""The forms that other products speak: rerank, chat completions, and the tools of MCP."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("fastapi")
mcp = pytest.importorskip("mcp")

import itertools

from perspective_rag import CachedEmbedder, CascadeJudge, Passage
from perspective_rag.testing import HashEmbedder
from perspective_rag_serve.context import Context
from perspective_rag_serve.loading import Loading
from perspective_rag_serve.rerank import falling
from perspective_rag_serve.settings import ServeSettings
from perspective_rag_serve.tools import mcp_server
from perspective_rag_serve.writing import plain
from tests.addons.serve.http.samples import CON, PASSAGES, PRO, QUESTION, client, pipeline

# The first three are for; a plain order by similarity would show no other side among the first two.
DOCUMENTS = [
    "In zoos elephants suffer and should not be there at all",
    "Zoos should be closed: elephants suffer in zoos",
    "Should zoos be closed? Elephants suffer",
    "Zoos save rare species",
    "The weather is fine",
]


# --- rerank ----------------------------------------------------------------------------------------


async def reranked(**body):
    async with client() as http:
        reply = await http.post(
            "/v1/rerank", json={"query": QUESTION, "documents": DOCUMENTS, **body}
        )
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_the_first_documents_show_every_side_and_scores_fall():
    reply = await reranked()
    indexes = [row["index"] for row in reply["results"]]
    scores = [row["relevance_score"] for row in reply["results"]]
    assert sorted(indexes) == list(range(len(DOCUMENTS)))
    assert 3 in indexes[:2]
    assert set(indexes[:2]) & {0, 1, 2}
    assert all(one > other for one, other in itertools.pairwise(scores))
    assert all(0.0 <= score <= 1.0 for score in scores)


async def test_sides_and_similarity_are_in_the_extension_field():
    reply = await reranked()
    rows = {row["index"]: row["perspective_rag"] for row in reply["results"]}
    assert rows[1]["supports"] == ["support"]
    assert rows[3]["supports"] == ["oppose"]
    assert rows[4]["verdicts"] == {"support": "silent", "oppose": "silent"}
    assert set(rows[0]) == {"similarity", "state", "supports", "verdicts"}
    assert (rows[1]["state"], rows[4]["state"]) == ("takes a side", "takes no side")
    extension = reply["perspective_rag"]
    assert [each["text"] for each in extension["perspectives"]] == [PRO, CON]
    assert extension["covered"] == ["support", "oppose"]
    assert extension["missing"] == []


async def test_top_n_documents_as_objects_and_their_return():
    reply = await reranked(
        top_n=2, documents=[{"text": each} for each in DOCUMENTS], return_documents=True
    )
    assert len(reply["results"]) == 2
    for row in reply["results"]:
        assert row["document"]["text"] == DOCUMENTS[row["index"]]
    assert "document" not in (await reranked(top_n=1))["results"][0]


async def test_documents_that_are_equal_stay_two_documents():
    reply = await reranked(documents=["the same", "the same", "the same"])
    assert sorted(row["index"] for row in reply["results"]) == [0, 1, 2]


async def test_the_documents_never_touch_the_store_and_ids_are_never_those_of_the_corpus():
    made = pipeline([Passage("0", "species"), *PASSAGES])
    async with client(made) as http:
        await http.post("/v1/rerank", json={"query": QUESTION, "documents": DOCUMENTS})
    assert made.store.requests == []
    assert not {name for name, _ in made.judge.judged} & {"0", "1", "2", "3"}


async def test_a_query_without_sides_is_ordered_all_the_same():
    reply = await reranked(query="Who wrote Faust?")
    assert len(reply["results"]) == len(DOCUMENTS)
    assert reply["perspective_rag"]["perspectives"] == []


async def test_sides_can_be_named():
    reply = await reranked(perspectives=["Zoos are expensive", "Zoos are cheap"])
    assert [each["text"] for each in reply["perspective_rag"]["perspectives"]] == [
        "Zoos are expensive",
        "Zoos are cheap",
    ]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"documents": []}, 422),
        ({"documents": ["a"], "query": "??"}, 422),
        ({"documents": ["a"], "query": "x" * 501}, 413),
        ({"documents": ["a"] * 1001}, 413),
        ({"documents": ["a" * 100_001]}, 413),
        ({"documents": ["a"], "top_n": 0}, 422),
        ({"documents": [3]}, 422),
    ],
)
async def test_what_cannot_be_reranked_is_refused(body, status):
    async with client() as http:
        reply = await http.post("/v1/rerank", json={"query": QUESTION, **body})
    assert reply.status_code == status
    assert reply.json()["error"]["message"]


def test_scores_fall_where_the_choice_has_ties_and_rises():
    made = falling([0.5, 0.9, 0.5, 0.0, -1.0, 0.0])
    assert all(one > other for one, other in itertools.pairwise(made))
    assert all(0 < each < 1 for each in made)
    assert falling([]) == []


# --- chat ------------------------------------------------------------------------------------------


async def completed(*messages, **body):
    made = [
        {"role": "user", "content": each} if isinstance(each, str) else each for each in messages
    ]
    async with client() as http:
        return await http.post("/v1/chat/completions", json={"messages": made, **body})


async def test_a_completion_is_the_answer_with_citations_and_the_report():
    reply = (await completed(QUESTION)).json()
    choice = reply["choices"][0]
    text = choice["message"]["content"]
    assert (choice["finish_reason"], choice["message"]["role"], reply["object"]) == (
        "stop",
        "assistant",
        "chat.completion",
    )
    assert text.startswith("1 for, 1 against, 1 arguing both ways")
    assert f"**{PRO}**" in text
    assert "long and lonely lives. [" in text
    report = reply["perspective_rag"]
    number = report["answer"]["claims"][0]["citations"][0]
    assert f"- [{number}] [Cages](https://herald.example/1) (The Herald, 2024-05-01)" in text


async def test_a_stream_says_the_same_in_pieces_and_ends_with_the_report():
    whole = (await completed(QUESTION)).json()
    reply = await completed(QUESTION, stream=True, stream_options={"include_usage": True})
    lines = [
        line.removeprefix("data: ")
        for line in reply.text.split("\n\n")
        if line.startswith("data: ")
    ]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert deltas[0]["role"] == "assistant"
    text = "".join(delta.get("content", "") for delta in deltas)
    assert text.strip() == whole["choices"][0]["message"]["content"]
    assert len(deltas) > 4
    ends = [c for c in chunks if c["choices"] and c["choices"][0]["finish_reason"]]
    assert len(ends) == 1
    assert ends[0]["perspective_rag"]["view"] == whole["perspective_rag"]["view"]
    assert chunks[-1]["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert len({chunk["id"] for chunk in chunks}) == 1


async def test_the_last_message_follows_the_ones_before_it_and_small_talk_is_passed_over():
    talk = [
        QUESTION,
        {"role": "assistant", "content": "1 for, 1 against"},
        "thanks",
        "and in Spain?",
    ]
    report = (await completed(*talk)).json()["perspective_rag"]
    asked = report["reading"]["question"].casefold()
    assert "zoos" in asked
    assert "spain" in asked


async def test_small_talk_gets_a_friendly_line():
    reply = (await completed("thanks")).json()
    assert reply["choices"][0]["message"]["content"].startswith("Ask me a question")


@pytest.mark.parametrize("text", [{"a": 1}, ["Should zoos be closed?"], 7, None])
async def test_a_part_whose_text_is_none_is_no_question(text):
    reply = await completed({"role": "user", "content": [{"type": "text", "text": text}]})
    assert reply.status_code == 422


async def test_parts_of_a_content_and_system_messages_are_understood():
    parts = {
        "role": "user",
        "content": [
            {"type": "text", "text": QUESTION},
            {"type": "image_url", "image_url": {"url": "x"}},
        ],
    }
    reply = (
        await completed(
            {"role": "system", "content": "Be brief."}, parts, temperature=0.3, tools=[]
        )
    ).json()
    assert reply["perspective_rag"]["reading"]["question"] == QUESTION


@pytest.mark.parametrize(
    ("messages", "body", "status"),
    [
        ([], {}, 422),
        ([{"role": "system", "content": QUESTION}], {}, 422),
        ([{"role": "user", "content": None}], {}, 422),
        ([{"role": "user", "content": "x" * 501}], {}, 413),
        ([{"role": "nobody", "content": QUESTION}], {}, 422),
        ([{"role": "user", "content": QUESTION}], {"n": 2}, 422),
    ],
)
async def test_what_cannot_be_completed_is_refused(messages, body, status):
    for stream in (False, True):
        reply = await completed(*messages, **body, stream=stream)
        assert reply.status_code == status
        assert {"message", "type", "code"} <= set(reply.json()["error"])


async def test_nothing_in_a_passage_acts_in_the_text_of_a_completion():
    evil = (
        "Elephants suffer in zoos every day ![x](https://evil.example/?q=1) <img src=x> [a](b) https://evil.example/2 "
        "&#x21;[y](z)."
    )
    passages = [
        Passage("evil", evil, {"title": "[t](https://evil.example/t)", "source": "![s](t)"})
    ]
    async with client(pipeline(passages)) as http:
        body = {"messages": [{"role": "user", "content": QUESTION}]}
        text = (await http.post("/v1/chat/completions", json=body)).json()["choices"][0]["message"][
            "content"
        ]
    assert "Elephants suffer" in text
    bare = (
        text.replace("\\[", "")
        .replace("\\]", "")
        .replace("\\!", "")
        .replace("\\<", "")
        .replace("\\&", "")
    )
    for mark in ("![", "](", "<img", "https:", "&#x21;"):
        assert mark not in bare


@pytest.mark.parametrize(
    "text", ["# a", "1. a", "- a", "> a", "```a```", "~~a~~", "a | b", "$x$", "**a**", "\\*a"]
)
def test_mark_up_is_shown_as_it_is(text):
    shown = plain(text)
    assert shown != text
    assert shown.replace("\\", "") == text.replace("\\", "")


async def test_there_is_one_model():
    async with client() as http:
        models = (await http.get("/v1/models")).json()
        assert [each["id"] for each in models["data"]] == ["perspective-rag"]
        assert (await http.get("/v1/models/perspective-rag")).json()["object"] == "model"
        assert (await http.get("/v1/models/gpt")).status_code == 404


# --- tools -----------------------------------------------------------------------------------------


def tools(**settings):
    made = ServeSettings(**settings)
    return mcp.Client(mcp_server(Context(made, Loading.of(pipeline()))))


async def test_each_tool_has_typed_arguments_and_results():
    async with tools() as session:
        found = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert set(found) == {"search_perspectives", "judge_support", "audit_retrieval"}
    for tool in found.values():
        assert tool.description
        assert tool.annotations.read_only_hint is True
        assert "question" in tool.input_schema["required"]
        assert tool.output_schema["type"] == "object"
    assert found["search_perspectives"].input_schema["properties"]["k"]["maximum"] == 50


async def test_a_search_returns_every_side_with_its_sentence_and_the_answer():
    async with tools() as session:
        found = (
            await session.call_tool("search_perspectives", {"question": QUESTION})
        ).structured_content
    assert {side["text"]: [p["id"] for p in side["passages"]] for side in found["sides"]} == {
        PRO: ["suffer"],
        CON: ["species"],
    }
    assert found["sides"][1]["passages"][0]["sentence"] == "Zoos save rare species from extinction."
    assert found["sides"][0]["passages"][0]["copies"] == 1
    assert [p["id"] for p in found["mixed"]] == ["both"]
    assert [p["id"] for p in found["unsorted"]] == ["perhaps"]
    assert [p["id"] for p in found["neither"]] == ["hours"]
    assert found["missing"] == []
    assert {claim["side"] for claim in found["answer"]} == {"support", "oppose"}


async def test_passages_are_judged_in_the_order_they_were_given():
    passages = ["It rains.", "Zoos save species", "Elephants suffer"]
    async with tools() as session:
        arguments = {"question": QUESTION, "passages": passages}
        found = (await session.call_tool("judge_support", arguments)).structured_content
    assert found["sides"] == [PRO, CON]
    assert [each["n"] for each in found["passages"]] == [1, 2, 3]
    verdicts = [[side["verdict"] for side in each["sides"]] for each in found["passages"]]
    assert verdicts == [["silent", "silent"], ["silent", "clear"], ["clear", "silent"]]
    assert found["passages"][2]["sides"][0]["probability"] == 0.95
    states = [each["state"] for each in found["passages"]]
    assert states == ["takes no side", "takes a side", "takes a side"]


async def test_an_audit_says_what_is_missing_repeated_and_to_be_searched_next():
    text = "Elephants suffer in every zoo of this country, day and night, in summer and in winter alike"
    passages = ["It rains.", f"{text}.", f"{text}!"]
    async with tools() as session:
        arguments = {"question": QUESTION, "passages": passages}
        found = (await session.call_tool("audit_retrieval", arguments)).structured_content
    assert found["complete"] is False
    assert found["sides"] == [
        {"side": PRO, "passages": 2, "first": 2},
        {"side": CON, "passages": 0, "first": None},
    ]
    assert found["missing"] == [CON]
    assert found["next_queries"] == [CON]
    assert found["copies"] == [[2, 3]]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search_perspectives", {"question": "??"}, "no word"),
        ("search_perspectives", {"question": "x" * 501}, "500 characters"),
        ("judge_support", {"question": "Who wrote Faust?", "passages": ["a"]}, "name them"),
        ("judge_support", {"question": QUESTION, "passages": []}, "passages"),
        ("audit_retrieval", {"question": QUESTION}, "passages"),
        ("search_perspectives", {"question": QUESTION, "k": 51}, "k"),
    ],
)
async def test_a_tool_says_what_is_wrong_with_its_arguments(tool, arguments, said):
    async with tools() as session:
        reply = await session.call_tool(tool, arguments)
    assert reply.is_error
    assert said in reply.content[0].text
    assert "Traceback" not in reply.content[0].text


async def test_the_documents_leave_nothing_in_the_cache_of_embeddings(tmp_path):
    inner = HashEmbedder()
    cache = CachedEmbedder(inner, tmp_path / "cache.sqlite", model_name="hash")
    made = pipeline()
    made.embedder = cache
    made.judge = CascadeJudge(made.judge, embedder=cache)
    async with client(made) as http:
        for _ in range(2):
            await http.post("/v1/rerank", json={"query": QUESTION, "documents": DOCUMENTS})
    assert all(inner.embedded.count(each) == 2 for each in DOCUMENTS)
    assert made.embedder is cache
    assert made.judge.embedder is cache
