"""What a language model is asked for, and what of its replies can be used."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perspective_rag import LLMError, Prompt
from perspective_rag.addons import (
    PromptTemplate,
    bad_reply,
    fence,
    is_usable,
    load_prompt,
    parse_json,
    parse_texts,
    parse_yes_no,
    reply_text,
    shorten,
    text_key,
)
from perspective_rag.extend import LLM, Flow, Reply, ask, unknown_name
from perspective_rag_train.dataset.sources import Source

PROMPTS = tuple(
    f"dataset_{name}"
    for name in ("question", "perspectives", "personal", "survey", "opposing", "answers")
)
DOCUMENT_CHARACTERS = 6_000
MAX_QUESTION_CHARACTERS = 400
_ANSWERS = ("yes", "no")
# Of languages that put spaces between words, those that say what a text is about.
_WORD = re.compile(r"[^\W\d_]{4,}")
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


@dataclass(frozen=True, slots=True)
class Written:
    """A question and its perspectives, the supporting one first; ``doubt`` says what a reviewer
    should look at.
    """

    question: str
    perspectives: tuple[str, ...]
    doubt: str = ""


Outcome = Written | LLMError | None
"""None: the question is personal."""


class Writer:
    """Asks ``llm`` for many sources at a time; ``prompts`` are files by the prompts' names.

    Raises ConfigError for a name that is none of ``PROMPTS``.
    """

    def __init__(self, llm: LLM, prompts: Mapping[str, Path]) -> None:
        for name in prompts:
            if name not in PROMPTS:
                raise unknown_name(name, PROMPTS, "prompt")
        self.llm = llm
        self.templates: dict[str, PromptTemplate] = {
            name: load_prompt(name, prompts.get(name)) for name in PROMPTS
        }

    def write(self, sources: Sequence[Source], sure: Collection[str]) -> Flow[list[Outcome]]:
        """An outcome for each source; those with an id in ``sure`` are taken to be not personal.

        Two rounds of calls at most, each round all at once.
        """
        first = {each.id: self._first(each, each.id in sure) for each in sources}
        replies = yield from ask("write", self.llm, list(first.values()))
        answers = dict(zip(first, replies, strict=True))
        outcomes: dict[str, Outcome] = {}
        second: dict[str, Prompt] = {}
        for source in sources:
            prompt, reply = first[source.id], answers[source.id]
            try:
                following = self._second(source, prompt, reply)
                if following is None:
                    outcomes[source.id] = _written(source, prompt, reply)
                else:
                    second[source.id] = following
            except LLMError as error:
                outcomes[source.id] = error
            except _PersonalError:
                outcomes[source.id] = None
        replies = (yield from ask("write", self.llm, list(second.values()))) if second else []
        for identity, reply in zip(second, replies, strict=True):
            source = next(each for each in sources if each.id == identity)
            try:
                question = _question(answers[identity], first[identity], source)
                outcomes[identity] = _written(source, second[identity], reply, question)
            except LLMError as error:
                outcomes[identity] = error
        return [outcomes[each.id] for each in sources]

    def _first(self, source: Source, sure: bool) -> Prompt:
        if source.kind == "documents":
            documents = fence([shorten(text, DOCUMENT_CHARACTERS) for text in source.texts])
            return self._prompt("question", {"question": _TEXT}, documents=documents)
        if source.kind == "survey":
            return self._survey(source) if sure else self._personal(source)
        if source.kind == "debate":
            return self._prompt(
                "opposing",
                {"opposing": _TEXT},
                question=source.question,
                statement=source.texts[0],
            )
        answers = "\n".join(f"{n}. {text}" for n, text in enumerate(source.texts, start=1))
        return self._prompt(
            "answers", {"perspectives": _TEXTS}, question=source.question, answers=answers
        )

    def _second(self, source: Source, prompt: Prompt, reply: Reply) -> Prompt | None:
        """The prompt that follows a reply; None where the reply is the last one."""
        if prompt.name == "dataset_question":
            question = _question(reply, prompt, source)
            documents = fence([shorten(text, DOCUMENT_CHARACTERS) for text in source.texts])
            return self._prompt(
                "perspectives", {"perspectives": _TEXTS}, documents=documents, question=question
            )
        if prompt.name == "dataset_personal":
            said = parse_yes_no(reply_text(reply, prompt))
            if said is None:
                raise bad_reply("neither yes nor no", reply_text(reply, prompt), prompt)
            if said:
                raise _PersonalError
            return self._survey(source)
        return None

    def _personal(self, source: Source) -> Prompt:
        filled = self.templates["dataset_personal"].fill(question=source.question)
        return replace(filled, choices=("yes", "no"), max_tokens=16)

    def _survey(self, source: Source) -> Prompt:
        options = "\n".join(f"- {text}" for text in source.texts)
        fields = {"question": _TEXT, "perspectives": _TEXTS}
        return self._prompt("survey", fields, question=source.question, options=options)

    def _prompt(self, name: str, fields: Mapping[str, Any], **values: str) -> Prompt:
        schema = {
            "type": "object",
            "properties": dict(fields),
            "required": list(fields),
            "additionalProperties": False,
        }
        return replace(self.templates[f"dataset_{name}"].fill(**values), schema=schema)


class _PersonalError(Exception):
    """The survey question asks for a fact about the person asked."""


def _question(reply: Reply, prompt: Prompt, source: Source) -> str:
    """The question of a reply; the source's own where the reply is not asked for one."""
    if prompt.name not in ("dataset_question", "dataset_survey"):
        return ""
    text = reply_text(reply, prompt)
    value = parse_json(text, prompt).value
    question = value.get("question") if isinstance(value, dict) else None
    question = " ".join(question.split()) if isinstance(question, str) else ""
    if not question.endswith(("?", "？", "؟")) or len(question) > MAX_QUESTION_CHARACTERS:
        raise bad_reply("no question in the reply", text, prompt)
    return question


