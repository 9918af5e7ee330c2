"""What chat templates read as their own: no text from outside may reach a model so.

A template joins messages by markers ("<|im_end|>", "[/INST]"); one inside a passage would end the
message and begin another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

KNOWN = re.compile(
    r"<[|｜][^<>\n]{0,60}?[|｜]>|<\|?(?:start|end)_of_(?:turn|role|text)\|?>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|<<?/?SYS>>?"
    r"|</?(?:s|bos|eos|pad|unk|tool_call|tool_response)>",
    re.IGNORECASE,
)
"""The markers of widespread templates."""

_IN_A_TEMPLATE = re.compile(r"<[^<>\s{}%'\"=]{1,60}>|\[/?[A-Z_]{2,60}\]|#{2,4} ?[A-Z]\w{1,30}:")
# Of a tokenizer's own tokens, those that are no runs of spaces and no words.
_TELLING = re.compile(r"[<>\[\]|｜#]")
_ROUNDS = 8


def markers_of(template: str, tokens: Iterable[str] = ()) -> re.Pattern[str]:
    """The known markers, those that a chat template writes, and a tokenizer's own ``tokens``."""
    own = {*_IN_A_TEMPLATE.findall(template), *tokens}
    telling = [each for each in own if len(each) > 2 and _TELLING.search(each)]
    longest_first = sorted(telling, key=lambda each: (-len(each), each))
    return re.compile("|".join([KNOWN.pattern, *map(re.escape, longest_first)]), re.IGNORECASE)


def without_markers(text: str, markers: re.Pattern[str] = KNOWN) -> str:
    """The text with a space behind the first character of each marker, so that it is none."""
    for _ in range(_ROUNDS):
        broken = markers.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)
        if broken == text:
            break
        text = broken
    return text
