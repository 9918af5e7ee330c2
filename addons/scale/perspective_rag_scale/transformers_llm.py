"""Language models in this process, through transformers: decoders, encoder-decoders, adapters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perspective_rag import Completion, LLMError, MissingDependency, Prompt
from perspective_rag.addons import (
    bare_token,
    choice_of,
    markers_in,
    messages_of,
    normalised_mass,
)
from perspective_rag_scale.in_process import InProcessLLM


class TransformersLLM(InProcessLLM):
    """A causal or sequence-to-sequence model of transformers, from a folder or a Hugging Face id.

    ``adapter`` is a PEFT adapter laid over it, ``gguf_file`` a GGUF file of the folder in place of
    the weights. Loaded at the first prompt, once, on a GPU where there is one. Prompts with choices
    cost one pass: P(choice) sums over every token of the vocabulary that begins it. Only where the
    model would say something else first is its reply written out. ``batch_size`` prompts of similar
    length run together; a batch that fails is tried again one by one.

    Prompts go through the tokenizer's chat template where it has one; a template that refuses a
    system message gets it within the user's. Raises MissingDependency without torch, transformers
    (and peft for an adapter), LLMError for a prompt that the model cannot take.
    """

    engine = "transformers"

    def __init__(
        self,
        model: str | Path,
        *,
        adapter: str | Path | None = None,
        revision: str | None = None,
        gguf_file: str | None = None,
        device: str | None = None,
        dtype: str = "auto",
        batch_size: int = 8,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(model, adapter=adapter, revision=revision, batch_size=batch_size)
        self._loading = {"revision": revision, **({"gguf_file": gguf_file} if gguf_file else {})}
        self._gguf_file = gguf_file
        self._device, self._dtype, self._options = device, dtype, dict(options or {})
        self._markers: re.Pattern[str] | None = None
        self._choice_ids: dict[tuple[str, ...], dict[str, Any]] = {}

    def _settings(self) -> Sequence[object]:
        return self._gguf_file, str(self._dtype)

    def complete_many(self, prompts: Sequence[Prompt]) -> list[Completion | LLMError]:
        """A reply or an error for each prompt, in their order."""
        replies: dict[int, Completion | LLMError] = {}
        with self._lock:
            encoded = [self._encoded(prompt) for prompt in prompts]
            alike: dict[tuple[Any, ...], list[int]] = {}
            for i, prompt in enumerate(prompts):
                key = (prompt.choices, prompt.max_tokens, prompt.temperature, prompt.seed)
                alike.setdefault(key, []).append(i)
            for members in alike.values():
                members.sort(key=lambda i: len(encoded[i]))  # little is padded
                for start in range(0, len(members), self.batch_size):
                    chosen = members[start : start + self.batch_size]
                    found = self._batch(prompts[chosen[0]], [encoded[i] for i in chosen])
                    replies.update(zip(chosen, found, strict=True))
        return [replies[i] for i in range(len(prompts))]

    def _batch(self, prompt: Prompt, rows: list[list[int]]) -> list[Completion | LLMError]:
        try:
            return list(self._answered(prompt, rows))
        except Exception as error:
            if len(rows) > 1:
                return [reply for row in rows for reply in self._batch(prompt, [row])]
            return [self._failure(prompt, error)]

    def _answered(self, prompt: Prompt, rows: list[list[int]]) -> list[Completion]:
        if not prompt.choices:
            written = zip(rows, self._run(prompt, rows, 0), strict=True)
            return [self._said(row, *each) for row, each in written]
        first = self._run(prompt, rows, 1)
        result: list[Completion | None] = []
        for row, (tokens, logits) in zip(rows, first, strict=True):
            shares = self._shares(prompt.choices, logits[0])
            result.append(self._said(row, tokens, logits, shares) if shares else None)
        open_rows = [i for i, completion in enumerate(result) if completion is None]
        if open_rows:
            longer = self._run(prompt, [rows[i] for i in open_rows], 0)
            for i, (tokens, logits) in zip(open_rows, longer, strict=True):
                _, tokenizer, _ = self._loaded()
                words = (n for n, t in enumerate(tokens) if bare_token(tokenizer.decode([t])))
                step = next(words, None)
                shares = None if step is None else self._shares(prompt.choices, logits[step])
                result[i] = self._said(rows[i], tokens, logits, shares)
        return [completion for completion in result if completion is not None]

    def _said(
        self,
        row: list[int],
        tokens: list[int],
        logits: Any,
        shares: dict[str, float] | None = None,
    ) -> Completion:
        _, tokenizer, _ = self._loaded()
        return Completion(
            text=tokenizer.decode(tokens, skip_special_tokens=True),
            prompt_tokens=len(row),
            completion_tokens=len(tokens),
            choice_probabilities=shares,
        )

    def _run(
        self, prompt: Prompt, rows: list[list[int]], new_tokens: int
    ) -> list[tuple[list[int], list[Any]]]:
        """For each row its new tokens and, at each of them, the logits of the vocabulary."""
        torch, tokenizer, model = self._loaded()
        limit = getattr(model.config, "max_position_embeddings", None)
        longest, new_tokens = max(map(len, rows)), new_tokens or prompt.max_tokens
        if limit and not model.config.is_encoder_decoder and longest + new_tokens > limit:
            raise ValueError(f"{longest} + {new_tokens} tokens, where the model takes {limit}")
        pad = tokenizer.pad_token_id
        pad = (tokenizer.eos_token_id or 0) if pad is None else pad
        ids = torch.full((len(rows), longest), pad)
        mask = torch.zeros_like(ids)
        for i, row in enumerate(rows):
            # A decoder writes on from the right edge.
            place = (
                slice(0, len(row))
                if model.config.is_encoder_decoder
                else slice(longest - len(row), None)
            )
            ids[i, place] = torch.tensor(row)
            mask[i, place] = 1
        sampling = {
            "do_sample": prompt.temperature > 0,
            "temperature": prompt.temperature if prompt.temperature > 0 else None,
            "top_p": None,
            "top_k": None,
        }
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(prompt.seed)
            out = model.generate(
                input_ids=ids.to(model.device),
                attention_mask=mask.to(model.device),
                max_new_tokens=new_tokens,
                pad_token_id=pad,
                output_logits=True,
                return_dict_in_generate=True,
                **sampling,
            )
        steps = len(out.logits)
        written = out.sequences[:, -steps:].tolist()
        return [
            (_until_pad(tokens, pad), [logits[i].float() for logits in out.logits])
            for i, tokens in enumerate(written)
        ]

    def _shares(self, choices: tuple[str, ...], logits: Any) -> dict[str, float] | None:
        torch, tokenizer, _ = self._loaded()
        if choices not in self._choice_ids:
            members: dict[str, list[int]] = {choice: [] for choice in choices}
            for token, text in enumerate(tokenizer.convert_ids_to_tokens(range(len(tokenizer)))):
                chosen = choice_of(text or "", choices)
                if chosen:
                    members[chosen].append(token)
            self._choice_ids[choices] = {c: torch.tensor(ids) for c, ids in members.items()}
        probability = torch.softmax(logits, dim=-1).cpu()
        if not torch.isfinite(probability).all():
            raise ValueError("the model's numbers are not finite")
        return normalised_mass(
            {
                c: float(probability[ids].sum()) if len(ids) else 0.0
                for c, ids in self._choice_ids[choices].items()
            }
        )

    def _encoded(self, prompt: Prompt) -> list[int]:
        _, tokenizer, _ = self._loaded()
        ids: list[int]
        if not getattr(tokenizer, "chat_template", None):
            (plain,) = messages_of(prompt, show_schema=True, own_system=False)
            ids = tokenizer(plain["content"])["input_ids"]
            return ids
        if self._markers is None:
            self._markers = markers_in(tokenizer)
        text = self._templated(tokenizer, prompt)
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _templated(self, tokenizer: Any, prompt: Prompt) -> str:
        from jinja2.exceptions import TemplateError

        for own_system in (True, False):
            messages = messages_of(
                prompt, show_schema=True, own_system=own_system, markers=self._markers
            )
            try:
                return str(
                    tokenizer.apply_chat_template(
                        messages, tokenize=False, add_generation_prompt=True
                    )
                )
            except TemplateError:
                if not own_system:
                    raise
        raise AssertionError("unreachable")

    def _load(self) -> tuple[Any, Any, Any]:
        """torch, the tokenizer, the model."""
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingDependency("judge", f"running {self.model!r} in this process") from error
        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        tokenizer = transformers.AutoTokenizer.from_pretrained(self.model, **self._loading)
        if self._gguf_file:
            kind: Any = transformers.AutoModelForCausalLM
        else:
            config = transformers.AutoConfig.from_pretrained(self.model, **self._loading)
            two_parts = config.is_encoder_decoder
            kind = getattr(
                transformers, "AutoModelForSeq2SeqLM" if two_parts else "AutoModelForCausalLM"
            )
        model = kind.from_pretrained(
            self.model, dtype=self._dtype, **self._loading, **self._options
        )
        if self.adapter is not None:
            try:
                from peft import PeftModel
            except ImportError as error:
                raise MissingDependency("judge", f"the adapter {self.adapter!r}") from error
            model = PeftModel.from_pretrained(model, self.adapter).merge_and_unload()
        return torch, tokenizer, model.to(device).eval()


def _until_pad(tokens: list[int], pad: int) -> list[int]:
    """The tokens a row wrote before it was done; the first always counts."""
    ends = [i for i, token in enumerate(tokens) if token == pad and i > 0]
    return tokens[: ends[0]] if ends else tokens
