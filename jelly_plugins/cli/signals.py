"""Signals that end the command: it cleans up, as when it is interrupted from the keyboard."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Final

#: What a supervisor sends, and what comes when the terminal is closed. Not all systems have both.
_SIGNALS: Final = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class TerminatedError(KeyboardInterrupt):
    """A signal ended the process. Cleanup for KeyboardInterrupt applies to it too.

    :ivar number: number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def end_at_signals() -> None:
    """Raise :class:`TerminatedError` in the main thread once the process is asked to end.

    A signal that the parent process ignores (``nohup``) stays ignored.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)


def ignore_signals() -> None:
    """Ignore signals from now on, because the exit code is known.

    While Python itself ends, it prints the traceback of an interrupt and keeps the exit code.
    """
    for number in (signal.SIGINT, *_SIGNALS):
        signal.signal(number, signal.SIG_IGN)


def exit_code(error: KeyboardInterrupt) -> int:
    """The exit code of a process that an interrupt has ended: 128 and the signal's number.

    >>> exit_code(KeyboardInterrupt()), exit_code(TerminatedError(15))
    (130, 143)
    """
    return 128 + (error.number if isinstance(error, TerminatedError) else signal.SIGINT)


@contextmanager
def stopped_by_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Call ``stop`` at the first signal that ends the command, so that the block can end in order,
    and raise what the signal raises after it. A second signal interrupts the block as usual.

    :param stop: called in another thread.
    """
    before = {
        number: handler
        for number in (signal.SIGINT, *_SIGNALS)
        if (handler := signal.getsignal(number)) not in (None, signal.SIG_IGN)
    }
    # A handler may not use a lock or an Event that its own thread is just using.
    arrived: SimpleQueue[int | None] = SimpleQueue()
    number: int | None = None

    def note(number: int, _frame: object) -> None:
        restore()
        arrived.put(number)

    def restore() -> None:
        for each, handler in before.items():
            signal.signal(each, handler)

    def wait() -> None:
        nonlocal number
        number = arrived.get()
        if number is not None:
            stop()

    thread = threading.Thread(target=wait, name="jelly-signals", daemon=True)
    thread.start()
    for each in before:
        signal.signal(each, note)
    try:
        yield
    finally:
        restore()
        arrived.put(None)
        thread.join()
        if number is not None:
            raise KeyboardInterrupt if number == signal.SIGINT else TerminatedError(number)


def _terminate(number: int, _frame: object) -> None:
    # Often several come, one from the terminal and one from the shell; the first is enough.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise TerminatedError(number)
