"""Reading what language models reply: tolerant of form, silent about nothing that was lost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from perspective_rag.errors import LLMError, LLMReplyError
from perspective_rag.flow.steps import Reply
from perspective_rag.redaction import redacted, scrubbed
from perspective_rag.text import from_json, text_key
from perspective_rag.types import Completion, Prompt

# A line longer than this is an essay, not a perspective or a query.
MAX_ITEM_CHARACTERS = 400
# JSON may start at any bracket of a reply; prose full of brackets is given up on.
_MAX_STARTS = 64

_THOUGHT_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning|reflection)>", re.IGNORECASE)
_FENCE_LINE = re.compile(r"^[ \t]*(```|~~~).*$", re.MULTILINE)

_MARKER = re.compile(
    r"^\s*(?:[-*•–—·▪]\s+|\(?\d{1,2}[.)](?=\s|\D)\s*|\d{1,2}[:、．]\s*|\[\d{1,2}\]\s*|[a-hA-H]\)\s+)"
)
_LABEL = re.compile(
    r"^[*_\s]*(?:search\s+)?(?:query|question|perspective|view|statement)\s*#?\d{1,2}[*_\s]*[:.)-][*_\s]*(?=\S)",
    re.IGNORECASE,
)
_CHATTER = re.compile(
    r"^(?:(?:sure|certainly|of course|absolutely|okay|ok|great)(?=[,.!:;]|$)"
    r"|(?:(?:here|below) (?:is|are)|here you go|i hope|hope (?:this|these|that)|let me know"
    r"|feel free|note that|please note|note:)(?=[\s,.!:;]|$))",
    re.IGNORECASE,
)
_JSON_DEBRIS = re.compile(r'^\s*(?:[{}\]]|\[(?!\d+\])|"[^"]*"\s*:)')
_REFUSAL = re.compile(
    r"^[\s\"'“*]*(?:(?:i['’]?m|i am)\s+(?:very\s+|so\s+)?sorry(?:[,.]|\s+but|\s+i\b)"
    r"|sorry,?\s+(?:but\s+)?i\b|i\s+apologi[sz]e,?\s+but\b"
    r"|as an? (?:ai|large language|language)\b"
    r"|(?:unfortunately,?\s+)?i"
    r"(?:\s+(?:cannot|can['’]?t|can not|won['’]?t|will not|must decline to)"
    r"|(?:['’]?m|\s+am)\s+(?:unable|not able|not allowed)\s+to)\s+(?:\w+\s+){0,2}?"
    r"(?:help|assist|provide|answer|comply|fulfil|respond|write|generate|create|list|produce"
    r"|discuss|continue|do (?:this|that)))",
    re.IGNORECASE,
)
_NOTHING = frozenset({"", "none", "null", "nothing", "n a", "text", "query", "one sentence"})
# The example of the prompt given back: "<one sentence>".
_PLACEHOLDER = re.compile(r"<[^<>]*>")
_YES = frozenset({"yes", "y", "true", "support", "supports", "supported", "agree", "agrees"})
_NO = frozenset(
    {"no", "n", "false", "oppose", "opposes", "opposed", "unsupported", "disagree", "disagrees"}
)
_NOT_SUPPORTED = re.compile(
    r"(?:\b(?:not|never|neither|nor|hardly)|n['’]t)\s+(?:\w+\s+){0,2}?(?:support|agree|true)\w*"
)
_VERDICT = re.compile(
    r"\b(?:answer|verdict|conclusion|judge?ment)\b[\s*_\"]*(?::|is\b)\W*(\w+)(?!\s+or\b)"
)
_KEY = re.compile(r"\"\w+\"\s*:")
# The start of a JSON object or array; "[1]" and "[2, 3]" are citations.
_OPENING = re.compile(r"\{|\[(?!\s*\d)")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A JSON value from a reply; ``broken`` when it broke off: then only its complete parts."""

    value: Any
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Texts:
    """Distinct texts from a reply, and what had to be left out of it ("" for nothing)."""

    items: tuple[str, ...]
    lost: str = ""


def no_reply(name: str, prompt: Prompt, error: Exception, known: Iterable[str] = ()) -> LLMError:
    """Makes the error for a language model that failed, without the secrets in it.

    Args:
        name: The model's name.
        prompt: What it was asked.
        error: What its client raised.
        known: Secrets to remove besides what looks like one.

    Returns:
        The error to raise; its cause is ``error`` without secrets.
    """
    cause = scrubbed(error, known)
    reason = f"{type(cause).__name__}: {cause}"[:500]
    failure = LLMError(f"{name} gave no reply to prompt {prompt.name!r}: {reason}")
    failure.__cause__ = cause
    return failure


