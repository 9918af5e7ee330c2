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
from perspective_rag.flow import driver as threads
from perspective_rag.flow.limiter import (
    LOOK_EVERY,
    Limiter,
    Limits,
    Permit,
    check_wanted,
    current_work,
)
from perspective_rag.flow.request import RECORDER, Recorder
from perspective_rag.flow.steps import Call, Flow, Reply
from perspective_rag.redaction import raise_scrubbed, scrubbed

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

    def stand_still(self) -> None:
        """Stops the clock."""
        with self._lock:
            if self._since is not None:
                self._counted += time.monotonic() - self._since
                self._since = None

    def go_on(self) -> None:
        """Starts it again."""
        with self._lock:
            if self._since is None:
                self._since = time.monotonic()

    def add(self, undo: Callable[[], object]) -> None:
        """Has ``undo`` called when the call is given up: at once where it was already."""
        with self._lock:
            late = self._given_up
            if not late:
                self._to_do.append(undo)
        if late:
            undo()

    def drop(self, undo: Callable[[], object]) -> None:
        """Forgets it."""
        with self._lock, suppress(ValueError):
            self._to_do.remove(undo)


def current_permit() -> Permit:
    """The permit of the call that this code belongs to; one of nobody's where there is none."""
    attempt = _CURRENT.get()
    return Permit() if attempt is None else attempt.permit


@contextmanager
def undone_when_given_up(undo: Callable[[], object]) -> Iterator[None]:
    """Has ``undo`` called, from another thread, when the call that runs inside is given up."""
    attempt = _CURRENT.get()
    if attempt is None:
        yield
        return
    attempt.add(undo)
    try:
        yield
    finally:
        attempt.drop(undo)


@contextmanager
def waiting() -> Iterator[None]:
    """The time inside is not the call's own: it waits for a place."""
    attempt = _CURRENT.get()
    if attempt is None:
        yield
        return
    attempt.stand_still()
    try:
        yield
    finally:
        attempt.go_on()


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


S = TypeVar("S")
T = TypeVar("T")


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
    permit = current_permit()

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


