"""The one driver: carries out the calls of a flow, in threads or on the caller's loop."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import (
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar, cast, overload

from perspective_rag.errors import PerspectiveRAGError
from perspective_rag.flow.limiter import Limiter, Limits, Permit, check_wanted, current_work
from perspective_rag.flow.request import RECORDER, Recorder
from perspective_rag.flow.steps import Call, Flow, Reply
from perspective_rag.redaction import raise_scrubbed, scrubbed

R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")

_CURRENT: ContextVar[Attempt | None] = ContextVar("perspective_rag_attempt", default=None)


class Attempt:
    """One call of a request, from when it holds its permit."""

    def __init__(self, permit: Permit) -> None:
        self.permit = permit
        self._lock = threading.Lock()
        self._counted = 0.0
        self._since: float | None = time.monotonic()  # None while the clock stands still
        self._given_up = False
        self._to_do: list[Callable[[], object]] = []

    @property
    def seconds(self) -> float:
        """How long the call has run, without the time it waited for a place of its own."""
        with self._lock:
            going = 0.0 if self._since is None else time.monotonic() - self._since
            return self._counted + going

    @property
    def stands_still(self) -> bool:
        """True while the call waits for a place."""
        return self._since is None

    @contextmanager
    def is_current(self) -> Iterator[None]:
        """What is called inside belongs to this call."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    def give_up(self) -> None:
        """Ends what the call has open, and gives its permit to the next."""
        with self._lock:
            self._given_up = True
            to_do, self._to_do = self._to_do, []
        for each in to_do:
            with suppress(Exception):
                each()
        self.permit.release()

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """The time inside does not count."""
        with self._lock:
            stopped = self._since is not None
            if self._since is not None:
                self._counted += time.monotonic() - self._since
                self._since = None
        try:
            yield
        finally:
            with self._lock:
                if stopped:
                    self._since = time.monotonic()

    @contextmanager
    def undoing(self, undo: Callable[[], object]) -> Iterator[None]:
        """Has ``undo`` called when the call is given up inside: at once where it was already."""
        with self._lock:
            late = self._given_up
            if not late:
                self._to_do.append(undo)
        if late:
            undo()
        try:
            yield
        finally:
            with self._lock, suppress(ValueError):
                self._to_do.remove(undo)


@contextmanager
def undone_when_given_up(undo: Callable[[], object]) -> Iterator[None]:
    """Has ``undo`` called, from another thread, when the call that runs inside is given up."""
    attempt = _CURRENT.get()
    with nullcontext() if attempt is None else attempt.undoing(undo):
        yield


@contextmanager
def waiting() -> Iterator[None]:
    """The time inside is not the call's own: it waits for a place."""
    attempt = _CURRENT.get()
    with nullcontext() if attempt is None else attempt.standing_still():
        yield


@contextmanager
def held(limiter: Limiter, stage: str) -> Iterator[None]:
    """Holds a permit of a client's own limiter inside; waiting for it is not the call's time."""
    with waiting():
        permit = limiter.acquire(stage)
    try:
        yield
    finally:
        permit.release()


@asynccontextmanager
async def aheld(limiter: Limiter, stage: str) -> AsyncIterator[None]:
    """The same, without blocking the event loop."""
    with waiting():
        permit = await limiter.aacquire(stage)
    try:
        yield
    finally:
        permit.release()


def start(work: Callable[[], None]) -> None:
    """Starts ``work`` in a thread that does not keep the process alive if it never ends."""
    owner = current_work()

    def counted() -> None:
        try:
            work()
        finally:
            owner.thread_ends()

    owner.thread_begins()
    threading.Thread(target=counted, daemon=True, name="perspective-rag-call").start()


