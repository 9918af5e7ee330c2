"""Sources become questions with perspectives, batch by batch, kept as they come (BERDS, 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from perspective_rag import LLMError, run
from perspective_rag.addons import Limits, Recorder, count, text_key
from perspective_rag.extend import LLM
from perspective_rag_train.append_log import AppendLog
from perspective_rag_train.dataset.sources import Source
from perspective_rag_train.dataset.writing import PROMPTS, Writer

Status = Literal["kept", "personal", "failed", "duplicate", "dropped"]

_CALLS = {"documents": 2, "survey": 2, "debate": 1, "answers": 1}


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of a source.

    ``status``: "kept"; "personal" (a survey question about the person asked); "failed" (``note``
    says why; the next run tries again); "duplicate" (its question is there already); "dropped" (by
    the reviewer). The ``note`` of a kept one says what a reviewer should look at.
    """

    source: Source
    status: Status
    question: str = ""
    perspectives: tuple[str, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """A line of the data set."""
        return {
            "id": self.source.id,
            "question": self.question,
            "perspectives": list(self.perspectives),
            "kind": self.source.kind,
        }


@dataclass(slots=True)
class Built:
    """The entries in the order of the sources, and what the run cost."""

    entries: list[Entry] = field(default_factory=list)
    calls: int = 0
    resumed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def kept(self) -> list[Entry]:
        """The entries of the data set."""
        return [each for each in self.entries if each.status == "kept"]


def calls_needed(sources: Iterable[Source]) -> int:
    """How many calls of the language model a data set takes at most."""
    return sum(_CALLS[source.kind] for source in sources)


def build_dataset(
    sources: Sequence[Source],
    llm: LLM,
    folder: Path,
    *,
    decisions: Mapping[str, bool] | None = None,
    prompts: Mapping[str, Path] | None = None,
    concurrency: int = 8,
    strict: bool = False,
    limits: Limits | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Built:
    """Makes a question and its perspectives of every source.

    Two opposing documents give a yes/no question and the position of each; a survey question is
    left out when it is personal, else it gives a yes/no question with a supporting and an opposing
    statement; a debate question gives its statement and an opposing one, or a sentence for each
    of its answers. The supporting perspective comes first.

    What the model wrote is kept in ``folder``, in an append-only file for each model and wording of
    the prompts, on disk before the next ``concurrency`` sources are begun: a run that was killed
    loses at most these and repeats no other. A source whose reply could not be used is "failed" and
    is tried again by the next run; ``strict`` raises its LLMError. ``decisions`` are a reviewer's,
    by id: False drops an entry, True keeps a survey question that was found personal. ``prompts``
    are files in place of the package's own, by name. Raises ConfigError for a prompt that does not
    exist, and when another process is writing.
    """
    size = count("concurrency", concurrency)
    writer = Writer(llm, prompts or {})
    decisions = decisions or {}
    recorder = Recorder(strict=strict)
    found: dict[str, Entry] = {}
    key = {"llm": llm.name, "prompts": {name: writer.templates[name].hash for name in PROMPTS}}
    with AppendLog(folder, f"dataset {llm.name}", key) as ledger:
        open_sources = []
        for source in sources:
            known = ledger.values.get(source.digest)
            wanted = known is not None and known[0] == "personal" and decisions.get(source.id)
            if known is None or wanted:
                open_sources.append(source)
            else:
                found[source.id] = _restored(source, known)
        resumed = len(found)
        on_progress(resumed, len(sources))
        for start in range(0, len(open_sources), size):
            batch = open_sources[start : start + size]
            sure = {each.id for each in batch if decisions.get(each.id)}
            replies = run(writer.write(batch, sure), recorder, limits or Limits())
            entries = [_entry(*pair, strict) for pair in zip(batch, replies, strict=True)]
            ledger.add(
                (each.source.digest, _stored(each)) for each in entries if each.status != "failed"
            )
            found.update({each.source.id: each for each in entries})
            on_progress(len(found), len(sources))
    calls = sum(recorder.calls.values())
    return Built(
        _decided([found[source.id] for source in sources], decisions),
        calls,
        resumed,
        recorder.prompt_tokens,
        recorder.completion_tokens,
    )


def _entry(source: Source, reply: Any, strict: bool) -> Entry:
    if isinstance(reply, LLMError):
        if strict:
            raise reply
        return Entry(source, "failed", note=str(reply))
    if reply is None:
        return Entry(source, "personal", note="asks for a fact about the person asked")
    return Entry(source, "kept", reply.question, reply.perspectives, reply.doubt)


def _stored(entry: Entry) -> list[Any]:
    return [entry.status, entry.question, list(entry.perspectives), entry.note]


def _restored(source: Source, values: Sequence[Any]) -> Entry:
    status, question, perspectives, note = values
    return Entry(source, status, question, tuple(perspectives), note)


def _decided(entries: Sequence[Entry], decisions: Mapping[str, bool]) -> list[Entry]:
    """The entries after review and without a question that is there already."""
    result: list[Entry] = []
    seen: dict[str, str] = {}
    for each in entries:
        status, note = each.status, each.note
        if status == "kept" and decisions.get(each.source.id) is False:
            status, note = "dropped", "unticked in the review"
        elif status == "kept":
            first = seen.setdefault(text_key(each.question), each.source.id)
            if first != each.source.id:
                status, note = "duplicate", f"the same question as {first}"
        result.append(Entry(each.source, status, each.question, each.perspectives, note))
    return result
