"""Judging and embedding in this process and on Ray: the same files, how fast, in what memory.

python -m benchmarks engines --corpus data/debate_corpus/passages.jsonl.gz \\
    --questions data/berds_dev
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.berds.questions import read_questions
from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import Benchmark, Run, publish
from benchmarks.core.data import data_note, needed
from benchmarks.engines.experiment import TrivialJudge, counted_pairs, embedded, judged
from benchmarks.engines.report import tables
from perspective_rag import (
    ConfigError,
    Corpus,
    CrossEncoderJudge,
    LocalEngine,
    OnnxMiniLM,
    Passage,
    Perspective,
)
from perspective_rag.addons import PACKAGED_JUDGE, Pair
from perspective_rag.extend import Judge
from perspective_rag_scale import RayEngine

PARTS = ("packaged", "trivial", "embedding")
WORDS = (80, 130)
"""Passages of about 100 words, as those of BERDS."""


def _run(run: Run) -> int:
    """The status is 1 where the engines' files differ."""
    options, console = run.options, run.console
    started = time.perf_counter()
    parts = options.part or list(PARTS)
    if unknown := sorted(set(parts) - set(PARTS)):
        raise ConfigError(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}")
    engines: list[LocalEngine | RayEngine] = [LocalEngine()]
    if not options.local_only:
        engines.append(RayEngine(options.address, workers=options.workers))
    judge = run.judge or CrossEncoderJudge()
    found: dict[str, object] = {}
    data: dict[str, object] = {"name": options.corpus.name}
    with TemporaryDirectory(dir=options.scratch) as scratch, console.status("starting") as status:
        folder = Path(scratch)
        corpus = Corpus.load(needed(options.corpus, "engines"))
        passages = _passages(corpus, options.seed)
        data |= {
            "fingerprint": corpus.fingerprint,
            "passages": len(corpus),
            "bytes_per_passage": round(
                sum(len(each.titled.encode()) for each in passages) / len(passages), 1
            ),
            "words_per_passage": round(
                sum(len(each.text.split()) for each in passages) / len(passages), 1
            ),
        }
        if "packaged" in parts:
            pairs = _pairs(passages, options.questions, options.pairs)
            found["packaged"] = judged(
                judge,
                lambda: iter(pairs),
                len(pairs),
                options.batch_size,
                engines,
                folder,
                status.update,
            )
        if "trivial" in parts:
            trivial: Judge = TrivialJudge()
            found["trivial"] = judged(
                trivial,
                lambda: counted_pairs(options.trivial),
                options.trivial,
                options.batch_size,
                engines,
                folder,
                status.update,
            )
        if "embedding" in parts:
            chosen = passages[: options.embedded]
            found["embedding"] = embedded(chosen, engines, folder, status.update)
        for engine in engines:
            if isinstance(engine, RayEngine):
                engine.close()
    document = results.document(
        "engines",
        arguments=run.given,
        config={"batch_size": options.batch_size, "workers": options.workers, "parts": parts},
        seed=options.seed,
        data=data,
        embedder=OnnxMiniLM().name,
        judge=results.judge_identity(judge, PACKAGED_JUDGE if run.judge is None else None),
        seconds=time.perf_counter() - started,
        degradations=0,
        results=found,
    )
    shown = tables(found)
    markdown = "\n".join(table.markdown() for table in shown)
    partial = set(parts) != set(PARTS) or options.pairs < 11_000 or options.local_only
    out = options.out or results.place("engines", partial=partial)
    publish(document, out, console, markdown=markdown, shown=shown)
    identical = [part["identical"] for part in found.values() if isinstance(part, dict)]
    return int(not all(identical))


def _passages(corpus: Corpus, seed: int) -> Sequence[Passage]:
    """Those of about 100 words, in an order drawn with the seed."""
    low, high = WORDS
    chosen = [each for each in corpus.passages if low <= len(each.text.split()) <= high]
    random.Random(seed).shuffle(chosen)
    return chosen or list(corpus.passages)


def _pairs(passages: Sequence[Passage], questions: Path | None, count: int) -> list[Pair]:
    """Ten passages with each perspective of a question, question after question."""

    def made() -> Iterator[Pair]:
        drawn = cycle(passages)
        if questions is None:
            texts = [(f"t{i}", [each.title or each.text[:60]]) for i, each in enumerate(passages)]
        else:
            read = read_questions(needed(questions, "berds"))
            texts = [(each.id, list(each.perspectives)) for each in read]
        for identity, sides in cycle(texts):
            ten = [next(drawn) for _ in range(10)]
            for place, side in enumerate(sides):
                for passage in ten:
                    yield passage, Perspective(f"{identity} p{place}", side)

    stream = made()
    return [next(stream) for _ in range(count)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks engines",
        description=__doc__.partition("\n")[0],
        epilog=data_note("engines"),
    )
    add = parser.add_argument
    add("--corpus", type=Path, required=True, help="passages, as for Corpus.load")
    add("--questions", type=Path, help="whose perspectives are judged, as for berds")
    add("--part", action="append", help=f"only this part, again for more: {', '.join(PARTS)}")
    add("--pairs", type=whole, default=11_000, help="for the judge (default: %(default)s)")
    add("--trivial", type=whole, default=1_000_000, help="pairs for a trivial judge")
    add("--embedded", type=whole, default=4_096, help="passages (default: %(default)s)")
    add("--batch-size", type=whole, default=256, help="pairs (default: %(default)s)")
    add("--workers", type=whole, default=2, help="processes of Ray (default: %(default)s)")
    add("--address", help="of a Ray cluster (default: processes on this machine)")
    add("--local-only", action="store_true", help="without Ray")
    add("--seed", type=int, default=13, help="of the passages drawn")
    add("--scratch", type=Path, help="folder for the files that are compared")
    add("--out", type=Path, help="results file (.json; tables in .md beside it)")
    return parser


main = Benchmark(_parser, _run)
