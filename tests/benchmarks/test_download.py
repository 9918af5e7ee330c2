"""Downloads from a real server on this machine: whole, cut off, changed, wrong; and what files
become.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.ambigqa.data import read_answer_task
from benchmarks.berds.questions import read_questions
from benchmarks.core.gold import read_gold
from benchmarks.download import converting
from benchmarks.download.command import chosen_sources, download, main
from benchmarks.download.fetching import fetch
from benchmarks.download.sources import SOURCES, RemoteFile, Source
from benchmarks.perspective_detection.detection import read_human_pairs
from benchmarks.pir.data import read_group
from benchmarks.pir.tasks import read_task
from perspective_rag import ConfigError, CorpusError

DATA = bytes(range(256)) * 2000
SHA = hashlib.sha256(DATA).hexdigest()


class Files(BaseHTTPRequestHandler):
    """``served`` by path; ``cuts`` says after how many bytes each further answer breaks off."""

    protocol_version = "HTTP/1.0"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.asked.append(asked)
        if self.path not in server.served:
            self.send_error(404)
            return
        data, tag = server.served[self.path]
        start = 0
        if asked and self.headers.get("If-Range") == tag:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if start and start >= len(data):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(data) - start))
        if tag:
            self.send_header("ETag", tag)
        self.end_headers()
        cut = server.cuts.pop(0) if server.cuts else None
        self.wfile.write(data[start:] if cut is None else data[start : start + cut])


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    made.served = {"/f": (DATA, '"one"')}
    made.asked, made.cuts = [], []
    made.url = f"http://127.0.0.1:{made.server_port}"
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def file(server):
    return RemoteFile("f", f"{server.url}/f", SHA)


def test_a_file_is_fetched_once_and_reported_as_it_comes(server, file, tmp_path):
    told = []
    assert fetch(file, tmp_path / "f", told=lambda done, total: told.append((done, total)))
    assert (tmp_path / "f").read_bytes() == DATA
    assert told[-1] == (len(DATA), len(DATA))
    assert not fetch(file, tmp_path / "f")
    assert len(server.asked) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_download_that_is_cut_off_goes_on_where_it_ended(server, file, tmp_path):
    server.cuts = [1000]
    assert fetch(file, tmp_path / "f")
    assert server.asked == [None, "bytes=1000-"]
    assert (tmp_path / "f").read_bytes() == DATA


def test_the_same_command_goes_on_after_a_run_that_gave_up(server, file, tmp_path):
    server.cuts = [1000, 1000, 1000]
    with pytest.raises(CorpusError, match="3000 of 512000 bytes came; the same command goes on"):
        fetch(file, tmp_path / "f")
    assert not (tmp_path / "f").exists()
    assert fetch(file, tmp_path / "f")
    assert server.asked[-1] == "bytes=3000-"
    assert (tmp_path / "f").read_bytes() == DATA


def test_a_file_that_changed_meanwhile_is_not_joined_with_its_old_part(server, file, tmp_path):
    server.cuts = [1000, 1000, 1000]
    with pytest.raises(CorpusError):
        fetch(file, tmp_path / "f")
    new = DATA[::-1]
    server.served["/f"] = (new, '"two"')
    assert fetch(replace(file, sha256=None), tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == new


def test_without_a_tag_a_part_is_fetched_anew(server, file, tmp_path):
    server.served["/f"] = (DATA, "")
    server.cuts = [1000]
    assert fetch(file, tmp_path / "f")
    assert server.asked == [None, None]


def test_a_part_that_is_longer_than_the_file_is_thrown_away(server, file, tmp_path):
    (tmp_path / "f.part").write_bytes(DATA + b"more")
    (tmp_path / "f.part.etag").write_text('"one"')
    assert fetch(file, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == DATA


@pytest.mark.parametrize(
    ("checks", "says"),
    [
        ({"sha256": "0" * 64}, f"SHA-256 is {SHA}, expected 000"),
        ({"sha256": None, "git_blob": "0" * 40}, "git blob id is .*, expected 000"),
    ],
)
def test_a_file_with_another_hash_is_not_kept(server, file, tmp_path, checks, says):
    with pytest.raises(CorpusError, match=says):
        fetch(replace(file, **checks), tmp_path / "f")
    assert not list(tmp_path.iterdir())


def test_a_blob_of_git_is_known_by_its_id(server, file, tmp_path):
    server.served["/f"] = (b"hello\n", '"one"')
    blob = "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object
    assert fetch(replace(file, sha256=None, git_blob=blob), tmp_path / "f")


def test_a_damaged_copy_is_fetched_again(server, file, tmp_path):
    (tmp_path / "f").write_bytes(b"broken")
    assert fetch(file, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == DATA


def test_a_file_that_is_gone_is_asked_for_once_and_named(server, tmp_path):
    with pytest.raises(CorpusError, match="/gone cannot be downloaded: HTTP Error 404"):
        fetch(RemoteFile("gone", f"{server.url}/gone"), tmp_path / "gone")
    assert len(server.asked) == 1


# --- the command ----------------------------------------------------------------------------------


def sources_of(server, **published):
    """The real sources, their files served from this machine."""
    found = {}
    for name, contents in published.items():
        source = SOURCES[name.replace("_", "-")]
        files = []
        for file in source.files:
            data = contents[file.name]
            server.served[f"/{file.name}"] = (data, '"one"')
            digest = hashlib.sha256(data).hexdigest()
            files.append(RemoteFile(file.name, f"{server.url}/{file.name}", digest))
        found[source.name] = replace(source, files=tuple(files))
    return found


def run(sources, *arguments):
    screen = io.StringIO()
    status = main(list(arguments), sources=sources, console=Console(file=screen, width=200))
    return status, screen.getvalue()


def as_json(value):
    return json.dumps(value).encode()


def as_lines(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


DEMO = {
    "corpus": ["Tolls are right.", "Tolls are wrong."],
    "queries": ["Find a claim that supports: tolls"],
    "source_queries": ["tolls"],
    "perspectives": ["a claim that supports"],
    "query_labels": ["support"],
    "key_ref": {"0": [0]},
}


def test_the_licence_is_printed_before_anything_is_fetched(server, tmp_path):
    sources = sources_of(server, pir_demo={"demo_pir_dataset.json": as_json({"story": DEMO})})
    server.served.clear()
    status, screen = run(sources, "pir-demo", f"--to={tmp_path}")
    assert status == 2
    assert screen.index("licence: Apache-2.0") < screen.index("cannot be downloaded")


def test_the_demo_becomes_a_folder_of_tasks(server, tmp_path):
    sources = sources_of(
        server, pir_demo={"demo_pir_dataset.json": as_json({"story": DEMO, "agnews": DEMO})}
    )
    status, screen = run(sources, "pir-demo", f"--to={tmp_path}")
    assert status == 0, screen
    group = read_group(str(tmp_path / "pir_demo"))
    assert [task.name for task in group.tasks] == ["agnews", "story"]
    assert group.tasks[0].corpus == tuple(DEMO["corpus"])
    run(sources, "pir-demo", f"--to={tmp_path}")
    assert len(server.asked) == 1


def test_berds_questions_are_grouped_with_what_was_generated_for_them(server, tmp_path):
    def rows(name):
        row = {"org_id": "7", "org_q": f"{name}  banned?", "perspectives": ["Yes.", "No."]}
        return as_lines(
            {**row, "id": 1, "perspective": "A", "text": "a", "question": "x"},
            {**row, "id": 2, "perspective": "B", "text": "b", "question": "y"},
        )

    files = {file.name: rows(file.name[:5]) for file in SOURCES["berds-dev"].files}
    status, screen = run(sources_of(server, berds_dev=files), "berds-dev", f"--to={tmp_path}")
    assert status == 0, screen
    questions = read_questions(tmp_path / "berds_dev")
    assert [q.id for q in questions] == ["arguana/7", "kialo/7", "opinionqa/7"]
    assert questions[0].text == "argua banned?"
    assert questions[0].perspectives == ("Yes.", "No.")
    assert questions[0].generated == ("a", "b")


def test_human_pairs_are_read_from_their_table(server, tmp_path):
    table = 'question\tid\tdocument\tperspective\tlabel\nQ?\t1\t"a ""b"" c"\tYes.\t1\n'
    files = {"pers_det.test.tsv": table.encode()}
    status, screen = run(sources_of(server, berds_human=files), "berds-human", f"--to={tmp_path}")
    assert status == 0, screen
    [pair] = read_human_pairs(tmp_path / "judge_human" / "pairs.jsonl")
    assert (pair.question, pair.document, pair.positive) == ("Q?", 'a "b" c', True)


def test_ambignq_and_its_fragments_become_a_task_with_answers(server, tmp_path):
    asked = [
        {
            "id": "1",
            "question": "When did it open?",
            "annotations": [
                {"type": "singleAnswer", "answer": ["1900"]},
                {
                    "type": "multipleQAs",
                    "qaPairs": [{"question": "When did the old one open?", "answer": ["1900"]}],
                },
            ],
        }
    ]
    found = [
        {
            "id": "c1",
            "question": "When did it open?",
            "ctxs": [{"title": "Bridge", "text": "It opened in 1900.", "score": 2.0}],
        }
    ]
    files = {"dev_light.json": as_json(asked), "mcaqa.json": as_json(found)}
    status, screen = run(sources_of(server, ambignq=files), "ambignq", f"--to={tmp_path}")
    assert status == 0, screen
    task = read_answer_task(tmp_path / "ambigqa")
    assert task.answers == (("1900",),)
    assert task.task.queries[0].text == "When did the old one open?"
    with gzip.open(tmp_path / "ambigqa" / "condambigqa.jsonl.gz") as stream:
        assert json.loads(stream.readline())["passages"] == [
            {"title": "Bridge", "text": "It opened in 1900."}
        ]


PERSPECTRUM = {
    "perspectrum_with_answers_v1.0.json": as_json(
        [
            {
                "cId": claim,
                "text": f"Claim {claim}",
                "perspectives": [
                    {"pids": pids, "stance_label_3": stance} for pids, stance in clusters
                ],
            }
            for claim, clusters in {
                2: [([3], "SUPPORT"), ([4], "UNDERMINE")],
                1: [([1, 2], "SUPPORT"), ([5], "UNDERMINE")],
                9: [([6], "SUPPORT")],
            }.items()
        ]
    ),
    "perspective_pool_v1.0.json": as_json(
        [{"pId": n, "text": f"text  {n}", "source": "s"} for n in range(1, 7)]
    ),
    "dataset_split_v1.0.json": as_json({"1": "dev", "2": "train", "9": "dev"}),
    "evidence_pool_v1.0.json": as_json([{"eId": 0, "text": "Proof.", "source": "s"}]),
}


def test_perspectrum_becomes_a_task_gold_and_a_corpus(server, tmp_path):
    sources = sources_of(server, perspectrum=PERSPECTRUM)
    status, screen = run(sources, "perspectrum", f"--to={tmp_path}")
    assert status == 0, screen
    task = read_task(tmp_path / "pir_perspectrum" / "perspectrum.jsonl")
    assert task.corpus == ("text 1", "text 2", "text 5", "text 3", "text 4")
    assert {query.label: query.gold for query in task.queries} == {
        "general": {0, 1, 2},
        "support": {0, 1},
        "undermine": {2},
    }
    gold = read_gold(tmp_path / "perspectrum" / "gold.jsonl")
    [question] = gold.questions  # of the development split, with both sides
    assert question.gold == {"support": {"1", "2"}, "oppose": {"5"}}
    assert len(gold.corpus) == 5
    assert '"Proof."' in (tmp_path / "perspectrum" / "evidence.jsonl").read_text()


def test_the_hub_files_keep_their_layout(server, tmp_path):
    rows = {
        "corpus.jsonl": as_lines({"_id": "d", "text": "Tolls."}),
        "queries.jsonl": as_lines(
            {"_id": "q", "text": "T?", "meta": {"src_query": "T", "perspective": "left"}}
        ),
        "qrels/test.jsonl": as_lines({"query-id": "q", "corpus-id": "d", "score": 1}),
    }
    files = {f.name: rows[f.name.partition("/")[2]] for f in SOURCES["pir-full"].files}
    status, screen = run(sources_of(server, pir_full=files), "pir-full", f"--to={tmp_path}")
    assert status == 0, screen
    names = [task.name for task in read_group(str(tmp_path / "pir_hub")).tasks]
    assert names == ["agnews", "allsides", "ambigqa", "exfever", "perspectrum", "story"]


def test_a_name_is_of_a_data_set_or_of_a_benchmark(server, tmp_path):
    assert [each.name for each in chosen_sources(["essay", "pir-demo"], SOURCES)] == ["pir-demo"]
    assert len(chosen_sources([], SOURCES)) == len(SOURCES)
    with pytest.raises(ConfigError, match="unknown data set or benchmark 'pir-dmo'; did you mean"):
        download(["pir-dmo"], tmp_path, Console(file=io.StringIO()))
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_as_published_is_named(tmp_path):
    path = tmp_path / "dev_light.json"
    path.write_text('[{"id": 1}]')
    with pytest.raises(CorpusError, match=r"dev_light\.json is not as published: KeyError"):
        converting.ambignq({"dev_light.json": path, "mcaqa.json": path}, tmp_path)


def test_the_list_shows_every_source_and_downloads_nothing(server, tmp_path):
    status, screen = run(SOURCES, "--list", f"--to={tmp_path / 'to'}")
    assert status == 0
    assert all(name in screen for name in SOURCES)
    assert not (tmp_path / "to").exists()


@pytest.mark.parametrize("source", SOURCES.values(), ids=lambda source: source.name)
def test_every_source_is_fetched_over_https_and_named_by_commit_or_hub(source: Source):
    for file in source.files:
        assert file.url.startswith("https://")
        if "githubusercontent" in file.url:
            assert file.sha256 or file.git_blob
            assert len(file.url.split("/")[5]) == 40  # the commit
    assert source.licence
    assert not any(Path(each).is_absolute() for each in source.writes)
