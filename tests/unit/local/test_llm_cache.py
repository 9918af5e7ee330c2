"""CachedLLM: one call for equal prompts, no failure kept, safe to share."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import MappingProxyType

import pytest

from perspective_rag.errors import ConfigError
from perspective_rag.local.llm_cache import CachedLLM
from perspective_rag.protocols import LLM
from perspective_rag.testing import ScriptedLLM
from perspective_rag.types import Completion, Prompt

PROMPT = Prompt(
    "p", "hello", system="s", schema={"type": "object"}, choices=("yes", "no"), max_tokens=9
)


def counting(text="reply"):
    """A model whose every reply is different."""
    llm = ScriptedLLM([])
    llm.replies = lambda prompt: f"{text} {len(llm.prompts)}"
    return llm


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "cache.sqlite"


def test_equal_prompts_are_asked_once_also_by_the_next_process(path):
    llm = counting()
    cached = CachedLLM(llm, path)
    assert isinstance(cached, LLM)
    assert cached.name == "scripted"
    first = cached.complete(PROMPT)
    assert first == Completion("reply 1", prompt_tokens=1, completion_tokens=2)
    assert cached.complete(replace(PROMPT)) == first
    cached.close()
    again = CachedLLM(counting("other"), path)
    assert again.complete(PROMPT) == first
    assert asyncio.run(again.acomplete(PROMPT)) == first
    assert len(llm.prompts) == 1
    frozen = replace(PROMPT, schema=MappingProxyType({"type": "object"}))
    assert again.complete(frozen) == first
    another = counting()
    another.name = "another"
    CachedLLM(another, path).complete(PROMPT)
    assert len(another.prompts) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"name": "q"},
        {"user": "hello "},
        {"system": "t"},
        {"schema": None},
        {"schema": {"type": "array"}},
        {"choices": ("no", "yes")},
        {"max_tokens": 10},
        {"temperature": 0.1},
        {"seed": 14},
    ],
)
def test_every_field_of_the_prompt_counts(path, change):
    cached = CachedLLM(counting(), path)
    assert cached.complete(PROMPT).text == "reply 1"
    assert cached.complete(replace(PROMPT, **change)).text == "reply 2"


def test_raw_replies_and_probabilities_come_back_exactly(path):
    said = Completion(" <think>é\ud7ff</think>\n{", 3, 4, {"yes": 0.1 + 0.2, "no": 1e-17})
    cached = CachedLLM(ScriptedLLM([said]), path)
    assert cached.complete(PROMPT) == said
    back = cached.complete(PROMPT)
    assert back == said
    assert back.choice_probabilities == {"yes": 0.1 + 0.2, "no": 1e-17}


@pytest.mark.parametrize("failure", [RuntimeError("burst"), "", " \n"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_failure_is_not_kept(path, failure, kind):
    cached = CachedLLM(ScriptedLLM([failure, "fine"]), path)

    def ask():
        return cached.complete(PROMPT) if kind == "sync" else asyncio.run(cached.acomplete(PROMPT))

    if isinstance(failure, Exception):
        with pytest.raises(RuntimeError, match="burst"):
            ask()
    else:
        assert ask().text == failure
    assert ask().text == "fine"
    assert ask().text == "fine"


def test_32_threads_all_get_the_reply_stored_first(path):
    llm = counting()
    llm.delay = 0.02
    caches = [CachedLLM(llm, path), CachedLLM(llm, path)]
    prompts = [replace(PROMPT, user=f"question {i % 8}") for i in range(320)]
    with ThreadPoolExecutor(32) as pool:
        jobs = [(caches[i % 2], prompt) for i, prompt in enumerate(prompts)]
        replies = list(pool.map(lambda job: job[0].complete(job[1]), jobs))
    stored = {prompt.user: caches[0].complete(prompt) for prompt in prompts[:8]}
    assert len({completion.text for completion in stored.values()}) == 8
    assert all(r == stored[p.user] for p, r in zip(prompts, replies, strict=True))


def test_a_file_that_is_no_cache_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are notes, not a database" * 50)
    with pytest.raises(ConfigError, match=r"notes\.txt"):
        CachedLLM(counting(), path)
    with pytest.raises(ConfigError, match="cannot be used"):
        CachedLLM(counting(), path / "below")
    assert path.read_text().startswith("these are notes")


def test_a_reply_that_cannot_be_stored_is_returned_with_a_warning(path):
    CachedLLM(counting(), path).close()
    cached = CachedLLM(counting(), path)
    cached._kept._file.execute("PRAGMA query_only = ON")
    with pytest.warns(UserWarning, match="not stored"):
        assert cached.complete(PROMPT).text == "reply 1"


def test_nothing_but_replies_is_in_the_file(path):
    cached = CachedLLM(counting(), path)
    cached.complete(PROMPT)
    rows = sqlite3.connect(path).execute("SELECT value FROM llm_replies").fetchall()
    (kept,) = [json.loads(value) for (value,) in rows]
    assert (kept["llm"], kept["prompt"], kept["reply"]["text"]) == ("scripted", "p", "reply 1")
    assert set(kept) == {"llm", "prompt", "reply"}
