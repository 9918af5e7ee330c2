"""Language models on the machines of a Ray cluster, through ``ray.data.llm`` and vLLM."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from perspective_rag import Completion, ConfigError, LLMError, MissingDependency, Prompt
from perspective_rag.addons import count, from_json
from perspective_rag_scale.in_process import InProcessLLM
from perspective_rag_scale.ray_cluster import check_address, connected
from perspective_rag_scale.vllm_requests import (
    ENGINE_DEFAULTS,
    Chats,
    completion_of,
    sampling_of,
)

_FAILED = "__inference_error__"


class RayLLM(InProcessLLM):
    """A causal model behind ``ray.data.llm``: ``replicas`` of vLLM's engine on a Ray cluster.

    ``address`` is that of the cluster, as in ``RayEngine``: None is a connection that is there
    already, or else processes on this machine, which ``close`` ends. A call of ``complete_many`` is
    one run of a pipeline, for which the engines are started: give it many prompts (``batch_size``,
    and as much to ``judge_many``). Within it, prompts go to the engines in blocks of ``block`` and
    each replica batches them continuously. Prompts are read and replies are held to choices and
    schemas as in ``VLLMEngine``. ``options`` are arguments of vLLM's engine, such as
    ``{"tensor_parallel_size": 4, "max_model_len": 4096}``.

    A replica takes as many GPUs as its tensor and pipeline parallel sizes say; ``accelerator`` is
    Ray's name of their kind ("A100"). With ``cpus`` it takes that many cores and no GPU, for a vLLM
    that was built for CPUs. A prompt that the engine cannot take is an LLMError in its place.

    Raises MissingDependency without Ray, vLLM or transformers, and ConfigError for a cluster
    without room for one replica.
    """

    engine = "ray"

    def __init__(
        self,
        model: str | Path,
        *,
        replicas: int = 1,
        accelerator: str | None = None,
        cpus: int | None = None,
        address: str | None = None,
        own_system: bool = True,
        block: int = 64,
        batch_size: int = 100_000,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(model, adapter=None, revision=None, batch_size=batch_size)
        check_address(address)
        if cpus is not None and accelerator is not None:
            raise ConfigError(
                f"a replica takes GPUs of the kind {accelerator!r} or {cpus} cores: give one of "
                "accelerator and cpus"
            )
        self._replicas = count("replicas", replicas)
        self._accelerator = accelerator
        self._cpus = None if cpus is None else count("cpus", cpus)
        self._address = address
        self._own_system = own_system
        self._block = count("block", block)
        self._options = dict(options or {})
        try:
            json.dumps(self._options)
        except TypeError as error:
            raise ConfigError(f"options must be JSON values: {error}") from error
        self._started = False

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_started": False}

    def close(self) -> None:
        """Ends the processes that it started on this machine; a cluster goes on."""
        with self._lock:
            if self._started:
                import ray

                ray.shutdown()
                self._started, self._ready = False, None

    def _settings(self) -> Sequence[object]:
        return [(name, repr(value)) for name, value in sorted(self._options.items())]

    def complete_many(self, prompts: Sequence[Prompt]) -> list[Completion | LLMError]:
        """A reply or an error for each prompt, in their order."""
        if not prompts:
            return []
        replies: dict[int, Completion | LLMError] = {}
        with self._lock:
            for places in _runs(prompts):
                replies.update(self._answered({place: prompts[place] for place in places}))
        return [replies[place] for place in range(len(prompts))]

    def _answered(self, prompts: Mapping[int, Prompt]) -> dict[int, Completion | LLMError]:
        try:
            rows = self._run([_row(place, prompt) for place, prompt in prompts.items()])
        except (ConfigError, MissingDependency):
            raise
        except Exception as error:  # of Ray or vLLM, of many kinds
            failed = _told(error)
            return {place: self._failure(prompt, failed) for place, prompt in prompts.items()}
        found = {row["place"]: row for row in rows}
        return {place: self._reply(prompt, found.get(place)) for place, prompt in prompts.items()}

    def _run(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        _check_installed(self.model)
        ray, started = connected(self._address, cores=self._replicas * (self._cpus or 1) + 1)
        self._started = self._started or started
        self._check_room(ray.cluster_resources())
        context = ray.data.DataContext.get_current()
        bars, context.enable_progress_bars = context.enable_progress_bars, False
        try:
            return list(self._loaded()(ray.data.from_items(rows)).iter_rows())
        finally:
            context.enable_progress_bars = bars

    def _check_room(self, there: Mapping[str, float]) -> None:
        """Raises ConfigError where no replica would ever be started: Ray would wait for ever."""
        gpus, cores = there.get("GPU", 0.0), there.get("CPU", 0.0)
        if self._cpus is not None:
            if cores < self._cpus + 1:
                raise ConfigError(
                    f"a replica of {self._cpus} cores and one that prepares its prompts need "
                    f"{self._cpus + 1} cores, the cluster has {cores:g}"
                )
            return
        sizes = ("tensor_parallel_size", "pipeline_parallel_size")
        needed = self._options.get(sizes[0], 1) * self._options.get(sizes[1], 1)
        if gpus < needed:
            raise ConfigError(
                f"a replica needs {needed} GPUs, the cluster has {gpus:g}; with a vLLM that was "
                "built for CPUs give cpus, the cores of a replica"
            )

    def _load(self) -> Any:
        """A processor: a function of data sets."""
        from ray.data.llm import build_processor, vLLMEngineProcessorConfig

        config = vLLMEngineProcessorConfig(
            model_source=self.model,
            engine_kwargs={**ENGINE_DEFAULTS, **self._options},
            concurrency=self._replicas,
            batch_size=self._block,
            accelerator_type=self._accelerator,
            # The way to ask for no GPU.
            placement_group_config=self._cpus and {"bundles": [{"CPU": self._cpus}]},
            should_continue_on_error=True,
            # They would need ray[serve] too: vLLM's module of them imports it.
            log_engine_metrics=False,
            # Its own stages leave chat markers in texts and write a first token twice.
            chat_template_stage=False,
            tokenize_stage=False,
            detokenize_stage=False,
        )
        names = ("tokenizer", "revision", "tokenizer_revision", "trust_remote_code")
        reading = {name: self._options[name] for name in names if name in self._options}
        read = partial(request_of, self.model, json.dumps(reading), self._own_system)
        return build_processor(config, preprocess=read, postprocess=reply_of)

    def _reply(self, prompt: Prompt, row: Mapping[str, Any] | None) -> Completion | LLMError:
        failed = "the engine gave no row for it" if row is None else row.get(_FAILED)
        if row is None or failed:
            return self._failure(prompt, LLMError(str(failed)))
        said = from_json(row["reply"])
        return completion_of(
            prompt,
            said["text"],
            said["alternatives"],
            prompt_tokens=said["prompt_tokens"],
            completion_tokens=said["completion_tokens"],
        )


def _check_installed(model: str) -> None:
    """Raises MissingDependency here: the engine itself would fail on another machine, later."""
    for name in ("ray", "vllm", "transformers"):
        if importlib.util.find_spec(name) is None:
            raise MissingDependency("ray-llm", f"running {model!r} on Ray")


def _told(error: Exception) -> Exception:
    """What went wrong in an error of Ray: it begins with where, and is cut before it says what."""
    inner: Exception | None = error
    while inner is not None and not isinstance(inner, LLMError):
        last = inner
        wrapped = (getattr(last, "cause", None), last.__cause__, *last.args)
        inner = next((each for each in wrapped if isinstance(each, Exception)), None)
    if inner is not None or last is error:
        return inner or error
    told = LLMError(
        f"{type(last).__name__}: {last} (in a process of Ray, whose log in Ray's folder of logs "
        "says more)"
    )
    told.__cause__ = last
    return told


def _runs(prompts: Sequence[Prompt]) -> list[list[int]]:
    """The prompts of each run, by their places: those with choices, with a schema, with neither.

    A column of a table has one form in all rows. Of rows without one of the fields that others
    have, Ray cannot make a table; a number that some lack becomes a float in the others, on which
    vLLM's engine stops answering for good.
    """
    runs: dict[tuple[bool, bool], list[int]] = {}
    for place, prompt in enumerate(prompts):
        runs.setdefault((bool(prompt.choices), prompt.schema is not None), []).append(place)
    return list(runs.values())


def _row(place: int, prompt: Prompt) -> dict[str, Any]:
    """A prompt as a row, its request as text until it is with the engine. A schema is text there
    too: as columns, the fields of one would come into another.
    """
    sampling = sampling_of(prompt)
    held = sampling.get("structured_outputs")
    if held is not None and "json" in held:
        sampling["structured_outputs"] = {"json": json.dumps(held["json"])}
    asked = {"system": prompt.system, "user": prompt.user, "sampling": sampling}
    return {"place": place, "request": json.dumps(asked)}


def request_of(
    model: str, reading: str, own_system: bool, row: Mapping[str, Any]
) -> dict[str, Any]:
    """What the engine reads of a row; ``reading`` says how to load the tokenizer, as JSON."""
    asked = from_json(row["request"])
    prompt = Prompt("row", asked["user"], asked["system"])
    ids = _chats(model, reading, own_system).token_ids(prompt)
    return {"place": row["place"], "tokenized_prompt": ids, "sampling_params": asked["sampling"]}


@lru_cache(maxsize=2)
def _chats(model: str, reading: str, own_system: bool) -> Chats:
    from transformers import AutoTokenizer

    options = from_json(reading)
    name = options.pop("tokenizer", model)
    own, hub = options.pop("tokenizer_revision", None), options.pop("revision", None)
    tokenizer = AutoTokenizer.from_pretrained(name, **options, revision=own or hub or "main")
    return Chats(tokenizer, own_system=own_system)


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
