"""Judges and embedders on a server, by a word: ``tei:http://host:8080``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from perspective_rag import ConfigError
from perspective_rag_scale.remote.embedder import EmbedderEngine, RemoteEmbedder
from perspective_rag_scale.remote.judge import JudgeEngine, RemoteJudge
from perspective_rag_scale.remote.settings import ConnectionOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

JUDGE_ENGINES = ("tei", "vllm", "kserve")
EMBEDDER_ENGINES = ("tei", "vllm", "openai")

# ENGINE:[WHAT@]ADDRESS; a user in the address is no WHAT.
_WORD = re.compile(r"(?P<engine>[a-z]+):(?:(?P<what>.+?)@(?=https?://))?(?P<address>https?://.+)")


def remote_judge(word: str, **connection: Unpack[ConnectionOptions]) -> RemoteJudge:
    """A judge on a server from ``ENGINE:ADDRESS``, or ``ENGINE:FOLDER@ADDRESS`` for a model other
    than the package's own, whose folder holds ``config.json``, ``tokenizer.json`` and, for what was
    calibrated, ``judge.json``.

    ``ENGINE`` is "tei", "vllm" or "kserve"; the key is that of ``TEI_API_KEY``, ``VLLM_API_KEY`` or
    ``KSERVE_API_KEY``, if set. ``connection`` are the fields of ``ConnectionSettings``. Raises
    ConfigError for another word.
    """
    engine, what, address = _parts(word, JUDGE_ENGINES, "FOLDER")
    return RemoteJudge(
        address,
        engine=cast(JudgeEngine, engine),
        model=Path(what) if what else None,
        api_key=_key(engine),
        **connection,
    )


def remote_embedder(word: str, **connection: Unpack[ConnectionOptions]) -> RemoteEmbedder:
    """An embedder on a server from ``tei:ADDRESS``, ``vllm:MODEL@ADDRESS`` or
    ``openai:MODEL@ADDRESS``; the last two addresses end in ``/v1``.

    The key is that of ``TEI_API_KEY``, ``VLLM_API_KEY`` or ``OPENAI_API_KEY``, if set.
    ``connection`` are the fields of ``ConnectionSettings``. Raises ConfigError for another word.
    """
    engine, what, address = _parts(word, EMBEDDER_ENGINES, "MODEL")
    return RemoteEmbedder(
        address,
        engine=cast(EmbedderEngine, engine),
        model=what or None,
        api_key=_key(engine),
        **connection,
    )


def _key(engine: str) -> str | None:
    return os.environ.get(f"{engine.upper()}_API_KEY") or None


def _parts(word: str, engines: tuple[str, ...], what: str) -> tuple[str, str, str]:
    found = _WORD.fullmatch(word)
    if found is None or found["engine"] not in engines:
        raise ConfigError(
            f"expected {' or '.join(engines)}, then :http://HOST:PORT or :{what}@http://HOST:PORT; "
            f"got {word.rpartition('@')[2]!r:.80}"
        )
    return found["engine"], found["what"] or "", found["address"]
