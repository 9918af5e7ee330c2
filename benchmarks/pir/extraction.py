"""Can the perspective be told from the query? PIR Table 6, by rule or by a language model."""

from __future__ import annotations

import random
import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.pir.tasks import PirQuery, Task
from perspective_rag import Extraction, LLMError, LLMExtractor, LLMReplyError, RuleExtractor, run
from perspective_rag.addons import Recorder
from perspective_rag.extend import LLM, Extractor

PROMPT = Path(__file__).with_name("extract_perspective.txt")
SAMPLE = 50
"""Queries of each task that the paper asks about."""


def tokens(text: str) -> list[str]:
    """Words in lower case, without punctuation and articles (SQuAD's normalisation)."""
    plain = "".join(each for each in text.lower() if each not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def jaccard(found: str, gold: Sequence[str]) -> float:
    """PIR's "QA-F1" (appendix A.8): max over gold of |T(found) & T(gold)| / |T(found) | T(gold)|.

    T are sets of words, so it is a Jaccard index; two texts without words are equal.
    """
    return max(_jaccard(set(tokens(found)), set(tokens(each))) for each in gold)


def token_f1(found: str, gold: Sequence[str]) -> float:
    """The F1 of Rajpurkar et al. (2016): max over gold of 2 P R / (P + R), words counted."""
    return max(_f1(tokens(found), tokens(each)) for each in gold)


def _jaccard(left: set[str], right: set[str]) -> float:
    union = left | right
    return len(left & right) / len(union) if union else 1.0


def _f1(found: list[str], gold: list[str]) -> float:
    if not found or not gold:
        return float(found == gold)
    common = (Counter(found) & Counter(gold)).total()
    return 2 * common / (len(found) + len(gold))


@dataclass(frozen=True, slots=True)
class ExtractionScores:
    """Means over ``queries``: Jaccard index, token F1, and the share with any perspective found;
    ``degradations`` are replies that could not be used."""

    queries: int
    jaccard: float
    token_f1: float
    found: float
    degradations: int

    def to_dict(self) -> dict[str, float]:
        """The numbers by name, to six places."""
        return {name: round(getattr(self, name), 6) for name in self.__slots__}


def llm_extractor(llm: LLM) -> Extractor:
    """The library's extractor with a prompt that asks for the perspective a query carries."""
    return LLMExtractor(llm, max_perspectives=1, prompt=PROMPT)


def rule_extractor() -> Extractor:
    """The library's rules."""
    return RuleExtractor()


def extraction_scores(
    task: Task, extractor: Extractor, *, seed: int, size: int = SAMPLE
) -> ExtractionScores:
    """How well the perspectives of ``size`` queries of a task, drawn by ``seed``, are found.

    What is compared is the instruction that was split off, else the perspectives' texts.
    """
    queries: Sequence[PirQuery] = task.merged().queries
    if len(queries) > size:
        queries = random.Random(seed).sample(list(queries), size)
    answers, lost = run_all(extractor, [query.text for query in queries])
    pairs = [
        (_said(each), [query.perspective]) for each, query in zip(answers, queries, strict=True)
    ]
    return ExtractionScores(
        queries=len(pairs),
        jaccard=float(np.mean([jaccard(found, gold) for found, gold in pairs])),
        token_f1=float(np.mean([token_f1(found, gold) for found, gold in pairs])),
        found=float(np.mean([bool(found) for found, _ in pairs])),
        degradations=lost,
    )


def run_all(extractor: Extractor, questions: Sequence[str]) -> tuple[list[Extraction], int]:
    """Every question's extraction, and how many degradations there were on the way.

    Raises LLMError for a model that does not answer; replies that cannot be used are degradations.
    """
    answers, lost = [], 0
    for question in questions:
        recorder = Recorder()
        answers.append(run(extractor.extract(question), recorder))
        for error in (each.error for each in recorder.degradations):
            if isinstance(error, LLMError) and not isinstance(error, LLMReplyError):
                raise error
        lost += len(recorder.degradations)
    return answers, lost


def _said(extraction: Extraction) -> str:
    if extraction.instruction is not None:
        return extraction.instruction
    return " ".join(each.text for each in extraction.perspectives)
