"""Pairs of document and statement as a model's own tokenizer reads them, for a server's copy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perspective_rag import ConfigError, MissingDependency
from perspective_rag.addons import (
    SECOND_TEXT_OFFSET,
    JudgeSettings,
    PairEncoder,
    from_json,
    stored_in,
)


@dataclass(frozen=True, slots=True)
class PairItem:
    """One pair: its token ids, the text each belongs to (0 or 1), and both texts."""

    ids: list[int]
    type_ids: list[int]
    texts: tuple[str, str]


class PairReader:
    """What a judge's folder says of its inputs and outputs, whoever computes them.

    ``folder`` holds ``config.json`` and ``tokenizer.json``, and may hold ``judge.json``; the
    weights are not read. ``labels`` are those of the model's outputs, in their order.

    Raises MissingDependency without ``tokenizers``, ConfigError for a folder without these files.
    """

    def __init__(self, folder: Path, settings: JudgeSettings) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingDependency("remote", "cutting passages for a judge on a server") from error
        for name in ("config.json", "tokenizer.json"):
            if not (folder / name).is_file():
                raise ConfigError(
                    f"{folder / name} is missing: a judge on a server needs the folder of its "
                    "model here too, with config.json and tokenizer.json (the weights are not read)"
                )
        self.config = _config(folder)
        names = self.config.get("id2label") or {}
        try:
            self.labels = tuple(str(names[key]) for key in sorted(names, key=int))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{folder / 'config.json'}: id2label cannot be read") from error
        self.max_tokens = settings.max_tokens
        self.pad_id = int(self.config.get("pad_token_id") or 0)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        special = [
            each.content for each in tokenizer.get_added_tokens_decoder().values() if each.special
        ]
        self._special = re.compile("|".join(map(re.escape, special)) or r"(?!)")
        self._encoder = PairEncoder(tokenizer, settings.max_tokens)
        self.second_text_offset = self._offset(stored_in(folder))

    def pieces(self, text: str, statements: Sequence[str]) -> list[str]:
        """The text in pieces that the model reads whole beside every statement."""
        return self._encoder.pieces(text, statements)

    def items(self, documents: Sequence[str], statements: Sequence[str]) -> list[PairItem]:
        """The pairs as they are sent."""
        return [
            PairItem(each.ids, each.type_ids, self._texts(document, statement, each))
            for each, document, statement in zip(
                self._encoder.pairs(documents, statements), documents, statements, strict=True
            )
        ]

    def _texts(self, document: str, statement: str, encoded: Any) -> tuple[str, str]:
        """Both texts, each cut where the model stops reading it, with no special token in them."""
        both = []
        for place, text in enumerate((document, statement)):
            if len(encoded.ids) >= self.max_tokens:
                ends = [
                    end
                    for (_, end), sequence in zip(
                        encoded.offsets, encoded.sequence_ids, strict=True
                    )
                    if sequence == place
                ]
                text = text[: max(ends, default=0)]
            both.append(self._special.sub(_apart, text))
        return both[0], both[1]

    def _offset(self, stored: dict[str, Any]) -> int:
        kinds = self.config.get("type_vocab_size") or 0
        if not isinstance(kinds, int) or kinds < 2:
            return 0
        return int(stored.get(SECOND_TEXT_OFFSET) or self.config.get("vocab_size") or 0)


def _apart(found: re.Match[str]) -> str:
    """A special token as text: "[SEP]" in a passage must not end the passage on the server."""
    token = found.group()
    return f"{token[0]} {token[1:]}"


def _config(folder: Path) -> dict[str, Any]:
    try:
        config = from_json((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{folder / 'config.json'} cannot be read: {error}") from error
    if not isinstance(config, dict):
        raise ConfigError(f"{folder / 'config.json'} must hold an object")
    return config
