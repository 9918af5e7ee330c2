"""What would hang for ever fails instead."""

from __future__ import annotations

import faulthandler
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds after which a test is taken to hang: no bound on how long anything may take."""


def ends(function: Callable[[], T]) -> T:
    """What the function returns or raises; an AssertionError, with all stacks, where it hangs."""
    outcome: Future[T] = Future()

    def work() -> None:
        try:
            outcome.set_result(function())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        return outcome.result(PATIENCE)
    except NotYet:
        if outcome.done():  # the function's own
            raise
        faulthandler.dump_traceback(sys.__stderr__)
        raise AssertionError("it hangs") from None
