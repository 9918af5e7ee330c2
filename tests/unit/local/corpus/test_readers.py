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


def test_jsonl_fields_become_the_passage(tmp_path):
    corpus = load(
        tmp_path / "a.jsonl", '{"id": "x", "title": "T", "text": "Some text", "year": 2}\n'
    )
    assert corpus.passages == [Passage("x", "Some text", {"title": "T", "year": 2})]
    assert corpus.passages[0].title == "T"
    assert corpus.problems == []


@pytest.mark.parametrize("name", ["text", "contents", "body", "passage", "document", "Text"])
def test_other_names_of_the_text(tmp_path, name):
    corpus = load(tmp_path / "a.jsonl", json.dumps({"_id": 7, name: "words", "Title": "T"}))
    assert corpus.passages == [Passage("7", "words", {"title": "T"})]


def test_an_empty_text_field_gives_way_to_a_filled_one(tmp_path):
    corpus = load(tmp_path / "a.jsonl", '{"text": " ", "body": "words"}')
    assert corpus.passages[0].text == "words"


def test_a_missing_id_comes_from_file_and_line(tmp_path):
    corpus = load(tmp_path / "a.jsonl", '{"text": "one"}\n\n{"text": "two", "id": ""}\n')
    assert [p.id for p in corpus.passages] == ["a.jsonl:1", "a.jsonl:3"]


def test_malformed_lines_are_reported_and_the_rest_is_kept(tmp_path):
    rows = [
        b'{"id": "good", "text": "kept"}',
        b'{"id": "broken", "text": ',
        b"[1, 2]",
        b'{"id": "empty", "text": ""}',
        b'{"id": "number", "text": 5}',
        b'{"id": "latin", "text": "caf\xe9"}',
        b"[" * 100_000,
        '{"id": "last", "text": "café"}'.encode(),
    ]
    corpus = load(tmp_path / "a.jsonl", b"\n".join(rows))
    assert [p.id for p in corpus.passages] == ["good", "last"]
    assert corpus.passages[1].text == "café"
    assert lines_of(corpus) == [2, 3, 4, 5, 6, 7]
    messages = [problem.message for problem in corpus.problems]
    assert "JSON" in messages[0]
    assert "list" in messages[1]
    assert "no text" in messages[2]
    assert "UTF-8" in messages[4]
    assert all(problem.path == tmp_path / "a.jsonl" for problem in corpus.problems)
    assert str(corpus.problems[0]).startswith(f"{tmp_path / 'a.jsonl'}:2: ")


def test_unusual_line_separators_inside_a_text_do_not_end_it(tmp_path):
    corpus = load(tmp_path / "a.jsonl", '{"text": "one\u2028two\x85three"}\n')
    assert corpus.passages[0].text == "one\u2028two\x85three"


def test_half_a_surrogate_pair_is_replaced(tmp_path):
    corpus = load(tmp_path / "a.jsonl", '{"text": "cut \\ud83d"}\n')
    assert corpus.passages[0].text == "cut \ufffd"
    assert lines_of(corpus) == [1]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(tmp_path, encoding):
    corpus = load(tmp_path / "a.jsonl", '{"id": "x", "text": "naïve"}\n'.encode(encoding))
    assert corpus.passages == [Passage("x", "naïve")]