class Caller:
    """The event loop that awaits a flow while a thread runs it, until it cancels it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._awaited = Attempt(Permit())
        self.add, self.drop = self._awaited.add, self._awaited.drop
        self.cancel = self._awaited.give_up


# How often a call is looked at whose clock stands still.
_GLANCE = 0.05


def replies_to(calls: Sequence[Call], limits: Limits, caller: Caller | None) -> list[Reply]:
    """A reply for each call, in their order; blocks, and works where an event loop runs too.

    Calls with an async form are awaited by the ``caller``, where there is one, and calls that are
    bound to its thread block it while they run; all others have a thread of their own.
    """
    if caller is None:
        if any(step.in_caller for step in calls):
            return [_here(step, limits) for step in calls]
        # A function may run an event loop of its own, which no thread can that runs one already.
        if limits.timeout is None and len(calls) == 1 and asyncio._get_running_loop() is None:
            return [_here(calls[0], limits)]
    return _Batch(calls, limits, caller).replies() if calls else []


def remembered(calls: Sequence[Call], replies: Sequence[Reply], limits: Limits) -> Sequence[Reply]:
    """The replies; whether calls of a stage fail side by side and work in turn is remembered."""
    if limits.limiter is None:
        return replies
    if any(step.again and reply.error is None for step, reply in zip(calls, replies, strict=True)):
        limits.limiter.collided(calls[0].stage)
    elif len(calls) > 1 and all(reply.error is None for reply in replies):
        limits.limiter.worked_side_by_side(calls[0].stage)
    return replies


class _Batch:
    """Calls that run side by side, and the thread that waits for them."""

    def __init__(self, calls: Sequence[Call], limits: Limits, caller: Caller | None) -> None:
        self._calls, self._limits, self._caller = calls, limits, caller
        self._waiting = deque(range(len(calls)))
        self._asked: dict[int, Future[Permit]] = {}
        self._began: dict[int, Attempt] = {}
        self._replies: dict[int, Reply] = {}
        self._done: queue.SimpleQueue[tuple[int, Reply | BaseException]] = queue.SimpleQueue()
        self._over = False

    def replies(self) -> list[Reply]:
        calls, in_turn = self._calls, any(each.in_turn or each.in_caller for each in self._calls)
        cancel = partial(self._done.put, (-1, asyncio.CancelledError()))
        if self._caller is not None:
            self._caller.add(cancel)
        try:
            for _ in range(1 if in_turn else self._limits.max_concurrency):
                self._ask_for_next()
            while len(self._replies) < len(calls):
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
            if self._caller is not None:
                self._caller.drop(cancel)
            for asked in self._asked.values():
                Limiter.forget(asked)
            for index, attempt in list(self._began.items()):
                if index not in self._replies:
                    attempt.give_up()
        return [self._replies[index] for index in range(len(calls))]

    def _ask_for_next(self) -> None:
        if not self._waiting or self._over:
            return
        index = self._waiting.popleft()
        begin = partial(self._begin, index, contextvars.copy_context())
        if self._limits.limiter is None:
            asked: Future[Permit] = Future()
            asked.set_result(Permit())
        else:
            loop = self._caller.loop if self._caller and self._is_for_loop(index) else None
            asked = self._limits.limiter.ask(self._calls[index].stage, loop)
        self._asked[index] = asked
        asked.add_done_callback(begin)

    def _is_for_loop(self, index: int) -> bool:
        step = self._calls[index]
        return self._caller is not None and (step.in_caller or step.afunction is not None)

    def _begin(self, index: int, context: contextvars.Context, granted: Future[Permit]) -> None:
        """Starts a call, in whatever thread its permit was given."""
        if granted.cancelled():
            return
        try:
            attempt = self._began[index] = Attempt(granted.result())
            if self._over:
                attempt.give_up()
            elif self._caller is not None and self._is_for_loop(index):
                context.run(self._caller.loop.call_soon_threadsafe, self._on_loop, index, attempt)
            else:
                attempt.permit.thread_begins()
                threads.start(partial(context.run, self._in_thread, index, attempt))
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
            task = asyncio.ensure_future(_await_call(step))
        task.add_done_callback(lambda task: self._end(index, attempt, _outcome(step, task)))
        attempt.add(partial(asyncio.get_running_loop().call_soon_threadsafe, task.cancel))

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
        waits = []
        if not all(asked.done() for asked in self._asked.values()):
            waits.append(LOOK_EVERY)
        if timeout is not None:
            waits.append(timeout)
            for _, each in self._open():
                least = _GLANCE if each.stands_still else 0.001
                waits.append(max(least, timeout - each.seconds))
        return min(waits, default=None)

    def _give_up_overdue(self) -> None:
        if self._limits.limiter is not None:
            for index, asked in self._asked.items():
                if not asked.done():
                    self._limits.limiter.reclaim(self._calls[index].stage)
        timeout = self._limits.timeout
        if timeout is None:
            return
        for index, attempt in self._open():
            if not attempt.stands_still and attempt.seconds >= timeout:
                late = f"{self._calls[index].stage} did not answer within {timeout:g} s"
                self._replies[index] = Reply(error=TimeoutError(late))
                attempt.give_up()
                self._ask_for_next()


async def _await_call(step: Call) -> Reply:
    assert step.afunction is not None
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


R = TypeVar("R")

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
    caller = Caller(asyncio.get_running_loop())
    coming = outcome_in_thread(_drive, flow, recorder or Recorder(), limits or Limits(), caller)
    try:
        await asyncio.wait([coming])
    except asyncio.CancelledError:
        caller.cancel()
        await asyncio.wait([coming], timeout=_GRACE)
        raise
    finally:
        caller.cancel()
    value, error = coming.result()
    if error is not None:
        raise error
    return value


def _drive(flow: Flow[R], recorder: Recorder, limits: Limits, caller: Caller | None) -> R:
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
            answered = remembered(calls, replies_to(calls, limits, caller), limits)
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
