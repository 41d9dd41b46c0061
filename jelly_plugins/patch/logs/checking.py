"""Is a log whole: can it be read, is its order right, does each patch follow the one before?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Unpack

from ...codec import OperationKind
from ...codec.patch.operations import Header
from ...codec.text.ntriples import term_text
from ...errors import JellyError
from ...io.sources import Source
from ...notebook import Shown
from ..formats import PatchFormat
from ..model import ID, PREV
from ..reader import PatchReader, ReadOptions
from ..replay.selection import CHANGES


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
    chain = _Chain(report)
    # A log that cannot be opened is an error, not a problem of the log.
    rows = PatchReader(src, **settings)
    try:
        with rows:
            for kind, value in rows:
                if kind is OperationKind.END:
                    chain.end_patch()
                    continue
                report.rows[kind] += 1
                if isinstance(value, Header):
                    chain.header(value)
    except JellyError as error:
        report.problems.append(Problem(report.patches + 1, str(error)))
    report.format = rows.format
    report.deviations = [str(error) for error in rows.deviations]
    return report


class _Chain:
    """Follows ``id`` and ``prev`` from patch to patch."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._headers: dict[str, list[Any]] = {ID: [], PREV: []}
        self._begun = False
        #: Number of operations in the log so far.
        self._changes = 0
        #: Number of the patch that has an id.
        self._ids: dict[Any, int] = {}

    def header(self, header: Header) -> None:
        key = header.chain_key
        if key in self._headers:
            self._headers[key].append(header.value)

    def end_patch(self) -> None:
        report = self._report
        changes = sum(report.rows[kind] for kind in CHANGES)
        if changes == self._changes and not self._headers[ID]:
            # It is skipped, see ``position``.
            report.patches += 1
            self._headers[PREV].clear()
            return
        self._changes = changes
        for key, values in self._headers.items():
            if len(values) > 1:
                self._problem(f"{len(values)} headers {key}")
        patch_id, prev = (next(iter(self._headers[key]), None) for key in (ID, PREV))
        if not self._begun:
            self._begun = True
            report.first_id = patch_id
            report.first_prev = prev
        else:
            self._check_order(patch_id, prev)
        if patch_id is not None:
            if prev == patch_id:
                self._problem(f"prev is the patch's own id, {term_text(patch_id)}")
            self._check_id(patch_id)
        report.last_id = patch_id
        report.patches += 1
        for values in self._headers.values():
            values.clear()

    def _check_order(self, patch_id: Any, prev: Any) -> None:
        last_id = self._report.last_id
        if prev is None:
            if self._ids or patch_id is not None:
                self._problem("no prev")
        elif prev != last_id:
            before = "has no id" if last_id is None else f"is {term_text(last_id)}"
            self._problem(f"prev is {term_text(prev)}, but the patch before {before}")
        if patch_id is None and self._ids:
            self._problem("no id")

    def _check_id(self, patch_id: Any) -> None:
        if patch_id in self._ids:
            self._problem(
                f"the id {term_text(patch_id)} is that of patch {self._ids[patch_id]} too"
            )
        self._ids.setdefault(patch_id, self._report.patches + 1)

    def _problem(self, message: str) -> None:
        self._report.problems.append(Problem(self._report.patches + 1, message))