def _written(source: Source, prompt: Prompt, reply: Reply, question: str = "") -> Written:
    """Raises LLMReplyError unless there is one perspective for each side, no two the same."""
    text = reply_text(reply, prompt)
    question = question or _question(reply, prompt, source) or source.question
    found = (
        parse_texts(text, prompt, keys=("perspectives", "opposing"))
        if source.kind != "debate"
        else None
    )
    perspectives = found.items if found is not None else (source.texts[0], _opposing(text, prompt))
    wanted = len(source.texts) if source.kind == "answers" else 2
    different = {text_key(each) for each in perspectives} - {""}
    if len(different) != wanted:
        raise bad_reply(
            f"{wanted} different perspectives were asked for, {len(different)} came",
            text,
            prompt,
        )
    if any(text_key(each) in _ANSWERS for each in perspectives):
        raise bad_reply("yes or no is no statement that is clear by itself", text, prompt)
    return Written(question, tuple(perspectives), _doubt(question, perspectives))


def _doubt(question: str, perspectives: Sequence[str]) -> str:
    """Perspectives about something else; words count as the same when they begin alike."""
    asked = _beginnings(question)
    astray = [
        str(n)
        for n, each in enumerate(perspectives, start=1)
        if asked and asked.isdisjoint(_beginnings(each))
    ]
    return f"perspective {', '.join(astray)} shares no word with the question" if astray else ""


def _beginnings(text: str) -> set[str]:
    return {word.casefold()[:4] for word in _WORD.findall(text)}


def _opposing(text: str, prompt: Prompt) -> str:
    value = parse_json(text, prompt).value
    opposing = value.get("opposing") if isinstance(value, dict) else None
    if not isinstance(opposing, str) or not is_usable(opposing):
        raise bad_reply("no opposing statement in the reply", text, prompt)
    return " ".join(opposing.split())
