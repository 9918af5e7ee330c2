"""TART-full: a T5 encoder that reads instruction, question and passage together."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from benchmarks.core.encoders import TART_TASK
from perspective_rag import MissingDependency, Passage

MODEL = "facebook/tart-full-flan-t5-xl"


class TartFull:
    """P(relevant) of passages for a question (Asai et al. 2023, the cross-encoder).

    The encoder of a T5 with a linear layer on its first token: "instruction [SEP] question" and
    the passage as a pair, softmax over (irrelevant, relevant). ``model`` is a folder or id in the
    form of the published checkpoint. Raises MissingDependency without torch.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        task: str = TART_TASK,
        max_tokens: int = 512,
        batch_size: int = 8,
        device: str | None = None,
    ) -> None:
        self.name = model or MODEL
        self._task, self._max_tokens, self._batch_size = task, max_tokens, batch_size
        self._device = device
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any, Any] | None = None

    def scores(self, query: str, passages: Sequence[Passage]) -> list[float]:
        """P(relevant) of each passage, in their order."""
        tokenizer, encoder, head = self._model()
        import torch

        asked = f"{self._task} [SEP] {query}"
        found: list[float] = []
        for start in range(0, len(passages), self._batch_size):
            some = passages[start : start + self._batch_size]
            inputs = tokenizer(
                [asked] * len(some),
                [f"{each.title} {each.text}".strip() for each in some],
                padding=True,
                truncation="only_second",
                max_length=self._max_tokens,
                return_tensors="pt",
            ).to(encoder.device)
            with torch.no_grad():
                hidden = encoder(
                    input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
                ).last_hidden_state
                probability = head(hidden[:, 0]).float().softmax(dim=-1)[:, 1]
            found += probability.cpu().tolist()
        return found

    def _model(self) -> tuple[Any, Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[Any, Any, Any]:
        try:
            import torch
            from transformers import AutoTokenizer, T5EncoderModel
        except ImportError as error:
            raise MissingDependency("judge", "reranking with TART-full") from error

        class WithHead(T5EncoderModel):  # type: ignore[misc]
            """The names of the checkpoint: shared, encoder, classifier."""

            def __init__(self, config: Any) -> None:
                super().__init__(config)
                self.classifier = torch.nn.Linear(config.d_model, config.num_labels)
                self.post_init()

        tokenizer: Any = AutoTokenizer.from_pretrained(self.name)
        model: Any = WithHead.from_pretrained(self.name, num_labels=2)
        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        model = model.to(device).eval()
        return tokenizer, model, model.classifier
