"""A log that patches are appended to, one by one, each of them safely there before the next step.

Handles files, ids and formats; the caller supplies the contents of patches.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from io import FileIO
from itertools import count, starmap
from stat import S_ISREG
from typing import Any, Final, NamedTuple, Self, TypedDict
from uuid import uuid4

from ..codec import (
    DEFAULT_LIMITS,
    Describe,
    Iri,
    Limits,
    PatchEncoder,
    PatchOptions,
    PatchStreamType,
    delimit,
)
from ..codec.patch.operations import (
    BEGIN,
    CHANGES,
    COMMIT,
    END,
    AnyOperation,
    Header,
    OperationKind,
    header,
)
from ..codec.text.ntriples import term_text
from ..errors import (
    ChainError,
    JellyError,
    OptionsError,
    SourceError,
    TextError,
    TruncatedError,
)
from ..io.chunks import ChunkFile
from ..io.sinks import compression_of
from .formats import PatchFormat, format_of
from .model import ID, PREV
from .reader import PatchReader
from .replay.replay import Position
from .replay.transactions import check_name
from .rows import PatchWriter
from .text_rows import NO_ROW
from .writer import patch_writer

try:
    import fcntl
except ImportError:  # Windows: two writers of one log are not detected there.
    fcntl = None  # type: ignore[assignment]

#: The row that ends a patch, at the end of a text.
_MARK: Final = re.compile(rb"(?:^|\n)Z[ \t]*\.?\s*\Z")
#: The end of a line of text.
_LINE_END: Final = re.compile(rb"\r\n?|\n")
#: The first row of a text whose first patch may be cut off; longer ones are not looked at.
_FIRST_ROW: Final = re.compile(rb"H id <[^<>\s]++> \.\r?\n")
_FIRST_ROW_BYTES: Final = 1 << 10
#: Bytes that are read at once.
_CHUNK: Final = 1 << 16
#: Patches after which the file is looked at: whether it is there still, and as it was left.
_LOOK_EVERY: Final = 100


class Place(NamedTuple):
    """Where a log ends: all that changes with a patch. ``transactions`` are those of the last
    patch, as a position counts them."""

    size: int = 0
    patches: int = 0
    head: Any = None
    root: Any = None
    transactions: int = 0

    def position(self, name: str | None) -> Position:
        """The position of a store that has the log up to here. There must be a patch."""
        return Position(
            log=name or term_text(self.root),
            patch=term_text(self.head),
            transactions=self.transactions,
            complete=True,
        )


class RecordOptions(TypedDict, total=False):
    """The fields of :class:`RecordSettings`, as keyword arguments."""

    name: str | None
    options: PatchOptions | None
    sync: bool
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSettings:
    """The settings of a recorder.

    :ivar name: the name of the log in the store; by default the ``id`` of its first patch.
    :ivar options: of a new Jelly-Patch log.
    :ivar sync: have each patch on the disk, not only in the hands of the operating system. It
        takes some milliseconds; without it, a failure of power may lose patches. A log that was
        deleted, replaced, truncated or written to by others is then detected before each patch;
        otherwise before every hundredth one, and when it is closed.
    :ivar limits: the limits on an existing log.
    :raises OptionsError: ``name`` is empty or has a surrogate.
    """

    name: str | None = None
    options: PatchOptions | None = None
    sync: bool = False
    limits: Limits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        check_name(self.name)

    def but(self, changes: RecordOptions, options: PatchOptions) -> RecordSettings:
        """These settings with changes, and ``options`` for a new log by default."""
        changed = replace(self, **changes)
        return changed if changed.options is not None else replace(changed, options=options)


#: The settings by default.
DEFAULT: Final = RecordSettings()


class LogWriter:
    """Appends patches to a log in a file, created if missing; a context manager. For one thread at
    a time. Each patch has an ``id``, a UUID, and the id of the patch before it as ``prev``. A patch
    that was not written whole, because its writer was killed, is cut off when the log is opened.
    The log is that of the process that opened it: a child that is forked cannot write to it.

    A file is only changed if it is empty or begins as a log. If its first patch is incomplete, it
    must begin with a whole frame of Jelly-Patch that has options, which a recorder writes first, or
    be a part of that frame alone; or, as text, begin with a whole row ``H id <…> .``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: RecordSettings = DEFAULT,
        *,
        describe: Describe,
    ) -> None:
        self.name: Final = os.fspath(path)
        self.path: Final = os.path.abspath(path)
        self.sync: Final = settings.sync
        self.format = format_of(self.name) or PatchFormat.JELLY_PATCH
        self.place = Place()
        self._describe = describe
        self._options = settings.options or PatchOptions()
        self._limits = settings.limits
        #: The ids of patches: a random UUID of which the last digits are counted up, since random
        #: ones for each patch take longer than writing it.
        self._ids = map(f"{uuid4().urn[:-12]}{{:012x}}".format, count())
        self._process = os.getpid()
        #: Whether there may be more in the file than ``place`` says.
        self._begun = False
        if compression_of(self.name) is not None:
            raise SourceError("a compressed log cannot be appended to", source=self.name)
        self._check_options()
        self._is_new = not os.path.lexists(path)
        try:
            # Without a buffer: what does not fit on a full disk must not be written later.
            self._file = FileIO(path, "a+")
            found = os.fstat(self._file.fileno())
        except OSError as error:
            raise SourceError(error.strerror or str(error), source=self.name) from None
        self._inode = found.st_dev, found.st_ino
        self._is_regular = S_ISREG(found.st_mode)
        try:
            if fcntl is not None:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    problem = "another process is writing this log"
                    raise SourceError(problem, source=self.name) from None
            ending = self._take_up(found.st_size) if found.st_size else b""
            #: Where the file was cut off, and what came after.
            self._kept = self.place.size
            self._rest = b"".join(self._chunks(self._kept))
            if self._kept < found.st_size:
                self._file.truncate(self._kept)
            self._begin(ending)
            self._writer = self._new_writer()
        except BaseException as error:
            self._file.close()
            if isinstance(error, JellyError):
                error.locate(source=self.name)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            # A child leaves the log alone: its parent may be writing.
            if self.is_of_this_process and not self.closed:
                if self._begun:
                    self.cut(self.place)
                self._look()
        finally:
            if fcntl is not None and self.is_of_this_process and not self.closed:
                # Closing alone leaves the log to children that were forked.
                fcntl.flock(self._file, fcntl.LOCK_UN)
            self._file.close()

    @property
    def is_of_this_process(self) -> bool:
        return self._process == os.getpid()

    @property
    def closed(self) -> bool:
        return self._file.closed

    def check_open(self) -> None:
        """Raise an error if the log was closed, or if another process has opened it."""
        if self._process != os.getpid():
            raise SourceError("the log is recorded by another process", source=self.name)
        if self._file.closed:
            raise SourceError("the log that is recorded was closed", source=self.name)

    def check_new(self, position: Position | None) -> None:
        """Reject an empty log where a store has a ``position`` in a log of its name."""
        if position is not None:
            raise ChainError(
                f"the store is at patch {position.patch} of log {position.log}, and the log is "
                "empty",
                expected=position.patch,
            ).locate(source=self.name)

    def _look(self) -> None:
        """Check that the log is the file that was written."""
        try:
            found = os.stat(self.path)
        except OSError as error:
            problem = f"not there any more ({error.strerror})"
        else:
            if (found.st_dev, found.st_ino) != self._inode:
                problem = "another file now"
            elif self._is_regular and found.st_size != self.place.size:
                problem = f"{found.st_size} bytes long and not {self.place.size}"
            else:
                return
        raise SourceError(
            f"the log is {problem}: something else has changed it, and patches may be missing. "
            "Record on in a new log, and copy the data for those who replay this one",
            source=self.name,
        )

    @property
    def patches(self) -> int:
        return self.place.patches

    def append(
        self,
        operations: Iterable[AnyOperation] = (),
        headers: Iterable[AnyOperation] = (),
        *,
        lines: tuple[bytes, bytes] | None = None,
    ) -> None:
        """Write a patch of one transaction. Instead of operations, it may have ``lines`` of
        N-Quads, to delete and to add, which take less than half the time."""
        self.check_open()
        if self._begun:
            self.cut(self.place)
        before = self.place
        if self.sync or not before.patches % _LOOK_EVERY:
            self._look()
        self._begun = True
        made = Iri(next(self._ids))
        chained = [(ID, made)] if before.head is None else [(ID, made), (PREV, before.head)]
        try:
            if lines is None:
                rows = [*starmap(header, chained), *headers, BEGIN, *operations, COMMIT, END]
                data = self._writer.add(rows)
            else:
                data = self._writer.add_transaction(chained, *lines)
            self._write(data)
            if self.sync:
                os.fsync(self._file.fileno())
            self.place = Place(
                before.size + len(data), before.patches + 1, made, before.root or made, 1
            )
            self._begun = False
        except BaseException as error:
            self.cut(before)
            if isinstance(error, OSError) and error.filename is None:
                error.filename = self.name
            raise

    def _write(self, data: bytes) -> None:
        written = 0
        while written < len(data):
            written += self._file.write(data[written:])

    def cut(self, place: Place) -> None:
        """Remove what comes after an earlier ``place``."""
        # In this order: after an interrupt, the next patch comes here first.
        self._begun = True
        self.place = place
        self._file.truncate(place.size)
        # Undo what was reported to a reader of the log.
        self._writer = self._new_writer()
        self._begun = False

    def abandon(self) -> None:
        """Make the file again what it was before it was opened, and close it."""
        with self:
            self._restore()
        if self._is_new:
            os.unlink(self.path)

    def _restore(self) -> None:
        self._file.truncate(self._kept)
        self._write(self._rest)
        self.place = self.place._replace(size=self._kept + len(self._rest))

    def _begin(self, ending: bytes) -> None:
        """End what was taken up, or begin a new log."""
        if not self._kept:
            ending = self._opening()
        try:
            self._write(ending)
        except OSError as error:
            self._restore()
            raise SourceError(error.strerror or str(error), source=self.name) from None
        self.place = self.place._replace(size=self._kept + len(ending))

    def _opening(self) -> bytes:
        """What is written to an empty file: the options, so that the log can be read before its
        first patch. In a stream of type FRAME they would be a patch, so such a log stays empty, as
        text does."""
        is_jelly = self.format is PatchFormat.JELLY_PATCH
        is_marked = is_jelly and self._options.stream_type is PatchStreamType.PUNCTUATED
        frames = PatchEncoder(self._options).finish() if is_marked else []
        return b"".join(map(delimit, frames))

    # What is there already

    def _take_up(self, size: int) -> bytes:
        """Read what the file has; ``place`` becomes the end of what is complete. Return what is to
        be written there so that a patch can follow."""
        opening = self._opening()
        if size < len(opening) and opening.startswith(b"".join(self._chunks(0, size))):
            # A recorder was killed while it wrote the options.
            return b""
        rows = self._reader(size)
        kept = self._complete(rows, size)
        self.format = rows.format or self.format
        if rows.compression is not None:
            raise SourceError("a compressed log cannot be appended to")
        if rows.is_bare:
            raise SourceError("the log is one frame without its length: no patch can follow")
        if rows.options is not None:
            self._options = rows.options
        self._check_options()
        if kept < size:
            # Followers of the log have applied the transactions that are complete.
            if self.format is PatchFormat.RDF_PATCH:
                # The last line keeps its end: followers look for it.
                after = b"".join(self._chunks(kept, kept + 2))
                if kept and (end := _LINE_END.match(after)) is not None:
                    kept += end.end()
            self.place = Place()
            if not kept:
                return b""
            rows = self._reader(kept)
            self._read(rows)
        elif not self.place.patches and rows.options is None:
            raise SourceError("the file is not a log: it has no row of a patch")
        self.place = self.place._replace(size=kept)
        # Others leave the last mark out; what follows would be of the same patch.
        needs_mark = False
        for deviation in rows.deviations:
            if not isinstance(deviation, TruncatedError):
                raise deviation
            needs_mark = True
        if self.format is PatchFormat.JELLY_PATCH:
            frames = PatchEncoder(self._options).add([END] if needs_mark else [])
            return b"".join(map(delimit, frames))
        return b"" if self._tail(kept).endswith(b"\n") else b"\n"

    def _complete(self, rows: PatchReader, size: int) -> int:
        """Read the file; return how many of its bytes are complete."""
        try:
            self._read(rows)
        except (TruncatedError, TextError) as error:
            if isinstance(error, TextError):
                # Only a last line without a line end may be incomplete.
                lines = sum(chunk.count(b"\n") for chunk in self._chunks(0, size))
                if error.line != lines + 1 or error.message == NO_ROW:
                    raise
            opening = next(self._chunks(0, _FIRST_ROW_BYTES))
            kept = rows.complete_bytes
            if not kept and rows.options is None and not _FIRST_ROW.match(opening):
                raise
            return kept
        return size

    def _chunks(self, start: int, stop: int | None = None) -> Iterator[bytes]:
        """What the file has from one position to another."""
        while stop is None or start < stop:
            self._file.seek(start)
            chunk = self._file.read(_CHUNK if stop is None else min(_CHUNK, stop - start))
            if not chunk:
                return
            yield chunk
            start += len(chunk)

    def _reader(self, size: int) -> PatchReader:
        """Reads the first bytes of the file."""
        return PatchReader(ChunkFile(self._chunks(0, size), self.name), limits=self._limits)

    def _read(self, rows: PatchReader) -> None:
        """Read the log, and count its patches."""
        ids: dict[str, Any] = {}
        transactions = 0
        inside = False
        before = OperationKind.END
        with rows:
            for kind, value in rows:
                if before is kind is OperationKind.END:
                    # An empty patch, such as a sign that a connection is alive.
                    continue
                before = kind
                if isinstance(value, Header):
                    ids.setdefault(value.chain_key, value.value)
                elif kind is OperationKind.END:
                    if ID not in ids:
                        raise ChainError("the log has patches without an id: no patch can follow")
                    place = self.place
                    head = ids[ID]
                    if head == place.head:
                        # It repeats the one before it, and is skipped.
                        transactions = place.transactions
                    root = place.root or head
                    self.place = Place(0, place.patches + 1, head, root, transactions)
                    ids = {}
                    transactions = 0
                elif kind in CHANGES:
                    transactions += not inside
                else:
                    inside = kind is OperationKind.BEGIN
                    transactions += kind is OperationKind.COMMIT

    def _check_options(self) -> None:
        if self.format is PatchFormat.RDF_PATCH_THRIFT:
            raise SourceError(
                "a log is recorded as Jelly-Patch or as RDF Patch text", source=self.name
            )
        is_flat = self._options.stream_type is PatchStreamType.FLAT
        if self.format is PatchFormat.JELLY_PATCH and is_flat:
            raise OptionsError(
                "the log is one patch, a stream of type FLAT: no patch can follow",
                source=self.name,
            )

    def _tail(self, size: int) -> bytes:
        """The last bytes of the log, more than a mark has."""
        return b"".join(self._chunks(max(size - 64, 0), size))

    def _new_writer(self) -> PatchWriter:
        # After a mark, text goes on as it begins.
        size = self.place.size
        text = self.format is PatchFormat.RDF_PATCH
        return patch_writer(
            self.format,
            # Text does not declare generalized statements, so readers of the log reject them.
            None if text else self._options,
            describe=self._describe,
            continues=size > 0 and not (text and _MARK.search(self._tail(size))),
            limits=self._limits,
        )
