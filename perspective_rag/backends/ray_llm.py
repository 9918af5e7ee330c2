"""Language models on the GPUs of a Ray cluster, through ``ray.data.llm`` and vLLM."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perspective_rag.backends.in_process import InProcessLLM
from perspective_rag.backends.logprobs import bare_token, choice_probabilities, spellings
from perspective_rag.backends.messages import messages_of
from perspective_rag.errors import ConfigError, LLMError, MissingDependency
from perspective_rag.types import Completion, Prompt
from perspective_rag.validation import count
from perspective_rag.values import from_json

# The most alternatives for a token that the engine gives unless it is told otherwise.
_LOGPROBS = 20
_FAILED = "__inference_error__"


class RayLLM(InProcessLLM):
    """A causal model behind ``ray.data.llm``: ``replicas`` of vLLM's engine on a Ray cluster.

    ``ray.data`` must be connected to the cluster, or starts one on this machine. A call of
    ``complete_many`` is one run of a pipeline, for which the engines are started: give it many
    prompts (``batch_size``, and as much to ``judge_many``). Within it, prompts go to the engines in
    blocks of ``block`` and each replica batches them continuously. A prompt with choices is held to
    them, and P(choice) sums over its first tokens. ``options`` are arguments of vLLM's engine, such
    as ``{"tensor_parallel_size": 4, "max_model_len": 4096}``; ``accelerator`` is Ray's name of the
    GPU's kind ("A100"). A prompt that the engine cannot take is an LLMError in its place.

    Raises MissingDependency without ``ray.data.llm``.
    """

    engine = "ray"

    def __init__(
        self,
        model: str | Path,
        *,
        replicas: int = 1,
        accelerator: str | None = None,
        own_system: bool = True,
        block: int = 64,
        batch_size: int = 100_000,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(model, adapter=None, revision=None, batch_size=batch_size)
        self._replicas = count("replicas", replicas)
        self._accelerator = accelerator
        self._own_system = own_system
        self._block = count("block", block)
        self._options = dict(options or {})
        try:
            json.dumps(self._options)
        except TypeError as error:
            raise ConfigError(f"options must be JSON values: {error}") from error

    def _settings(self) -> Sequence[object]:
        return [(name, repr(value)) for name, value in sorted(self._options.items())]

    def complete_many(self, prompts: Sequence[Prompt]) -> list[Completion | LLMError]:
        """A reply or an error for each prompt, in their order."""
        if not prompts:
            return []
        with self._lock:
            try:
                rows = self._run([self._row(i, prompt) for i, prompt in enumerate(prompts)])
            except MissingDependency:
                raise
            except Exception as error:  # of Ray or vLLM, of many kinds
                return [self._failure(prompt, error) for prompt in prompts]
        found = {row["place"]: row for row in rows}
        return [self._reply(prompt, found.get(i)) for i, prompt in enumerate(prompts)]

    def _row(self, place: int, prompt: Prompt) -> dict[str, Any]:
        """A prompt as a row: nested values as text, so that all rows have the same columns."""
        messages = messages_of(prompt, show_schema=False, own_system=self._own_system)
        sampling: dict[str, Any] = {
            "temperature": prompt.temperature,
            "seed": prompt.seed,
            "max_tokens": prompt.max_tokens,
        }
        if prompt.choices:
            sampling["structured_outputs"] = {"choice": spellings(prompt.choices)}
            sampling["logprobs"] = _LOGPROBS
        elif prompt.schema is not None:
            sampling["structured_outputs"] = {"json": dict(prompt.schema)}
        request = json.dumps({"messages": messages, "sampling_params": sampling})
        return {"place": place, "request": request}

    def _run(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        processor = self._loaded()
        import ray.data

        return list(processor(ray.data.from_items(rows)).iter_rows())

    def _load(self) -> Any:
        """A processor: a function of data sets."""
        try:
            from ray.data.llm import build_processor, vLLMEngineProcessorConfig
        except ImportError as error:
            raise MissingDependency("ray-llm", f"running {self.model!r} on Ray") from error
        config = vLLMEngineProcessorConfig(
            model_source=self.model,
            engine_kwargs={"enable_prefix_caching": True, **self._options},
            concurrency=self._replicas,
            batch_size=self._block,
            accelerator_type=self._accelerator,
            should_continue_on_error=True,
        )
        return build_processor(config, preprocess=request_of, postprocess=reply_of)

    def _reply(self, prompt: Prompt, row: Mapping[str, Any] | None) -> Completion | LLMError:
        failed = "the engine gave no row for it" if row is None else row.get(_FAILED)
        if row is None or failed:
            return self._failure(prompt, LLMError(str(failed)))
        said = from_json(row["reply"])
        shares = None
        for alternatives in said["alternatives"] if prompt.choices else []:
            if alternatives and bare_token(alternatives[0][0]):  # the token that was chosen
                shares = choice_probabilities(prompt.choices, alternatives)
                break
        return Completion(
            text=said["text"],
            prompt_tokens=said["prompt_tokens"],
            completion_tokens=said["completion_tokens"],
            choice_probabilities=shares,
        )


def request_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the processor reads of a row."""
    return {"place": row["place"], **from_json(row["request"])}


def reply_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a processed row: text, token counts, and for each token its alternatives,
    the chosen one first.
    """
    alternatives = []
    for chosen, step in zip(row["generated_tokens"], row.get("logprobs") or [], strict=False):
        ordered = sorted(step.items(), key=lambda item: int(item[0]) != int(chosen))
        told = [each for _, each in ordered if each is not None]
        alternatives.append([(each.get("decoded_token") or "", each["logprob"]) for each in told])
    said = {
        "text": row["generated_text"],
        "prompt_tokens": int(row["num_input_tokens"]),
        "completion_tokens": int(row["num_generated_tokens"]),
        "alternatives": alternatives,
    }
    return {"place": row["place"], "reply": json.dumps(said)}
