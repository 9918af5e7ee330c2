"""Who is told what a request does, while it does it: telemetry, for example."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from perspective_rag.flow.steps import Call, Note, Reply
from perspective_rag.options import PipelineOptions


class Observer(Protocol):
    """Is told of one request, in the order of its steps and in the thread that runs it.

    ``calls`` gives the call to make instead of the one that is asked for: the same, or one whose
    functions do more around it; they run in whatever thread makes the call. ``answered`` hands that
    call back with its reply, also where it was given up. ``noted`` is told every note, those that
    begin and end a stage among them; ``failed`` that the request ends in an error, or is cancelled.
    """

    def calls(self, call: Call) -> Call: ...

    def answered(self, call: Call, reply: Reply) -> None: ...

    def noted(self, note: Note) -> None: ...

    def failed(self, error: BaseException) -> None: ...


@runtime_checkable
class Telemetry(Protocol):
    """Makes an observer for every request; one serves any number of threads and event loops.

    An observer that raises is logged, recorded as a degradation and left out of the rest of its
    request: telemetry never fails a request.
    """

    def observe(self, question: str, options: PipelineOptions) -> Observer: ...
