"""Language models in this process, through vLLM's engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from perspective_rag import Completion, LLMError, MissingDependency, Prompt
from perspective_rag_scale.in_process import InProcessLLM
from perspective_rag_scale.vllm_requests import (
    ENGINE_DEFAULTS,
    Chats,
    completion_of,
    sampling_of,
)


class VLLMEngine(InProcessLLM):
    """A causal model in ``vllm.LLM``, from a folder or a Hugging Face id, loaded at first use.

    Prefix caching is on: what prompts have in common at their start (the instructions; the passage
    of a judge's pairs) is read once, and ``cached_tokens`` counts what was not read again. A prompt
    with choices is held to them in any spelling (``structured_outputs``), and P(choice) sums over
    its first tokens; one token is written where no two choices begin with the same letter. JSON is
    written without white space, which small models do not stop to write.

    ``adapter`` is a LoRA adapter of rank ``max_lora_rank`` at most. ``options`` are further
    arguments of ``vllm.LLM``, such as ``{"max_model_len": 4096, "dtype": "half"}``. ``batch_size``
    prompts are handed over together; the engine schedules them. A batch that it refuses is tried
    again one by one; an engine that died fails all, and the next call starts another.

    Raises MissingDependency without vllm, LLMError for a prompt that the engine cannot take.
    """

    engine = "vllm"

    def __init__(
        self,
        model: str | Path,
        *,
        adapter: str | Path | None = None,
        revision: str | None = None,
        max_lora_rank: int = 64,
        own_system: bool = True,
        batch_size: int = 256,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(model, adapter=adapter, revision=revision, batch_size=batch_size)
        self._max_lora_rank = max_lora_rank
        self._own_system = own_system
        self._options = dict(options or {})
        self._cached_tokens = 0

    @property
    def cached_tokens(self) -> int:
        """Tokens of all prompts so far that were in the prefix cache."""
        return self._cached_tokens

    def close(self) -> None:
        """Ends the engine's processes and frees its memory; a later call starts it anew."""
        with self._lock:
            ready, self._ready = self._ready, None
            if ready is not None:
                _shut_down(ready[1])

    def _settings(self) -> Sequence[object]:
        return [(name, repr(value)) for name, value in sorted(self._options.items())]

    def complete_many(self, prompts: Sequence[Prompt]) -> list[Completion | LLMError]:
        """A reply or an error for each prompt, in their order."""
        with self._lock:
            return self._batch(prompts) if prompts else []

    def _batch(self, prompts: Sequence[Prompt]) -> list[Completion | LLMError]:
        vllm, engine = self._loaded()
        try:
            outputs = self._run(vllm, engine, prompts)
            self._cached_tokens += sum(getattr(out, "num_cached_tokens", 0) or 0 for out in outputs)
            return [_completion(p, out) for p, out in zip(prompts, outputs, strict=True)]
        except Exception as error:
            if type(error).__name__ == "EngineDeadError":
                self.close()
                return [self._failure(prompt, error) for prompt in prompts]
            if len(prompts) > 1:
                return [reply for prompt in prompts for reply in self._batch([prompt])]
            return [self._failure(prompts[0], error)]

    def _run(self, vllm: Any, engine: Any, prompts: Sequence[Prompt]) -> list[Any]:
        shared: dict[str, Any] = {"use_tqdm": False}
        if self.adapter is not None:
            from vllm.lora.request import LoRARequest

            shared["lora_request"] = LoRARequest("adapter", 1, self.adapter)
        sampling = [self._sampling(vllm, prompt) for prompt in prompts]
        chats = Chats(engine.get_tokenizer(), own_system=self._own_system)
        asked = [chats.messages(prompt) for prompt in prompts]
        if chats.has_template:
            outputs: list[Any] = engine.chat(asked, sampling, **shared)
        else:
            outputs = engine.generate([each[0]["content"] for each in asked], sampling, **shared)
        return outputs

    def _sampling(self, vllm: Any, prompt: Prompt) -> Any:
        from vllm.sampling_params import StructuredOutputsParams

        fields = sampling_of(prompt)
        if held := fields.pop("structured_outputs", None):
            fields["structured_outputs"] = StructuredOutputsParams(**held)
        return vllm.SamplingParams(**fields)

    def _load(self) -> tuple[Any, Any]:
        """vllm and its engine."""
        try:
            import vllm
        except ImportError as error:
            raise MissingDependency("vllm", f"running {self.model!r} in vLLM") from error
        settings = dict(ENGINE_DEFAULTS)
        if self._hub_revision is not None:
            settings["revision"] = self._hub_revision
        if self.adapter is not None:
            settings |= {"enable_lora": True, "max_lora_rank": self._max_lora_rank}
        return vllm, vllm.LLM(model=self.model, **(settings | self._options))


def _completion(prompt: Prompt, output: Any) -> Completion:
    said = output.outputs[0]
    steps = (
        [(each.decoded_token or "", each.logprob) for each in _first(chosen, step)]
        for chosen, step in zip(said.token_ids, said.logprobs or [], strict=False)
    )
    return completion_of(
        prompt,
        said.text,
        steps,
        prompt_tokens=len(output.prompt_token_ids or ()),
        completion_tokens=len(said.token_ids),
    )


def _first(chosen: int, step: Mapping[int, Any]) -> list[Any]:
    return [step[chosen], *(each for token, each in step.items() if token != chosen)]


def _shut_down(engine: Any) -> None:
    core = getattr(getattr(engine, "llm_engine", None), "engine_core", None)
    if core is not None:
        with suppress(Exception):  # it may be dead already
            core.shutdown()
