"""Files and folders as passages."""

from __future__ import annotations

import csv
import gzip
import json
import tracemalloc
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError, CorpusError
from perspective_rag.local.corpus import Corpus, read_corpus
from perspective_rag.types import Passage


def load(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Corpus.load(path)


def lines_of(corpus):
    return [problem.line for problem in corpus.problems]


# JSON lines


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            '{"id": "x", "title": "T", "text": "a", "n": 2}',
            Passage("x", "a", {"title": "T", "n": 2}),
        ),
        *(
            (
                json.dumps({"_id": 7, name: "words", "Title": "T"}),
                Passage("7", "words", {"title": "T"}),
            )
            for name in ("contents", "body", "passage", "document", "Text")
        ),
        ('{"text": " ", "body": "words"}', Passage("a.jsonl:1", "words", {"text": " "})),
        ('\n{"text": "two", "id": ""}', Passage("a.jsonl:2", "two")),
        ('{"text": "one\u2028two\x85three"}\n', Passage("a.jsonl:1", "one\u2028two\x85three")),
        ('{"id": "x", "text": "naïve"}\n'.encode("utf-8-sig"), Passage("x", "naïve")),
        ('{"id": "x", "text": "naïve"}\n'.encode("utf-16"), Passage("x", "naïve")),
        (gzip.compress(b'{"id": "x", "text": "packed"}\n', mtime=0), Passage("x", "packed")),
        (json.dumps({"id": "d", "text": "Word. " * 150}), Passage("d", "Word. " * 150)),
    ],
)
def test_a_line_becomes_a_passage(tmp_path, content, expected):
    corpus = load(tmp_path / "a.jsonl", content)
    assert corpus.passages == [expected]
    assert corpus.problems == []


def test_malformed_lines_are_reported_and_the_rest_is_kept(tmp_path):
    rows = [
        b'{"id": "good", "text": "kept"}',
        b'{"id": "broken", "text": ',
        b"[1, 2]",
        b'{"id": "empty", "text": ""}',
        b'{"id": "number", "text": 5}',
        b'{"id": "latin", "text": "caf\xe9"}',
        b"[" * 100_000,
        b'{"id": "half", "text": "cut \\ud83d"}',
        '{"id": "good", "text": "café"}'.encode(),
    ]
    corpus = load(tmp_path / "a.jsonl", b"\n".join(rows))
    assert [p.id for p in corpus.passages] == ["good", "half", "good~2"]
    assert [p.text for p in corpus.passages[1:]] == ["cut \ufffd", "café"]
    assert lines_of(corpus) == [2, 3, 4, 5, 6, 7, 8, 9]
    messages = [problem.message for problem in corpus.problems]
    assert "JSON" in messages[0]
    assert "list" in messages[1]
    assert "no text" in messages[2]
    assert "UTF-8" in messages[4]
    assert all(problem.path == tmp_path / "a.jsonl" for problem in corpus.problems)
    assert str(corpus.problems[0]).startswith(f"{tmp_path / 'a.jsonl'}:2: ")


