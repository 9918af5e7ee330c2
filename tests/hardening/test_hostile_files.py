"""Corpus files made to harm: links out of the folder, what unpacks without end, what is nested
without end, rows without end, bytes for texts."""

from __future__ import annotations

import gzip
import json
import os
import resource
import sqlite3
import stat

import pytest

from perspective_rag import Corpus, CorpusError
from perspective_rag.local.corpus import loading, read_corpus, records, tables
from perspective_rag.local.corpus.readers import MOST_PROBLEMS
from perspective_rag.local.stores import BM25Store
from perspective_rag.storage.files import json_lines
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import Passage
from perspective_rag_scale import build_dense_index
from perspective_rag_scale.passage_file import PassageFile

GOOD = "Zoos help."


def loaded(path, **how):
    corpus = Corpus.load(path, **how)
    return [p.text for p in corpus.passages], [str(each) for each in corpus.problems]


def line(**values):
    return json.dumps(values) + "\n"


# ------------------------------------------------------------------ links


@pytest.fixture
def linked(tmp_path):
    """A folder with links of every kind, beside a file and a folder that are none of its affair."""
    outside, folder = tmp_path / "outside", tmp_path / "corpus"
    (outside / "deep").mkdir(parents=True)
    (outside / "secret.txt").write_text("The secret.")
    (outside / "deep" / "other.txt").write_text("Another secret.")
    (folder / "sub").mkdir(parents=True)
    (folder / "good.txt").write_text(GOOD)
    (folder / "sub" / "more.txt").write_text("Close them.")
    for name, target in {
        "file.txt": outside / "secret.txt",
        "relative.txt": "../outside/secret.txt",
        "chain.txt": "file.txt",
        "folder": outside / "deep",
        "up": "..",
        "environ.txt": "/proc/self/environ",
        "zero.txt": "/dev/zero",
        "nowhere.txt": "not there",
        "itself.txt": "itself.txt",
        "sub/loop": "..",
        "inside.txt": "sub/more.txt",
        "again": "sub",
    }.items():
        (folder / name).symlink_to(target)
    # A folder whose name begins like the corpus's own.
    (tmp_path / "corpus-2").mkdir()
    (tmp_path / "corpus-2" / "near.txt").write_text("A neighbour's.")
    (folder / "near.txt").symlink_to(tmp_path / "corpus-2" / "near.txt")
    return folder


def test_no_link_in_a_folder_is_followed_and_each_is_named(linked):
    texts, problems = loaded(linked)
    assert sorted(texts) == ["Close them.", GOOD]
    links = [path for path in linked.rglob("*") if path.is_symlink()]
    assert len(problems) == len(links) == 13
    for path in links:
        assert sum(each.startswith(f"{path}: left out: it is a link") for each in problems) == 1


def test_links_that_stay_in_the_folder_are_followed_where_asked_and_no_other(linked):
    corpus = Corpus.load(linked, follow_links=True)
    # A folder is read once, by whichever name comes first; a file by each of its names.
    assert {p.id for p in corpus.passages} == {"good.txt", "inside.txt", "again/more.txt"}
    refused = {each.path.name for each in corpus.problems}
    assert {"file.txt", "relative.txt", "chain.txt", "folder", "up"} <= refused
    assert {"environ.txt", "zero.txt", "nowhere.txt", "itself.txt", "near.txt"} <= refused
    assert not {"inside.txt", "again", "loop"} & refused


def test_the_corpus_of_a_benchmark_folder_is_no_way_around(tmp_path):
    (tmp_path / "secret.jsonl").write_text(line(text="The secret."))
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "queries.jsonl").write_text("")
    (folder / "corpus.jsonl").symlink_to(tmp_path / "secret.jsonl")
    with pytest.raises(CorpusError, match=r"holds no passages.*it is a link"):
        loaded(folder)


def test_a_link_that_a_person_names_is_read(tmp_path):
    (tmp_path / "a.txt").write_text(GOOD)
    (tmp_path / "link.txt").symlink_to("a.txt")
    assert loaded(tmp_path / "link.txt")[0] == [GOOD]


