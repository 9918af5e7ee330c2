"""Judges and language models by a word on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from benchmarks.berds.probe import WEIGHTS, EmbeddingProbe
from benchmarks.core import results
from perspective_rag import (
    CachedLLM,
    ConfigError,
    CrossEncoderJudge,
    LLMJudge,
    OpenAICompatibleLLM,
)
from perspective_rag import load_judge as load_preset
from perspective_rag.addons import PACKAGED_JUDGE, PRESETS
from perspective_rag.commands.user_retriever import load_object
from perspective_rag.extend import LLM, Embedder, Judge, unknown_name

Identity = Mapping[str, Any]

SCORER = Path(__file__).parent / "scorer"
_NAMES = ("default", "scorer", "probe")
_OWN = {"default": PACKAGED_JUDGE, "scorer": SCORER}


def load_judge(spec: str, embedder: Embedder, *, cache: Path) -> tuple[Judge, Identity]:
    """A judge and what identifies it.

    ``default`` is the package's own, ``scorer`` the one that stays the same whatever the package's
    own becomes, so that figures can be compared, ``probe`` the embedding probe, a name of
    ``judge.presets.PRESETS`` a published judge (the papers' evaluator is ``mistral-7b-berds``) in
    this process or, as ``NAME@URL``, on a server; ``llm:MODEL`` or ``llm:MODEL@URL`` any language
    model behind an OpenAI-compatible server, ``module:factory`` a judge of your own; anything else
    is a folder, an .onnx file or a Hugging Face id of a cross-encoder.
    """
    name, _, url = spec.partition("@")
    if name in PRESETS:
        options: dict[str, Any] = {"engine": "server", "base_url": url} if url else {}
        published = load_preset(name, **options)
        return published, results.judge_identity(published, None) | {"name": PRESETS[name].model}
    if spec == "probe":
        probe = EmbeddingProbe(embedder)
        return probe, results.judge_identity(probe, WEIGHTS) | {"name": probe.name}
    if spec.startswith("llm:"):
        llm = load_llm(spec, cache=cache)
        judge = LLMJudge(llm)
        # The model alone: another wording of the prompt does not make it another judge.
        return judge, {
            "name": f"llm:{llm.name}",
            "threshold": judge.threshold,
            "files": None,
            "prompt": judge.template.hash,
        }
    if spec in _OWN or Path(spec).exists():
        path = _OWN.get(spec) or Path(spec)
        own = CrossEncoderJudge(None if spec == "default" else str(path))
        return own, results.judge_identity(own, path)
    module, found, factory = spec.partition(":")
    if found and module.replace(".", "").isidentifier() and factory.isidentifier():
        made = load_object(spec)()
        if not isinstance(made, Judge):
            raise ConfigError(f"{spec} returned a {type(made).__name__}, expected a Judge")
        return made, results.judge_identity(made, None)
    if "/" not in spec and get_close_matches(spec, (*_NAMES, *PRESETS), n=1, cutoff=0.7):
        raise unknown_name(spec, (*_NAMES, *PRESETS), "judge")
    other = CrossEncoderJudge(spec)
    return other, results.judge_identity(other, None)


def same_model(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> bool:
    """True when two judges are one model: equal files, or equal names where there are no files."""
    if first is None or second is None:
        return False
    if first.get("files") and second.get("files"):
        return bool(first["files"] == second["files"])
    return bool(first["name"] == second["name"])


def load_llm(spec: str, *, cache: Path) -> LLM:
    """``llm:MODEL`` or ``llm:MODEL@URL``; its replies are kept in ``cache``."""
    model, _, url = spec.removeprefix("llm:").partition("@")
    llm = OpenAICompatibleLLM(model, base_url=url or None)
    return CachedLLM(llm, cache / "replies.sqlite")