@contextmanager
def llm_errors(
    name: str, prompt: Prompt, known: Callable[[], Iterable[str]] = tuple
) -> Iterator[None]:
    """Turns whatever is raised inside into the error that ``no_reply`` makes; ``known`` is called
    then, because a client may learn its key during the request.
    """
    try:
        yield
    except Exception as raised:
        failure = no_reply(name, prompt, raised, known())
        raise failure from failure.__cause__


def bad_reply(message: str, text: str, prompt: Prompt) -> LLMReplyError:
    """The error for a reply that cannot be used, which it shows without secrets."""
    return LLMReplyError(message, reply=redacted(text), prompt=prompt.name)


def reply_text(reply: Reply, prompt: Prompt) -> str:
    """The text of a reply without its reasoning.

    Raises LLMError, naming the prompt, when the call failed, and LLMReplyError when the text is
    empty or a refusal.
    """
    if isinstance(reply.error, LLMError):
        raise reply.error
    if reply.error is not None:
        reason = f"{type(reply.error).__name__}: {reply.error}"
        raise LLMError(f"prompt {prompt.name!r} got no reply: {reason}") from reply.error
    raw = reply.value.text if isinstance(reply.value, Completion) else reply.value
    if not isinstance(raw, str):
        raise bad_reply("the reply is not a text", repr(raw), prompt)
    text = strip_reasoning(raw)
    if not text:
        raise bad_reply("the reply is empty" if not raw.strip() else "only reasoning", raw, prompt)
    if is_refusal(_FENCE_LINE.sub("", text)):
        raise bad_reply("the model refused", raw, prompt)
    return text


def strip_reasoning(text: str) -> str:
    """The text without <think> blocks, also unclosed or unopened ones, and without outer space."""
    kept: list[str] = []
    position, thinking = 0, False
    for tag in _THOUGHT_TAG.finditer(text):
        if tag[1]:
            if not thinking:  # the opening tag was in the chat template
                kept.clear()
            position, thinking = tag.end(), False
        elif not thinking:
            kept.append(text[position : tag.start()])
            thinking = True
    if not thinking:
        kept.append(text[position:])
    return "".join(kept).strip("\ufeff \t\r\n")


def is_refusal(text: str) -> bool:
    """True when a text opens like a model that declines to answer."""
    return bool(_REFUSAL.match(text))


def parse_json(text: str, prompt: Prompt) -> Parsed:
    """The first JSON object or array in a text, or the complete items of one that broke off.

    Raises LLMReplyError when there is neither. Nothing is mended: no quotes, commas or brackets.
    """
    decoder = json.JSONDecoder(strict=False)  # models put raw line breaks into strings
    for opening in islice(_OPENING.finditer(text), _MAX_STARTS):
        try:
            value, _ = decoder.raw_decode(text, opening.start())
            return Parsed(value)
        except (ValueError, RecursionError):
            part = _complete_part(text, opening.start(), decoder)
            if part:
                return Parsed(part, broken=True)
    raise bad_reply("no usable JSON", text, prompt)


def parse_list(text: str) -> list[str]:
    """The items of a numbered, bulleted or plain list, without preamble, closing and fences."""
    lines = [line for line in _FENCE_LINE.sub("", text).splitlines() if text_key(line)]
    lines = [line for line in lines if not _JSON_DEBRIS.match(line)]
    marked = [line for line in lines if _MARKER.match(line) or _LABEL.match(line)]
    plain = [line for line in lines if not _is_chatter(line)]
    return [_bare(line) for line in marked or plain]


