"""The formats in which corpora are published."""

from __future__ import annotations

import gzip
import json

import pytest

from perspective_rag import ConfigError, Corpus, CorpusError, MissingDependency, Passage
from perspective_rag.local.corpus import read_corpus, tables


def texts(corpus):
    return [each.text for each in corpus.passages]


@pytest.mark.parametrize("name", ["psgs_w100.tsv", "psgs_w100.tsv.gz"])
def test_dpr(tmp_path, name):
    data = b'id\ttext\ttitle\n1\t"Aaron, called ""the just"", spoke."\tAaron\n2\tx y\tB\n'
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert Corpus.load(tmp_path / name).passages == [
        Passage("1", 'Aaron, called "the just", spoke.', {"title": "Aaron"}),
        Passage("2", "x y", {"title": "B"}),
    ]


def test_sphere_shards(tmp_path):
    meta = {"url": "https://example.org/a", "title": "A", "sha": "00ff"}
    rows = [
        json.dumps({"id": f"uuid-{i}", **meta, "raw": f"Passage {i}.", "vector": [0.5] * 768})
        + "\n"
        for i in (1, 2, 3)
    ]
    (tmp_path / "sphere_0.jsonl").write_text("".join(rows[:2]))
    packed = gzip.compress((rows[2] + "{broken\n").encode())
    (tmp_path / "sphere_1.jsonl.gz").write_bytes(packed)
    # A vector beside another text stays in the metadata.
    (tmp_path / "sphere_2.jsonl").write_text('{"id": "4", "text": "Passage 4.", "vector": [1]}')
    corpus = Corpus.load(tmp_path)
    *shards, other = corpus.passages
    assert shards == [Passage(f"uuid-{i}", f"Passage {i}.", meta) for i in (1, 2, 3)]
    assert other == Passage("4", "Passage 4.", {"vector": [1]})
    assert [(each.path.name, each.line) for each in corpus.problems] == [("sphere_1.jsonl.gz", 2)]


def test_beir_queries_and_labels_are_not_passages(tmp_path):
    tmp_path = tmp_path / "beir"
    tmp_path.mkdir()
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "a query"}\n')
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "title": "T", "text": "a passage"}\n')
    corpus = Corpus.load(tmp_path)
    assert corpus.passages == [Passage("d1", "a passage", {"title": "T"})]
    assert corpus.problems == []
    assert texts(Corpus.load(tmp_path.parent)) == ["a passage"]  # below another folder too
    assert texts(Corpus.load(tmp_path / "queries.jsonl")) == ["a query"]
    (tmp_path / "queries.jsonl").rename(tmp_path / "more.jsonl")
    (tmp_path / "qrels").rename(tmp_path.parent / "labels")
    assert texts(Corpus.load(tmp_path)) == ["a passage", "a query"]  # it only looks like one


def test_a_format_can_be_forced_and_columns_named(tmp_path):
    (tmp_path / "dump.data").write_text(
        '{"key": 7, "headline": "H", "story": "words", "text": 1}\n'
    )
    with pytest.raises(ConfigError, match=r"unsupported file type.*jsonl, csv, parquet"):
        read_corpus(tmp_path / "dump.data")
    columns = {"id": "key", "title": "Headline", "text": "story"}
    corpus = Corpus.load(tmp_path / "dump.data", format="jsonl", columns=columns)
    assert corpus.passages == [Passage("7", "words", {"title": "H", "text": 1})]


def test_columns_of_a_csv(tmp_path):
    (tmp_path / "a.csv").write_text("key;story;text\n1;words, more;x\n")
    corpus = Corpus.load(tmp_path / "a.csv", columns={"text": "story", "id": "key"})
    assert corpus.passages == [Passage("1", "words, more", {"text": "x"})]
    with pytest.raises(CorpusError, match="no column named absent"):
        Corpus.load(tmp_path / "a.csv", columns={"text": "absent"})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"format": "jsnol"}, "did you mean 'jsonl'"),
        ({"columns": {"body": "x"}}, "id, title, text"),
        ({"columns": {"text": ""}}, "columns must"),
    ],
)
def test_what_cannot_be_read_so_is_refused_at_once(tmp_path, arguments, said):
    with pytest.raises(ConfigError, match=said):
        read_corpus(tmp_path, **arguments)


@pytest.mark.parametrize("source", ["hf:", "hf:a:b:c:d", "hf:a::b"])
def test_a_dataset_that_is_named_wrongly_is_refused(source):
    pytest.importorskip("datasets")
    with pytest.raises(ConfigError, match="hf:NAME"):
        list(read_corpus(source))


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [
        ("datasets", "hf:some/name", "hub"),
        ("pyarrow", "a.parquet", "parquet"),
    ],
)
def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch, module, name, extra):
    for each in (module, f"{module}.parquet", f"{module}.archiveiterator"):
        monkeypatch.setitem(__import__("sys").modules, each, None)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / "a.parquet").write_bytes(b"")
    source = name if name.startswith("hf:") else tmp_path / name
    with pytest.raises(MissingDependency, match=rf"perspective-rag\[{extra}\]"):
        list(read_corpus(source))


ROWS = {"docid": [1, 2, 3], "text": ["one", None, "three"], "score": [0.5, float("nan"), 1.0]}


@pytest.fixture
def parquet_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table(ROWS), path)
    return path


def test_parquet(parquet_file, monkeypatch):
    monkeypatch.setattr(tables, "ROWS", 2)
    corpus = Corpus.load(parquet_file)
    assert corpus.passages == [
        Passage("1", "one", {"score": 0.5}),
        Passage("3", "three", {"score": 1.0}),
    ]
    assert [each.line for each in corpus.problems] == [2]
    named = Corpus.load(parquet_file, columns={"id": "score"})
    assert [each.id for each in named.passages] == ["0.5", "1.0"]


def test_parquet_that_is_cut_off_is_said(parquet_file):
    parquet_file.write_bytes(parquet_file.read_bytes()[:-20])
    with pytest.raises(CorpusError, match="cannot be read from here on"):
        Corpus.load(parquet_file)


def test_a_dataset_of_local_files(parquet_file):
    pytest.importorskip("datasets")
    for source in (f"hf:{parquet_file.parent}", f"hf:{parquet_file.parent}:train"):
        assert texts(Corpus.load(source)) == ["one", "three"]
    with pytest.raises(ConfigError, match="no split 'test'; it has train"):
        Corpus.load(f"hf:{parquet_file.parent}:test")
    with pytest.raises(CorpusError, match="cannot be opened"):
        Corpus.load(f"hf:{parquet_file.parent}/absent")
