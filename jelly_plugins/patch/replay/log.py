"""A log of patches and the place that it is replayed into, brought together.

What a backend's ``replay`` does once it has a target and a factory of terms.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeGuard, cast

from ...codec import DEFAULT_LIMITS, DefaultGraph, Limits, TermFactory
from ...codec.common.conversion import check_text, convert
from ...codec.patch.operations import END, AnyOperation, Header, Namespace, Operation, OperationKind
from ...errors import ChainError, JellyError, OptionsError, StatementError
from ...io.sources import Source, rewinder
from ..model import ID, Patch
from ..reader import PatchReader
from .commits import Progress, Target
from .driver import Replay
from .position import Replayed

#: Seconds between two looks at a file that is followed.
INTERVAL: Final = 0.05
#: How many transactions are applied together where nobody has said it.
_GROUP: Final = 100


def replay_log(
    target: Target[Any],
    log: Source | Iterable[Patch],
    factory: TermFactory[Any],
    *,
    text: Callable[[Any], str],
    graph: str = "",
    check_prev: bool = True,
    name: str | None = None,
    until: str | None = None,
    follow: bool = False,
    interval: float = INTERVAL,
    stop: Callable[[], bool] | None = None,
    group: int | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Replayed:
    """Replay a log into ``target``.

    :param factory: makes the terms that ``target`` takes.
    :param text: the text of such a term, in the syntax of N-Triples.
    :param graph: the graph of positions, see :class:`.Position`.

    See :func:`jelly_plugins.oxigraph.replay` for the other parameters.
    """
    if group is not None and group < 1:
        raise OptionsError(f"group: {group} transactions cannot be applied together")
    if group is None:
        # What else gives patches may wait for one before it gives the next.
        group = _GROUP if _is_source(log) or isinstance(log, list | tuple) else 1
    last = None if until is None else as_term(until)
    if last is not None and not follow and not _may_have(log, last, factory, text, limits):
        raise _missing(last, "nothing was applied")
    if follow and not _is_source(log):
        raise ValueError("only a source of bytes can be followed")
    replay = Replay(
        target,
        text=text,
        graph=graph,
        log=name,
        check_prev=check_prev,
        until=last,
        group=group,
        dry_run=dry_run,
        progress=progress,
    )

    def wait() -> bool:
        replay.wait()
        if stop is not None and stop():
            return False
        time.sleep(interval)
        return True

    if _is_source(log):
        with PatchReader(
            log,
            factory=factory,
            wait=wait if follow else None,
            starve=None if _is_at_hand(log) else replay.commit,
            limits=limits,
        ) as rows:
            try:
                reached = replay.run(
                    rows.batches,
                    has_ended=lambda: rows.ended,
                    ends_after_headers=lambda: rows.ends_behind_headers,
                )
            except JellyError as error:
                error.locate(source=rows.name)
                raise
    else:
        reached = replay.run((_converted(cast(Iterable[Patch], log), factory),))
    if last is not None and not reached and not follow:
        raise _missing(last, "it was read to its end")
    return replay.done


def _missing(patch: str, what: str) -> ChainError:
    return ChainError(f"the log has no patch {patch}; {what}", expected=patch)


def as_term(text: str) -> str:
    """An id as it is given by a user, in the syntax of N-Triples.

    >>> as_term("urn:uuid:1"), as_term('"seven"')
    ('<urn:uuid:1>', '"seven"')
    """
    if not isinstance(text, str):
        raise TypeError(f"until is the id of a patch as a string, not {text!r}")
    return text if text.startswith(("<", '"', "_:")) else f"<{text}>"


def _is_source(log: Source | Iterable[Patch]) -> TypeGuard[Source]:
    data = isinstance(log, str | os.PathLike | bytes | bytearray | memoryview)
    return data or hasattr(log, "read")


def _is_at_hand(log: Source) -> bool:
    """Whether nothing has to be waited for when more of a source is read."""
    if isinstance(log, str | os.PathLike):
        return os.path.isfile(log)
    return isinstance(log, bytes | bytearray | memoryview)


def _may_have(
    log: Source | Iterable[Patch],
    patch: str,
    factory: TermFactory[Any],
    text: Callable[[Any], str],
    limits: Limits,
) -> bool:
    """Whether a log may have a patch of this id: False if it has not, and can be read twice."""

    def is_it(value: Any) -> bool:
        return text(value) == patch

    if isinstance(log, list | tuple):
        ids = [each.id for each in log]
        return any(is_it(convert(found, factory)) for found in ids if found is not None)
    if not _is_source(log):
        return True
    rewind = rewinder(log)
    if rewind is None:
        return True
    try:
        with PatchReader(log, factory=factory, limits=limits) as rows:
            return any(
                isinstance(value, Header) and value.key == ID and is_it(value.value)
                for _, value in rows
            )
    except JellyError:
        # What is wrong with the log is for the replay to say, once it has come so far.
        return True
    finally:
        rewind()


def _converted(patches: Iterable[Patch], factory: TermFactory[Any]) -> Iterator[AnyOperation]:
    """The rows of patches in generic terms, with a factory's terms."""
    for patch in patches:
        for kind, value in patch.rows():
            yield Operation(kind, _value(kind, value, factory))
        yield END


def _value(kind: OperationKind, value: Any, factory: TermFactory[Any]) -> Any:
    def term(value: Any) -> Any:
        return None if value is None else convert(value, factory)

    if kind in (OperationKind.ADD, OperationKind.DELETE):
        if len(value) not in (3, 4):
            raise StatementError(f"a statement of {len(value)} terms")
        if any(isinstance(each, DefaultGraph) for each in value[:3]):
            raise StatementError("the default graph may only be the graph of a statement")
        terms = tuple(convert(each, factory) for each in value)
        return factory.quad(terms) if len(terms) == 4 else factory.triple(terms)
    if kind is OperationKind.HEADER:
        check_text(value.key)
        return Header(value.key, term(value.value))
    if isinstance(value, Namespace):
        check_text(value.name)
        return Namespace(value.name, term(value.iri), term(value.graph))
    return None