def parse_texts(text: str, prompt: Prompt, *, keys: Sequence[str]) -> Texts:
    """The distinct texts of a JSON reply or, failing that, of a plain list.

    ``keys`` are the JSON keys that may hold the list or an item's text. No items at all is legal
    only as an empty JSON list. Raises LLMReplyError when nothing usable is found.
    """
    try:
        parsed = parse_json(text, prompt)
        found = _items(parsed.value, keys)
    except LLMReplyError:
        parsed, found = Parsed(None), None
    if found is None:
        lines = [] if _is_json_scalar(text) else parse_list(text)
        if not lines or parsed.value is not None:
            raise bad_reply("the reply holds no list", text, prompt)
        found = list(lines)
    texts = [_item_text(item, keys) for item in found]
    kept = [t for t in texts if is_usable(t)]
    if found and not kept:
        raise bad_reply("the reply holds no usable item", text, prompt)
    notes = ["the reply broke off"] if parsed.broken else []
    if len(kept) < len(texts):
        notes.append(f"{len(texts) - len(kept)} of {len(texts)} items could not be used")
    return Texts(tuple(distinct(kept)), "; ".join(notes))


def distinct(texts: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Texts in order without repeats, of ``taken`` neither; case, space and punctuation aside."""
    seen = {text_key(text) for text in taken} | {""}
    kept = []
    for text in texts:
        key = text_key(text)
        if key not in seen:
            seen.add(key)
            kept.append(text)
    return kept


def parse_yes_no(text: str) -> bool | None:
    """What a reply decides: True for yes, False for no, None when that cannot be told."""
    lowered = _KEY.sub("answer:", _FENCE_LINE.sub("", text).lower())
    said = re.findall(r"[^\W\d_]+", lowered)
    first = said[:1] if said[1:2] != ["or"] else []
    for word in first + _VERDICT.findall(lowered)[-1:]:
        if word in _YES | _NO:
            return word in _YES
    rest, negated = _NOT_SUPPORTED.subn(" ", lowered)
    found = set(re.findall(r"[^\W\d_]{2,}", rest))
    yes, no = bool(found & _YES), bool(found & _NO) or bool(negated)
    return yes if yes != no else None


def _complete_part(text: str, start: int, decoder: json.JSONDecoder) -> Any:
    """The complete members of an array or object that broke off."""
    is_object = text[start] == "{"
    members: dict[str, Any] = {}
    items: list[Any] = []
    position = start + 1
    while True:
        key = ""
        try:
            if is_object:
                key, position = decoder.raw_decode(text, _skip(text, position))
                position = _skip(text, position)
                if not isinstance(key, str) or text[position : position + 1] != ":":
                    break
                position += 1
            position = _skip(text, position)
            value, after = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            # An array in an object may be cut short; an item of an array is whole or nothing.
            inner = text[position : position + 1] == "[" and is_object and key
            if inner and (part := _complete_part(text, position, decoder)):
                members[key] = part
            break
        if after == len(text) and isinstance(value, (int, float)):
            break  # more digits may have been on their way
        if is_object:
            members[key] = value
        else:
            items.append(value)
        position = _skip(text, after)
        if text[position : position + 1] != ",":
            break
        position += 1
    return members if is_object else items


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _items(value: Any, keys: Sequence[str]) -> list[Any] | None:
    if isinstance(value, dict):
        held = [value[key] for key in keys if key in value] or list(value.values())
        value = next((each for each in held if isinstance(each, list)), None)
    return value if isinstance(value, list) else None


def _item_text(item: Any, keys: Sequence[str]) -> str:
    if isinstance(item, dict):
        item = next((item[key] for key in ("text", *keys) if isinstance(item.get(key), str)), None)
    return _bare(item) if isinstance(item, str) else ""


def _is_json_scalar(text: str) -> bool:
    try:
        return not isinstance(from_json(text), (dict, list))
    except ValueError:
        return False


def is_usable(item: str) -> bool:
    """False for what is nothing, an essay, a refusal, or the prompt's own example."""
    said_nothing = text_key(item) in _NOTHING or bool(_PLACEHOLDER.fullmatch(item))
    return not said_nothing and len(item) <= MAX_ITEM_CHARACTERS and not is_refusal(item)


def _is_chatter(line: str) -> bool:
    bare = line.strip(" \t*_#>")
    return bare.endswith((":", "：")) or line.lstrip().startswith("#") or bool(_CHATTER.match(bare))


def _bare(line: str) -> str:
    """An item without marker, label, emphasis and quotation marks; "" if no words stay."""
    text = _LABEL.sub("", _MARKER.sub("", line, count=1), count=1)
    text = " ".join(text.replace("**", "").split()).strip("*_` ")
    if text.startswith(('"', "'", "“", "‘", "«", "「")):
        text = text.rstrip(",;").strip("\"'“”‘’«»「」 ")
    return text if text_key(text) else ""
