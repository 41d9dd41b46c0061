"""Check whether text has only one possible reading: lines of terms separated by single spaces. A
store writes text without checking its terms, so that the output may have other readings.
"""

from __future__ import annotations

import re
from typing import Final

from .forms import odd_lines
from .lines import Pattern
from .ntriples import _TAGGED_DATATYPES

#: Characters allowed in an IRI after its scheme and authority, except for a fragment. Beyond ASCII
#: it is the larger part of what RFC 3987 calls ucschar, in UTF-8.
_PART: Final = (
    rb"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]++|%[0-9A-Fa-f]{2}|\xC2[\xA0-\xBF]|[\xC3-\xDF][\x80-\xBF]"
    rb"|\xE0[\xA0-\xBF][\x80-\xBF]|[\xE1-\xEC][\x80-\xBF]{2}|\xED[\x80-\x9F][\x80-\xBF]"
    rb"|\xEF(?:[\xA4-\xB6\xB8-\xBE][\x80-\xBF]|\xB7[\x80-\x8F\xB0-\xBF]|\xBF[\x80-\xAF]))*+"
)
#: An IRI that is certainly absolute and well-formed; its host must be a name.
_ABSOLUTE: Final = (
    rb"[A-Za-z][A-Za-z0-9+\-.]*+:(?://[A-Za-z0-9\-._~]*+(?::[0-9]*+)?+(?=[/?#>])|(?!//))%b(?:#%b)?+"
    % (_PART, _PART)
)
#: Such an IRI in brackets, without escapes.
IRI: Final = rb"<%b>" % _ABSOLUTE
#: A blank node with any label.
NODE: Final = rb'_:[^\s<>"]++'
_CHARACTERS: Final = rb"""(?:[^"\\\n\r]++|\\(?:[tbnrf"'\\]|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}))*+"""
#: A language, optionally with a region of two letters or a script: certainly well-formed.
_LANGTAG: Final = rb"@[A-Za-z]{2,3}+(?:-(?:[A-Za-z]{4}|[A-Za-z]{2})(?![A-Za-z]))?+"
#: A datatype that requires no language tag.
_DATATYPE: Final = rb"\^\^<(?!(?:%b)>)(%b)>" % (
    "|".join(map(re.escape, sorted(_TAGGED_DATATYPES))).encode(),
    _ABSOLUTE,
)
_LITERAL: Final = rb'"%b"(?:%b|%b)?+' % (_CHARACTERS, _LANGTAG, _DATATYPE)
_LINES: Final = Pattern(
    rb"(?:(?>%b|%b) %b (?>%b|%b|%b) \.\n)*+" % (IRI, NODE, IRI, IRI, _LITERAL, NODE)
)


def plain_lines(text: bytes) -> tuple[int, dict[int, int]] | None:
    """Check whether text consists only of plain lines, each with one triple.

    The compiled kernel accepts fewer texts: only valid N-Triples.

    :return: the number of lines, and the numbers, from 0, and starts of lines that may have a
        literal in another form than a store's, see ``forms``. None if the text is not plain.

    >>> plain_lines(b'<urn:s> <urn:p> _:o .\\n'), plain_lines(b'<urn:s> <urn:p> <urn:o> . # x\\n')
    ((1, {}), None)
    """
    if _LINES.compiled.fullmatch(text) is None:
        return None
    return text.count(b"\n"), odd_lines(text)


def usual_lines(data: bytes, start: int, quads: bool) -> tuple[bytes, int, int]:  # noqa: ARG001
    """Copy lines of the usual form, which the compiled kernel recognises, in the form in which
    ``ntriples.statement_text`` writes statements; strings keep their escapes.

    This implementation recognises none, so that :class:`~.ntriples.LineParser` reads all of them.

    :param data: whole lines of N-Triples, or of N-Quads if ``quads`` is set.
    :return: the lines without comments, the number of statements in them, and the position of the
        first line of another form: one that may be malformed, or has an escape in an IRI,
        a triple term or a base direction.
    """
    return b"", 0, start
