"""Patches from files: Jelly-Patch, RDF Patch text or binary RDF Patch, compressed or not; as rows
or as patches.

Flat in memory: rows come as the source is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from stat import S_ISREG
from typing import Any, Final, TypedDict, Unpack, cast

from ..codec import (
    AnyOperation,
    FrameSplitter,
    Limits,
    Operation,
    PatchDecoder,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
    TermFactory,
)
from ..codec.common.detection import StreamKind, is_cut, kind_of
from ..codec.common.wire import varint
from ..codec.patch.operations import CHANGES, ENDS, OPENS, OperationKind
from ..errors import JellyError, OrderError, SourceError
from ..io.sources import Closing, Input, Source
from ..jena.names import format_of as jena_format_of
from ..notebook import table
from .formats import PatchFormat, format_of
from .model import Patch, group
from .rows import PatchOrder, ReadSettings
from .text_rows import PatchTextReader
from .thrift_rows import PatchRowReader

#: Bytes at the start of a source, at most, from which its format is detected.
_OPENING: Final = 1024
#: Bytes of an incomplete patch that are compared. They contain its headers, so also its id.
_COMPARED: Final = 1 << 16

#: The codes of rows of RDF Patch text.
_CODES: Final = rb"(?:A|D|PA|PD|TX|TB|TC|TA|H|Z)"
#: A first row that only RDF Patch text has, and how it may start.
_TEXT_ROW: Final = re.compile(_CODES + rb"[ \t.<\"':]")
_TEXT: Final = re.compile(rb"(?:\xef\xbb\xbf)?+\s*+(?:#|" + _CODES + rb"[\s.<\"':])")
#: How binary RDF Patch starts: a header, a statement, a namespace, a transaction or a mark.
_THRIFT: Final = re.compile(rb"\x1c\x18|[\x2c\x3c]\x1c|[\x4c\x5c][\x1c\x28]|\x65[\x00-\x06]\x00")


class ReadOptions(TypedDict, total=False):
    """How patches are read, as keyword arguments.

    :ivar format: the source's format, ``"jellyp"``, ``"rdfp"`` or ``"trp"``; detected by default.
    :ivar factory: makes terms and statements, see :class:`~jelly_plugins.codec.TermFactory`.
    :ivar statement_type: for RDF Patch, which does not declare it: whether a statement without a
        graph is a quad in the default graph, or a triple (and then none may have a graph).
    :ivar generalized: for RDF Patch, which does not declare it: whether generalized statements are
        accepted.
    :ivar strict: whether to reject known deviations of other implementations that have one sensible
        reading. Without it, :attr:`PatchReader.deviations` lists them.
    :ivar limits: the limits on untrusted input.
    """

    format: PatchFormat | str | None
    factory: TermFactory[Any]
    statement_type: PatchStatementType | str
    generalized: bool
    strict: bool
    limits: Limits


def detect(head: bytes, name: str = "") -> PatchFormat | None:
    """The format of a source by its first bytes, or by its name if these are ambiguous."""
    if _TEXT_ROW.match(head):
        return PatchFormat.RDF_PATCH
    by_name = format_of(name)
    # For a stream that is truncated in its first bytes, the name is more reliable.
    is_truncated = by_name is PatchFormat.JELLY_PATCH and is_cut(head)
    if is_truncated or kind_of(head) is StreamKind.JELLY_PATCH:
        return PatchFormat.JELLY_PATCH
    if _TEXT.match(head):
        return PatchFormat.RDF_PATCH
    # Statements of RDF Thrift look like added ones: there the name decides.
    if _THRIFT.match(head) and jena_format_of(name) is None:
        return PatchFormat.RDF_PATCH_THRIFT
    return by_name


class JellyReader:
    """Reads the rows of a Jelly-Patch stream, with the interface of
    :class:`~jelly_plugins.patch.rows.RowReader`."""

    def __init__(self, decoder: Any, settings: ReadSettings) -> None:
        self.decoder = decoder
        self.complete_bytes = 0
        self.splitter = FrameSplitter(limits=settings.limits)
        self._strict = settings.strict
        #: Of the rows, unless marks end patches; and the deviation that there are more patches.
        self._order = PatchOrder()
        self._several: OrderError | None = None

    @property
    def inside_patch(self) -> bool:
        return self.splitter.pending > 0 or self.decoder.inside_patch

    @property
    def deviations(self) -> list[JellyError]:
        several = () if self._several is None else (self._several,)
        return [*self.decoder.deviations, *several]

    def batches(self, chunks: Iterable[bytes], *, growing: bool = False) -> Iterator[Any]:  # noqa: ARG002
        """Read rows, those of each frame together."""
        size = 0
        last = OperationKind.END
        for chunk in chunks:
            for frame in self.splitter.feed(chunk):
                rows = self._decode(frame)
                if rows and rows[0].kind in OPENS and last in CHANGES:
                    self.complete_bytes = size
                size += len(varint(len(frame))) + len(frame)
                if rows:
                    last = rows[-1].kind
                    if last in ENDS:
                        self.complete_bytes = size
                yield rows

    def ending(self) -> Iterator[Any]:
        """The rows at the end of the source."""
        yield from map(self._decode, self.splitter.finish())
        yield self.finish()

    def finish(self) -> Any:
        return self.decoder.finish()

    @property
    def has_marks(self) -> bool:
        """Whether marks end patches."""
        options = self.decoder.options
        return options is None or options.stream_type is PatchStreamType.PUNCTUATED

    def _decode(self, frame: bytes) -> Any:
        operations = self.decoder.decode(frame).operations
        if self.has_marks:
            return operations
        rows: list[AnyOperation] = []
        for row in operations:
            self.add(row, rows)
        return rows

    def add(self, row: AnyOperation, rows: list[AnyOperation]) -> None:
        """Add a row of a stream of type FLAT, or of a frame of one of type FRAME, which are one
        patch. Jelly-JVM writes several patches into one, with their headers, which begin patches as
        in text.
        """
        if not self._order.add(row, rows):
            return
        if self._several is None:
            is_frame = self.decoder.options.stream_type is PatchStreamType.FRAME
            extent = "frame" if is_frame else "stream"
            message = f"a header begins another patch in a {extent} that is one patch"
            self._several = OrderError(message, frame=self.decoder.next_frame - 1)
        if self._strict:
            raise self._several


class RewrittenError(SourceError):
    """The file has other data after its last complete transaction than was read there: its writer
    was killed in the middle of a patch, and has removed that patch."""


class Followed:
    """A source that is read while it grows. Only a file with a path is checked.

    A writer that was killed may leave a truncated patch at the end of the file, which the next
    writer removes. What was read of an incomplete patch is therefore compared with the file before
    more is read. Complete transactions must stay; one that is rewritten in place is not detected.
    """

    def __init__(self, src: Source) -> None:
        # The process may go to another folder meanwhile.
        self._path: Final = os.path.abspath(src) if isinstance(src, str | os.PathLike) else ""
        self._file: Final = self._look()
        #: Bytes that were read, and bytes up to the end of the last complete transaction.
        self._read = self._complete = 0
        #: The first bytes after that, and the last bytes read.
        self._opening = self._last = b""

    def _look(self) -> os.stat_result | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found if S_ISREG(found.st_mode) else None

    def take(self, chunk: bytes) -> None:
        """Note a chunk that was read, before it is decoded."""
        if self._file is None:
            return
        found = self._look()
        # Of a file that was replaced, the rest is read first.
        if self._opening and found is not None and os.path.samestat(found, self._file):
            self._compare(found.st_size)
        if len(self._opening) < _COMPARED:
            self._opening += chunk[: _COMPARED - len(self._opening)]
        self._read += len(chunk)
        self._last = chunk

    def complete(self, size: int) -> None:
        """Note how many bytes there are up to the end of the last complete transaction."""
        if self._file is not None and size > self._complete:
            self._complete = size
            # It usually ended in the last chunk.
            after = self._read - size
            if after <= len(self._last):
                self._opening = self._last[len(self._last) - after :][:_COMPARED]
            else:
                self._opening = self._at(size, min(after, _COMPARED))

    def check(self) -> None:
        """Raise an error if the file was removed or replaced, or has lost data."""
        if self._file is None:
            return
        found = self._look()
        if found is None or not os.path.samestat(found, self._file):
            raise SourceError("the file that is followed was removed or replaced")
        self._compare(found.st_size)

    def _compare(self, size: int) -> None:
        """Raise an error for a file of some size that has lost data."""
        if size < self._complete:
            raise SourceError(
                f"the file that is followed was rewritten: it has {size} bytes, and "
                f"{self._complete} bytes of complete patches were read"
            )
        known = self._opening
        if size < self._read or (known and self._at(self._complete, len(known)) != known):
            raise RewrittenError("the last patch of the file that is followed was replaced")

    def _at(self, start: int, size: int) -> bytes:
        try:
            with open(self._path, "rb") as file:
                file.seek(start)
                return file.read(size)
        except OSError as error:
            raise SourceError(
                f"the file that is followed cannot be read any more: {error.strerror}"
            ) from None


class PatchReader(Closing):
    """Reads a source row by row: an iterator of operations, with headers and the END of each patch
    among them; and a context manager that closes the source. For one thread at a time: a second one
    gets Python's own ValueError for a generator that is executing already.

    :param src: path, URL, open binary file or bytes; format and compression are detected from the
        content, or from the name if the content is ambiguous.
    :param wait: makes the reader follow a source that grows. It is called at the current end of the
        source and returns whether to read again; if not, iteration ends, and an incomplete patch is
        not an error (see :attr:`inside_patch`). Compressed sources cannot be followed. A file,
        given by its path, that is deleted or replaced meanwhile, or loses complete transactions, is
        an error. If only its last, incomplete patch was removed, by the recorder that continues
        after another one was killed, a :class:`~jelly_plugins.patch.reader.RewrittenError` is
        raised: read the log again from its beginning.
    :param starve: called before more of the source is read, which may take a while.
    :param settings: see :class:`ReadOptions`.
    :raises OptionsError: there is no such format or statement type.
    :raises JellyError: while iterating, with source and place. Without ``wait``, a source that ends
        inside a patch is truncated. A stream of type PUNCTUATED that ends without a mark, as
        Jelly-JVM writes it, does not end inside one if it ends after an operation or a
        transaction.

    >>> from jelly_plugins.codec import OperationKind
    >>> with PatchReader(b"TX . TC .") as rows:
    ...     [row.kind.code for row in rows]
    ['TX', 'TC', 'Z']
    """

    def __init__(
        self,
        src: Source,
        *,
        wait: Callable[[], bool] | None = None,
        starve: Callable[[], object] | None = None,
        **settings: Unpack[ReadOptions],
    ) -> None:
        self._settings = ReadSettings(**settings)
        #: The source's format; None until something was read, unless it was given.
        self.format = cast(PatchFormat | None, self._settings.format)
        self._input = Input(src)
        #: The source's name, as errors have it.
        self.name = self._input.name
        self._wait = wait
        self._starve = starve
        self._followed = None if wait is None else Followed(src)
        #: Reads the rows; None until the format is known.
        self._source: JellyReader | PatchTextReader | PatchRowReader | None = None
        #: Whether nothing shows that the source is a log, and its first bytes.
        self._guessed = False
        self._opening = b""
        #: The rows in lists, those that come together: of a Jelly-Patch stream, those of a frame.
        #: For callers that process them in batches.
        self.batches = self._read()
        self._rows = self._each()

    def _jelly_reader(self) -> JellyReader:
        settings = self._settings
        decoder = PatchDecoder(settings.factory, limits=settings.limits, strict=settings.strict)
        return JellyReader(decoder, settings)

    @property
    def _jelly(self) -> JellyReader | None:
        return self._source if isinstance(self._source, JellyReader) else None

    @property
    def options(self) -> PatchOptions | None:
        """The options of a Jelly-Patch stream, once its first frame was read; None for text."""
        options: PatchOptions | None = self._jelly.decoder.options if self._jelly else None
        return options

    @property
    def deviations(self) -> list[JellyError]:
        """What was read so far though it is not valid, as the errors that it would be if reading
        were strict: each kind of it once, with the place of the first."""
        found = self._jelly.deviations if self._jelly else []
        return [error.locate(source=self.name) for error in found]

    @property
    def is_bare(self) -> bool:
        """Whether the source is a single frame of Jelly-Patch, without its length before it."""
        jelly = self._jelly
        return jelly is not None and jelly.splitter.delimited is False and self.options is not None

    @property
    def compression(self) -> str | None:
        """The compression of the source; None without one."""
        return self._input.compression

    @property
    def complete_bytes(self) -> int:
        """Bytes up to the end of the last complete transaction or patch that was read."""
        return self._source.complete_bytes if self._source else 0

    @property
    def inside_patch(self) -> bool:
        """Whether something was read that is not complete: rows after the last END, or part of a
        frame or line. A stream of type FLAT is one patch, of which there may always be more."""
        return self._source is not None and self._source.inside_patch

    def __iter__(self) -> Iterator[Operation]:
        # Not itself: a call for each row would cost more than decoding it.
        return self._rows

    def __next__(self) -> Operation:
        return next(self._rows)

    def _repr_html_(self) -> str:
        known = {"source": self.name, "format": self.format, "options": self.options}
        return table(type(self).__name__, known.items())

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self.batches.close()
        # A patch that is being read keeps the rows of its frame.
        self._rows = self._each()
        # The exception may refer to this reader, and to a store that closes when unreferenced.
        self._starve = None
        self._input.close()

    def _each(self) -> Generator[Operation]:
        """The rows. A generator rejects a second caller; what itertools has would lose rows."""
        for batch in self.batches:
            yield from batch

    def _read(self) -> Generator[Iterable[Operation]]:
        """The rows in lists; an error names the source, which is closed in the end."""
        growing = self._wait is not None
        try:
            if growing and self._input.compression is not None:
                raise SourceError(f"compressed with {self._input.compression}: cannot be followed")
            # The format is detected from the first bytes.
            chunks = self._chunks()
            head = b""
            for chunk in chunks:
                head += chunk
                if _TEXT_ROW.match(head) or not is_cut(head) or len(head) >= _OPENING:
                    break
            self._opening = head[:_OPENING]
            if self.format is None:
                found = detect(head, self.name)
                self._guessed = found is None
                self.format = found or PatchFormat.JELLY_PATCH
            if self.format is PatchFormat.RDF_PATCH:
                self._source = PatchTextReader(self._settings)
            elif self.format is PatchFormat.RDF_PATCH_THRIFT:
                self._source = PatchRowReader(self._settings)
            else:
                self._source = self._jelly_reader()
            yield from self._lists(chain((head,), chunks), growing=growing)
        except JellyError as error:
            raise self._explained(error).locate(source=self.name) from error.__cause__
        finally:
            self._input.close()

    def _lists(self, chunks: Iterator[bytes], *, growing: bool) -> Iterator[Iterable[Operation]]:
        assert self._source is not None
        yield from self._source.batches(chunks, growing=growing)
        if not growing:
            yield from self._source.ending()

    def _explained(self, error: JellyError) -> JellyError:
        """An error, or a clearer one for a source that is not a log."""
        if self.options is not None:
            return error
        if kind_of(self._opening) is StreamKind.JELLY_RDF:
            return SourceError("this is Jelly-RDF, not a log of patches")
        if self._guessed:
            error.message = f"neither Jelly-Patch nor RDF Patch text: {error.message}"
        return error

    def _chunks(self) -> Iterator[bytes]:
        while True:
            more = False
            for chunk in self._input.chunks():
                more = True
                if self._followed is not None:
                    self._followed.take(chunk)
                yield chunk
                if self._followed is not None:
                    self._followed.complete(self.complete_bytes)
                if self._starve is not None:
                    self._starve()
            if self._wait is None or self._followed is None:
                return
            # A file that was replaced may have got more before.
            if not more:
                self._followed.check()
            if not self._wait():
                return


def read_patches(src: Source, **settings: Unpack[ReadOptions]) -> Iterator[Patch]:
    """Read patches, by default in generic terms; blank node labels are kept.

    Patches stream: iterating over one gives its operations as they are read. Asking for the next
    patch reads what was not iterated over into memory. The source stays open until the iterator
    and the patch that is being read are gone.

    :param settings: see :class:`ReadOptions`.
    :raises JellyError: while iterating over patches or their operations, with source and place.

    >>> [patch] = read_patches(b"H id <urn:1> . TX . A <urn:s> <urn:p> <urn:o> . TC .")
    >>> patch.id, len(patch.operations)
    (Iri(value='urn:1'), 3)
    """
    owner = _Owner(PatchReader(src, **settings))
    for patch in group(owner.rows, owner.rows.name):
        patch.keep(owner)
        yield patch


class _Owner:
    """Closes a reader once neither an iterator of patches nor a patch refers to it."""

    def __init__(self, rows: PatchReader) -> None:
        self.rows = rows

    def __del__(self) -> None:
        self.rows.close()
