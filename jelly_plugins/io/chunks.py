"""Chunks of N-Quads text: the form in which statements go from any format to any other.

A conversion is ``reader -> chunks -> writer``. Readers and writers of all formats have the two
interfaces below; ``formats.table`` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, Self


class Chunk(NamedTuple):
    """Statements as text.

    :ivar text: whole lines of N-Quads in the syntax of RDF 1.2, each ending in ``.`` and a line
        feed. A base direction is part of the language tag (``@en--ltr``).
    :ivar statements: their number, repeats included.
    """

    text: bytes
    statements: int


class ChunkReader(Protocol):
    """An open source of a format: a context manager that closes it, and an iterator of its chunks.

    :ivar name: the source's name, as errors have it.
    :ivar namespaces: IRI by prefix; filled while the source is read, complete at the end. What a
        chunk uses is usually declared before it is yielded.
    """

    name: str
    namespaces: dict[str, str]

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def __iter__(self) -> Iterator[Chunk]: ...


class ChunkWriter(Protocol):
    """An open destination of a format: a context manager. Leaving the block without an error writes
    what is still held; leaving it with one abandons the output.
    """

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def write(self, chunk: Chunk, /) -> None:
        """Write statements.

        :raises JellyError: the format cannot express one of them.
        """
        ...
