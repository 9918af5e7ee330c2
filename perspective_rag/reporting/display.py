"""Results and components in a few words, for ``print`` and ``repr``.

They are what the classes' own ``__repr__`` call, so nothing of theirs is imported here. Nothing in
them can steer a terminal.
"""

from __future__ import annotations

from typing import Any

from perspective_rag.text import printable

WIDTH = 100
_READ = 50 * WIDTH  # characters of a text that are looked at for its line


def result_in_a_line(result: Any) -> str:
    """``RetrievalResult('Should ...?', 5 passages, 2 of 2 perspectives covered)``."""
    parts = [repr(shortened(result.question, 60)), _counted(len(result.candidates), "passage")]
    if result.coverage.judged:
        parts.append(_covered(result))
    elif result.perspectives:
        parts.append(f"{_counted(len(result.perspectives), 'perspective')} not judged")
    if result.trace.degradations:
        parts.append(_counted(len(result.trace.degradations), "degradation"))
    return f"RetrievalResult({', '.join(parts)})"


def result_in_lines(result: Any) -> str:
    """A line for the question, each perspective, passage and degradation."""
    lines = [result.question]
    state: dict[str, str] = {}
    if result.coverage.judged:
        for word in ("covered", "missing", "unjudged"):
            state |= {each.id: word for each in getattr(result.coverage, word)}
    for each in result.perspectives:
        lines.append(f"  [{each.id}] {each.text} ({state.get(each.id, 'not judged')})")
    if result.caution:
        lines.append(f"  {result.caution}")
    if result.says_nothing:
        lines.append("  no passage is about the question")
    states = result.coverage.states
    for number, (candidate, state) in enumerate(
        zip(result.candidates, states, strict=True), start=1
    ):
        sides = ", ".join(each.id for each in result.supports(candidate))
        said = f"[{sides or state}] " if result.perspectives else ""
        lines.append(f"{number:2}. {said}{candidate.passage.text}")
    for degradation in result.trace.degradations:
        lines.append(f"  degraded, {degradation.stage}: {degradation.message}")
    return "\n".join(shortened(printable(line[:_READ]), WIDTH, indent=True) for line in lines)


def pipeline_in_a_line(pipeline: Any) -> str:
    """``PerspectivePipeline(FaissStore, judge=LLMJudge, options=PipelineOptions(k=6))``."""
    components = {name: getattr(pipeline, name) for name in ("embedder", "judge", "extractor")}
    parts = [type(pipeline.store).__name__]
    parts += [f"{name}={type(c).__name__}" for name, c in components.items() if c is not None]
    return f"{type(pipeline).__name__}({', '.join(parts)}, options={pipeline.options!r})"


def shortened(text: str, length: int, *, indent: bool = False) -> str:
    """A text in one line of at most ``length`` characters; ``indent`` keeps the spaces before."""
    before = text[: len(text) - len(text.lstrip())] if indent else ""
    line = before + " ".join(text.split())
    return line if len(line) <= length else line[: length - 3].rstrip() + "..."


def _covered(result: Any) -> str:
    total = len(result.coverage.perspectives)
    noun = "perspective" if total == 1 else "perspectives"
    return f"{len(result.coverage.covered)} of {total} {noun} covered"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