def outcome_in_thread(
    function: Callable[..., T], /, *args: Any, **kwargs: Any
) -> asyncio.Future[tuple[Any, BaseException | None]]:
    """What ``function(*args, **kwargs)`` returns or raises, in a thread of its own and in the
    caller's context.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()
    attempt = _CURRENT.get()
    permit = Permit() if attempt is None else attempt.permit

    def tell(outcome: tuple[Any, BaseException | None]) -> None:
        if not answer.done():  # nobody waits any more
            answer.set_result(outcome)

    def work() -> None:
        try:
            outcome: tuple[Any, BaseException | None] = context.run(function, *args, **kwargs), None
        except BaseException as error:
            outcome = None, error
        permit.thread_ends()
        with suppress(RuntimeError):  # the event loop has ended meanwhile
            loop.call_soon_threadsafe(tell, outcome)

    permit.thread_begins()
    start(work)
    return answer


async def in_thread(function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """Runs ``function(*args, **kwargs)`` in a thread of its own, in the caller's context.

    ``asyncio.to_thread`` shares a small pool with the whole program: calls that hang would use it
    up, and the event loop would wait for them when it ends.

    Args:
        function: What to run.
        *args: Its positional arguments.
        **kwargs: Its keyword arguments.

    Returns:
        What the function returns; what it raises is raised here.
    """
    value, error = await outcome_in_thread(function, *args, **kwargs)
    if error is not None:
        raise error
    result: T = value
    return result


def map_in_threads(function: Callable[[S], T], items: Sequence[S], *, most: int) -> list[T]:
    """Applies a function to every item, several at a time.

    Each runs in a copy of the caller's context; a single item is done in the calling thread.

    Args:
        function: What to apply.
        items: What to apply it to.
        most: Maximum number at a time; 1 = one after the other.

    Returns:
        The results, in the order of the items.
    """
    workers = min(most, len(items))
    if workers <= 1:
        return [function(item) for item in items]
    contexts = [contextvars.copy_context() for _ in items]
    with ThreadPoolExecutor(workers, thread_name_prefix="perspective-rag-map") as pool:
        return list(pool.map(lambda context, item: context.run(function, item), contexts, items))


def map_in_pool(
    pool: ThreadPoolExecutor, function: Callable[[S], T], items: Sequence[S]
) -> list[T]:
    """``function`` of every item, in order, in the threads of a pool; raises Cancelled before an
    item where the caller's work was cancelled.
    """
    work = current_work()

    def one(item: S) -> T:
        work.check()
        return function(item)

    return list(pool.map(one, items))


# How often a call is looked at whose clock stands still.
_GLANCE = 0.05


def replies_to(
    calls: Sequence[Call], limits: Limits, caller: tuple[asyncio.AbstractEventLoop, Attempt] | None
) -> list[Reply]:
    """A reply for each call, in their order; blocks, and works where an event loop runs too.

    The ``caller`` is the event loop that awaits the flow, and what gives the flow up when that is
    cancelled. Calls with an async form are awaited there, and calls that are bound to its thread
    block it while they run; all others have a thread of their own.
    """
    if caller is None:
        if any(step.in_caller for step in calls):
            return [_here(step, limits) for step in calls]
        # A function may run an event loop of its own, which no thread can that runs one already.
        if limits.timeout is None and len(calls) == 1 and asyncio._get_running_loop() is None:
            return [_here(calls[0], limits)]
    if not calls:
        return []
    batch = _Batch(calls, limits, None if caller is None else caller[0])
    with nullcontext() if caller is None else caller[1].undoing(batch.cancel):
        return batch.replies()


class _Batch:
    """Calls that run side by side, and the thread that waits for them."""

    def __init__(
        self, calls: Sequence[Call], limits: Limits, loop: asyncio.AbstractEventLoop | None
    ) -> None:
        self._calls, self._limits, self._loop = calls, limits, loop
        self._waiting = deque(range(len(calls)))
        self._asked: list[Future[Permit]] = []
        self._began: dict[int, Attempt] = {}
        self._replies: dict[int, Reply] = {}
        self._done: queue.SimpleQueue[tuple[int, Reply | BaseException]] = queue.SimpleQueue()
        self._over = False

    def cancel(self) -> None:
        self._done.put((-1, asyncio.CancelledError()))

    def replies(self) -> list[Reply]:
        in_turn = any(each.in_turn or each.in_caller for each in self._calls)
        try:
            for _ in range(1 if in_turn else self._limits.max_concurrency):
                self._ask_for_next()
            while len(self._replies) < len(self._calls):
                try:
                    index, outcome = self._done.get(timeout=self._patience())
                except queue.Empty:
                    self._give_up_overdue()
                else:
                    if index not in self._replies:  # else it was given up
                        self._replies[index] = _reply(outcome)
                        self._ask_for_next()
        finally:
            self._over = True  # after an interrupt no further call is made
            for asked in self._asked:
                Limiter.forget(asked)
            for index, attempt in list(self._began.items()):
                if index not in self._replies:
                    attempt.give_up()
        return [self._replies[index] for index in range(len(self._calls))]

    def _ask_for_next(self) -> None:
        if not self._waiting or self._over:
            return
        index = self._waiting.popleft()
        if self._limits.limiter is None:
            asked: Future[Permit] = Future()
            asked.set_result(Permit())
        else:
            asked = self._limits.limiter.ask(self._calls[index].stage)
        self._asked.append(asked)
        asked.add_done_callback(partial(self._begin, index, contextvars.copy_context()))

    def _begin(self, index: int, context: contextvars.Context, granted: Future[Permit]) -> None:
        """Starts a call, in whatever thread its permit was given."""
        if granted.cancelled():
            return
        step = self._calls[index]
        try:
            attempt = self._began[index] = Attempt(granted.result())
            if self._over:
                attempt.give_up()
            elif self._loop is not None and (step.in_caller or step.afunction is not None):
                context.run(self._loop.call_soon_threadsafe, self._on_loop, index, attempt)
            else:
                attempt.permit.thread_begins()
                start(partial(context.run, self._in_thread, index, attempt))
        except Exception as error:  # the limiter's own, or the loop is closed
            self._done.put((index, Reply(error=error)))

    def _in_thread(self, index: int, attempt: Attempt) -> None:
        with self._belongs_to(attempt):
            outcome = _attempt(self._calls[index])
        attempt.permit.thread_ends()
        self._end(index, attempt, outcome)

    def _on_loop(self, index: int, attempt: Attempt) -> None:
        step = self._calls[index]
        if step.in_caller:
            self._end(index, attempt, RuntimeError() if self._over else _attempt(step))
            return
        with self._belongs_to(attempt):
            task = asyncio.ensure_future(_await_call(step, attempt))
        task.add_done_callback(lambda task: self._end(index, attempt, _outcome(step, task)))

    def _end(self, index: int, attempt: Attempt, outcome: Reply | BaseException) -> None:
        attempt.permit.release()
        self._done.put((index, outcome))

    def _belongs_to(self, attempt: Attempt) -> AbstractContextManager[None]:
        """What is called inside belongs to the attempt, or to the call around it where calls are
        held to nothing here.
        """
        counts = self._limits.timeout is not None or self._limits.limiter is not None
        return attempt.is_current() if counts else nullcontext()

    def _open(self) -> list[tuple[int, Attempt]]:
        """The calls that have begun and can be late."""
        return [
            (index, attempt)
            for index, attempt in list(self._began.items())
            if index not in self._replies and not self._calls[index].in_caller
        ]

    def _patience(self) -> float | None:
        timeout = self._limits.timeout
        if timeout is None:
            return None
        waits = [timeout]
        for _, each in self._open():
            least = _GLANCE if each.stands_still else 0.001
            waits.append(max(least, timeout - each.seconds))
        return min(waits)

    def _give_up_overdue(self) -> None:
        timeout = cast(float, self._limits.timeout)
        for index, attempt in self._open():
            if not attempt.stands_still and attempt.seconds >= timeout:
                late = f"{self._calls[index].stage} did not answer within {timeout:g} s"
                self._replies[index] = Reply(error=TimeoutError(late))
                attempt.give_up()
                self._ask_for_next()


async def _await_call(step: Call, attempt: Attempt) -> Reply:
    assert step.afunction is not None
    own, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert own is not None
    with attempt.undoing(partial(loop.call_soon_threadsafe, own.cancel)):
        try:
            return Reply(await step.afunction(*step.args, **step.kwargs))
        except RuntimeError as error:
            stopped = str(error) == "coroutine raised StopIteration"  # it cannot raise one itself
            return Reply(error=_as_error(step, error.__cause__) if stopped else error)
        except Exception as error:
            return Reply(error=error)
        except GeneratorExit as error:
            return Reply(error=_as_error(step, error))


def _outcome(step: Call, task: asyncio.Future[Reply]) -> Reply | BaseException:
    if task.cancelled():
        return Reply(error=RuntimeError(f"{step.stage} was cancelled by what it called"))
    return task.exception() or task.result()


def _here(step: Call, limits: Limits) -> Reply:
    """The reply to a call that is made in this thread."""
    try:
        permit = limits.limiter.acquire(step.stage) if limits.limiter is not None else Permit()
    except Exception as error:
        return Reply(error=error)
    try:
        return _reply(_attempt(step))
    finally:
        permit.release()


def _attempt(step: Call) -> Reply | BaseException:
    try:
        check_wanted()
        return Reply(step.function(*step.args, **step.kwargs))
    except (StopIteration, GeneratorExit) as error:  # not to be taken for the end of the flow
        return Reply(error=_as_error(step, error))
    except Exception as error:
        return Reply(error=error)
    except BaseException as stop:  # KeyboardInterrupt and the like end the run, in its own thread
        return stop


def _as_error(step: Call, cause: BaseException | None) -> RuntimeError:
    error = RuntimeError(f"{step.stage}: what it called raised {type(cause).__name__}")
    error.__cause__ = cause
    return error


def _reply(outcome: Reply | BaseException) -> Reply:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


# Seconds that who cancels a flow waits for its end; a plain function cannot be interrupted.
_GRACE = 1.0


@overload
def run(flow: Flow[R], recorder: Recorder | None = None, limits: Limits | None = None) -> R: ...
@overload
def run(flow: R, recorder: Recorder | None = None, limits: Limits | None = None) -> R: ...
def run(flow: Any, recorder: Recorder | None = None, limits: Limits | None = None) -> Any:
    """Drives a flow to its end in the calling thread; works inside a running event loop too.

    Args:
        flow: A generator that yields calls. Anything else is returned as it is, so that a component
            may be a plain function.
        recorder: Gathers the trace. None: a new one.
        limits: Time-outs and numbers of calls at a time. None: 60 seconds a call, 8 calls at a
            time.

    Returns:
        What the flow returns.
    """
    if not isinstance(flow, Generator):
        return flow
    return _drive(flow, recorder or Recorder(), limits or Limits(), None)


@overload
async def arun(
    flow: Flow[R], recorder: Recorder | None = None, limits: Limits | None = None
) -> R: ...
@overload
async def arun(flow: R, recorder: Recorder | None = None, limits: Limits | None = None) -> R: ...
async def arun(flow: Any, recorder: Recorder | None = None, limits: Limits | None = None) -> Any:
    """The same as ``run``, without blocking the event loop.

    The flow runs in a thread of its own; calls that have an async form, or are bound to the
    caller's thread, are made on the running event loop. A flow that is cancelled ends at its next
    step, and its calls are cancelled or given up.
    """
    if not isinstance(flow, Generator):
        return flow
    awaited = Attempt(Permit())
    caller = asyncio.get_running_loop(), awaited
    coming = outcome_in_thread(_drive, flow, recorder or Recorder(), limits or Limits(), caller)
    try:
        await asyncio.wait([coming])
    except asyncio.CancelledError:
        awaited.give_up()
        await asyncio.wait([coming], timeout=_GRACE)
        raise
    finally:
        awaited.give_up()
    value, error = coming.result()
    if error is not None:
        raise error
    return value


def _drive(
    flow: Flow[R],
    recorder: Recorder,
    limits: Limits,
    caller: tuple[asyncio.AbstractEventLoop, Attempt] | None,
) -> R:
    token, replies = RECORDER.set(recorder), cast(Any, None)
    try:
        while True:
            try:
                asked = flow.send(replies)
            except StopIteration as stop:
                if recorder.refused is None:
                    result: R = stop.value
                    return result
            if recorder.refused is not None:  # a component caught it
                raise recorder.refused
            calls = recorder.watched(asked)
            started = time.perf_counter()
            answered = replies_to(calls, limits, caller)
            seconds = time.perf_counter() - started
            # What a server or a store says may hold the key it was sent.
            replies = [
                reply if reply.error is None else Reply(reply.value, scrubbed(reply.error))
                for reply in answered
            ]
            recorder.batch(calls, replies, seconds)
    except BaseException as raised:
        error = raised
        if recorder.refused is not None and isinstance(raised, Exception):
            error = recorder.refused
        recorder.failed(error)
        if isinstance(error, Exception) and not isinstance(error, PerspectiveRAGError):
            raise_scrubbed(error)
        raise error from error.__cause__
    finally:
        RECORDER.reset(token)
        flow.close()
