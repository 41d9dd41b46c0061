"""Writing messages as text: :class:`TextWriter`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import Final

from ..codec import usual_lines
from ..codec.text.ntriples import Notation
from ..errors import TermError
from ..formats.convert import FORMATS
from ..formats.settings import ConversionSettings, Job
from ..io.chunks import Chunk, ChunkReader
from ..io.sinks import Writable
from ..io.sources import Format
from ..lazy import library
from .formats import COMMENT, DELIMITER, HEADER, Dialect, LogFormat, Syntax
from .jelly import JellyText
from .text import TextLog, TextMessage

#: The formats of the messages of each syntax.
_FORMATS: Final = {
    LogFormat.N_TRIPLES: Format.N_TRIPLES,
    LogFormat.N_QUADS: Format.N_QUADS,
    LogFormat.TURTLE: Format.TURTLE,
    LogFormat.TRIG: Format.TRIG,
    LogFormat.NDJSON_LD: Format.JSON_LD,
    LogFormat.YAML_LD: Format.JSON_LD,
    LogFormat.RDF_XML: Format.RDF_XML,
}
_PREFIX: Final = re.compile(r"(?:[A-Za-z](?:[A-Za-z0-9_-]*+))?+")
#: The declarations before the statements of a message.
_DECLARATIONS: Final = re.compile(rb"(?:@prefix [^\n]*+\n)*+")
#: The content of an RDF/XML element without child elements, if it has line feeds.
_LITERAL: Final = re.compile(rb"(<(?!rdf:RDF)[^/!?<>][^<>]*+(?<!/)>)([^<\n]*+\n[^<]*+)(?=</)")
_INDENTATION: Final = re.compile(rb"\n\t*+")
#: Characters that represent others in the reader of YAML-LD.
_NOT_READ: Final = re.compile("[\U0010fffe\U0010ffff\U000fffff]")

#: Maximum number of characters in a line of YAML.
_WIDTH: Final = 1 << 30


class _Source(ChunkReader):
    """One message as a source of the writers of ``formats``."""

    def __init__(self, log: TextLog | JellyText | None, namespaces: Mapping[str, str]) -> None:
        self.name = ""
        self.namespaces = dict(namespaces)
        # Quads that a caller made may have named graphs and relative IRIs.
        self.has_graphs = log is None or log.has_graphs
        self.has_relative_iris = log is None or log.has_relative_iris
        self.validated = log is not None and log.validated
        self.text = b""

    def __iter__(self) -> Iterator[Chunk]:
        yield Chunk(self.text, self.text.count(b"\n"))

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class TextWriter:
    """Writes messages as a log of text. The writers of ``formats`` write the statements.

    :param prefixes: IRI by name, for Turtle, TriG and RDF/XML.
    :param log: the log that the messages come from; None for quads that a caller made.
    :raises ValueError: a prefix has a name that needs escapes.
    """

    def __init__(
        self,
        out: Writable,
        syntax: Syntax,
        prefixes: Mapping[str, str],
        notation: Notation,
        log: TextLog | JellyText | None = None,
    ) -> None:
        self._out = out
        self._format = _FORMATS[syntax.format]
        self._job = Job(settings=ConversionSettings(notation=notation))
        self._source = _Source(log, prefixes)
        self._finished = _FINISHED.get(syntax.format)
        self._quads = syntax.format.has_graphs
        delimited = syntax.format.has_delimiters
        self._early = delimited and syntax.dialect is Dialect.COMMENT_2025
        self._after = DELIMITER if delimited and not self._early else b""
        self._first = True
        #: Whether the last message had no statements.
        self._empty = False
        if self._after:
            out.write(HEADER)
        for prefix, iri in prefixes.items():
            if _PREFIX.fullmatch(prefix) is None:
                raise ValueError(f"{prefix!r} is not a prefix that is written here")
            if syntax.format in (LogFormat.TURTLE, LogFormat.TRIG):
                out.write(f"PREFIX {prefix}: <{iri}>\n".encode())

    def write(self, message: TextMessage) -> None:
        """Write a message.

        :raises TermError: the syntax cannot express it.
        """
        text = self._source.text = message.text
        if self._finished is None and usual_lines(text, 0, self._quads)[2] == len(text):
            # Lines that any reader accepts: a third of the time.
            data = text
        else:
            written = BytesIO()
            FORMATS[self._format].write(self._source, written, self._format, self._job)
            data = written.getvalue()
            if self._finished is not None:
                data = self._finished(data)
        if self._early:
            # A comment at the start of a log does not end a message, so an empty first message
            # needs two.
            if not text or not self._first:
                self._out.write(COMMENT)
            self._first = False
            self._empty = not text
        self._out.write(data + self._after)

    def finish(self) -> None:
        """End the log."""
        if self._early and self._empty:
            # A comment at the end does not begin a message, so an empty last message needs one
            # more.
            self._out.write(COMMENT)


def _statements(data: bytes) -> bytes:
    """Turtle without the declarations at its start."""
    return _DECLARATIONS.sub(b"", data, count=1)


def _one_line(data: bytes) -> bytes:
    """A document of RDF/XML on one line."""
    data = _LITERAL.sub(lambda found: found[1] + found[2].replace(b"\n", b"&#10;"), data)
    return _INDENTATION.sub(b"", data) + b"\n"


def _object(data: bytes) -> bytes:
    """The nodes of JSON-LD as one object on one line."""
    return b'{"@graph":' + data + b"}\n" if data != b"[]" else b"{}\n"


def _document(data: bytes) -> bytes:
    """The nodes of JSON-LD as a document of YAML, in which all scalars are quoted."""
    yaml = library("yaml", "YAML-LD", "messages")
    text = _object(data).decode()
    if (found := _NOT_READ.search(text)) is not None:
        raise TermError(f"YAML-LD is not read with U+{ord(found[0]):X}, which is not a character")
    document: bytes = yaml.dump(
        json.loads(text),
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
        allow_unicode=True,
        default_style='"',
        encoding="utf-8",
        explicit_start=True,
        sort_keys=False,
        width=_WIDTH,
    )
    return document


_FINISHED: Final[dict[LogFormat, Callable[[bytes], bytes]]] = {
    LogFormat.TURTLE: _statements,
    LogFormat.TRIG: _statements,
    LogFormat.RDF_XML: _one_line,
    LogFormat.NDJSON_LD: _object,
    LogFormat.YAML_LD: _document,
}
