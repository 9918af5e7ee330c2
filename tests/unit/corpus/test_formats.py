"""The formats in which corpora are published."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pytest

from perspective_rag import ConfigError, Corpus, CorpusError, MissingDependency, Passage
from perspective_rag.corpus import read_corpus, tables, warc


def texts(corpus):
    return [each.text for each in corpus.passages]


def tsv(rows):
    """As DPR writes psgs_w100.tsv: fields with tabs between them, quoted where they must be."""
    stream = io.StringIO()
    csv.writer(stream, delimiter="\t", lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()


DPR = [
    ["id", "text", "title"],
    ["1", 'Aaron, called "the just", spoke.', "Aaron"],
    ["2", "x y", "B"],
]


@pytest.mark.parametrize("name", ["psgs_w100.tsv", "psgs_w100.tsv.gz"])
def test_dpr(tmp_path, name):
    data = tsv(DPR)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert Corpus.load(tmp_path / name).passages == [
        Passage("1", 'Aaron, called "the just", spoke.', {"title": "Aaron"}),
        Passage("2", "x y", {"title": "B"}),
    ]


def test_dpr_lines_that_are_wrong_are_counted_with_their_numbers(tmp_path):
    (tmp_path / "p.tsv").write_bytes(tsv(DPR) + b"3\ta\tb\tc\n4\t\tno text\n5\tlast\tC\n")
    corpus = Corpus.load(tmp_path / "p.tsv")
    assert [each.id for each in corpus.passages] == ["1", "2", "5"]
    assert [each.line for each in corpus.problems] == [4, 5]


def sphere(number):
    return {
        "id": f"uuid-{number}",
        "url": "https://example.org/a",
        "title": "A",
        "sha": "00ff",
        "raw": f"Passage {number} of the page.",
        "vector": [0.5] * 768,
    }


def test_sphere_shards(tmp_path):
    (tmp_path / "sphere_0.jsonl").write_text("".join(json.dumps(sphere(i)) + "\n" for i in (1, 2)))
    (tmp_path / "sphere_1.jsonl.gz").write_bytes(
        gzip.compress(json.dumps(sphere(3)).encode() + b"\n{broken\n")
    )
    corpus = Corpus.load(tmp_path)
    meta = {"url": "https://example.org/a", "title": "A", "sha": "00ff"}
    assert corpus.passages == [
        Passage(f"uuid-{i}", f"Passage {i} of the page.", meta) for i in (1, 2, 3)
    ]
    assert [(each.path.name, each.line) for each in corpus.problems] == [("sphere_1.jsonl.gz", 2)]


def test_a_vector_beside_a_text_stays_in_the_metadata(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "one", "vector": [1]}\n{"text": "two", "raw": "x"}')
    assert [p.metadata for p in Corpus.load(tmp_path).passages] == [{"vector": [1]}, {"raw": "x"}]


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


def test_a_folder_that_only_looks_like_beir_is_read_whole(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"text": "one"}\n')
    (tmp_path / "more.jsonl").write_text('{"text": "two"}\n')
    assert texts(Corpus.load(tmp_path)) == ["one", "two"]


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
        ("warcio", "a.warc", "warc"),
    ],
)
def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch, module, name, extra):
    for each in (module, f"{module}.parquet", f"{module}.archiveiterator"):
        monkeypatch.setitem(__import__("sys").modules, each, None)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / "a.parquet").write_bytes(b"")
    (tmp_path / "a.warc").write_bytes(b"")
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


def test_parquet_of_a_kind_that_cannot_be_read_is_said(parquet_file, monkeypatch):
    import pyarrow
    from pyarrow import parquet

    def fails(self, **options):
        raise pyarrow.ArrowNotImplementedError("Support for codec 'lzo' not built")

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", fails)
    with pytest.raises(CorpusError, match="codec 'lzo'"):
        Corpus.load(parquet_file)


def test_a_dataset_of_local_files(parquet_file):
    pytest.importorskip("datasets")
    for source in (f"hf:{parquet_file.parent}", f"hf:{parquet_file.parent}:train"):
        assert texts(Corpus.load(source)) == ["one", "three"]
    with pytest.raises(ConfigError, match="no split 'test'; it has train"):
        Corpus.load(f"hf:{parquet_file.parent}:test")
    with pytest.raises(CorpusError, match="cannot be opened"):
        Corpus.load(f"hf:{parquet_file.parent}/absent")


PAGE = b"<html><head><title>Zoos</title></head><body><p>Zoos help animals.</p></body></html>"


@pytest.fixture
def archive(tmp_path):
    pytest.importorskip("warcio")
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    path = tmp_path / "a.warc.gz"
    with path.open("wb") as stream:
        writer = WARCWriter(stream, gzip=True)

        def put(kind, body, status=None, content="text/html; charset=utf-8"):
            headers = status and StatusAndHeaders(status, [("Content-Type", content)], "HTTP/1.1")
            writer.write_record(
                writer.create_warc_record(
                    f"https://example.org/{kind}",
                    kind,
                    payload=io.BytesIO(body),
                    http_headers=headers,
                    warc_headers_dict={"WARC-Record-ID": f"<urn:uuid:{kind}-{len(body)}>"},
                )
            )

        put("warcinfo", b"software: x\r\n")
        put("conversion", "Text of a page: é.".encode())
        put("response", PAGE, "200 OK")
        put("response", b"not found", "404 Not Found")
        put("response", b"\x89PNG", "200 OK", "image/png")
        put("conversion", b"  ")
    return path


def test_web_archives(archive):
    corpus = Corpus.load(archive)
    assert corpus.passages == [
        Passage("conversion-19", "Text of a page: é.", {"url": "https://example.org/conversion"}),
        Passage(
            f"response-{len(PAGE)}",
            "Zoos help animals.",
            {"title": "Zoos", "url": "https://example.org/response"},
        ),
    ]
    assert [(each.line, each.message) for each in corpus.problems] == [(6, "no text")]


@pytest.mark.parametrize(
    ("header", "meta", "expected"),
    [
        ("text/html; charset=ISO-8859-1", "", "Les zoos protègent."),
        ('text/html;charset="windows-1252"', "", "Les zoos protègent."),
        ("text/html", '<meta charset="iso-8859-1">', "Les zoos protègent."),
        ("text/html; charset=no-such-one", "", "Les zoos prot\ufffdgent."),
    ],
)
def test_a_page_is_in_the_encoding_that_its_server_named(tmp_path, header, meta, expected):
    pytest.importorskip("warcio")
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    page = f"<html><head>{meta}</head><body><p>Les zoos protègent.</p></body></html>".encode(
        "cp1252"
    )
    with (tmp_path / "a.warc").open("wb") as stream:
        writer = WARCWriter(stream, gzip=False)
        headers = StatusAndHeaders("200 OK", [("Content-Type", header)], "HTTP/1.1")
        record = writer.create_warc_record(
            "https://example.org/", "response", payload=io.BytesIO(page), http_headers=headers
        )
        writer.write_record(record)
    corpus = Corpus.load(tmp_path / "a.warc")
    assert texts(corpus) == [expected]
    assert len(corpus.problems) == ("\ufffd" in expected)
    seen = []
    Corpus.load(tmp_path / "a.warc", read_page=lambda data, url: seen.append(data) or ("", "x"))
    assert seen == [page if meta or "\ufffd" in expected else page.decode("cp1252").encode()]


def test_a_page_can_be_read_by_something_else(archive):
    def read(data, url):
        if data != PAGE:
            raise ValueError("another page")
        return "T", f"main text of {url}"

    assert "main text of https://example.org/response" in texts(
        Corpus.load(archive, read_page=read)
    )

    def refuse(data, url):
        raise ValueError("it takes too long")

    corpus = Corpus.load(archive, read_page=refuse)
    assert len(corpus) == 1
    assert corpus.problems[0].message == "left out: it takes too long"


def test_the_main_text_of_an_archived_page(archive):
    from perspective_rag.web.archived import web_page_text

    pytest.importorskip("trafilatura")
    text = "Zoos save species that have nowhere else to live, as keepers say. " * 5
    page = f"<html><body><nav>Menu</nav><article><p>{text}</p></article></body></html>"
    _, found = web_page_text()(page.encode(), "https://example.org/")
    assert "nowhere else" in found
    assert "Menu" not in found


def test_an_archive_that_is_damaged_or_too_large_is_said(archive, monkeypatch):
    monkeypatch.setattr(warc, "LONGEST_PAGE", 30)
    corpus = Corpus.load(archive)
    assert len(corpus) == 1
    assert "larger than 30 bytes" in corpus.problems[0].message
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) // 2])
    assert len(Corpus.load(archive)) == 1
    archive.write_bytes(b"this is no archive")
    with pytest.raises(CorpusError, match="cannot be read from here on"):
        Corpus.load(archive)
