"""What a language model replies about a list of passages, read without trust in its form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from perspective_rag.prompts.replies import bad_reply, parse_json
from perspective_rag.types import Prompt
from perspective_rag.values import from_json

Grade = Literal["clear", "fair", "leaning"]

_NONE = frozenset({"none", "neither", "no", "null", "silent", "neutral", "unclear", "n/a", "", "-"})
_ALL = frozenset({"both", "all", "mixed"})
_NUMBER_KEYS = ("passage", "number", "id", "index", "n")
_SIDE_KEYS = ("side", "sides", "verdict", "stance")
_QUOTE_KEYS = ("quote", "quotation", "proof", "evidence")
_MOST_ENTRIES = 1000
_AROUND = " :._\"'()[]*"
_LABELLED = re.compile(r"([A-Z]{1,2})\s?[:.)]")
_SPLIT = re.compile(r"[^A-Za-z]+")


@dataclass(frozen=True, slots=True)
class ListVerdict:
    """What a model says of one passage.

    ``sides`` are the columns of the sides that it serves, () for none; ``grade`` says how surely;
    ``quote`` is what the model gives as the words that prove it, unchecked.
    """

    sides: tuple[int, ...]
    grade: Grade
    quote: str


def letter(column: int) -> str:
    """The letter of a side: A to Z, then AA, AB and so on."""
    before, own = divmod(column, 26)
    return (letter(before - 1) if before else "") + chr(ord("A") + own)


def list_schema(sides: int) -> dict[str, Any]:
    """The JSON schema of a reply about so many sides."""
    properties: dict[str, Any] = {
        "passage": {"type": "integer"},
        "quote": {"type": "string"},
        "side": {"type": "string"},
        "grade": {"type": "string", "enum": list(get_args(Grade))},
    }
    if sides <= 2:
        both = ["both"] if sides == 2 else []
        properties["side"]["enum"] = [*map(letter, range(sides)), *both, "none"]
    entry = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"verdicts": {"type": "array", "items": entry}},
        "required": ["verdicts"],
        "additionalProperties": False,
    }


def parse_list_reply(
    text: str, prompt: Prompt, *, count: int, sides: int
) -> dict[int, ListVerdict]:
    """The verdicts of a reply by passage number, 1 to ``count``.

    Entries may come in any order. One that cannot be read is left out, as is a number given two
    different verdicts. A grade that is none of the three is "leaning". Raises LLMReplyError for a
    reply without any entry that can be read.
    """
    found: dict[int, ListVerdict] = {}
    disputed: set[int] = set()
    for number, entry in _entries(text, prompt):
        verdict = _verdict(entry, sides)
        if verdict is None or not 1 <= number <= count:
            continue
        known = found.setdefault(number, verdict)
        if (known.sides, known.grade) != (verdict.sides, verdict.grade):
            disputed.add(number)
    if not found:
        raise bad_reply("the reply holds no verdict", text, prompt)
    return {number: each for number, each in found.items() if number not in disputed}


def _entries(text: str, prompt: Prompt) -> Iterator[tuple[int, Mapping[str, Any]]]:
    value = parse_json(text, prompt).value
    if isinstance(value, Mapping):
        value = _held(value, text)
    for each in value[:_MOST_ENTRIES]:
        if isinstance(each, Mapping) and (number := _number(_first(each, _NUMBER_KEYS))):
            yield number, each


def _held(value: Mapping[str, Any], text: str) -> list[Any]:
    """The entries in an object: in a list, by their numbers, or one on each line of the reply."""
    if any(key in value for key in _SIDE_KEYS):
        return _lines(text) or [value]
    inner = next((each for each in value.values() if isinstance(each, list)), None)
    if inner is not None:
        return inner
    within = (v for k, v in value.items() if isinstance(v, Mapping) and not _is_number(k))
    by_number = next(within, value)
    return [{"passage": k, **v} for k, v in by_number.items() if isinstance(v, Mapping)]


def _lines(text: str) -> list[Any]:
    found = []
    for line in text.splitlines()[:_MOST_ENTRIES]:
        try:
            found.append(from_json(line.strip().rstrip(",")))
        except ValueError:
            continue
    return found


def _verdict(entry: Mapping[str, Any], sides: int) -> ListVerdict | None:
    if not any(key in entry for key in _SIDE_KEYS):
        return None
    columns = _columns(_first(entry, _SIDE_KEYS), sides)
    if columns is None:
        return None
    said = str(entry.get("grade", "")).strip().casefold()
    grade: Grade = next((each for each in get_args(Grade) if each == said), "leaning")
    quote = _first(entry, _QUOTE_KEYS)
    return ListVerdict(columns, grade, quote if isinstance(quote, str) else "")


def _columns(said: Any, sides: int) -> tuple[int, ...] | None:
    """The columns that a side's name means; None where that cannot be told."""
    if isinstance(said, list):
        said = " ".join(map(str, said[:sides]))
    if not isinstance(said, str):
        return () if said is None else None
    name = said.strip().casefold().removeprefix("sides").removeprefix("side").strip(_AROUND)
    if name in _NONE:
        return ()
    if name in _ALL:
        return tuple(range(sides))
    known = {letter(column): column for column in range(sides)}
    labelled = _LABELLED.match(name.upper())  # "A: the side's own words"
    parts = [labelled[1]] if labelled else _SPLIT.split(name.upper())
    parts = [part for part in parts if part not in ("", "AND")]
    if not parts or any(part not in known for part in parts):
        return None
    return tuple(sorted({known[part] for part in parts}))


def _first(entry: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((entry[key] for key in keys if key in entry), None)


def _number(value: Any) -> int:
    """The passage number that is meant; 0 for none."""
    if isinstance(value, str):
        value = value.strip().strip("[]#.").removeprefix("passage").strip()
        value = int(value) if _is_number(value) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if value == value // 1 and 0 < value <= _MOST_ENTRIES else 0


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 4
