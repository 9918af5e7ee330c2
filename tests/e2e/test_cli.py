"""The commands as a user runs them: the real judge and embedder where it matters, a real server on localhost."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from perspective_rag.cli import main
from perspective_rag.testing import RuleJudge

ROOT = Path(__file__).parents[2]
DEBATES = ROOT / "examples" / "debates"
ZOOS = "Should zoos be closed?"


def contract_server():
    path = ROOT / "tests" / "contract" / "openai_server.py"
    spec = importlib.util.spec_from_file_location("openai_server_for_cli", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


# --- parts of the user's own, named on the command line -------------------------------------------


def judge():
    """Reads the side off the passage."""
    marks = {"support": "pro", "oppose": "con"}
    return RuleJudge(lambda passage, side: float(passage.text.startswith(marks[side.stance])))


def only_pro():
    return lambda text, k: [f"pro {n}" for n in range(k)]


def of_the_corpus(passages):
    return lambda text, k: passages[:k]


def langchain_retriever():
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [Document(page_content=text) for text in ("con 1", "con 2", "pro 3")]

    return Fixed()


def llama_index_retriever():
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    class Fixed(BaseRetriever):
        def _retrieve(self, query_bundle):
            return [
                NodeWithScore(node=TextNode(text=text), score=1.0) for text in ("pro 1", "con 2")
            ]

    return Fixed()


def down(text, k):
    raise ConnectionError("store is down")


def broken():
    return down


@pytest.fixture
def own(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.txt"
    path.write_text(f"{ZOOS}\nShould cash be abolished?\n")
    return path


def audit(tmp_path, *arguments):
    status = main(
        [
            "audit",
            f"--cache={tmp_path / 'cache'}",
            f"--out={tmp_path / 'out'}",
            *map(str, arguments),
        ]
    )
    path = tmp_path / "out" / "audit.json"
    return status, json.loads(path.read_text()) if path.exists() else None


SIDES = {"close": "support", "keep": "oppose", "abolish": "support"}


def sides_by_label():
    """For each passage of the sample debates, the sides of its question that it supports."""
    rows = map(json.loads, (DEBATES / "labels.jsonl").read_text().splitlines())
    return {row["passage"]: [SIDES[s] for s in row["supports"] if s in SIDES] for row in rows}


def label_judge():
    """Has read the labels."""
    labels = sides_by_label()
    return RuleJudge(lambda passage, side: float(side.stance in labels[passage.id]))


def verdicts(document):
    """(passage id, sides it was found to support) of every question as it was asked."""
    return [
        (each["id"], each["supports"])
        for question in document["questions"]
        for each in question["wordings"]["neutral"]["passages"]
    ]


def test_the_verdicts_of_an_audit_are_those_of_its_judge(tmp_path, own, questions):
    status, document = audit(
        tmp_path,
        questions,
        f"--corpus={DEBATES / 'passages.jsonl'}",
        "--judge=test_cli:label_judge",
        "--depth=10",
    )
    assert status == 0
    labels, found = sides_by_label(), verdicts(document)
    assert len(found) >= 10
    assert found == [(name, labels[name]) for name, _ in found]


def test_the_sample_debates_are_audited_with_the_judge_that_is_shipped(tmp_path, capsys, questions):
    """Offline, from a bare list of questions; the sample corpus holds both sides of either."""
    status, document = audit(
        tmp_path, questions, f"--corpus={DEBATES / 'passages.jsonl'}", "--depth=10"
    )
    assert status == 0
    total = document["total"]
    assert total["two_sided"] == 2
    assert total["coverage"]["mean"] == 1.0
    assert document["degradations"] == []
    texts = {
        row["id"]: row["text"]
        for row in map(json.loads, (DEBATES / "passages.jsonl").read_text().splitlines())
    }
    labels = sides_by_label()
    # Passages that begin by saying which side they take.
    outright = [
        (name, supports)
        for name, supports in verdicts(document)
        if texts[name].startswith(("Zoos should", "Cash should"))
    ]
    assert len(outright) >= 4
    assert outright == [(name, labels[name]) for name, _ in outright]
    screen = capsys.readouterr().out
    assert "One-sided: 0 of 2" in screen
    assert ZOOS in screen
    page = (tmp_path / "out" / "audit.html").read_text()
    assert page.count("<svg") == 4
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_one_sided_retriever_of_ones_own_misses_the_limit(tmp_path, capsys, own, questions):
    with questions.open("a") as file:
        file.write(
            "".join(f"Should {each} be banned?\n" for each in ("cars", "exams", "ads", "guns"))
        )
    arguments = [questions, "--retriever=test_cli:only_pro", "--judge=test_cli:judge"]
    status, document = audit(tmp_path, *arguments, "--max-one-sided=0.5", "--max-lean=0.5")
    assert status == 1
    assert document["total"]["favours"] == "support"
    assert document["total"]["lean"]["mean"] == 1.0
    assert document["total"]["passages"] == {"support": 30, "oppose": 0, "mixed": 0, "neither": 0}
    assert len(document["missed"]) == 2
    assert "missed: one-sided questions: 1.000, at most 0.5" in capsys.readouterr().out
    assert audit(tmp_path, *arguments)[0] == 0
    _, first = audit(tmp_path, *arguments, "--limit=1")
    assert [each["question"] for each in first["questions"]] == [
        document["questions"][0]["question"]
    ]
    assert len(document["questions"]) == 6


@pytest.mark.parametrize(
    ("factory", "counts"),
    [("langchain_retriever", (1, 2)), ("llama_index_retriever", (1, 1))],
)
def test_retrievers_of_both_frameworks(tmp_path, own, questions, factory, counts):
    status, document = audit(
        tmp_path, questions, f"--retriever=test_cli:{factory}", "--judge=test_cli:judge"
    )
    assert status == 0
    neutral = document["questions"][0]["wordings"]["neutral"]
    assert (neutral["support"], neutral["oppose"]) == counts


def test_a_factory_is_given_the_corpus(tmp_path, own, questions):
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"id": "a", "text": "pro a"}\n{"id": "b", "text": "con b"}\n')
    arguments = [questions, "--retriever=test_cli:of_the_corpus", "--judge=test_cli:judge"]
    status, document = audit(tmp_path, *arguments, f"--corpus={corpus}")
    assert status == 0
    assert document["questions"][0]["needed"] == 2
    assert audit(tmp_path, *arguments)[0] == 2


def test_perspectives_are_drafted_edited_and_used(tmp_path, capsys, own, questions):
    assert audit(tmp_path, questions, "--draft") == (0, None)
    assert "Zoos should not be closed" in capsys.readouterr().out
    draft = tmp_path / "out" / "perspectives.jsonl"
    edited = tmp_path / "edited.jsonl"
    edited.write_text(draft.read_text().replace('"Zoos should not be closed"', '"Zoos must stay"'))
    arguments = [
        questions,
        f"--perspectives={edited}",
        "--retriever=test_cli:only_pro",
        "--judge=test_cli:judge",
    ]
    _, document = audit(tmp_path, *arguments)
    assert document["questions"][0]["perspectives"][1]["text"] == "Zoos must stay"
    assert document["questions"][0]["wordings"]["oppose"]["asked"] == "Zoos must stay"


def test_perspectives_edited_in_place_are_never_overwritten(tmp_path, capsys, own, questions):
    arguments = [questions, "--retriever=test_cli:only_pro", "--judge=test_cli:judge"]
    audit(tmp_path, *arguments)
    audit(tmp_path, *arguments)
    draft = tmp_path / "out" / "perspectives.jsonl"
    assert not list(draft.parent.glob("perspectives-*"))  # nothing was edited
    edited = draft.read_text().replace("Zoos should not be closed", "Zoos must stay")
    draft.write_text(edited)
    capsys.readouterr()
    audit(tmp_path, *arguments)
    assert (draft.parent / "perspectives-1.jsonl").read_text() == edited
    assert "perspectives-1.jsonl" in capsys.readouterr().out.replace("\n", "")
    draft.write_text(edited)
    audit(tmp_path, *arguments, f"--perspectives={draft}")
    assert "Zoos must stay" in draft.read_text()


def test_a_folder_that_cannot_be_written_is_one_line_and_status_2(tmp_path, capsys, own, questions):
    (tmp_path / "out").write_text("a file")
    status = main(["audit", str(questions), "--draft", f"--out={tmp_path / 'out'}"])
    assert status == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert "out" in error


def test_a_language_model_writes_the_perspectives(tmp_path, own, questions):
    server = contract_server()
    reply = json.dumps(
        {"root": ZOOS, "perspectives": [{"text": "Close them."}, {"text": "Keep them."}]}
    )
    with server.OpenAIServer(lambda body, _: server.chat(reply)) as running:
        audit(tmp_path, questions, "--draft", "--llm=tiny", f"--base-url={running.url}")
    rows = [
        json.loads(line)
        for line in (tmp_path / "out" / "perspectives.jsonl").read_text().splitlines()
    ]
    assert [each["text"] for each in rows[0]["perspectives"]] == ["Close them.", "Keep them."]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "nothing to audit"),
        (["--retriever=nowhere:make"], "cannot be imported"),
        (["--retriever=test_cli:nothing"], "has no 'nothing'"),
        (["--retriever=test_cli:broken"], "every search failed"),
        (["--retriever=test_cli:only_pro", "--max-lean=3"], "max_lean must be a number in [0, 1]"),
        (["--retriever=test_cli:only_pro", "-k=0"], "k must be from 1"),
        (["--retriever=test_cli:only_pro", "--limit=0"], "--first must be"),
        (["--retriever=test_cli:only_pro", "--pipeline"], "--pipeline"),
        (["--retriever=test_cli:only_pro", "--perspectives=nowhere.jsonl"], "cannot be read"),
        (["--retriever=test_cli:only_pro", "--judge=defualt"], "did you mean 'default'"),
        (["--retriever=test_cli:only_pro", "--judge=zephyr7b"], "did you mean 'zephyr-7b'"),
        (["--retriever=test_cli:only_pro", "--judge=test_cli:dumb"], "judged none of"),
    ],
)
def test_what_cannot_be_audited_is_one_line_and_status_2(
    tmp_path, capsys, own, questions, arguments, says
):
    assert audit(tmp_path, questions, "--judge=test_cli:judge", *arguments)[0] == 2
    error = capsys.readouterr().err
    assert says in error
    assert "Traceback" not in error
    assert not (tmp_path / "out" / "audit.html").exists()


def dumb():
    def rule(passage, side):
        raise ConnectionError("refused")

    return RuleJudge(rule)


def test_a_seed_below_zero_is_refused_with_the_other_arguments(tmp_path, capsys, questions):
    with pytest.raises(SystemExit) as exit_:
        audit(tmp_path, questions, "--retriever=test_cli:only_pro", "--seed=-1")
    assert exit_.value.code == 2
    assert "must be an integer of at least 0, not '-1'" in capsys.readouterr().err


def breaks():
    raise KeyError("no such index")


def test_what_breaks_in_a_factory_is_shown_and_is_not_the_status_of_a_limit(
    tmp_path, capsys, own, questions
):
    assert audit(tmp_path, questions, "--retriever=test_cli:breaks")[0] == 2
    assert "no such index" in capsys.readouterr().err


def test_ask_answers_from_an_index_that_was_built_ahead(tmp_path, capsys):
    corpus, cache = f"--corpus={DEBATES / 'passages.jsonl'}", f"--cache={tmp_path}"
    assert main(["index", corpus, cache]) == 0
    assert "227 passages, 0 problems" in capsys.readouterr().out
    assert any(path.is_file() for path in tmp_path.rglob("*"))
    assert main(["ask", ZOOS, corpus, cache, "-k", "4", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert len(result["candidates"]) == 4
    assert [each["text"] for each in result["perspectives"]] == [
        "Zoos should be closed",
        "Zoos should not be closed",
    ]
    assert main(["ask", ZOOS, corpus, cache]) == 0
    assert "Zoos should not be closed" in capsys.readouterr().out
    assert main(["ask", ZOOS, "--corpus=nowhere.jsonl", cache]) == 2


def test_a_settled_question_is_searched_as_it_is_and_an_empty_answer_is_said(tmp_path, capsys):
    corpus, cache = f"--corpus={DEBATES / 'passages.jsonl'}", f"--cache={tmp_path}"
    assert main(["ask", "Did Goethe write Faust?", corpus, cache]) == 0
    screen = capsys.readouterr().out
    assert "No sides were looked for." in screen
    assert "0 pairs of passage and side judged" in screen
    assert main(["ask", "Qwxyz?", corpus, cache]) == 0
    assert "No passage was found." in capsys.readouterr().out


def test_a_topic_gets_the_sides_that_its_passages_take(tmp_path, capsys):
    corpus, cache = f"--corpus={DEBATES / 'passages.jsonl'}", f"--cache={tmp_path}"
    topic = "social media and children"
    assert main(["ask", topic, corpus, cache, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    texts = [each["text"] for each in result["perspectives"]]
    assert len(texts) == 2
    assert all("ocial media" in text for text in texts)
    assert sum(" not " in text for text in texts) == 1
    assert result["coverage"]["covered"] == [each["id"] for each in result["perspectives"]]
    assert main(["ask", topic, corpus, cache]) == 0
    assert "The question names no sides" in capsys.readouterr().out
    assert main(["ask", topic, corpus, cache, "--discover=0"]) == 0
    assert "No sides were looked for" in capsys.readouterr().out


def test_a_data_set_is_made_over_a_server_reviewed_and_read_by_the_benchmark(tmp_path, capsys):
    from benchmarks.berds.questions import read_questions

    server = contract_server()

    def behave(body, _):
        text = body["messages"][-1]["content"]
        if "Is it personal" in text:
            return server.chat("yes" if "you own" in text else "no")
        if "Options:" in text:
            return server.chat(
                '{"question": "Is it fair?", "perspectives": ["It is fair.", "It is not."]}'
            )
        return server.chat('{"opposing": "Zoos should stay open."}')

    sources = tmp_path / "sources.jsonl"
    rows = [
        {"id": "zoos", "question": ZOOS},
        {"id": "tax", "question": "How fair is it?", "options": ["very", "not"]},
        {"id": "bike", "question": "Do you own a bicycle?", "options": ["yes", "no"]},
    ]
    sources.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with server.OpenAIServer(behave) as running:
        command = ["build-dataset", str(sources), f"--out={tmp_path / 'mine.jsonl'}", "--llm=tiny"]
        command.append(f"--base-url={running.url}")
        assert main(command) == 0
        screen = capsys.readouterr().out
        assert "at most 5 calls" in screen
        assert "2 kept, 1 personal; 0 were there already; 4 calls" in screen
        asked = len(running.bodies)
        review = tmp_path / "mine.review.md"
        review.write_text(review.read_text().replace("- [x] keep `tax`", "- [ ] keep `tax`"))
        assert main(command) == 0
        assert len(running.bodies) == asked
    (found,) = read_questions(tmp_path / "mine.jsonl")
    assert found.id == "mine/zoos"
    assert found.perspectives == ("Zoos should be closed", "Zoos should stay open.")
    assert "dropped" in review.read_text()


def test_a_server_that_is_not_there_leaves_a_review_that_says_so(tmp_path, capsys):
    sources = tmp_path / "sources.jsonl"
    sources.write_text(json.dumps({"question": ZOOS}))
    command = ["build-dataset", str(sources), f"--out={tmp_path / 'mine.jsonl'}", "--llm=tiny"]
    assert main([*command, "--base-url=http://127.0.0.1:9/v1", "--limit=-1"]) == 2
    assert "--limit must be a whole number, at least 1; got -1" in capsys.readouterr().err
    assert main([*command, "--base-url=http://127.0.0.1:9/v1"]) == 2
    assert "no question was made" in capsys.readouterr().err
    assert "1 failed" in (tmp_path / "mine.review.md").read_text()
