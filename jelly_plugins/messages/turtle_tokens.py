r"""The tokens of Turtle and TriG that are needed to find the ends of statements.

Reference: RDF 1.2 Turtle and RDF 1.2 TriG, section "Grammar".
"""

from __future__ import annotations

import re
from typing import Final

_SPACE: Final = rb"[ \t\r\n]++"
_COMMENT: Final = rb"#[^\r\n]*+(?=[\r\n])"
#: Opens the text of a comment that is a delimiter of the early draft, whose pattern is
#: ``^\s*@message``: all white space of ECMAScript, in UTF-8, but for what ends a line here.
EARLY_OPENING: Final = (
    rb"(?:[ \t\v\f]|\xc2\xa0|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
    rb"|\xef\xbb\xbf)*+@message"
)
#: A comment that is not a delimiter of the early draft.
_OTHER_COMMENT: Final = rb"#(?!" + EARLY_OPENING + rb")[^\r\n]*+(?=[\r\n])"

_IRI_OPEN: Final = rb"<[^\x00-\x20<>\"{}|^`]*+"
_LONG_OPEN: Final = rb'"""(?:[^"\\]++|\\.|"(?!""))*+'
_LONG_OPEN_1: Final = rb"'''(?:[^'\\]++|\\.|'(?!''))*+"
_SHORT_OPEN: Final = rb'"(?:[^"\\\r\n]++|\\[^\r\n])*+'
_SHORT_OPEN_1: Final = rb"'(?:[^'\\\r\n]++|\\[^\r\n])*+"

_IRI: Final = _IRI_OPEN + rb">"
_STRING: Final = rb"|".join(
    (
        _LONG_OPEN + rb'"""',
        _LONG_OPEN_1 + rb"'''",
        rb'(?!""")' + _SHORT_OPEN + rb'"',
        rb"(?!''')" + _SHORT_OPEN_1 + rb"'",
    )
)
_NUMBER: Final = (
    rb"[+-]?+(?:[0-9]++(?:\.[0-9]++)?+|\.[0-9]++|[0-9]++\.(?=[eE]))(?:[eE][+-]?+[0-9]++)?+"
)
#: The characters of names, except dots; an escape counts as one character.
_IN_NAME: Final = rb"(?:[^\x00-\x20\"'<>#;,\[\](){}.|^@\\`~]++|\\.)++"
#: A name, a blank node, a keyword; a dot at its end is not part of it.
_NAME: Final = _IN_NAME + rb"(?:\.++" + _IN_NAME + rb")*+"
_TAG: Final = rb"@[A-Za-z]++(?:-[A-Za-z0-9]++)*+"
#: The directive where only parts of a statement are allowed.
_MISPLACED: Final = rb"(?i:message)(?!" + _IN_NAME + rb"|\.++" + _IN_NAME + rb")"


def _run(comment: bytes) -> re.Pattern[bytes]:
    # Those that are many come first.
    tokens = (
        rb"(?![0-9+-]|" + _MISPLACED + rb")" + _NAME,
        _IRI,
        rb"[;,~]|\^\^",
        _STRING,
        _NUMBER,
        _TAG,
        comment,
    )
    space = rb"[ \t\r\n]*+"
    return re.compile(space + rb"(?:(?:" + rb"|".join(tokens) + rb")" + space + rb")*+", re.DOTALL)


def _gap(comment: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?:" + _SPACE + rb"|" + comment + rb")*+")


#: What statements are made of, but for dots and brackets; with comments of any kind, and without
#: those that are delimiters of the early draft.
RUN: Final = _run(_COMMENT)
EARLY_RUN: Final = _run(_OTHER_COMMENT)
#: The text between statements, likewise.
GAP: Final = _gap(_COMMENT)
EARLY_GAP: Final = _gap(_OTHER_COMMENT)

MISPLACED: Final = re.compile(_MISPLACED)
EARLY_DELIMITER: Final = re.compile(rb"#" + EARLY_OPENING + rb"[^\r\n]*+(?=[\r\n])")
#: What a statement or a directive opens with, if it is a word.
WORD: Final = re.compile(rb"@?+" + _NAME)

_BETWEEN: Final = rb"(?:" + _SPACE + rb"|" + _COMMENT + rb")"
#: Directives up to the IRI that they declare.
PREFIX: Final = re.compile(
    rb"(?:@prefix|(?i:prefix))"
    + _BETWEEN
    + rb"++(?:"
    + _NAME
    + rb")?+"
    + _BETWEEN
    + rb"*+("
    + _IRI
    + rb")"
)
BASE: Final = re.compile(rb"(?:@base|(?i:base))" + _BETWEEN + rb"*+(" + _IRI + rb")")
#: One of these that continues after the available text.
UNFINISHED_DECLARATION: Final = re.compile(
    rb"(?:@prefix|@base|(?i:prefix|base))"
    + _BETWEEN
    + rb"*+(?:"
    + _NAME
    + _BETWEEN
    + rb"*+)?+(?:"
    + _IRI_OPEN
    + rb"|#[^\r\n]*+)?+\Z"
)
ABSOLUTE: Final = re.compile(rb"<[A-Za-z][A-Za-z0-9+.-]*+:")
#: A version and its label, without the dot that ends ``@version``.
VERSION: Final = re.compile(
    rb"(?:@version|(?i:version))"
    + _BETWEEN
    + rb"*+(?:\"([^\"\\\r\n]*+)\"(?!\")|'([^'\\\r\n]*+)'(?!'))"
)
#: Only dots up to the end, or nothing.
DOTS: Final = re.compile(rb"\.*+\Z")
DOT: Final = re.compile(_BETWEEN + rb"*+\.")

#: A token that may continue after the available text.
UNFINISHED: Final = re.compile(
    rb"(?:"
    + rb"|".join(
        (
            rb"#[^\r\n]*+",
            _IRI_OPEN,
            _LONG_OPEN + rb'(?:""?+|\\)?+',
            _LONG_OPEN_1 + rb"(?:''?+|\\)?+",
            _SHORT_OPEN + rb"\\?+",
            _SHORT_OPEN_1 + rb"\\?+",
        )
    )
    + rb")\Z",
    re.DOTALL,
)

#: By what a bracket is closed.
CLOSED_BY: Final = {
    b"[": b"]",
    b"(": b")",
    b"{": b"}",
    b"<<": b">>",
    b"<<(": b")>>",
    b"{|": b"|}",
}
OPENING_BRACKET: Final = re.compile(rb"<<\(|<<|\{\||[\[({]")
#: Bytes that distinguish a bracket or a dot from a longer token.
AHEAD: Final = 3
