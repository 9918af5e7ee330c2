"""Work that writes to a folder, as the commands do it, in processes that may be killed.

Each task returns what it found as text: the same whatever was there before.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
from qdrant_client import QdrantClient
from rich.console import Console

from benchmarks.coverage.command import main as coverage
from perspective_rag.cli import main
from perspective_rag.judge.cache import CachedJudge
from perspective_rag.local.corpus import CachedEmbedder
from perspective_rag.local.stores import BM25Store
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.testing import HashEmbedder, RuleJudge, ScriptedLLM
from perspective_rag.types import Hit, Passage, Perspective
from perspective_rag_scale import build_dense_index, dense_index
from perspective_rag_scale.faiss_folder import FaissFolder
from perspective_rag_scale.filling import fill
from perspective_rag_scale.sinks import faiss as faiss_sink
from perspective_rag_scale.sinks.qdrant import QdrantSink
from perspective_rag_train.dataset import Source, build_dataset
from perspective_rag_train.many import judge_many
from perspective_rag_train.stream import judge_stream

# Long enough to be killed in, all in all.
PAUSE = 0.01

PASSAGES = [Passage(str(i), f"zoos number {i} save {i % 7} species of cats") for i in range(200)]
PAIRS = [(passage, Perspective("p", "zoos save cats")) for passage in PASSAGES]


def support(passage, perspective):
    return int(passage.id) / 1000 if passage.id.isdigit() else 0.0


def slow_judge():
    judge = RuleJudge(lambda passage, perspective: time.sleep(PAUSE / 4) or support(passage, None))
    judge.__class__ = type("Revised", (RuleJudge,), {"revision": "1", "__slots__": ()})
    return judge


def bm25_index(folder):
    """A BM25 index for each of many corpora."""
    found = []
    for number in range(8):
        passages = PASSAGES[number : number + 40]
        store = BM25Store.cached(passages, folder, fingerprint=f"corpus-{number}")
        found.append([hit.passage.id for hit in store.search("number 7 cats", None, k=5)])
    return str(found)


def dense(folder):
    """A dense index, in small windows."""
    dense_index.WINDOW = 10

    class Slow(HashEmbedder):
        def embed_passages(self, texts):
            time.sleep(PAUSE)
            return super().embed_passages(texts)

    rows = build_dense_index(PASSAGES, Slow(16), folder / "dense", model_name="m", batch=10)
    return fingerprint(np.asarray(rows).tobytes())


def embedding_cache(folder):
    """Embeddings in a file, a few at a time."""
    with CachedEmbedder(HashEmbedder(16, delay=PAUSE), folder / "e.sqlite", "m") as embedder:
        found = [
            embedder.embed_passages([p.text for p in PASSAGES[i : i + 4]]) for i in range(0, 160, 4)
        ]
    return fingerprint(np.concatenate(found).tobytes())


def verdict_cache(folder):
    """Verdicts in a file, a batch at a time."""
    judge = CachedJudge(slow_judge(), folder / "v.sqlite")
    batches = [PAIRS[i : i + 8] for i in range(0, len(PAIRS), 8)]
    found = [batch.support.tolist() for batch in judge_stream(judge, batches, outage=100)]
    judge.close()
    return str(found)


def many(folder):
    """``judge_many`` into a file."""
    judge_many(slow_judge(), PAIRS, folder / "verdicts.jsonl", batch_size=8)
    return (folder / "verdicts.jsonl").read_text()


class Store:
    takes_vector = False

    def search(self, text, vector, *, k, filter=None):
        time.sleep(PAUSE)
        return [Hit(passage) for passage in PASSAGES[len(text) % 50 :][:k]]

    async def asearch(self, text, vector, *, k, filter=None):
        return self.search(text, vector, k=k, filter=filter)


def audit(folder):
    """The command ``audit``."""
    questions = folder / "questions.txt"
    questions.write_text(
        "".join(f"Should {word} zoos be closed?\n" for word in "all small old new".split())
    )
    said = io.StringIO()
    arguments = ["audit", str(questions), "--retriever", "tests.hardening.tasks:Store", "--judge"]
    arguments += ["tests.hardening.tasks:slow_judge", "--cache", str(folder / "cache")]
    with redirect_stdout(said), redirect_stderr(said):
        status = main([*arguments, "--out", str(folder / "out"), "--depth", "10"])
    if status:
        raise OSError(said.getvalue())
    document = json.loads((folder / "out" / "audit.json").read_text())
    assert (folder / "out" / "audit.html").read_text().rstrip().endswith("</html>")
    return str(sorted(document))


def benchmark(folder):
    """A whole run of ``benchmarks.coverage``: its figures but for the seconds."""
    lines = [{"kind": "doc", "id": passage.id, "text": passage.text} for passage in PASSAGES[:40]]
    for i in range(8):
        gold = {"support": [str(4 * i)], "oppose": [str(4 * i + 1)]}
        question = f"Should zoos save species number {i}?"
        lines.append({"kind": "query", "id": i, "question": question, "gold": gold})
    data, out = folder / "gold.jsonl", folder / "out.json"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = io.StringIO()
    status = coverage(
        [f"--data={data}", f"--cache={folder / 'cache'}", f"--out={out}", "--only=judged choice"],
        embedder=HashEmbedder(16, delay=PAUSE / 4),
        judge=slow_judge(),
        console=Console(file=said),
    )
    if status:
        raise OSError(said.getvalue())
    rows = json.loads(out.read_text())["results"]["rows"]
    assert len(rows) == 2
    kept = {name: row["metrics"] for name, row in rows.items()}
    rankings = sorted(
        (path.name.rsplit("-", 1)[0], json.loads(line)[0], json.loads(line)[1]["ranking"])
        for path in (folder / "cache" / "coverage").iterdir()
        for line in path.read_text().splitlines()[1:]
    )
    return json.dumps([kept, rankings])


def dataset(folder):
    """``build_dataset``, a few sources at a time."""

    def reply(prompt):
        time.sleep(PAUSE)
        return '{"opposing": "Zoos should stay open."}'

    sources = [
        Source(
            f"s{i}", "debate", (f"Zoos number {i} should be closed",), f"Should zoo {i} be closed?"
        )
        for i in range(60)
    ]
    built = build_dataset(sources, ScriptedLLM(reply), folder / "work", concurrency=2)
    assert len(built.kept) == 60
    return json.dumps([entry.to_dict() for entry in built.kept])


def filled(folder, sink, work):
    """A store filled in small windows; which rows it holds is for the caller to look."""
    embedder = HashEmbedder(16, delay=PAUSE)
    try:
        done = fill(PASSAGES, sink, embedder, work, model_name="m", window=20, batch=10)
    finally:
        sink.close()
    assert (done.passages, done.held) == (200, 200)


def faiss_folder(folder):
    """``index --to faiss:FOLDER``: rows, passages, and a compressed index in three parts."""
    faiss_sink.PART = 70
    target = folder / "index"
    sink = faiss_sink.FaissSink(target, model_name="m", kind="ivfpq")
    filled(folder, sink, target / "work")
    store = FaissFolder(target)
    vector = HashEmbedder(16).embed_queries(["number 7 cats"])[0]
    hits = [(hit.passage.id, hit.score) for hit in store.search("", vector, k=200)]
    store.close()
    files = sorted(path for path in target.rglob("*") if path.suffix in (".faiss", ".f16", ".json"))
    return fingerprint([str(hits), [path.read_bytes() for path in files]])


def qdrant_collection(folder):
    """``index --to qdrant:FOLDER#COLLECTION``."""
    filled(folder, QdrantSink(str(folder / "q"), "zoos"), folder / "work")
    client = QdrantClient(path=str(folder / "q"))
    points, _ = client.scroll("zoos", limit=1000, with_vectors=True)
    client.close()
    return fingerprint(
        sorted((p.id, str(p.payload), np.float32(p.vector).tobytes()) for p in points)
    )


