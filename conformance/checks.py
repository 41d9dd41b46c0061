"""What the checks of all formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from jelly_plugins.codec import FrameSplitter
from jelly_plugins.codec.common.limits import DEFAULT_LIMITS
from jelly_plugins.codec.common.options import CommonOptions, read_options
from jelly_plugins.errors import JellyError, OptionsError, TermError
from jelly_plugins.tools.compare import compare_streams

from .manifest import Case
from .outcome import FailedError

OptionsT = TypeVar("OptionsT", bound=CommonOptions)


def check_rejected(case: Case, read: Callable[[Path], object], *others: Callable[..., Any]) -> None:
    """Check that a stream is rejected, at the expected position.

    :param others: readers that may reject another term, which their library cannot hold.
    """
    [source] = case.actions
    for each in (read, *others):
        try:
            each(source)
        except JellyError as error:
            if case.rejected_at is None or (each is not read and isinstance(error, TermError)):
                continue
            position = (error.frame, error.row)[: len(case.rejected_at)]
            if position != case.rejected_at:
                raise FailedError(
                    f"rejected at frame {error.frame}, row {error.row}, not at frame and row "
                    f"{case.rejected_at}: {error}"
                ) from error
        else:
            raise FailedError("read, although it must be rejected")


def check_unwritten(write: Callable[[], object]) -> None:
    """Check that invalid input is not written."""
    try:
        write()
    except JellyError:
        return
    raise FailedError("written, although it must be rejected")


def check_same(expected: Iterable[Any], found: Iterable[Any]) -> None:
    """Compare statements, with blank nodes mapped over the whole stream."""
    result = compare_streams(expected, found)
    if not result:
        raise FailedError(
            f"{result.reason}; expected {' '.join(result.missing)} "
            f"found {' '.join(result.unexpected)}"
        )


def options_in(path: Path, kind: type[OptionsT], message: Any) -> OptionsT:
    """Read the options in a file without validation, which is the writer's task.

    :param message: the message type of its frame.
    """
    splitter = FrameSplitter()
    frame = next(chain(splitter.feed(path.read_bytes()), splitter.finish()))
    rows = message.FromString(frame).rows
    if not rows or not rows[0].HasField("options"):
        raise OptionsError(f"{path} has no options")
    body = rows[0].options.SerializeToString()
    return read_options(kind, body, 0, len(body), DEFAULT_LIMITS)