def test_duplicate_ids_are_told_apart(tmp_path):
    rows = [{"id": i, "text": t} for i, t in [("a", "1"), ("a", "2"), ("a~2", "3"), ("a", "4")]]
    corpus = load(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert [p.id for p in corpus.passages] == ["a", "a~2", "a~2~2", "a~3"]
    assert lines_of(corpus) == [2, 3, 4]
    assert "'a~2'" in corpus.problems[0].message


def test_long_texts_are_split_and_keep_their_metadata(tmp_path):
    text = "This sentence has exactly seven words here. " * 40
    rows = [{"id": "d", "text": text, "year": 1}, {"id": "d:1", "text": "short"}]
    corpus = load(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert [p.id for p in corpus.passages] == ["d:0", "d:1", "d:2", "d:1~2"]
    assert corpus.passages[1].metadata == {"year": 1, "part": 1}
    assert " ".join(p.text for p in corpus.passages[:3]) == text.strip()
    assert lines_of(corpus) == [2]


def test_a_text_of_150_words_stays_whole(tmp_path):
    corpus = load(tmp_path / "a.jsonl", json.dumps({"id": "d", "text": "Word. " * 150}))
    assert corpus.passages == [Passage("d", "Word. " * 150)]


# Compressed


def test_gzip(tmp_path):
    corpus = load(tmp_path / "a.jsonl.gz", gzip.compress(b'{"id": "x", "text": "packed"}\n'))
    assert corpus.passages == [Passage("x", "packed")]


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


def test_a_file_that_is_no_gzip(tmp_path):
    with pytest.raises(CorpusError, match="gzip"):
        load(tmp_path / "a.jsonl.gz", b"plainly not")


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


def test_a_quote_that_is_never_closed_is_reported(tmp_path):
    corpus = load(tmp_path / "a.csv", 'id,text\na,fine\nb,"open\nc,lost\n')
    assert [p.id for p in corpus.passages] == ["a"]
    assert lines_of(corpus) == [3]
    assert "to line 4" in corpus.problems[0].message


def test_a_csv_field_beyond_the_default_limit(tmp_path):
    corpus = load(tmp_path / "a.csv", "id,text\na," + "word " * 60_000)
    assert len(corpus.passages) == 600


def test_a_csv_without_a_text_column_names_its_columns(tmp_path):
    with pytest.raises(CorpusError, match="columns: id, content"):
        load(tmp_path / "a.csv", "id,content\n1,2\n")


# Documents


def test_markdown(tmp_path):
    body = "---\ntitle: Front\ntags: [x]\n---\n```\n# comment\n```\n## The heading ##\n\nSome *text*.\n"
    [passage] = load(tmp_path / "a.md", body).passages
    assert passage.id == "a.md"
    assert passage.metadata == {"title": "The heading", "file": "a.md"}
    assert "tags" not in passage.text
    assert passage.text.endswith("Some *text*.")


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("Heading\n=======\ntext", "Heading"),
        ("---\ntitle: 'Front'\n---\ntext", "Front"),
        ("text", ""),
    ],
)
def test_markdown_titles(tmp_path, body, title):
    assert load(tmp_path / "a.md", body).passages[0].title == title


def test_html(tmp_path):
    page = """<!doctype html><html><head><title>The &amp; title</title><style>p {}</style></head>
    <body><nav>Home <a href="/">About</a></nav><script>if (a < b) { x = "<p>no</p>" }</script>
    <h1>Heading</h1><p>First <b>bold</b>
    line &eacute;.</p><ul><li>one<li>two</ul></body></html>"""
    [passage] = load(tmp_path / "a.html", page).passages
    assert passage.title == "The & title"
    assert passage.text == "Heading\nFirst bold line é.\none\ntwo"


def test_html_navigation_that_is_never_closed(tmp_path):
    page = "<nav>Home<main><h1>Heading</h1>Content</main>"
    [passage] = load(tmp_path / "a.htm", page).passages
    assert (passage.title, passage.text) == ("Heading", "Heading\nContent")


def test_html_in_the_encoding_it_declares(tmp_path):
    corpus = load(tmp_path / "a.html", '<meta charset="iso-8859-1"><p>café</p>'.encode("latin-1"))
    assert corpus.passages[0].text == "café"
    assert corpus.problems == []


def test_a_text_file_in_another_encoding_is_reported(tmp_path):
    corpus = load(tmp_path / "a.txt", b"first\ncaf\xe9 noir")
    assert corpus.passages[0].text == "first\ncaf\ufffd noir"
    assert lines_of(corpus) == [2]


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


def test_an_empty_corpus(tmp_path):
    with pytest.raises(CorpusError, match="holds no passages"):
        Corpus.load(tmp_path)
    with pytest.raises(CorpusError, match="first problem"):
        load(tmp_path / "a.jsonl", "nonsense")


def test_what_cannot_be_a_corpus(tmp_path):
    with pytest.raises(CorpusError, match="does not exist"):
        read_corpus(tmp_path / "no.jsonl")
    (tmp_path / "a.docx").write_text("x")
    with pytest.raises(ConfigError, match=r"\.jsonl\.gz"):
        read_corpus(tmp_path / "a.docx")


def test_problems_are_logged_when_nobody_asks_for_them(tmp_path, caplog):
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\nnonsense')
    assert len(list(read_corpus(tmp_path / "a.jsonl"))) == 1
    assert "a.jsonl:2" in caplog.text


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
