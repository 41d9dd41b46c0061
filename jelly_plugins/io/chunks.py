"""Chunks of N-Quads text: the form in which statements go from any format to any other.

``formats.convert`` has a reader and a writer for each format. A reader is a :class:`ChunkReader`. A
writer is a function of a reader, an open output and the settings of the conversion.
"""

from __future__ import annotations

import io
import re
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, NamedTuple, TypeVar

from ..codec.text.lines import shorten
from ..errors import JellyError, TermError, TextError
from .sources import Closing

_T = TypeVar("_T")

#: Items that wait to be taken from a thread.
_WAITING: Final = 4


class Chunk(NamedTuple):
    """Statements as text.

    :ivar text: whole lines of N-Quads in the syntax of RDF 1.2, one for each statement: terms with
        one space after each, then a full stop and a line feed. There are no comments and no escapes
        in IRIs. A base direction follows the language tag (``@en--ltr``).
    :ivar statements: their number, repeats included.
    """

    text: bytes
    statements: int


class ChunkReader(Closing):
    """An open source: an iterator of its chunks, once, and a context manager that closes it.

    :ivar name: name of the source in error messages.
    :ivar namespaces: IRI by prefix; filled while the source is read, complete at the end.
    :ivar has_namespaces: whether the format can declare any.
    :ivar has_graphs: whether there may be statements in named graphs.
    :ivar has_relative_iris: whether there may be relative IRIs in the chunks so far.
    :ivar source_bytes: unpacked bytes read so far, where a few of them may make many bytes of text;
        None for formats that bound this themselves.
    :ivar validated: whether Oxigraph accepts all terms, so that its parser need not check them.
    """

    name: str
    namespaces: dict[str, str]
    has_namespaces: bool = True
    has_graphs: bool = True
    has_relative_iris: bool = False
    validated: bool = False
    source_bytes: int | None = None

    @abstractmethod
    def __iter__(self) -> Iterator[Chunk]:
        """The chunks."""

    def lines(self) -> Iterator[bytes]:
        """The text alone, for a consumer that checks each line: it may get lines as the source has
        them, in chunks that end anywhere.
        """
        for chunk in self:
            yield chunk.text

    def located(self, error: JellyError) -> JellyError:
        """An error of a consumer of the chunks or :meth:`lines`, as one of the source; those of the
        reader stay as they are.
        """
        if error.source is None and isinstance(error, TextError):
            # These lines are internal.
            error.line = error.column = None
        return error.locate(source=self.name)


class Joined(ChunkReader):
    """Several sources as one.

    :param fresh: whether equal labels of blank nodes in two sources are two nodes.
    """

    has_relative_iris = True

    def __init__(
        self, readers: Iterable[ChunkReader], *, fresh: bool, has_graphs: bool, validated: bool
    ) -> None:
        self.name = ""
        self.namespaces = {}
        self.has_graphs = has_graphs
        self.validated = validated
        self._readers = readers
        self._fresh = fresh
        self._stack = ExitStack()
        self._reader: ChunkReader | None = None

    def __iter__(self) -> Iterator[Chunk]:
        for number, reader in enumerate(self._readers):
            with self._stack:
                self._reader = self._stack.enter_context(reader)
                self.name = reader.name
                for text, statements in reader:
                    for prefix, iri in reader.namespaces.items():
                        self.namespaces.setdefault(prefix, iri)
                    yield Chunk(scoped(text, number) if self._fresh else text, statements)
                for prefix, iri in reader.namespaces.items():
                    self.namespaces.setdefault(prefix, iri)

    def located(self, error: JellyError) -> JellyError:
        return error if self._reader is None else self._reader.located(error)

    def close(self) -> None:
        """Close the source that is being read."""
        self._stack.close()


class ChunkFile(io.RawIOBase):
    """An iterator of bytes as a file; closing it closes the iterator."""

    def __init__(self, chunks: Iterator[bytes], name: str | None = None) -> None:
        super().__init__()
        self.name = name
        self._chunks = chunks
        #: The current chunk: a parser asks for 2 KB at a time.
        self._chunk = io.BytesIO()
        self._size = 0

    @property
    def is_read(self) -> bool:
        """Whether all that has come was read, so that reading on may take a while."""
        return self._chunk.tell() == self._size

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """At most ``size`` bytes, of one chunk; none at the end."""
        if size is None or size < 0:
            return self.readall()
        data = self._chunk.read(size)
        if not data and size:
            chunk = next(self._chunks, b"")
            self._chunk, self._size = io.BytesIO(chunk), len(chunk)
            data = self._chunk.read(size)
        return data

    def readinto(self, buffer: Any, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        close = getattr(self._chunks, "close", None)
        if close is not None and not self.closed:
            close()
        super().close()


class _StoppedError(Exception):
    """No more items are taken."""


def in_thread(produce: Callable[[Callable[[_T], None]], object]) -> Generator[_T]:
    """What a function makes in a thread of its own, while the items before are used. Closing the
    iterator ends the thread.

    :param produce: called with a function that hands an item over, once there is space for it. The
        iterator raises what it raises.
    """
    # A bounded Queue takes 40 µs for an item here, since each thread waits for Python's lock.
    items: SimpleQueue[Any] = SimpleQueue()
    #: For each item that may be put, whether items are still taken.
    places: SimpleQueue[bool] = SimpleQueue()
    for _ in range(_WAITING):
        places.put(True)

    def put(item: Any) -> None:
        if not places.get():
            # For the next call: a caller may go on after an error.
            places.put(False)
            raise _StoppedError
        items.put((item,))

    def run() -> None:
        failed = None
        try:
            produce(put)
        except BaseException as error:
            failed = error
        # The last item: the error, if there is one.
        items.put(failed)

    thread = Thread(target=run, name="jelly-chunks", daemon=True)
    try:
        # An interrupt may come before this has returned.
        thread.start()
        while isinstance(found := items.get(), tuple):
            places.put(True)
            yield found[0]
    finally:
        places.put(False)
        thread.join()
    if found is not None:
        raise found


#: The start of a relative IRI, in a string perhaps; and strings, or such an IRI.
#: The common schemes come first, and what is looked for begins with one character: a tenth of
#: the time.
_RELATIVE: Final = re.compile(rb"<(?!http:|https:|urn:|<|[A-Za-z][A-Za-z0-9+.\-]*+:)(?<!<<)")
_STRING_OR_RELATIVE: Final = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"|' + _RELATIVE.pattern + rb"([^>]*+)>", re.DOTALL
)


def reject_relative(text: bytes) -> None:
    """Check a chunk for a format whose readers reject relative IRIs."""
    if _RELATIVE.search(text) is not None:
        for found in _STRING_OR_RELATIVE.finditer(text):
            if found[1] is not None:
                raise TermError(f"the IRI <{shorten(found[1].decode())}> is relative")


#: The label of a blank node, and literals, which are skipped: they may contain the same characters.
_BLANK_NODE: Final = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"|(?:^|(?<= ))_:([^ ]++)', re.MULTILINE | re.DOTALL
)


def relabelled(text: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The text of a chunk with other labels of blank nodes."""
    if b"_:" not in text:
        return text

    def changed(found: re.Match[bytes]) -> bytes:
        return found[0] if found[1] is None else b"_:" + change(found[1])

    return _BLANK_NODE.sub(changed, text)


def scoped(text: bytes, scope: int) -> bytes:
    """The text of a chunk with the number of its source in the labels of blank nodes."""
    opening = b"s%d." % scope
    return relabelled(text, lambda label: opening + label)
