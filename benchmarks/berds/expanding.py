"""Perspectives for query expansion, written by a language model that sees the question alone."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.berds.questions import Question
from perspective_rag import LLMExtractor, PerspectiveRAGError, run
from perspective_rag.addons import Recorder
from perspective_rag.extend import LLM


def expansions_by(llm: LLM, questions: Sequence[Question]) -> dict[str, tuple[str, ...]]:
    """The perspectives of each question by its id, in the order they were written (section 6).

    Raises PerspectiveRAGError, naming the question, when the model gives none that can be used:
    a row called expansion must not be one without.
    """
    extractor = LLMExtractor(llm)
    written = {}
    for question in questions:
        try:
            # Strict: the extractor would else fall back on its rules.
            extraction = run(extractor.extract(question.text), Recorder(strict=True))
        except PerspectiveRAGError as error:
            raise PerspectiveRAGError(f"{question.id} could not be expanded: {error}") from error
        written[question.id] = tuple(each.text for each in extraction.perspectives)
        if not written[question.id]:
            raise PerspectiveRAGError(f"{question.id}: the model wrote no perspectives")
    return written
