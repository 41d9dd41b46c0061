"""Reading logs in RDF/XML: one document after the other, each on a line of its own.

The end of a document is found from its tags, so that line feeds inside of one do no harm. Each is
parsed by pyoxigraph.

Reference: RDF Messages, section "RDF/XML"; XML 1.0, section "Logical Structures".
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Final

from ..codec import Limits
from ..codec.common.limits import over
from ..codec.text.lines import BLANK_NODE
from ..errors import TextError
from ..formats.rdf_xml import XML_LABELS, RdfXmlText
from ..formats.reading import parsed, parser_of, pyoxigraph_module
from ..io.chunks import relabelled
from ..io.sources import Input
from .json_ld import batch_for
from .text import Event, ReadSettings, with_rest

_QUOTED: Final = rb"\"[^\"]*+\"|'[^']*+'"
_COMMENT: Final = rb"<!--(?:[^-]++|-(?!->))*+-->"
#: Text and the markup after it. The last group that matches is its kind; an opening tag matches
#: none.
_MARKUP: Final = re.compile(
    rb"[^<]*+(?:"
    rb"<(?![!?/])(?:[^<>\"'/]++|/(?!>)|" + _QUOTED + rb")*+(/)?+>"
    rb"|<(/)[^<>]*+>"
    rb"|<!DOCTYPE(?:[^\[<>\"']++|" + _QUOTED + rb")*+"
    rb"(?:\[(?:[^\]<\"']++|"
    + _QUOTED
    + rb"|"
    + _COMMENT
    + rb"|<(?!!--)(?:[^<>\"']++|"
    + _QUOTED
    + rb")*+>)*+\][ \t\r\n]*+)?+()>"
    rb"|(?:" + _COMMENT + rb"|<!\[CDATA\[(?:[^\]]++|\](?!\]>))*+\]\]>|<\?(?:[^?]++|\?(?!>))*+\?>)()"
    rb")"
)
_EMPTY_TAG, _CLOSING_TAG = 1, 2
#: Elements in elements, at most; a parser takes ever longer with more.
_DEPTH: Final = 1 << 10
_LABEL: Final = re.compile(BLANK_NODE)
#: Text allowed before a document that is not part of it, or after the last one.
_BETWEEN: Final = re.compile(rb"(?:[ \t\r\n]++|\xef\xbb\xbf|" + _COMMENT + rb")*+")


def rdf_xml_events(source: Input, settings: ReadSettings) -> Generator[Event]:
    """The messages of a log in RDF/XML. Each document has the encoding that it declares, in which
    ASCII characters are single bytes."""
    format_ = pyoxigraph_module().RdfFormat.RDF_XML
    base = settings.base
    for line, document in _documents(source.chunks(), settings.limits):
        text = b"".join(RdfXmlText(base, line).chunks([document]))
        parser = parser_of(text, format_, base)
        for lines in parsed(parser, batch=batch_for(len(text)), first_line=line):
            yield relabelled(lines, _label) if b"_:label-" in lines else lines
        yield line


def _label(name: bytes) -> bytes:
    """The label for which the writer used an XML name."""
    label = XML_LABELS.read(name.decode())
    return label.encode() if _LABEL.fullmatch(f"_:{label}") else name


def _documents(chunks: Iterator[bytes], limits: Limits) -> Iterator[tuple[int, bytes]]:
    """The documents of a log, with the lines in which they begin.

    :raises TextError: the source ends inside of one, or has other text between them.
    :raises LimitError: a document is longer than ``limits.frame_bytes``.
    """
    splitter = _Splitter(limits)
    for text, is_last in with_rest(chunks, lambda: splitter.rest):
        yield from splitter.feed(text)
        size = len(splitter.rest)
        if size > limits.frame_bytes and not is_last:
            raise over(limits, "frame_bytes", size, "the length of a document")
    splitter.finish()


class _Splitter:
    """Finds the ends of documents.

    :ivar rest: what was read of a document that has not ended.
    """

    def __init__(self, limits: Limits) -> None:
        self.rest = b""
        self._limits = limits
        self._line = 1

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Append text, and return the documents that end in it."""
        start = pos = 0
        depth = 0
        while (found := _MARKUP.match(data, pos)) is not None:
            pos = found.end()
            kind = found.lastindex
            if kind is None:
                depth += 1
                if depth > _DEPTH:
                    line = self._line + data.count(b"\n", start, pos)
                    raise TextError(f"elements are nested more than {_DEPTH} deep", line=line)
                continue
            if kind == _CLOSING_TAG:
                depth -= 1
            elif kind != _EMPTY_TAG:
                continue
            if depth <= 0:
                depth = 0
                yield self._document(data[start:pos])
                start = pos
        self.rest = data[start:]

    def _document(self, data: bytes) -> tuple[int, bytes]:
        skipped = _skipped(data)
        line = self._line + data.count(b"\n", 0, skipped)
        self._line += data.count(b"\n")
        return line, data[skipped:]

    def finish(self) -> None:
        """Mark the end of the input.

        :raises TextError: a document has not ended.
        """
        skipped = _skipped(self.rest)
        if skipped < len(self.rest):
            line = self._line + self.rest.count(b"\n", 0, skipped)
            raise TextError("a document does not end", line=line)


def _skipped(data: bytes) -> int:
    """The length of the text before a document."""
    found = _BETWEEN.match(data)
    return found.end() if found else 0
