"""One engine of vLLM, asked with and without what its prefix cache can do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.vllm.measuring import Way
from perspective_rag import Completion, LLMError, LLMJudge, Prompt
from perspective_rag_scale.vllm_engine import VLLMEngine

STATEMENT_FIRST = (
    "Statement: {{perspective}}\n\n{{passage}}\n\n"
    "Does the passage support the statement? Answer yes or no."
)


class _Shared(VLLMEngine):
    """The engine of another, loaded once; without ``reuse`` no prompt reads the prefix cache."""

    def __init__(self, engine: VLLMEngine, *, reuse: bool) -> None:
        super().__init__(engine.model, batch_size=engine.batch_size)
        self._engine, self._reuse = engine, reuse

    def _loaded(self) -> Any:
        return self._engine._loaded()

    def _sampling(self, vllm: Any, prompt: Prompt) -> Any:
        sampling = super()._sampling(vllm, prompt)
        sampling.skip_reading_prefix_cache = not self._reuse
        return sampling


class _Backwards(_Shared):
    """Asked statement by statement: the pairs of one passage are far apart, the cache is small."""

    def complete_many(self, prompts: Sequence[Prompt]) -> list[Completion | LLMError]:
        order = sorted(range(len(prompts)), key=lambda i: prompts[i].user.split("Statement:")[-1])
        replies = super().complete_many([prompts[i] for i in order])
        found: dict[int, Any] = dict(zip(order, replies, strict=True))
        return [found[i] for i in range(len(prompts))]


def engine_ways(engine: VLLMEngine, where: Path) -> dict[str, Way]:
    """The ways by their names; ``where`` is a folder for a prompt."""

    def forget() -> None:
        _, llm = engine._loaded()
        llm.reset_prefix_cache()

    def way(name: str, llm: VLLMEngine, *, prompt: Path | None = None, reuses: bool = True) -> Way:
        judge = LLMJudge(llm, prompt=prompt)
        return Way(
            f"vLLM in this process{name}",
            judge,
            llm.batch_size,
            lambda: llm.cached_tokens,
            forget,
            reuses=reuses,
            other_prompts=prompt is not None,
        )

    shipped = LLMJudge(engine).template
    other = where / "statement_first.txt"
    other.write_text(f"{shipped.system}\n--- user ---\n{STATEMENT_FIRST}\n", encoding="utf-8")
    return {
        "engine": way("", engine),
        "no-cache": way(", no prefix cache", _Shared(engine, reuse=False), reuses=False),
        "statement-first": way(
            ", statement before passage", _Shared(engine, reuse=True), prompt=other
        ),
        "by-statement": way(", statement by statement", _Backwards(engine, reuse=True)),
    }
