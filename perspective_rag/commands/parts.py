"""What several commands take: a corpus and how it is read, models, a terminal."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perspective_rag.answer.extractive import ExtractiveAnswerer
from perspective_rag.answer.grounded import GroundedAnswerer
from perspective_rag.commands.user_retriever import load_object
from perspective_rag.errors import ConfigError, MissingDependency, unknown_name
from perspective_rag.extensions import part
from perspective_rag.judge.llm import PRESETS
from perspective_rag.local.corpus import Corpus
from perspective_rag.local.corpus.loading import EXAMPLE_DEBATES
from perspective_rag.local.corpus.readers import FORMATS
from perspective_rag.local.corpus.records import COLUMNS
from perspective_rag.local.local_pipeline import local_pipeline
from perspective_rag.perspectives.llm import LLMExtractor
from perspective_rag.perspectives.reading import RuleExtractor
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.protocols import LLM, Embedder, Extractor, Judge
from perspective_rag.storage.files import MOST_UNPACKED, OPTION

if TYPE_CHECKING:
    from rich.console import Console

CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "perspective-rag"


def corpus_options(
    parser: argparse.ArgumentParser, *, required: bool = False, index: bool = False
) -> None:
    """Adds ``--corpus`` or ``--example`` and how it is read and searched; ``index``: and
    ``--index``.
    """
    source = parser.add_mutually_exclusive_group(required=required)
    add = source.add_argument
    kinds = (
        "JSONL, CSV, TSV (.gz), Parquet, a folder of such, of texts, Markdown or HTML, "
        "a BEIR folder, or hf:NAME[:CONFIG][:SPLIT]"
    )
    add("--corpus", type=Path, metavar="PATH", help=kinds)
    sample = "the sample debates that come with the package"
    add("--example", dest="corpus", action="store_const", const=EXAMPLE_DEBATES, help=sample)
    parser.set_defaults(index=None)
    if index:
        written = "what perspective-rag index --to faiss:FOLDER wrote"
        add("--index", type=Path, metavar="FOLDER", help=written)
    add = parser.add_argument
    add("--format", choices=FORMATS, help="of all files of the corpus (default: by their names)")
    fields = "the fields that hold text, title or id (default: by their names)"
    add("--columns", type=_columns, metavar="text=NAME,...", help=fields)
    links = "read what links in the folder lead to, within the folder (default: leave them out)"
    add("--follow-links", action="store_true", help=links)
    packed = f"of a packed file or a Parquet row group, at most (default: {MOST_UNPACKED:,})"
    add(OPTION, type=int, default=MOST_UNPACKED, metavar="BYTES", help=packed)
    dense = "embed the whole corpus first and search by vector"
    add("--dense", action="store_true", help=dense)
    encoders = (
        "a sentence-transformers model or folder, "
        "tei:URL, vllm:MODEL@URL, openai:MODEL@URL, or module:factory (default: the packaged)"
    )
    add("--encoder", default="default", metavar="NAME", help=encoders)
    add("--cache", type=Path, default=CACHE, help=f"where indexes are kept (default: {CACHE})")


def reading(options: argparse.Namespace) -> dict[str, Any]:
    """What ``Corpus.load`` and ``read_corpus`` take of ``corpus_options``."""
    return {
        "format": options.format,
        "columns": options.columns,
        "follow_links": options.follow_links,
        "most_unpacked": options.most_unpacked,
    }


def _columns(text: str) -> dict[str, str]:
    parts = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() in COLUMNS and value.strip() for name, _, value in parts):
        raise argparse.ArgumentTypeError(
            f"expected NAME=COLUMN, with a comma between several, of {', '.join(COLUMNS)};"
            f" got {text!r}"
        )
    return {name.strip(): value.strip() for name, _, value in parts}


def calibration_option(parser: argparse.ArgumentParser) -> None:
    """Adds ``--calibration``."""
    parser.add_argument(
        "--calibration", type=Path, metavar="FILE", help="what perspective-rag calibrate wrote"
    )


def llm_options(parser: argparse.ArgumentParser, purpose: str, *, required: bool = False) -> None:
    """Adds ``--llm`` and ``--base-url``."""
    parser.add_argument(
        "--llm", metavar="MODEL", required=required, help=f"a language model {purpose}"
    )
    parser.add_argument(
        "--base-url", metavar="URL", help="its OpenAI-compatible server (vLLM, Ollama, ...)"
    )


def judge_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--judge`` and ``--llm-judge``."""
    parser.add_argument(
        "--judge",
        default="default",
        metavar="NAME",
        help="a preset[@URL], a folder, tei:URL, vllm:URL or kserve:URL (default: the packaged)",
    )
    parser.add_argument(
        "--llm-judge",
        action="store_true",
        help="instead of one call for all passages ask --llm about each that the packaged judge "
        "is unsure of: a call for each, which is dear",
    )