TASKS = {
    task.__name__: task
    for task in (
        bm25_index,
        dense,
        embedding_cache,
        verdict_cache,
        many,
        audit,
        benchmark,
        dataset,
        faiss_folder,
        qdrant_collection,
    )
}


def _run(name, folder, told):
    os.chdir(Path(__file__).parents[2])
    told.send("begun")
    try:
        told.send(("done", TASKS[name](Path(folder))))
    except BaseException as error:
        told.send(("failed", f"{type(error).__name__}: {error}"))


class Running:
    """A task in a process of its own, which can be killed."""

    _context = None

    def __init__(self, name, folder):
        if Running._context is None:
            Running._context = multiprocessing.get_context("forkserver")
            Running._context.set_forkserver_preload(["tests.hardening.tasks"])
        self._ours, theirs = Running._context.Pipe()
        self._process = Running._context.Process(target=_run, args=(name, str(folder), theirs))
        self._process.start()
        theirs.close()
        assert self._ours.recv() == "begun"
        self.begun = time.monotonic()

    def kill_after(self, seconds):
        """Kills it then; True when it was still at work."""
        self._process.join(seconds)
        self._process.kill()
        self._process.join()
        return self._process.exitcode == -9 and not self._finished()

    def _finished(self):
        try:
            return self._ours.poll() and bool(self._ours.recv())
        except EOFError:
            return False

    def outcome(self):
        """("done", what it found) or ("failed", why), and its seconds."""
        told = self._ours.recv()
        seconds = time.monotonic() - self.begun
        self._process.join()
        return told, seconds
