"""Models that read pairs of texts, loaded once."""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.flow.driver import map_in_pool
from perspective_rag.flow.limiter import check_wanted
from perspective_rag.text import from_json
from perspective_rag.types import Matrix, Vector

M = TypeVar("M")


class LoadedOnce(Generic[M]):
    """What a judge reads with: a model that was given, else what ``_load`` gives at the first
    judgement, once. All but a loaded model is sent to another process.
    """

    _load: Callable[[], M]

    def __init__(self, given: M | None) -> None:
        self._classifier = self._given = given
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_lock": None, "_classifier": self._given}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def _model(self) -> M:
        with self._lock:
            if self._classifier is None:
                self._classifier = self._load()
            return self._classifier


# Texts whose tokens are kept: a few requests' worth, a few MB.
_KEPT_TEXTS = 1024


class PairEncoder:
    """Joins the tokens of a document and a statement as a ``tokenizers.Tokenizer`` joins pairs.

    A document is tokenised once however many statements it is judged against. Pairs longer than
    ``max_tokens`` lose the end of the longer text; ``pieces`` cuts documents so that this is rare.
    """

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._special = tokenizer.num_special_tokens_to_add(is_pair=True)
        self._tokens = lru_cache(_KEPT_TEXTS)(self._fresh)

    def pairs(self, documents: Sequence[str], statements: Sequence[str]) -> list[Any]:
        """One encoding (``ids``, ``type_ids``, ``attention_mask``) for each pair."""
        return [self._pair(d, s) for d, s in zip(documents, statements, strict=True)]

    def ids(self, text: str) -> list[int]:
        """The tokens of one text, without any that the model adds."""
        return list(self._tokens(text).ids)

    def pieces(self, text: str, statements: Sequence[str]) -> list[str]:
        """The text in pieces that are read to their last token beside every one of the statements.

        Cut at white space where there is some near. A statement counts for at most half a window.
        """
        check_wanted()
        longest = max((len(self._tokens(each).ids) for each in statements), default=0)
        room = self._max_tokens - self._special - min(longest, self._max_tokens // 2)
        spans = self._tokens(text).offsets
        if len(spans) <= room:
            return [text]
        room -= room // 16  # a word that is cut may need more tokens than it had
        starts = [start for start, _ in spans]
        found: list[str] = []
        first = begin = 0
        while first + room < len(spans):
            end = spans[first + room - 1][1]
            space = text.rfind(" ", begin + (end - begin) // 2, end)
            end = space if space > 0 else end
            found.append(text[begin:end])
            begin, first = end, max(bisect_left(starts, end), first + 1)
        return [*found, text[begin:]]

    def _pair(self, document: str, statement: str) -> Any:
        check_wanted()
        first, second = self._tokens(document), self._tokens(statement)
        excess = len(first.ids) + len(second.ids) + self._special - self._max_tokens
        if excess > 0:
            half = max(1, (self._max_tokens - self._special) // 2)
            keep = max(half, self._max_tokens - self._special - len(second.ids))
            first, second = self._fresh(document), self._fresh(statement)
            first.truncate(keep)
            second.truncate(max(1, self._max_tokens - self._special - len(first.ids)))
        return self._tokenizer.post_process(first, second)

    def _fresh(self, text: str) -> Any:
        return self._tokenizer.encode(text, add_special_tokens=False)


def batches_by_length(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Indices in batches of similar length, shortest first, so that little is padded."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


def onnx_runtime() -> tuple[Any, Any]:
    """The module onnxruntime and the class Tokenizer; raises MissingDependency without them."""
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingDependency("packaged-judge", "judging with an ONNX model") from error
    return onnxruntime, Tokenizer


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Whatever a missing or damaged file makes of its reader is a ConfigError that names it."""
    try:
        yield
    except Exception as error:
        raise ConfigError(
            f"{path} cannot be read: install the package or copy the folder that it belongs to "
            f"again ({error})"
        ) from error


def onnx_session(onnxruntime: Any, path: Path) -> Any:
    """A model on one thread, whose int8 products are exact on every processor.

    Where there is AVX2 and no VNNI, ONNX Runtime's products of unsigned and signed bytes overflow:
    verdicts would depend on the machine. Raises ConfigError for a file that is no model.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    # Threads that spin while they wait take a busy machine's cores from everything else.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.x64quantprecision", "1")
    with readable(path):
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class OnnxModel:
    """A model in an ONNX file, beside the ``needed`` files and its ``tokenizer.json``.

    ``threads`` inputs are read side by side (None: one a core), each by itself: an int8 model
    scales its activations by the largest in its input, so that in a batch a verdict would depend on
    its company, and on a CPU a batch is no faster.
    """

    def __init__(
        self, model: Path, *needed: str, max_tokens: int, threads: int | None = None
    ) -> None:
        onnxruntime, tokenizer = onnx_runtime()
        path = model if model.suffix == ".onnx" else model / "model.onnx"
        names = "model.onnx", "tokenizer.json", *needed
        for each in (path, *(path.parent / name for name in names[1:])):
            if not each.is_file():
                raise ConfigError(f"{each} is missing: needed are {', '.join(names)}")
        self.folder = path.parent
        with readable(self.folder / "tokenizer.json"):
            self._tokenizer = tokenizer.from_file(str(self.folder / "tokenizer.json"))
        self._encoder = PairEncoder(self._tokenizer, max_tokens)
        self._session = onnx_session(onnxruntime, path)
        self._readers = ThreadPoolExecutor(threads or cores(), thread_name_prefix="judge")


class OnnxClassifier(OnnxModel):
    """A classifier in an ONNX file; its ``config.json`` names its labels."""

    def __init__(self, model: Path, *, max_tokens: int, threads: int | None = None) -> None:
        super().__init__(model, "config.json", max_tokens=max_tokens, threads=threads)
        try:
            config = from_json((self.folder / "config.json").read_text(encoding="utf-8"))
            names = config.get("id2label") or {}
            self.labels = tuple(names[key] for key in sorted(names, key=int))
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise ConfigError(f"{self.folder / 'config.json'} cannot be read: {error}") from error
        self._inputs = {each.name for each in self._session.get_inputs()}

    def pieces(self, text: str, statements: Sequence[str]) -> list[str]:
        """The text in pieces that the model reads whole beside every statement."""
        return self._encoder.pieces(text, statements)

    def logits(self, documents: Sequence[str], statements: Sequence[str]) -> Matrix:
        """The model's outputs, shape (n, classes), in the order of the pairs."""
        encoded = self._encoder.pairs(documents, statements)
        rows = map_in_pool(self._readers, self._read, encoded)
        return np.array(rows, dtype=np.float64).reshape(len(encoded), len(self.labels) or 1)

    def _read(self, pair: Any) -> Vector:
        values = {
            "input_ids": pair.ids,
            "attention_mask": pair.attention_mask,
            "token_type_ids": pair.type_ids,
        }
        feed = {name: np.array([values[name]], dtype=np.int64) for name in self._inputs}
        logits: Vector = self._session.run(None, feed)[0][0]
        return logits


def cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


_BATCH = 32  # pairs that go through a model together


class TransformersClassifier:
    """Any sequence-classification model of transformers, from a folder or a Hugging Face id.

    ``revision`` is the hub's branch, tag or commit. Raises MissingDependency without torch and
    transformers, ConfigError for a tokenizer without a fast form.
    """

    def __init__(
        self,
        model: str,
        *,
        max_tokens: int,
        revision: str | None = None,
    ) -> None:
        try:
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ImportError as error:
            raise MissingDependency("judge", f"judging with {model!r}") from error
        self._torch = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        tokenizer: Any = AutoTokenizer.from_pretrained(model, revision=revision)
        self._model: Any = (
            AutoModelForSequenceClassification.from_pretrained(model, revision=revision)
            .to(self._device)
            .eval()
        )
        config = self._model.config
        self.labels = tuple(config.id2label[key] for key in sorted(config.id2label))
        if not tokenizer.is_fast:
            raise ConfigError(
                f"{model!r} has no fast tokenizer: save one beside the model (tokenizer.json)"
            )
        limit = int(getattr(config, "max_position_embeddings", -1))
        # RoBERTa and its kin start counting positions after the padding's.
        limit -= 2 if config.model_type in ("roberta", "xlm-roberta", "camembert") else 0
        self._encoder = PairEncoder(
            tokenizer.backend_tokenizer, min(max_tokens, limit) if limit > 0 else max_tokens
        )
        self._tokenizer = tokenizer
        self._inputs = set(tokenizer.model_input_names)

    def pieces(self, text: str, statements: Sequence[str]) -> list[str]:
        """The text in pieces that the model reads whole beside every statement."""
        return self._encoder.pieces(text, statements)

    def logits(self, documents: Sequence[str], statements: Sequence[str]) -> Matrix:
        """The model's outputs, shape (n, classes), in the order of the pairs."""
        encoded = self._encoder.pairs(documents, statements)
        result = np.zeros((len(encoded), len(self.labels)))
        for rows in batches_by_length([len(each.ids) for each in encoded], _BATCH):
            check_wanted()
            fields = {
                "input_ids": [encoded[i].ids for i in rows],
                "attention_mask": [encoded[i].attention_mask for i in rows],
                "token_type_ids": [encoded[i].type_ids for i in rows],
            }
            known = {name: fields[name] for name in fields if name in self._inputs}
            inputs = self._tokenizer.pad(known, return_tensors="pt").to(self._device)
            with self._torch.no_grad():
                result[rows] = self._model(**inputs).logits.float().cpu().numpy()
        return result
