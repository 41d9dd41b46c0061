"""Keeps what signal handlers raise, as Ctrl-C does, out of code that must not stop halfway.

rdflib's stores in memory change several indices for one triple, in Python code: an interrupt in the
middle leaves a store that is neither as it was nor as it was to be, and that nothing can repair. A
signal that comes while such code runs is put off by a millisecond, until it comes elsewhere.

Whether it may be delivered is asked of the stack when it comes, so that marked code pays nothing:
the innermost function that is marked decides. Signals are Python's in the main thread only; code in
other threads is never interrupted.
"""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Final, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])

#: Signals for which programs have handlers that raise something.
_SIGNALS: Final = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGBREAK")
    if hasattr(signal, name)
]
_DELAY: Final = 0.001

#: Whether an interrupt may come, by code.
_MARKS: Final[dict[CodeType, bool]] = {}
#: Handlers of the program's, in whose place ours stands.
_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
_users = 0


def uninterrupted(function: _F) -> _F:
    """Mark a function that must not be interrupted, nor what it calls, while :func:`guarded`."""
    _MARKS[function.__code__] = False
    return function


def interruptible(function: _F) -> _F:
    """Mark a function that may be interrupted though it is called by one that must not be."""
    _MARKS[function.__code__] = True
    return function


def guard() -> None:
    """Have marks be heeded, until :func:`unguard`."""
    global _users
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _SIGNALS:
        handler = signal.getsignal(number)
        if callable(handler) and handler is not _handle:
            _handlers[number] = handler
            signal.signal(number, _handle)
    _users += 1


def unguard() -> None:
    """Have the program's own handlers again, if nobody else needs ours."""
    global _users
    if threading.current_thread() is not threading.main_thread() or not _users:
        return
    if _users == 1:
        for number, handler in _handlers.items():
            # Unless the program has set another one.
            if signal.getsignal(number) is _handle:
                signal.signal(number, handler)
    _users -= 1


@contextmanager
@uninterrupted
def guarded() -> Iterator[None]:
    """Have marks be heeded."""
    guard()
    try:
        yield
    finally:
        unguard()


def _handle(number: int, frame: FrameType | None) -> None:
    caller = frame
    while caller is not None:
        mark = _MARKS.get(caller.f_code)
        if mark is not None:
            if not mark:
                later = threading.Timer(_DELAY, _send, [number])
                later.daemon = True
                later.start()
                return
            break
        caller = caller.f_back
    _handlers[number](number, frame)


def _send(number: int) -> None:
    """Send the main thread a signal."""
    if hasattr(signal, "pthread_kill"):
        # It wakes the thread from waiting, as the first one would have.
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


# Handlers that are being put in or out of place are not to be left half so.
uninterrupted(guard)
uninterrupted(unguard)
