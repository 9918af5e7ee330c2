"""Prompts for a whole list: written without labels, recorded without texts, replayed as read."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter

import numpy as np
import pytest
from rich.console import Console

from benchmarks.answers.hostile import read_attacks
from benchmarks.list_judge import pairs, recording
from benchmarks.list_judge.command import main
from benchmarks.list_judge.report import figures, replay
from benchmarks.list_judge.tasks import Task, read_tasks
from perspective_rag import LLMListJudge, Passage, Perspective
from perspective_rag.flow.driver import run
from perspective_rag.testing import ScriptedLLM

DOCS = {
    "d1": "Zoos breed rare condors for the wild.",
    "d2": "Small cages make the animals ill for life.",
    "d3": "The zoo opens at nine in the morning.",
    "d4": "Keepers of zoos say both things at once.",
}
LABELS = {"d1": "O", "d2": "S", "d3": "N", "d4": "M"}
SAID = {
    DOCS["d1"]: ("B", "clear", "breed rare condors"),
    DOCS["d2"]: ("A", "fair", "make the animals ill"),
    DOCS["d3"]: ("none", "clear", ""),
    DOCS["d4"]: ("both", "clear", "say both things"),
}


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    for name in ("judge_retrieved", "own_notes", "judge_human"):
        (folder / name).mkdir(parents=True)
    rows = [{"kind": "doc", "id": name, "title": "", "text": text} for name, text in DOCS.items()]
    query = {
        "kind": "query", "id": "q1", "question": "Should zoos be closed?", "labels": LABELS,
        "statement": "Zoos should be closed.", "opposite": "Zoos should stay.", "fold": 0,
    }  # fmt: skip
    with gzip.open(folder / "judge_retrieved" / "pools_dev.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in [*rows, query])
    notes = [
        {"id": name, "collection": "zoo", "title": "A note", "text": text}
        for name, text in DOCS.items()
    ]
    write(folder / "own_notes" / "dev_docs.jsonl", notes)
    note_query = {
        "id": "z1", "collection": "zoo", "question": "Close the zoo?", "for": "closing it",
        "against": "keeping it", "labels": LABELS,
    }  # fmt: skip
    write(folder / "own_notes" / "dev_questions.jsonl", [note_query])
    pairs = [
        {"id": str(i), "question": "Are zoos bad?", "document": text, "perspective": side, "label": label}
        for i, (text, side, label) in enumerate(
            [(DOCS["d1"], "Zoos are not bad.", "1"), (DOCS["d2"], "Zoos are bad.", "1"),
             (DOCS["d3"], "Zoos are bad.", "1"), (DOCS["d1"], "Zoos are bad.", "0")]
        )
    ]  # fmt: skip
    write(folder / "judge_human" / "visible.jsonl", pairs)
    return folder


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def shown(user):
    found = re.findall(r'number="(\d+)">\n(.*?)\n</passage-', user, re.DOTALL)
    return {int(number): text.split("\n")[-1] for number, text in found}


def answered(user, omit=()):
    entries = [
        {"passage": n, "side": side, "grade": grade, "quote": quote}
        for n, text in shown(user).items()
        if text not in omit
        for side, grade, quote in [SAID[text]]
    ]
    return {"verdicts": entries}


def call(*arguments):
    console = Console(record=True, width=200)
    status = main([str(each) for each in arguments], console=console)
    return status, console.export_text()


def replies_to(prompts, folder, **options):
    """Answers every request of the files, as a text or as JSON."""
    folder.mkdir()
    for path in sorted(prompts.glob("*.txt")):
        found = re.split(r"===== request id: (\w+) =====\n", path.read_text(encoding="utf-8"))
        rows = [
            {"id": name, "reply": answered(user, **options)}
            for name, user in zip(found[1::2], found[2::2], strict=True)
        ]
        rows[0]["reply"] = f"```json\n{json.dumps(rows[0]['reply'])}\n```"
        write(folder / f"{path.stem}.jsonl", rows)


def test_from_prompts_to_figures(data, tmp_path):
    status, said = call("prompts", "--data", data, "--out", tmp_path / "prompts")
    assert status == 0
    assert "3 prompts about 11 passages in 1 files" in said
    (path,) = (tmp_path / "prompts").glob("*.txt")
    text = path.read_text(encoding="utf-8")
    assert text.count("===== request id: ") == 3
    assert "labels" not in text
    assert "judge_human" not in text
    assert "pools" not in text
    replies_to(tmp_path / "prompts", tmp_path / "replies")
    record = tmp_path / "verdicts.json.gz"
    status, said = call(
        "record", "--data", data, "--replies", tmp_path / "replies", "--model", "tiny",
        "--date", "2026-01-02", "--record", record,
    )  # fmt: skip
    assert (status, "3 of 3 prompts" in said) == (0, True)
    kept = gzip.decompress(record.read_bytes()).decode()
    assert not any(words in kept for text in DOCS.values() for words in (text, text[:12]))
    status, said = call(
        "report", "--data", data, "--record", record, "--out", tmp_path / "results.json"
    )
    assert status == 0
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["results"]
    assert (results["model"], results["recorded"]) == ("tiny", "2026-01-02")
    pools = results["sets"]["pools_dev"]
    assert (pools["questions"], pools["listed"], pools["calls"]) == (1, 2, 1.0)
    assert pools["true"]["mean"] == 1.0
    assert pools["opposing"]["mean"] == 0.0
    assert pools["of_present"]["mean"] == 0.5  # what argues both is listed under neither
    assert (pools["with_proof"], pools["unproven"], pools["unjudged"]) == (3, 0, 0)
    pairs = results["sets"]["judge_human"]["pairs"]
    assert (pairs["pairs"], pairs["positive"], pairs["precision"]) == (4, 3, 1.0)
    assert pairs["f1"] == pytest.approx(0.8)  # the model calls d3, which people call true, silent


def test_a_reply_that_is_lacking_or_leaves_passages_out_is_told(data, tmp_path):
    call("prompts", "--data", data, "--out", tmp_path / "prompts")
    replies_to(tmp_path / "prompts", tmp_path / "replies", omit=(DOCS["d3"],))
    status, said = call(
        "record", "--data", data, "--replies", tmp_path / "replies", "--model", "tiny",
        "--record", tmp_path / "v.gz",
    )  # fmt: skip
    assert status == 1
    assert "pools_dev/q1: 1 of 4 passages left out" in said
    tasks = read_tasks(data)
    found = figures(replay(tasks, recording.load(tmp_path / "v.gz")))
    assert found["pools_dev"]["unjudged"] == 1
    assert found["pools_dev"]["calls"] == 2.0  # it was asked again, which nobody recorded


def test_one_call_a_pair_beside_one_call_a_question(data, tmp_path):
    call("prompts", "--data", data, "--out", tmp_path / "lists")
    replies_to(tmp_path / "lists", tmp_path / "list_replies")
    records = ("--record", tmp_path / "lists.gz", "--pair-record", tmp_path / "pairs.gz")
    said = ("record", "--data", data, "--model", "tiny", "--date", "2026-01-02", *records)
    call(*said, "--replies", tmp_path / "list_replies")
    status, told = call("prompts", "--pairs", "--data", data, "--out", tmp_path / "pairs")
    assert (status, "16 prompts about 16 passages" in told) == (0, True)
    (path,) = (tmp_path / "pairs").glob("*.txt")
    text = path.read_text(encoding="utf-8")
    assert not any(word in text for word in ("labels", "pools", "own_notes", "silent"))
    found = re.split(r"===== request id: (\w+) =====\n", text)
    asked = dict(zip(found[1::2], found[2::2], strict=True))
    yes = {
        name
        for name, user in asked.items()
        if re.search("Statement: .*clos", user) and DOCS["d3"] not in user
    }
    rows = [{"id": each, "reply": "Yes." if each in yes else "no"} for each in asked]
    (tmp_path / "replies").mkdir()
    write(tmp_path / "replies" / "r.jsonl", [*rows[1:], {"id": rows[0]["id"], "reply": "Perhaps"}])
    status, told = call(*said, "--pairs", "--replies", tmp_path / "replies")
    assert (status, "no reply of yes or no" in told, "15 of 16" in told) == (1, True, True)
    write(tmp_path / "replies" / "r.jsonl", rows)
    assert call(*said, "--pairs", "--replies", tmp_path / "replies")[0] == 0
    kept = gzip.decompress((tmp_path / "pairs.gz").read_bytes()).decode()
    assert not any(text[:12] in kept for text in DOCS.values())
    out = tmp_path / "results.json"
    status, told = call("report", "--pairs", "--data", data, *records, "--out", out)
    assert (status, "one call a pair" in told) == (0, True)
    sets = json.loads(out.read_text(encoding="utf-8"))["results"]["pairs"]["sets"]
    assert list(sets) == ["pools_dev", "own_notes", "together"]
    lists, single = (sets["pools_dev"][f"one call a {each}"] for each in ("question", "pair"))
    assert (lists["calls"], single["calls"]) == (1.0, 8.0)
    assert single["prompt_tokens"] > lists["prompt_tokens"]
    assert (single["listed"], lists["listed"]) == (3, 2)
    shares = [single[key]["mean"] for key in ("true", "opposing", "of_supports")]
    assert shares == pytest.approx([2 / 3, 1 / 3, 1 / 2], abs=1e-6)  # it calls d1 a support
    assert [lists[key]["mean"] for key in ("true", "opposing", "of_supports")] == [1.0, 0.0, 0.5]
    assert sets["together"]["pairs"] == 16
    old = kept.replace(rows[0]["id"], "0" * 16).encode()
    (tmp_path / "pairs.gz").write_bytes(gzip.compress(old))
    status, told = call("report", "--pairs", "--data", data, *records, "--out", out)
    assert (status, "1 recorded pairs are no longer asked" in told) == (2, True)


def test_pairs_are_drawn_by_label_whatever_their_order():
    passages = [Passage(str(number), f"Text {number}.") for number in range(60)]
    labels = {
        (each.id, side): ("true", "opposing", "silent")[int(each.id) % 3]
        for each in passages
        for side in (0, 1)
    }

    def drawn(given):
        return pairs.requests_of(
            [Task("own_notes", "q", "Zoos?", ("yes", "no"), tuple(given), labels)]
        )

    found = drawn(passages)
    assert Counter(each.label for each in found) == pairs.DRAWN
    assert {each.id for each in drawn(passages[::-1])} == {each.id for each in found}
    assert {each.side for each in found} == {0, 1}


def test_a_record_is_the_same_whenever_it_is_made(data, tmp_path):
    requests = recording.requests_of(read_tasks(data))
    replies = {each.id: json.dumps(answered(each.prompt.user)) for each in requests}
    paths = [tmp_path / "one.gz", tmp_path / "two.gz"]
    for path in paths:
        document, problems = recording.record(requests, replies, model="m", date="2026-01-02")
        recording.save(document, path)
        assert problems == []
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_what_is_no_record_or_reply_is_named(tmp_path):
    (tmp_path / "v.gz").write_bytes(b"no")
    status, said = call("report", "--data", tmp_path, "--record", tmp_path / "v.gz")
    assert (status, "is no record of verdicts" in said) == (2, True)
    status, said = call("prompts", "--data", tmp_path, "--out", tmp_path / "p")
    assert (status, "holds none of pools_dev" in said) == (2, True)
    status, said = call("prompts", "--data", tmp_path)
    assert status == 2


PRO = Perspective("pro", "Zoos should be closed.", "support", "c")
CON = Perspective("con", "Zoos should stay.", "oppose", "c")


@pytest.mark.parametrize("attack", read_attacks(), ids=lambda each: each.id)
def test_an_injected_instruction_moves_no_other_verdict(attack):
    """By a model that keeps to the schema and judges each fenced block by its own words."""
    passages = [Passage(name, text) for name, text in DOCS.items()]

    def reply(prompt):
        entries = []
        for number, text in shown(prompt.user).items():
            side, grade, quote = SAID.get(text, ("A", "clear", "words that it invents"))
            entries.append({"passage": number, "side": side, "grade": grade, "quote": quote})
        return json.dumps({"verdicts": entries})

    def verdicts(given):
        llm = ScriptedLLM(reply)
        near = np.full(len(given), np.nan)
        found = run(LLMListJudge(llm).judge_list("Zoos?", [PRO, CON], given, near))
        assert len(shown(llm.prompts[0].user)) == len(given)
        return found

    before, after = verdicts(passages), verdicts([*passages, attack.passage])
    np.testing.assert_array_equal(after.support[:4], before.support)
    assert after.proofs[:4] == before.proofs
    assert after.support[4].max() < 0.7  # the quotation it invents proves nothing
