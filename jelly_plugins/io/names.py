"""RDF formats: their names and their file endings."""

from __future__ import annotations

import os
from collections.abc import Collection
from enum import StrEnum
from typing import Final, Protocol, Self, TypeAlias

from ..errors import SourceError
from .sinks import Destination, ending_of
from .sources import name_of


class Format(StrEnum):
    """An RDF format; its value is a short name, which is also its usual file ending.

    :ivar has_graphs: whether it can name graphs.
    :ivar is_binary: whether it is not text.
    """

    has_graphs: bool
    is_binary: bool

    JELLY = "jelly", True, True
    #: Frames of Jelly in the text form of Protocol Buffers.
    JELLY_TEXT = "jelly-text", True
    N_TRIPLES = "nt"
    N_QUADS = "nq", True
    TURTLE = "ttl"
    TRIG = "trig", True
    RDF_XML = "rdf"
    JSON_LD = "jsonld", True
    RDF_THRIFT = "rt", True, True
    RDF_PROTOBUF = "rpb", True, True

    def __new__(cls, name: str, has_graphs: bool = False, is_binary: bool = False) -> Self:
        made = str.__new__(cls, name)
        made._value_ = name
        made.has_graphs = has_graphs
        made.is_binary = is_binary
        return made


_ENDINGS: Final = {f".{each}": each for each in Format} | {
    ".ntriples": Format.N_TRIPLES,
    ".nquads": Format.N_QUADS,
    ".turtle": Format.TURTLE,
    ".owl": Format.RDF_XML,
    ".xml": Format.RDF_XML,
    ".txtpb": Format.JELLY_TEXT,
    ".trdf": Format.RDF_THRIFT,
    ".pbrdf": Format.RDF_PROTOBUF,
}


#: Other names of the formats, rdflib's among them; without hyphens and slashes.
_ALIASES: Final = {
    "jellytext": Format.JELLY_TEXT,
    "jellyrdf": Format.JELLY,
    "ntriples": Format.N_TRIPLES,
    "nt11": Format.N_TRIPLES,
    "nquads": Format.N_QUADS,
    "turtle": Format.TURTLE,
    "longturtle": Format.TURTLE,
    "rdfxml": Format.RDF_XML,
    "xml": Format.RDF_XML,
    "prettyxml": Format.RDF_XML,
    "streamingjsonld": Format.JSON_LD,
    "rdfthrift": Format.RDF_THRIFT,
    "rdfprotobuf": Format.RDF_PROTOBUF,
}

_MEDIA_TYPES: Final = {
    "application/x-jelly-rdf": Format.JELLY,
    "application/n-triples": Format.N_TRIPLES,
    "application/n-quads": Format.N_QUADS,
    "text/x-nquads": Format.N_QUADS,
    "text/turtle": Format.TURTLE,
    "application/turtle": Format.TURTLE,
    "application/x-turtle": Format.TURTLE,
    "application/trig": Format.TRIG,
    "application/rdf+xml": Format.RDF_XML,
    "application/ld+json": Format.JSON_LD,
    "application/rdf+thrift": Format.RDF_THRIFT,
    "application/rdf+protobuf": Format.RDF_PROTOBUF,
}


#: Names of formats, without hyphens, for suggestions.
FORMAT_NAMES: Final = (*_ALIASES, *Format)


class WithMediaType(Protocol):
    """A constant of a library that names a format, such as pyoxigraph's ``RdfFormat``."""

    @property
    def media_type(self) -> str: ...


#: A name of a format, see :func:`format_named`.
FormatName: TypeAlias = Format | str | WithMediaType


def format_named(name: FormatName) -> Format:
    """The format with a given name.

    :param name: a :class:`Format`, its short name or title, a file ending, a media type with or
        without parameters, a name that rdflib has for it, or pyoxigraph's ``RdfFormat``.
    :raises ValueError: there is no format of that name.

    >>> format_named("Turtle"), format_named(".nq"), format_named("application/n-triples")
    (<Format.TURTLE: 'ttl'>, <Format.N_QUADS: 'nq'>, <Format.N_TRIPLES: 'nt'>)
    """
    # pyoxigraph's constants have their media type.
    given = name if isinstance(name, str) else getattr(name, "media_type", None)
    lower = given.lower().strip() if isinstance(given, str) else ""
    plain = lower.replace("-", "").replace("/", "")
    if plain in ("n3", "notation3", "textn3"):
        raise ValueError(_NO_N3)
    found = (
        _MEDIA_TYPES.get(lower.partition(";")[0].strip())
        or _ENDINGS.get(lower)
        or _ENDINGS.get(f".{lower}")
        or _ALIASES.get(plain)
        or _ENDINGS.get(f".{plain}")
    )
    if found is None:
        hint = did_you_mean(plain, FORMAT_NAMES) if plain else ""
        raise ValueError(f"{name!r} is not one of the formats {', '.join(Format)}{hint}")
    return found


def did_you_mean(given: str, names: Collection[str]) -> str:
    """A suggestion for a misspelt name, for the end of a message.

    >>> did_you_mean("turtel", ["turtle", "trig"])
    '; did you mean turtle?'
    >>> did_you_mean("x", ["turtle"])
    ''
    """
    from difflib import get_close_matches

    close = get_close_matches(given, list(names), 1)
    return f"; did you mean {close[0]}?" if close else ""


_NO_N3: Final = "Notation3 is not supported; if the text is Turtle, give the format turtle"

#: File endings that name a format.
ENDINGS: Final = tuple(_ENDINGS)


def format_of(named: object) -> Format | None:
    """The format that a path or the name of an open file ends in, compressed or not; None if
    unknown.

    :raises SourceError: it is the ending of Notation3, which many files of Turtle have.

    >>> format_of("data/x.ttl.gz"), format_of("x.txt"), format_of(b"data")
    (<Format.TURTLE: 'ttl'>, None, None)
    """
    ending = ending_of(named)
    if ending == ".n3":
        raise SourceError(_NO_N3, source=name_of(named))
    return _ENDINGS.get(ending)


def check_jelly_name(dst: Destination) -> None:
    """Check a destination that gets Jelly: readers choose the format by a path's ending.

    :raises SourceError: the path has the ending of another format. An unknown ending is accepted,
        and so is an open file of any name.

    >>> check_jelly_name("x.nt.gz")
    Traceback (most recent call last):
    jelly_plugins.errors.SourceError: x.nt.gz: Jelly is written, and the name is of the format nt: \
name the file .jelly, or write nt with jelly_plugins.convert, Store.dump or Graph.serialize
    """
    if not isinstance(dst, str | os.PathLike):
        return
    named = format_of(dst)
    if named not in (None, Format.JELLY):
        raise SourceError(
            f"Jelly is written, and the name is of the format {named}: name the file .jelly, or "
            f"write {named} with jelly_plugins.convert, Store.dump or Graph.serialize",
            source=os.fspath(dst),
        )
