"""Formats of SPARQL results: names, file endings, media types, detection by content."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from typing import Any, Final, Self

from ..codec.common.detection import StreamKind, kind_of
from ..errors import shown
from ..io.sources import ending_of
from ..jena.names import JenaFormat, detect


class ResultsFormat(StrEnum):
    """A format; its value is its usual file ending.

    :ivar media_type: as HTTP's ``Accept`` and ``Content-Type`` have it.
    """

    JELLY = "jellys", "application/x-jelly-sparql"
    THRIFT = "srt", "application/sparql-results+thrift"
    PROTOBUF = "srp", "application/sparql-results+protobuf"
    JSON = "srj", "application/sparql-results+json"
    XML = "srx", "application/sparql-results+xml"
    CSV = "csv", "text/csv"
    TSV = "tsv", "text/tab-separated-values"

    media_type: str

    def __new__(cls, ending: str, media_type: str = "") -> Self:
        made = str.__new__(cls, ending)
        made._value_ = ending
        made.media_type = media_type
        return made

    @property
    def is_binary(self) -> bool:
        """Whether the format is not text."""
        return self is ResultsFormat.JELLY or self.jena is not None

    @property
    def jena(self) -> JenaFormat | None:
        """The encoding of one of Apache Jena's binary formats; None for any other format."""
        return _JENA.get(self)


_JENA: Final = {
    ResultsFormat.THRIFT: JenaFormat.THRIFT,
    ResultsFormat.PROTOBUF: JenaFormat.PROTOBUF,
}
_NAMES: Final = {
    "jelly-sparql": ResultsFormat.JELLY,
    "json": ResultsFormat.JSON,
    "xml": ResultsFormat.XML,
    "rdf-thrift": ResultsFormat.THRIFT,
    "rdf-protobuf": ResultsFormat.PROTOBUF,
    # The caller decides whether it reads results or statements.
    **{str(jena): each for each, jena in _JENA.items()},
    **{str(each): each for each in ResultsFormat},
    **{each.media_type: each for each in ResultsFormat},
}

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
        raise ValueError(f"{shown(name)} is not one of the formats {', '.join(ResultsFormat)}")
    return found


def format_of(named: object) -> ResultsFormat | None:
    """The format that a path or the name of an open file ends in, compressed or not; None if it is
    another format.

    >>> format_of("x.jellys.gz"), format_of("x.srt"), format_of("x.nt")
    (<ResultsFormat.JELLY: 'jellys'>, <ResultsFormat.THRIFT: 'srt'>, None)
    """
    ending = ending_of(named).removeprefix(".")
    return next((each for each in ResultsFormat if each == ending), None)


def codec_of(form: ResultsFormat) -> Any:
    """The reader and writer of a format other than Jelly-SPARQL. Each needs libraries of its own,
    and is imported on first use."""
    name = {"srj": "json", "srx": "xml", "srt": "jena", "srp": "jena"}.get(form, "tables")
    return import_module(f".{name}", __package__).FORMATS[form]


def detected(head: bytes) -> ResultsFormat | None:
    """The format of content that begins with ``head``; None if it is not known. TSV and CSV have no
    signature."""
    if kind_of(head) is StreamKind.JELLY_SPARQL:
        return ResultsFormat.JELLY
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"<?xml", b"<sparql")):
        return ResultsFormat.XML
    if text.startswith(b"{"):
        return ResultsFormat.JSON
    encoding = detect(head)
    return next((each for each, jena in _JENA.items() if jena is encoding), None)
