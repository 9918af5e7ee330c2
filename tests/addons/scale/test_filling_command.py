"""``perspective-rag index CORPUS --to TARGET`` and ``ask --index``, as a user runs them."""

from __future__ import annotations

import json

import pytest

from perspective_rag.cli import main
from perspective_rag.local.corpus.readers import ReadProblem, read_corpus
from perspective_rag.testing import HashEmbedder
from perspective_rag_scale.commands import filling
from perspective_rag_scale.faiss_folder import FaissFolder

HERE = "tests.unit.commands.test_filling"


def embedder():
    return HashEmbedder(16)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"p{i}", "text": f"zoo number {i} saves cats"} for i in range(30)]
    (tmp_path / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.setitem(__import__("sys").modules, HERE, __import__("sys").modules[__name__])

    def run(*arguments):
        status = main([*map(str, arguments), "--encoder", f"{HERE}:embedder", "--cache", "cache"])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_a_folder_is_filled_and_filled_again(run, tmp_path):
    status, out, err = run("index", "corpus.jsonl", "--to", "faiss:idx")
    assert status == 0, err
    assert out == "30 passages written; faiss:idx holds 30\n"
    assert "30 passages, 0 problems" in err
    assert "building a flat index: 30 rows take" in err
    status, out, err = run("index", "--corpus", "corpus.jsonl", "--to", f"faiss:{tmp_path / 'idx'}")
    assert status == 0, err
    assert "30 passages written (30 of them before)" in out
    status, out, err = run("index", "corpus.jsonl", "--to", "faiss:idx", "--kind", "hnsw")
    assert (status, json.loads((tmp_path / "idx" / "manifest.json").read_text())["kind"]) == (
        0,
        "hnsw",
    )
    assert "building a hnsw index: as asked for" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["index", "--to", "faiss:idx"], "no corpus to index"),
        (["index", "a.jsonl", "--example"], "given twice"),
        (["index", "corpus.jsonl", "--kind", "flat"], "go with --to"),
        (["index", "corpus.jsonl", "--to", "faiss:corpus.jsonl"], "is a file"),
        (["index", "corpus.jsonl", "--to", "somewhere"], "unknown target of --to"),
        (["index", "none.jsonl", "--to", "faiss:idx"], "does not exist"),
        (["ask", "Should zoos be closed?", "--index", "idx"], "holds no finished index"),
    ],
)
def test_what_is_refused(run, arguments, said, tmp_path):
    status, _, err = run(*arguments)
    assert (status, said in err) == (2, True), err
    assert not (tmp_path / "idx").exists()


def test_ask_needs_the_encoder_of_the_index(run, capsys):
    pytest.importorskip("onnxruntime")
    run("index", "corpus.jsonl", "--to", "faiss:idx")
    status, out, err = run("ask", "Should zoos be closed?", "--index", "idx", "--json")
    assert status == 0, err
    assert json.loads(out)["result"]["candidates"][0]["id"].startswith("p")
    assert main(["ask", "Should zoos be closed?", "--index", "idx"]) == 2
    assert "was built with the encoder 'HashEmbedder'" in capsys.readouterr().err


def test_format_and_columns_are_those_that_were_asked_for(run, tmp_path):
    rows = [{"id": i, "key": f"k{i}", "text": "old", "speech": f"zoo {i}"} for i in range(3)]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / "speeches.dump").write_text(text)
    asked = ["--format", "jsonl", "--columns", "text=speech,id=key"]
    status, out, err = run("index", "speeches.dump", "--to", "faiss:idx", *asked)
    assert (status, out) == (0, "3 passages written; faiss:idx holds 3\n"), err
    store = FaissFolder(tmp_path / "idx")
    found = store.search("", HashEmbedder(16).embed_queries(["zoo 1"])[0], k=3)
    assert {(hit.passage.id, hit.passage.text) for hit in found} == {
        (f"k{i}", f"zoo {i}") for i in range(3)
    }


def test_what_breaks_off_when_it_is_read_again_is_no_success(run, tmp_path, monkeypatch):
    readings = []

    def stream(path, *, on_problem, **how):
        """All of it when it is counted, and less when it is written."""
        readings.append(path)
        for number, passage in enumerate(read_corpus(path, on_problem=on_problem, **how)):
            if len(readings) == 2 and number == 20:
                on_problem(ReadProblem(path, 21, "cannot be read from here on: connection lost"))
                return
            yield passage

    monkeypatch.setattr(filling, "stream_corpus", stream)
    status, out, err = run("index", "corpus.jsonl", "--to", "faiss:idx")
    assert (status, out) == (2, ""), err
    assert "connection lost" in err
    assert "20 passages of the 30 that were counted" in err
    monkeypatch.setattr(filling, "stream_corpus", read_corpus)
    status, out, err = run("index", "corpus.jsonl", "--to", "faiss:idx")
    assert (status, out) == (0, "30 passages written; faiss:idx holds 30\n"), err