def whole(text: str) -> int:
    """An integer of at least 0, for ``argparse``."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be an integer of at least 0, not {text!r}")
    return int(text)


def console(*, stderr: bool = False) -> Console:
    """The terminal, which shows no control characters; raises MissingDependency without rich."""
    try:
        from perspective_rag.commands.showing import SafeConsole
    except ImportError as error:
        raise MissingDependency("local", "the command line") from error
    found = SafeConsole(stderr=stderr)
    wide = found.is_terminal or os.environ.get("COLUMNS", "").isdigit()
    return found if wide else SafeConsole(stderr=stderr, width=100)


def read_corpus(options: argparse.Namespace, screen: Console) -> Corpus:
    """The corpus that was named; what could not be read is shown."""
    from perspective_rag.commands.showing import show_problems

    with screen.status("reading the corpus"):
        corpus = Corpus.load(options.corpus, cache=options.cache, **reading(options))
    show_problems(corpus, screen)
    return corpus


def opened_pipeline(
    options: argparse.Namespace, screen: Console, **settings: Any
) -> PerspectivePipeline:
    """Over the index or the corpus that was named; what could not be read is shown."""
    if options.index is not None:
        return pipeline_over(options, None, **settings)
    return build_pipeline(options, read_corpus(options, screen), screen, **settings)


def build_pipeline(
    options: argparse.Namespace, corpus: Corpus, screen: Console, **settings: Any
) -> PerspectivePipeline:
    """Everything on this machine; a language model only when one is named."""
    from perspective_rag.commands.showing import progress_bars

    with progress_bars(screen) as progress:
        task = progress.add_task("embedding", total=len(corpus), visible=options.dense)
        return pipeline_over(
            options,
            corpus,
            lambda done, total: progress.update(task, completed=done, total=total),
            **settings,
        )


def pipeline_over(
    options: argparse.Namespace,
    corpus: Corpus | None,
    on_progress: Callable[[int, int], None] | None = None,
    **settings: Any,
) -> PerspectivePipeline:
    """The same, telling ``on_progress`` of the passages embedded so far and of all; None stands for
    the folder of ``--index``.
    """
    parts = {"embedder": encoder_of(options.encoder), **model_parts(options)}
    asked = asked_again(options) if getattr(options, "llm_judge", False) else None
    if getattr(options, "judge", "default") != "default":
        from perspective_rag.judge.cascade import CascadeJudge

        parts["judge"] = CascadeJudge(judge_of(options.judge, options.cache), llm_judge=asked)
    else:
        parts |= {"llm": language_model(options), "llm_judge": asked}
    parts |= settings
    if corpus is None:
        open_folder = part("index_folder", "scale", "--index")
        pipeline: PerspectivePipeline = open_folder(options.index, **parts)
    else:
        kept = {"cache": options.cache, "dense": options.dense, "on_progress": on_progress}
        pipeline = local_pipeline(corpus, **kept, **parts)
    if isinstance(pipeline.answerer, GroundedAnswerer):
        pipeline.answerer.fallback = ExtractiveAnswerer(pipeline.judge)
    return pipeline


def model_parts(options: argparse.Namespace) -> dict[str, Any]:
    """Extractor and answerer of the language model that was named; empty where none was."""
    llm = language_model(options)
    if llm is None:
        return {}
    return {"extractor": extractor_of(options), "answerer": GroundedAnswerer(llm)}


def asked_again(options: argparse.Namespace) -> Judge:
    """The judge of ``--llm-judge``; raises ConfigError where no model was named."""
    from perspective_rag.judge.llm import LLMJudge

    llm = language_model(options)
    if llm is None:
        raise ConfigError("--llm-judge needs a language model: name it with --llm MODEL")
    return LLMJudge(llm)


def language_model(options: argparse.Namespace) -> LLM | None:
    """The model of ``--llm``, or None where none was named."""
    if not options.llm:
        return None
    from perspective_rag.local.openai_compatible import OpenAICompatibleLLM

    return OpenAICompatibleLLM(options.llm, base_url=options.base_url)


def extractor_of(options: argparse.Namespace) -> Extractor:
    """Rules, or the language model with the rules behind it."""
    llm = language_model(options)
    return RuleExtractor() if llm is None else LLMExtractor(llm, fallback=RuleExtractor())


def encoder_of(spec: str) -> Embedder | None:
    """An encoder by a word: ``default`` is the package's own (None), ``tei:URL``,
    ``vllm:MODEL@URL`` and ``openai:MODEL@URL`` one on a server, ``module:factory`` one of your own,
    anything else a folder or Hugging Face id of a sentence-transformers model.
    """
    if spec == "default":
        return None
    if _names_server(spec, "openai"):
        embedder: Embedder = part("remote_embedder", "scale", f"--encoder {spec}")(spec)
        return embedder
    made = _made(spec)
    if made is None:
        made = part("encoder", "sentence-transformers", f"--encoder {spec}")(spec)
    if not isinstance(made, Embedder):
        raise ConfigError(f"{spec} returned a {type(made).__name__}, expected an Embedder")
    return made


def _made(spec: str) -> Any:
    """What ``factory()`` of ``module:factory`` returns; None for a word of another form."""
    module, _, factory = spec.partition(":")
    if not (module.replace(".", "").isidentifier() and factory.isidentifier()):
        return None
    if (made := load_object(spec)()) is None:
        raise ConfigError(f"{spec} returned None: does the function end with a return?")
    return made


def _names_server(spec: str, *engines: str) -> bool:
    """Whether a word names a model on a server: ``tei:URL``, ``vllm:URL`` or one of ``engines``."""
    return "://" in spec and spec.partition(":")[0] in ("tei", "vllm", *engines)


def packaged_encoder() -> Embedder | None:
    """The encoder that comes with the package, whose cosines the packaged judge knows; None where
    it is not installed.
    """
    from perspective_rag.local.onnx_minilm import OnnxMiniLM

    try:
        return OnnxMiniLM()
    except MissingDependency:
        return None


def judge_of(spec: str, cache: Path) -> Judge:
    """A judge by a word, its verdicts kept in ``cache`` where it says its revision.

    ``default`` is the package's own, a name of ``judge.presets.PRESETS`` a published one, here or,
    as ``NAME@URL``, on a server; ``llm:MODEL`` or ``llm:MODEL@URL`` a language model behind an
    OpenAI-compatible server; ``tei:URL``, ``vllm:URL`` and ``kserve:URL``, or ``tei:FOLDER@URL``, a
    cross-encoder on a server; ``module:factory`` one of your own; anything else a folder, an .onnx
    file or a Hugging Face id of a cross-encoder.
    """
    from perspective_rag.judge.cache import CachedJudge

    judge = uncached_judge(spec)
    if getattr(judge, "revision", None):
        return CachedJudge(judge, cache / "verdicts.sqlite")
    return judge


def uncached_judge(spec: str) -> Judge:
    """A judge by a word, as ``judge_of`` knows them."""
    from perspective_rag.judge.cross_encoder import CrossEncoderJudge
    from perspective_rag.judge.llm import LLMJudge
    from perspective_rag.local.judges import load_judge
    from perspective_rag.local.openai_compatible import OpenAICompatibleLLM

    if _names_server(spec, "kserve"):
        judge: Judge = part("remote_judge", "scale", f"--judge {spec}")(spec)
        return judge
    name, _, url = spec.partition("@")
    if name in PRESETS:
        return load_judge(name, engine="server", base_url=url) if url else load_judge(name)
    if name.startswith("llm:"):
        model = OpenAICompatibleLLM(name.removeprefix("llm:"), base_url=url or None)
        return LLMJudge(model)
    if (made := _made(spec)) is not None:
        if not isinstance(made, Judge):
            raise ConfigError(f"{spec} returned a {type(made).__name__}, expected a Judge")
        return made
    if spec == "default":
        return CrossEncoderJudge()
    known = ("default", *PRESETS)
    if "/" not in spec and not Path(spec).exists() and get_close_matches(spec, known, cutoff=0.7):
        raise unknown_name(spec, known, "judge")
    return CrossEncoderJudge(spec)
