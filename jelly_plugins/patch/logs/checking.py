"""Is a log whole: can it be read, is its order right, does each patch follow the one before?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple, Unpack

from ...codec import OperationKind
from ...codec.text.ntriples import term_text
from ...errors import JellyError
from ...io.sources import Source
from ...notebook import Shown
from ..formats import PatchFormat
from ..model import ID, PREV, Patch, group
from ..reader import PatchReader, ReadOptions
from ..replay.transactions import CHANGES


class Problem(NamedTuple):
    """Something wrong with a log.

    :ivar patch: number of the patch in the log, from 1.
    """

    patch: int
    message: str


@dataclass(slots=True)
class Report(Shown):
    """What :func:`check` has found.

    :ivar format: the log's format; None if unknown.
    :ivar patches: number of patches that are complete.
    :ivar rows: number of rows of each kind, headers included.
    :ivar first_id: ``id`` of the first patch, None without one.
    :ivar first_prev: ``prev`` of the first patch: what the log follows.
    :ivar last_id: ``id`` of the last patch that is complete: the log's head.
    :ivar problems: in the order in which they were found. Reading stops at what is malformed.
    :ivar deviations: deviations from the specification that have one sensible reading, which was
        used: the first occurrence of each kind.
    """

    format: PatchFormat | None = None
    patches: int = 0
    rows: Counter[OperationKind] = field(default_factory=Counter)
    first_id: Any = None
    first_prev: Any = None
    last_id: Any = None
    problems: list[Problem] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.problems


def check(src: Source, **settings: Unpack[ReadOptions]) -> Report:
    """Read a log, and look whether its patches follow each other.

    A log of patches without ``id`` and ``prev`` is in order. Once a patch has an ``id``, those that
    follow have one of their own, and a ``prev``, the ``id`` of the patch before. Patches without
    ``id`` that change nothing do not count.

    :param src: path, URL, open binary file or bytes.
    :param settings: see :class:`~jelly_plugins.patch.PatchReader`. With ``strict``, a deviation is
        a problem.
    :return: the report; true if there are no problems.
    :raises SourceError: the source cannot be opened. One that breaks off or is corrupt has a
        problem.

    >>> check(b"H id <urn:1> . Z . H id <urn:2> . H prev <urn:3> . Z .").problems[0].message
    'prev is <urn:3>, but the patch before is <urn:1>'
    """
    report = Report()
    # A log that cannot be opened is an error, not a problem of the log.
    reader = PatchReader(src, **settings)
    # The last patch that is not a keepalive, and the numbers of those with an id.
    last: Patch | None = None
    numbers: dict[Any, int] = {}
    try:
        with reader:
            for number, patch in enumerate(group(reader), 1):
                before = report.rows.copy()
                report.rows.update(map(itemgetter(0), patch.rows()))
                report.patches = number
                changes = report.rows - before
                if patch.id is None and CHANGES.isdisjoint(changes):
                    continue
                report.problems += [
                    Problem(number, each) for each in _problems(patch, last, numbers)
                ]
                if last is None:
                    report.first_id, report.first_prev = patch.id, patch.prev
                report.last_id = patch.id
                last = patch
                if patch.id is not None:
                    numbers.setdefault(patch.id, number)
    except JellyError as error:
        report.problems.append(Problem(report.patches + 1, str(error)))
    report.format = reader.format
    report.deviations = [str(error) for error in reader.deviations]
    return report


def _problems(patch: Patch, last: Patch | None, numbers: Mapping[Any, int]) -> Iterator[str]:
    """What is wrong with the ids of a patch.

    :param last: the patch before; None for the first.
    :param numbers: of the patches before that have an id.
    """
    keys = Counter(each.chain_key for each in patch.headers)
    yield from (f"{keys[key]} headers {key}" for key in (ID, PREV) if keys[key] > 1)
    if last is not None:
        if patch.prev is None:
            if numbers or patch.id is not None:
                yield "no prev"
        elif patch.prev != last.id:
            before = "has no id" if last.id is None else f"is {term_text(last.id)}"
            yield f"prev is {term_text(patch.prev)}, but the patch before {before}"
        if patch.id is None and numbers:
            yield "no id"
    if patch.id is not None:
        if patch.prev == patch.id:
            yield f"prev is the patch's own id, {term_text(patch.id)}"
        if patch.id in numbers:
            yield f"the id {term_text(patch.id)} is that of patch {numbers[patch.id]} too"