# ------------------------------------------------------------------ nested, long, many


@pytest.mark.parametrize("depth", [101, 400, 2_000, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_what_is_nested_too_deep_is_one_problem(tmp_path, depth, opening, name):
    nested = opening * depth + "1" + ("]" if opening == "[" else "}") * depth
    data = f'{line(text=GOOD)}{{"text": "Bad.", "more": {nested}}}\n{line(text="Last.")}'.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    texts, problems = loaded(tmp_path)
    assert texts == [GOOD, "Last."]
    assert len(problems) == 1
    assert ":2: " in problems[0]
    assert "nested" in problems[0]


def test_columns_nested_too_deep_are_one_problem_beside_other_files(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    kind, value = pyarrow.int64(), 1
    for _ in range(60):
        kind, value = pyarrow.struct([("a", kind)]), {"a": value}
    table = pyarrow.table({"text": ["Bad."], "deep": pyarrow.array([value], kind)})
    parquet.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "b.txt").write_text(GOOD)
    texts, (problem,) = loaded(tmp_path)
    assert texts == [GOOD]
    assert "nested deeper" in problem


LONG = {
    "one line": "x" * 5_000,
    "many lines": "x,y\n" * 2_000,
    "quotes": '""' * 3_000,
    "lines with quotes": '"",\n' * 2_000,
    "carriage returns": "x\r" * 3_000,
}


@pytest.mark.parametrize("what", LONG)
@pytest.mark.parametrize("place", [0, 1])
def test_a_csv_row_that_is_too_long_takes_no_other_with_it(tmp_path, monkeypatch, what, place):
    monkeypatch.setattr(records, "LONGEST_LINE", 1000)
    row = [f'"{LONG[what]}"', '"a ""short"" field"']
    data = f'text,more\n{GOOD},x\n{",".join(row[place:] + row[:place])}\nLast.,"y\nz"\n'
    (tmp_path / "a.csv").write_text(data, newline="")
    texts, problems = loaded(tmp_path)
    assert texts == [GOOD, "Last."]
    assert len(problems) == 1
    assert ":3: " in problems[0]
    assert "more than 1,000 characters" in problems[0]


def test_a_quote_that_never_closes_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "LONGEST_LINE", 1000)
    (tmp_path / "a.csv").write_text(f'text\n{GOOD}\n"never closed\n' + "x\n" * 2_000)
    texts, problems = loaded(tmp_path)
    assert texts == [GOOD]
    assert len(problems) == 2
    assert "does not end" in problems[1]


def test_problems_are_counted_and_the_first_hundred_kept(tmp_path, caplog, monkeypatch):
    path = tmp_path / "a.jsonl"
    count = 2_500
    path.write_text(line(text=GOOD) + f"[{' ' * 500}]\n" * count)  # over 1 MB: it is kept
    os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(loading, "_SETTLED_NS", -(10**18))  # its ctime is now
    seen = []
    for _ in range(2):  # read, then found in the cache
        corpus = Corpus.load(path, cache=tmp_path / "cache", on_problem=seen.append)
        assert corpus.problem_count == count
        assert [each.line for each in corpus.problems] == list(range(2, MOST_PROBLEMS + 2))
    assert len(seen) == count + MOST_PROBLEMS
    assert len(list(read_corpus(path))) == 1
    assert len(caplog.records) == MOST_PROBLEMS + 1
    assert caplog.messages[-1] == f"{count - MOST_PROBLEMS} problems more"


def test_a_message_is_short_whatever_the_row_holds(tmp_path):
    names = {f"field {number}": 1 for number in range(10_000)}
    (tmp_path / "a.jsonl").write_text(json.dumps(names) + "\n" + line(text=GOOD))
    _, (problem,) = loaded(tmp_path)
    assert len(problem) < 1_000


# ------------------------------------------------------------------ what is unpacked


def bomb(path, name):
    """Short lines, or one long one, packed to a thousandth."""
    piece = b"x" if "one" in name else b"x\n"
    first = f"text\n{GOOD}\n" if "csv" in name else line(text=GOOD)
    with gzip.open(path, "wb", compresslevel=9) as stream:
        stream.write(first.encode() + piece * (2_000_000 // len(piece)))


@pytest.mark.parametrize("name", ["lines.jsonl.gz", "one.jsonl.gz", "hidden.jsonl", "rows.csv.gz"])
def test_what_unpacks_to_too_much_ends_there_and_names_the_option(tmp_path, name):
    path = tmp_path / name
    bomb(path, name)
    texts, problems = [], []
    for passage in read_corpus(path, most_unpacked=400_000, on_problem=problems.append):
        if len(texts) < 2:
            texts.append(passage.text)
    assert texts[0] == GOOD
    assert "--most-unpacked" in str(problems[-1])
    assert "100 times its size" in str(problems[-1])


def test_what_is_packed_as_texts_are_has_no_limit_but_its_size(tmp_path):
    words = "".join(line(text=f"{number * 7919 % 100_003} zoos") for number in range(20_000))
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as stream:
        stream.write(words)
    texts, problems = loaded(tmp_path, most_unpacked=1000)
    assert len(texts) == 20_000
    assert problems == []


def test_questions_from_a_packed_file_are_bounded_too(tmp_path, monkeypatch):
    from perspective_rag.storage import files as jsonl

    monkeypatch.setattr(jsonl, "LONGEST_LINE", 1_000)
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as stream:
        stream.write(line(question="x" * 100_000))
    with pytest.raises(CorpusError, match="more than 1,000 bytes"):
        list(json_lines(tmp_path / "a.jsonl.gz"))


class TestParquet:
    @pytest.fixture(autouse=True)
    def _pyarrow(self):
        pytest.importorskip("pyarrow")

    def written(self, path, columns, **how):
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(columns), path, compression="zstd", **how)

    def test_a_long_text_that_stands_there_often_is_in_memory_once(self, tmp_path, monkeypatch):
        import pyarrow

        text = "x" * 2_000_000
        column = pyarrow.DictionaryArray.from_arrays(
            pyarrow.array([0] * 1024, pyarrow.int32()), pyarrow.array([text])
        )
        self.written(tmp_path / "a.parquet", {"text": column})
        assert (tmp_path / "a.parquet").stat().st_size < 20_000
        monkeypatch.setattr(tables, "as_record", lambda row, *rest: seen.append(len(row["text"])))
        seen = []
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(CorpusError, match="no passages"):
            loaded(tmp_path)
        assert seen == [2_000_000] * 1024  # 2 GB where all were in memory
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # kB

    def test_a_row_group_that_says_it_is_too_large_is_left_out_and_the_next_read(self, tmp_path):
        texts = ["Good one.", "x" * 300_000, "Last."]
        self.written(tmp_path / "a.parquet", {"text": texts}, row_group_size=1)
        found, problems = loaded(tmp_path, most_unpacked=100_000)
        assert found == ["Good one.", "Last."]
        (problem,) = problems
        assert ":2: " in problem
        assert "--most-unpacked" in problem

    def test_a_list_that_takes_no_bytes_counts_by_its_values(self, tmp_path):
        import pyarrow

        nothing = pyarrow.array([[None] * 2_000_000], pyarrow.list_(pyarrow.int32()))
        self.written(tmp_path / "a.parquet", {"text": [GOOD], "list": nothing})
        assert (tmp_path / "a.parquet").stat().st_size < 2_000
        with pytest.raises(CorpusError, match="--most-unpacked"):
            loaded(tmp_path, most_unpacked=10_000_000)

    def test_times_in_nanoseconds_are_read_as_text(self, tmp_path, monkeypatch):
        import sys

        import pyarrow

        monkeypatch.setitem(sys.modules, "pandas", None)
        odd = [1_700_000_000_000_000_001, None]
        columns = {
            "text": ["One.", "Two."],
            "at": pyarrow.array(odd, pyarrow.timestamp("ns")),
            "zone": pyarrow.array(odd, pyarrow.timestamp("ns", "UTC")),
            "time": pyarrow.array([1, None], pyarrow.time64("ns")),
            "took": pyarrow.array([1, None], pyarrow.duration("ns")),
            "list": pyarrow.array([[odd[0]], None], pyarrow.list_(pyarrow.timestamp("ns"))),
            "part": pyarrow.array(
                [{"at": odd[0]}, None], pyarrow.struct([("at", pyarrow.timestamp("ns"))])
            ),
        }
        self.written(tmp_path / "a.parquet", columns)
        corpus = Corpus.load(tmp_path / "a.parquet")
        assert corpus.problems == []
        first, second = (p.metadata for p in corpus.passages)
        assert first["at"].startswith("2023-11-14 22:13:20.000000001")
        assert first["list"] == [first["at"]] == [first["part"]["at"]]
        assert set(second.values()) == {None}

    def test_a_value_that_python_cannot_hold_is_one_problem(self, tmp_path):
        import pyarrow

        far = pyarrow.array([0, 10**17, 0], pyarrow.timestamp("ms"))
        self.written(tmp_path / "a.parquet", {"text": ["One.", "Two.", "Three."], "at": far})
        texts, problems = loaded(tmp_path)
        assert texts == ["One.", "Three."]
        assert len(problems) == 1
        assert ":2: cannot be read" in problems[0]

    def test_bytes_are_a_text_only_where_they_are_one(self, tmp_path):
        self.written(tmp_path / "a.parquet", {"text": [b"One.", b"\x89PNG\x00\xff", b"a\x00b"]})
        texts, problems = loaded(tmp_path)
        assert texts == ["One."]
        assert len(problems) == 2


# ------------------------------------------------------------------ bytes for texts, modes


def test_a_file_of_bytes_is_no_document(tmp_path):
    for name in ("a.txt", "b.md", "c.html"):
        (tmp_path / name).write_bytes(b"\x00\x01PNG\x00" * 100)
    (tmp_path / "good.txt").write_text(GOOD)
    texts, problems = loaded(tmp_path)
    assert texts == [GOOD]
    assert len(problems) == 3


@pytest.mark.parametrize("column", ["id", "text", "metadata"])
@pytest.mark.parametrize("value", [b"blob", b"{}"])
def test_a_value_of_another_kind_in_an_index_folder_is_refused(tmp_path, column, value):
    path = tmp_path / "passages.sqlite"
    held = PassageFile(path, writable=True)
    held.put(0, [Passage("a", GOOD)])
    held.close()
    with sqlite3.connect(path) as file:
        file.execute(f"UPDATE passages SET {column} = ?", (value,))
    file.close()
    with pytest.raises(CorpusError, match="holds bytes where a text should be"):
        PassageFile(path).at([0])


def test_metadata_of_an_index_folder_that_is_no_object_is_refused(tmp_path):
    path = tmp_path / "passages.sqlite"
    held = PassageFile(path, writable=True)
    held.put(0, [Passage("a", GOOD)])
    for value in ("[]", "not JSON", "[" * 100_000):
        with held._file:
            held._file.execute("UPDATE passages SET metadata = ?", (value,))
        with pytest.raises(CorpusError, match="cannot be used"):
            held.at([0])


@pytest.mark.skipif(os.name == "nt", reason="no modes there")
def test_what_is_written_of_a_corpus_is_for_its_owner_alone(tmp_path):
    umask = os.umask(0o022)
    try:
        corpus = Corpus([Passage("a", "zoos help"), Passage("b", "close the zoos")])
        build_dense_index(corpus, HashEmbedder(8), tmp_path / "dense", model_name="m")
        BM25Store.cached(corpus.passages, tmp_path, fingerprint="f")
        (tmp_path / "filled").mkdir(mode=0o700)
        PassageFile(tmp_path / "filled" / "passages.sqlite", writable=True).close()
    finally:
        os.umask(umask)
    for name in ("dense", "bm25-stems-f", "filled"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700
        assert list((tmp_path / name).iterdir())
    for name in ("dense/embeddings.npy", "filled/passages.sqlite"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
