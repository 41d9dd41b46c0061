"""Formats of SPARQL results: names, file endings, media types, detection by content."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from typing import Any, Final

from ..codec.common.detection import StreamKind, kind_of
from ..io.sinks import ending_of
from ..jena.names import JenaFormat, detect


class ResultsFormat(StrEnum):
    """A format; its value is its usual file ending."""

    JELLY = "jellys"
    THRIFT = "srt"
    PROTOBUF = "srp"
    JSON = "srj"
    XML = "srx"
    CSV = "csv"
    TSV = "tsv"

    @property
    def is_binary(self) -> bool:
        """Whether the format is not text."""
        return self is ResultsFormat.JELLY or self.jena is not None

    @property
    def jena(self) -> JenaFormat | None:
        """The encoding of one of Apache Jena's binary formats; None for any other format."""
        return _JENA.get(self)

    @property
    def media_type(self) -> str:
        """The format's media type, as HTTP's ``Accept`` and ``Content-Type`` have it."""
        return _MEDIA_TYPES[self]


_JENA: Final = {
    ResultsFormat.THRIFT: JenaFormat.THRIFT,
    ResultsFormat.PROTOBUF: JenaFormat.PROTOBUF,
}
_MEDIA_TYPES: Final = {
    ResultsFormat.JELLY: "application/x-jelly-sparql",
    ResultsFormat.THRIFT: "application/sparql-results+thrift",
    ResultsFormat.PROTOBUF: "application/sparql-results+protobuf",
    ResultsFormat.JSON: "application/sparql-results+json",
    ResultsFormat.XML: "application/sparql-results+xml",
    ResultsFormat.CSV: "text/csv",
    ResultsFormat.TSV: "text/tab-separated-values",
}
_NAMES: Final = (
    {str(each): each for each in ResultsFormat}
    | {media_type: each for each, media_type in _MEDIA_TYPES.items()}
    | {
        "jelly-sparql": ResultsFormat.JELLY,
        "json": ResultsFormat.JSON,
        "xml": ResultsFormat.XML,
        "rdf-thrift": ResultsFormat.THRIFT,
        "rdf-protobuf": ResultsFormat.PROTOBUF,
        # The caller decides whether it reads results or statements.
        JenaFormat.THRIFT: ResultsFormat.THRIFT,
        JenaFormat.PROTOBUF: ResultsFormat.PROTOBUF,
    }
)

#: Bytes of a source that are enough to detect its format.
DETECTION_BYTES: Final = 1024


def format_named(name: str) -> ResultsFormat:
    """The format with this file ending, title or media type.

    :raises ValueError: there is no format of that name.

    >>> format_named("jelly-sparql"), format_named("application/sparql-results+json")
    (<ResultsFormat.JELLY: 'jellys'>, <ResultsFormat.JSON: 'srj'>)
    """
    found = _NAMES.get(name.lower())
    if found is None:
        raise ValueError(f"{name!r} is not one of the formats {', '.join(ResultsFormat)}")
    return found


def format_of(named: object) -> ResultsFormat | None:
    """The format that a path or the name of an open file ends in, compressed or not; None if it is
    another format.

    >>> format_of("x.jellys.gz"), format_of("x.srt"), format_of("x.nt")
    (<ResultsFormat.JELLY: 'jellys'>, <ResultsFormat.THRIFT: 'srt'>, None)
    """
    try:
        return ResultsFormat(ending_of(named).removeprefix("."))
    except ValueError:
        return None


def codec_of(form: ResultsFormat) -> Any:
    """The reader and writer of a format other than Jelly-SPARQL. Each needs libraries of its own,
    and is imported on first use."""
    module, name = {
        ResultsFormat.THRIFT: ("jena", "THRIFT"),
        ResultsFormat.PROTOBUF: ("jena", "PROTOBUF"),
        ResultsFormat.JSON: ("json", "FORMAT"),
        ResultsFormat.XML: ("xml", "FORMAT"),
        ResultsFormat.CSV: ("tables", "CSV"),
        ResultsFormat.TSV: ("tables", "TSV"),
    }[form]
    return getattr(import_module(f".{module}", __package__), name)


def detected(head: bytes) -> ResultsFormat | None:
    """The format of content that begins with ``head``; None if it is not known. TSV and CSV have no
    signature.

    >>> detected(b'{"head": {}, "boolean": true}')
    <ResultsFormat.JSON: 'srj'>
    """
    if kind_of(head) is StreamKind.JELLY_SPARQL:
        return ResultsFormat.JELLY
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"<?xml", b"<sparql")):
        return ResultsFormat.XML
    if text.startswith(b"{"):
        return ResultsFormat.JSON
    encoding = detect(head)
    return next((each for each, jena in _JENA.items() if jena is encoding), None)
