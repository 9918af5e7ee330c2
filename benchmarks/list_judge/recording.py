"""Prompts written for somebody to answer, the verdicts kept of the replies, and their replay."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.list_judge.tasks import Task
from perspective_rag import (
    CallableLLM,
    Completion,
    CorpusError,
    LLMError,
    LLMListJudge,
    LLMReplyError,
    Passage,
    Prompt,
)
from perspective_rag.addons import fingerprint, json_lines
from perspective_rag.judge.llm_list import Grade, ListVerdict, find_quote, letter, parse_list_reply
from perspective_rag.prompts.replies import strip_reasoning

POOL = 40
"""No pool holds more passages: a question is one call."""
SEED = 13
"""Draws the order of the passages in a prompt."""
_PROMPTS_A_FILE, _PASSAGES_A_FILE = 20, 400
FORMAT = 1


def the_judge(llm: Any = None) -> LLMListJudge:
    """The judge whose prompts are written and replayed: the defaults, over whole pools."""
    return LLMListJudge(llm or CallableLLM(lambda _: "", name="nobody"), batch_size=POOL, seed=SEED)


def prompt_id(prompt: Prompt) -> str:
    """Identifies the exact prompt: its texts and its schema."""
    return fingerprint(prompt.system, prompt.user, prompt.schema)


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt of a task, and its passages in the order of their numbers."""

    task: Task
    prompt: Prompt
    passages: tuple[Passage, ...]

    @property
    def id(self) -> str:
        """``prompt_id`` of the prompt."""
        return prompt_id(self.prompt)


def requests_of(tasks: Sequence[Task]) -> list[Request]:
    """What the judge asks about the tasks, in their order."""
    judge = the_judge()
    return [
        Request(task, prompt, tuple(task.passages[i] for i in places))
        for task in tasks
        for prompt, places in judge.requests(task.question, task.perspectives, task.passages)
    ]


REPLY = '{"verdicts": [...]}'
"""How a file of prompts says what a reply is."""


def write_prompts(requests: Sequence[Request], folder: Path, reply: str = REPLY) -> list[Path]:
    """Numbered text files of prompts, each with its id; without labels, in an order that is drawn
    by the ids. At most 20 prompts and 400 passages a file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, some in enumerate(_files(sorted(requests, key=lambda each: each.id)), start=1):
        paths.append(folder / f"prompts_{number:02d}.txt")
        paths[-1].write_text(_as_text(some, reply), encoding="utf-8")
    return paths


def _files(requests: Sequence[Request]) -> Iterator[list[Request]]:
    some: list[Request] = []
    for each in requests:
        held = sum(len(other.passages) for other in [*some, each])
        if some and (len(some) == _PROMPTS_A_FILE or held > _PASSAGES_A_FILE):
            yield some
            some = []
        some.append(each)
    if some:
        yield some


def _as_text(requests: Sequence[Request], reply: str) -> str:
    systems = list(dict.fromkeys(each.prompt.system for each in requests))
    if len(systems) != 1:
        raise CorpusError("the prompts of a file have one system text; got several")
    head = (
        f"{len(requests)} independent requests with one system text. Answer each by itself, as a "
        f'language model would, with one line of JSON: {{"id": "<its id>", "reply": {reply}}}.\n\n'
        f"===== system text of every request =====\n{systems[0]}\n"
    )
    parts = [f"===== request id: {each.id} =====\n{each.prompt.user}\n" for each in requests]
    return "\n".join([head, *parts])


def read_replies(folder: Path) -> dict[str, str]:
    """The replies by prompt id: of the lines ``{"id", "reply"}`` in a folder's ``*.jsonl``.

    A reply is a text, or the JSON itself. Raises CorpusError for another line.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for place, row in json_lines(path):
            if not isinstance(row, dict) or "id" not in row or "reply" not in row:
                raise CorpusError(f"{path}, {place}: a line is {{'id': ..., 'reply': ...}}")
            said = row["reply"]
            found[str(row["id"])] = said if isinstance(said, str) else json.dumps(said)
    if not found:
        raise CorpusError(f"{folder} holds no *.jsonl with replies")
    return found


def record(
    requests: Sequence[Request], replies: Mapping[str, str], *, model: str, date: str
) -> tuple[dict[str, Any], list[str]]:
    """What is kept of the replies, without any text of the data, and what could not be read."""
    kept: dict[str, Any] = {}
    problems: list[str] = []
    for each in requests:
        if each.id not in replies:
            problems.append(f"{each.task.key}: no reply to {each.id}")
            continue
        text = strip_reasoning(replies[each.id])
        try:
            read = parse_list_reply(text, each.prompt, count=len(each.passages), sides=2)
        except LLMReplyError as error:
            problems.append(f"{each.task.key}: {error}")
            read = {}
        if left := len(each.passages) - len(read):
            problems.append(f"{each.task.key}: {left} of {len(each.passages)} passages left out")
        kept[each.id] = {
            "task": each.task.key,
            "verdicts": [
                _row(each.passages[number - 1], verdict) for number, verdict in sorted(read.items())
            ],
        }
    document = {"format": FORMAT, "model": model, "date": date, "prompts": kept}
    return document, problems


def _row(passage: Passage, verdict: ListVerdict) -> list[Any]:
    """[passage id, sides' letters, grade, start and end of the words of proof (None: not there)]"""
    proof = find_quote(verdict.quote, passage.text) if verdict.sides else None
    sides = "".join(map(letter, verdict.sides))
    place = [proof.start, proof.end] if proof is not None else [None, None]
    return [passage.id, sides, verdict.grade, *place]


def save(document: Mapping[str, Any], path: Path) -> None:
    """Writes a record, gzipped: equal records give equal bytes."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def load(path: Path) -> dict[str, Any]:
    """A record; raises CorpusError for what is none."""
    try:
        found = json.loads(gzip.decompress(path.read_bytes()))
        if found["format"] != FORMAT:
            raise ValueError(f"format {found['format']!r} is not {FORMAT}")
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{path} is no record of verdicts: {error!r}") from error
    kept: dict[str, Any] = found
    return kept


class RecordedLLM:
    """A language model that answers the recorded prompts as they were answered.

    A quotation is cut out of the passage again. ``calls`` counts what it is asked; a prompt that
    was not recorded is an LLMError.
    """

    def __init__(self, document: Mapping[str, Any], requests: Sequence[Request]) -> None:
        self.name = str(document["model"])
        self.calls = 0
        self._replies = {
            each.id: _reply(each, document["prompts"][each.id]["verdicts"])
            for each in requests
            if each.id in document["prompts"]
        }

    def complete(self, prompt: Prompt) -> Completion:
        """The recorded reply."""
        self.calls += 1
        known = self._replies.get(prompt_id(prompt))
        if known is None:
            raise LLMError(f"prompt {prompt_id(prompt)} was not recorded")
        return Completion(known)

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same."""
        return self.complete(prompt)


def _reply(request: Request, rows: Sequence[tuple[str, str, Grade, int | None, int | None]]) -> str:
    numbers = {each.id: number for number, each in enumerate(request.passages, start=1)}
    texts = {each.id: each.text for each in request.passages}
    verdicts = []
    for name, sides, grade, start, end in rows:
        quote = "" if start is None else texts[name][start:end]
        side = "both" if len(sides) > 1 else sides or "none"
        verdicts.append({"passage": numbers[name], "quote": quote, "side": side, "grade": grade})
    return json.dumps({"verdicts": verdicts})
