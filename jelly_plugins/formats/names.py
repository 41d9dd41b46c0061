"""RDF formats: their names and their file endings."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

from ..io.sinks import ending_of


class Format(StrEnum):
    """A format by its short name, which is also its usual file ending."""

    JELLY = "jelly"
    #: Frames of Jelly in the text form of Protocol Buffers.
    JELLY_TEXT = "jelly-text"
    N_TRIPLES = "nt"
    N_QUADS = "nq"
    TURTLE = "ttl"
    TRIG = "trig"
    RDF_XML = "rdf"
    JSON_LD = "jsonld"
    RDF_THRIFT = "rt"
    RDF_PROTOBUF = "rpb"

    @property
    def is_binary(self) -> bool:
        """Whether the format is no text."""
        return self is Format.JELLY or self.is_jena

    @property
    def is_jena(self) -> bool:
        """Whether the format is one of Apache Jena's binary ones."""
        return self in (Format.RDF_THRIFT, Format.RDF_PROTOBUF)

    @property
    def has_graphs(self) -> bool:
        """Whether the format can name graphs."""
        return self in _WITH_GRAPHS


_WITH_GRAPHS: Final = frozenset(
    {
        Format.JELLY,
        Format.JELLY_TEXT,
        Format.N_QUADS,
        Format.TRIG,
        Format.JSON_LD,
        Format.RDF_THRIFT,
        Format.RDF_PROTOBUF,
    }
)

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


#: What else people call the formats, besides their file endings; without hyphens.
_ALIASES: Final = {
    "jellytext": Format.JELLY_TEXT,
    "ntriples": Format.N_TRIPLES,
    "nquads": Format.N_QUADS,
    "turtle": Format.TURTLE,
    "rdfxml": Format.RDF_XML,
    "xml": Format.RDF_XML,
    "rdfthrift": Format.RDF_THRIFT,
    "rdfprotobuf": Format.RDF_PROTOBUF,
}


#: What a format may be called, without hyphens.
FORMAT_NAMES: Final = (*_ALIASES, *Format)


def format_named(name: str) -> Format:
    """The format that somebody calls by a name: its file ending, or its title.

    :raises ValueError: there is none of that name.

    >>> format_named("Turtle"), format_named("n-quads"), format_named("nt")
    (<Format.TURTLE: 'ttl'>, <Format.N_QUADS: 'nq'>, <Format.N_TRIPLES: 'nt'>)
    """
    plain = name.lower().replace("-", "").replace("/", "")
    try:
        return _ALIASES.get(plain) or Format(plain)
    except ValueError:
        hint = did_you_mean(plain, FORMAT_NAMES)
        raise ValueError(f"{name!r} is not one of the formats {', '.join(Format)}{hint}") from None


def did_you_mean(given: str, names: Collection[str]) -> str:
    """A question about what was perhaps misspelt, to end a message with.

    >>> did_you_mean("turtel", ["turtle", "trig"])
    '; did you mean turtle?'
    >>> did_you_mean("x", ["turtle"])
    ''
    """
    close = get_close_matches(given, list(names), 1)
    return f"; did you mean {close[0]}?" if close else ""


#: File endings that name a format.
ENDINGS: Final = tuple(_ENDINGS)


def format_of(name: str) -> Format | None:
    """The format that a file's name tells, compressed or not; None if it tells none.

    >>> format_of("data/x.ttl.gz"), format_of("x.txt")
    (<Format.TURTLE: 'ttl'>, None)
    """
    return _ENDINGS.get(ending_of(name))
