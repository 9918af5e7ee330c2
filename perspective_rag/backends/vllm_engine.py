"""Language models in this process, through vLLM's engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perspective_rag.backends.in_process import InProcessLLM
from perspective_rag.backends.logprobs import bare_token, choice_probabilities, spellings
from perspective_rag.backends.messages import markers_in, messages_of
from perspective_rag.errors import LLMError, MissingDependency
from perspective_rag.types import Completion, Prompt

# The most alternatives for a token that the engine gives unless it is told otherwise.
_LOGPROBS = 20


class VLLMEngine(InProcessLLM):
    """A causal model in ``vllm.LLM``, from a folder or a Hugging Face id, loaded at first use.

    Prefix caching is on, so that the instructions, which all prompts share, are read once. A prompt
    with choices is held to them in any spelling (``structured_outputs``), and P(choice) sums over
    its first tokens. ``adapter`` is a LoRA adapter of rank ``max_lora_rank`` at most. ``options``
    are further arguments of ``vllm.LLM``, such as ``{"max_model_len": 4096, "dtype": "half"}``.
    ``batch_size`` prompts are handed over together; the engine schedules them. A batch that it
    refuses is tried again one by one.

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
            return [_completion(p, out) for p, out in zip(prompts, outputs, strict=True)]
        except Exception as error:
            if len(prompts) > 1:
                return [reply for prompt in prompts for reply in self._batch([prompt])]
            return [self._failure(prompts[0], error)]

    def _run(self, vllm: Any, engine: Any, prompts: Sequence[Prompt]) -> list[Any]:
        shared: dict[str, Any] = {"use_tqdm": False}
        if self.adapter is not None:
            from vllm.lora.request import LoRARequest

            shared["lora_request"] = LoRARequest("adapter", 1, self.adapter)
        sampling = [self._sampling(vllm, prompt) for prompt in prompts]
        tokenizer = engine.get_tokenizer()
        has_template = bool(getattr(tokenizer, "chat_template", None))
        markers = markers_in(tokenizer) if has_template else None
        own_system = self._own_system and has_template
        chats = [
            messages_of(prompt, show_schema=False, own_system=own_system, markers=markers)
            for prompt in prompts
        ]
        if has_template:
            outputs: list[Any] = engine.chat(chats, sampling, **shared)
        else:
            outputs = engine.generate([chat[0]["content"] for chat in chats], sampling, **shared)
        return outputs

    def _sampling(self, vllm: Any, prompt: Prompt) -> Any:
        from vllm.sampling_params import StructuredOutputsParams

        fields: dict[str, Any] = {}
        if prompt.choices:
            fields["structured_outputs"] = StructuredOutputsParams(choice=spellings(prompt.choices))
            fields["logprobs"] = _LOGPROBS
        elif prompt.schema is not None:
            fields["structured_outputs"] = StructuredOutputsParams(json=dict(prompt.schema))
        return vllm.SamplingParams(
            temperature=prompt.temperature, seed=prompt.seed, max_tokens=prompt.max_tokens, **fields
        )

    def _load(self) -> tuple[Any, Any]:
        """vllm and its engine."""
        try:
            import vllm
        except ImportError as error:
            raise MissingDependency("vllm", f"running {self.model!r} in vLLM") from error
        settings: dict[str, Any] = {"enable_prefix_caching": True}
        if self._hub_revision is not None:
            settings["revision"] = self._hub_revision
        if self.adapter is not None:
            settings |= {"enable_lora": True, "max_lora_rank": self._max_lora_rank}
        return vllm, vllm.LLM(model=self.model, **(settings | self._options))


def _completion(prompt: Prompt, output: Any) -> Completion:
    said = output.outputs[0]
    steps = said.logprobs or [] if prompt.choices else []
    shares = None
    for chosen, step in zip(said.token_ids, steps, strict=False):
        if bare_token(step[chosen].decoded_token or ""):
            tokens = [(each.decoded_token or "", each.logprob) for each in step.values()]
            shares = choice_probabilities(prompt.choices, tokens)
            break
    return Completion(
        text=said.text,
        prompt_tokens=len(output.prompt_token_ids or ()),
        completion_tokens=len(said.token_ids),
        choice_probabilities=shares,
    )
