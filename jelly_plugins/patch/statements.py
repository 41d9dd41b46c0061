"""The statements of graphs, datasets, stores and files: what can be held against each other.

Files and the objects of backends come in generic terms, to the letter. Statements that are given as
such are not touched, whatever their terms are.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, TypeGuard, cast

from ..backends import find_owner
from ..formats.names import Format, format_of
from ..formats.reading import read_statements
from ..formats.settings import ConversionSettings
from ..io.sources import Source
from ..io.streams import read

#: A file in any RDF format, a graph, dataset or store of a backend, or the statements themselves.
Statements: TypeAlias = Source | Iterable[Any]


def statements_of(source: Statements, *, base: str | None = None) -> Iterator[Any]:
    """The statements of a source.

    :param source: a path, URL, open binary file or bytes, which are Jelly unless the name ends as
        that of another format; an object of a backend (an rdflib ``Graph``, a pyoxigraph
        ``Store``); or an iterable of statements, which come as they are.
    :param base: IRI that relative ones in a file are resolved against; without it they are
        rejected.
    :return: triples or quads; in generic terms unless they were given as they are.
    :raises JellyError: the source cannot be read.
    """
    if is_file(source):
        return _read(source, base)
    backend = find_owner(source)
    if backend is None:
        return iter(cast(Iterable[Any], source))
    # Whatever the backend, what it writes is what it holds.
    data = io.BytesIO()
    backend.dump(source, data)
    return read(data.getvalue())


def is_file(source: Statements) -> TypeGuard[Source]:
    """Whether a source is read: a path, URL, open binary file or bytes."""
    data = isinstance(source, bytes | bytearray | memoryview | str | os.PathLike)
    return data or hasattr(source, "read")


def _read(src: Source, base: str | None) -> Iterator[Any]:
    name = src if isinstance(src, str | os.PathLike) else getattr(src, "name", "")
    form = format_of(str(name)) or Format.JELLY
    return read_statements(src, form, ConversionSettings(base=base))