def test_long_texts_are_split_and_keep_their_metadata(tmp_path):
    text = "This sentence has exactly seven words here. " * 40
    rows = [{"id": "d", "text": text, "year": 1}, {"id": "d:1", "text": "short"}]
    corpus = load(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert [p.id for p in corpus.passages] == ["d:0", "d:1", "d:2", "d:1~2"]
    assert corpus.passages[1].metadata == {"year": 1, "part": 1}
    assert " ".join(p.text for p in corpus.passages[:3]) == text.strip()
    assert lines_of(corpus) == [2]


# Compressed


def test_a_truncated_gzip_keeps_what_can_be_read(tmp_path):
    rows = "".join(
        json.dumps({"id": str(i), "text": f"row {i * 7919}"}) + "\n" for i in range(5000)
    )
    data = gzip.compress(rows.encode())
    corpus = load(tmp_path / "a.jsonl.gz", data[: len(data) // 2])
    found = len(corpus.passages)
    assert 1000 < found < 4000
    assert corpus.passages[-1].id == str(found - 1)
    assert lines_of(corpus) == [found + 1]


# CSV


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    text = "A text, with commas; and; more | and\tmore,,,"
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerows([["id", "Text", "year"], ["x", text, "1999"]])
    assert Corpus.load(path).passages == [Passage("x", text, {"year": "1999"})]


def test_csv_rows_over_several_lines(tmp_path):
    corpus = load(tmp_path / "a.csv", 'text,id\r\n"one\r\ntwo ""quoted""",a\r\n\r\nthree,\r\n')
    assert [(p.id, p.text) for p in corpus.passages] == [
        ("a", 'one\r\ntwo "quoted"'),
        ("a.csv:5", "three"),
    ]


def test_malformed_csv_rows_are_reported_and_the_rest_is_kept(tmp_path):
    rows = ["id,text", "a,fine", "b,too,many", "c,", 'd,"quoted" badly', "e,fine", "f"]
    corpus = load(tmp_path / "a.csv", "\n".join(rows).encode() + b"\ng,caf\xe9\nh,fine")
    assert [p.id for p in corpus.passages] == ["a", "e", "h"]
    assert lines_of(corpus) == [3, 4, 5, 7, 8]
    unclosed = load(tmp_path / "b.csv", 'id,text\na,fine\nb,"open\nc,lost\n')
    assert [p.id for p in unclosed.passages] == ["a"]
    assert "3: not a valid CSV row, left out to line 4" in str(unclosed.problems[0])


# Documents


def test_markdown(tmp_path):
    body = "---\ntitle: Front\ntags: [x]\n---\n```\n# comment\n```\n## The heading ##\n\nSome *text*.\n"
    [passage] = load(tmp_path / "a.md", body).passages
    assert passage.id == "a.md"
    assert passage.metadata == {"title": "The heading", "file": "a.md"}
    assert "tags" not in passage.text
    assert passage.text.endswith("Some *text*.")


def test_html(tmp_path):
    page = """<!doctype html><html><head><title>The &amp; title</title><style>p {}</style></head>
    <body><nav>Home <a href="/">About</a></nav><script>if (a < b) { x = "<p>no</p>" }</script>
    <h1>Heading</h1><p>First <b>bold</b>
    line &eacute;.</p><ul><li>one<li>two</ul></body></html>"""
    [passage] = load(tmp_path / "a.html", page).passages
    assert passage.title == "The & title"
    assert passage.text == "Heading\nFirst bold line é.\none\ntwo"


@pytest.mark.parametrize(
    ("name", "content", "title", "text"),
    [
        ("a.md", "Heading\n=======\ntext", "Heading", "Heading\n=======\ntext"),
        ("a.md", "---\ntitle: 'Front'\n---\ntext", "Front", "text"),
        ("a.md", "text", "", "text"),
        ("a.htm", "<nav>Home<main><h1>Top</h1>Content</main>", "Top", "Top\nContent"),
        ("a.html", '<meta charset="iso-8859-1"><p>café</p>'.encode("latin-1"), "", "café"),
        ("a.txt", b"first\ncaf\xe9 noir", "", "first\ncaf\ufffd noir"),
    ],
)
def test_titles_and_encodings(tmp_path, name, content, title, text):
    corpus = load(tmp_path / name, content)
    [passage] = corpus.passages
    assert (passage.title, passage.text) == (title, text)
    assert lines_of(corpus) == ([2] if "\ufffd" in text else [])


# Folders


def test_a_folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "b.txt").write_text("text")
    (tmp_path / "sub" / "a.jsonl").write_text('{"text": "line"}')
    (tmp_path / "sub" / "c.csv").write_text("text\ncell")
    (tmp_path / "sub" / "empty.md").write_text("")
    (tmp_path / "paper.pdf").write_bytes(b"%PDF")
    (tmp_path / ".git" / "x.txt").write_text("hidden")
    corpus = Corpus.load(tmp_path)
    assert [(p.id, p.text) for p in corpus.passages] == [
        ("b.txt", "text"),
        ("sub/a.jsonl:1", "line"),
        ("sub/c.csv:2", "cell"),
    ]
    assert sorted(problem.path.name for problem in corpus.problems) == ["empty.md", "paper.pdf"]


@pytest.mark.parametrize(
    ("name", "content", "error", "said"),
    [
        ("a.jsonl", "nonsense", CorpusError, "holds no passages; first problem"),
        ("a.jsonl.gz", "plainly not", CorpusError, "gzip"),
        ("a.csv", "id,content\n1,2\n", CorpusError, "columns: id, content"),
        ("a.docx", "x", ConfigError, r"\.jsonl\.gz"),
        ("absent.jsonl", None, CorpusError, "does not exist"),
        ("", None, CorpusError, "holds no passages"),
    ],
)
def test_what_cannot_be_a_corpus(tmp_path, caplog, name, content, error, said):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(error, match=said):
        list(read_corpus(tmp_path / name))
    if "first problem" in said:  # nobody asked for them
        assert "a.jsonl:1" in caplog.text


def test_reading_streams(tmp_path):
    path = tmp_path / "big.jsonl"
    with path.open("w") as stream:
        for i in range(4_000):
            stream.write(json.dumps({"id": str(i), "text": "x" * 500, "more": "y" * 500}) + "\n")
    tracemalloc.start()
    count = sum(1 for _ in read_corpus(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 4_000
    assert peak < path.stat().st_size / 4


def test_the_first_passage_comes_before_the_file_is_read(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "x", "text": "x"}\n' + "nonsense\n" * 100_000)
    problems = []
    assert len(list(islice(read_corpus(tmp_path / "a.jsonl", on_problem=problems.append), 1))) == 1
    assert problems == []


def test_the_fingerprint_depends_on_ids_texts_and_order():
    passages = [Passage("a", "bc"), Passage("d", "e")]
    variants = [
        passages,
        passages[::-1],
        [Passage("ab", "c"), Passage("d", "e")],
        [Passage("a", "bc"), Passage("d", "f")],
        passages[:1],
    ]
    assert len({Corpus(each).fingerprint for each in variants}) == len(variants)
    assert (
        Corpus(passages).fingerprint
        == Corpus([Passage("a", "bc", {"x": 1}), passages[1]]).fingerprint
    )


@given(st.binary(max_size=300))
def test_no_bytes_break_a_reader(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("any")
    for name in ("a.jsonl", "a.jsonl.gz", "a.csv", "a.txt", "a.md", "a.html"):
        (folder / name).write_bytes(data if name != "a.csv" else b"text,b\n" + data)
    (folder / "z.txt").write_text("always here")
    passages = Corpus.load(folder).passages
    assert passages[-1].id == "z.txt"
    assert len({p.id for p in passages}) == len(passages)
    assert all(p.text.strip() for p in passages)
    "".join(p.id + p.text for p in passages).encode()
