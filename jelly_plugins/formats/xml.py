"""XML: the characters and names that it allows, and documents as UTF-8 with line feeds.

Reference: XML 1.0, productions 2 to 5, sections "End-of-Line Handling" and "Character Encoding in
Entities"; Namespaces in XML 1.0, production 4.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from ..codec.text.lines import LABEL_PART, NAME_START
from ..errors import TextError

#: What a name may have, inside brackets.
NAME_PART: Final = LABEL_PART + "."
#: A name without a colon.
NAME: Final = rf"[{NAME_START}][{NAME_PART}]*+"
#: A character that XML does not have.
NO_CHARACTER: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
#: IRIs that are not properties in RDF/XML, or abbreviate another one.
NO_PROPERTIES: Final = frozenset(
    _RDF + name
    for name in (
        "RDF",
        "ID",
        "about",
        "parseType",
        "resource",
        "nodeID",
        "datatype",
        "Description",
        "li",
        "aboutEach",
        "aboutEachPrefix",
        "bagID",
    )
)
#: Namespaces that no prefix can be declared for.
RESERVED_NAMESPACES: Final = (
    "http://www.w3.org/XML/1998/namespace",
    "http://www.w3.org/2000/xmlns/",
)

_OPENING: Final = b"<?xml"
#: Maximum length of an XML declaration.
_DECLARATION_BYTES: Final = 1 << 10
_DECLARED: Final = re.compile(
    rb"<\?xml[ \t\r\n][^>]*?[ \t\r\n]encoding[ \t\r\n]*=[ \t\r\n]*[\"']([A-Za-z][\w.\-]*+)[\"']"
)
#: How UTF-16 begins, with a byte order mark or without.
_UTF_16: Final = {
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}
_UTF_8: Final = "utf-8"
#: Python's names of encodings in which ASCII characters are single bytes: a declaration can be
#: read before its encoding is known.
_ENCODINGS: Final = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp(?!037$)\d+|koi8-[rtu]|gbk|gb2312|gb18030|big5|euc_\w+|shift_jis"
)

_CONTROLS: Final = bytes(code for code in range(0x20) if chr(code) not in "\t\n\r")
_NO_CHARACTER: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")
#: The start of a character that may be one of them, at the end of a chunk.
_PARTIAL: Final = re.compile(rb"\xef\xbf?\Z")


def normalized(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of an XML document in UTF-8 whose lines end in line feeds.

    The declaration of an encoding stays as it is.

    :param chunks: the document in its own encoding, without a byte order mark of UTF-8.
    :raises TextError: the encoding is not supported, the document is not in it, or it has
        characters that XML does not have.

    >>> latin = '<?xml version="1.0" encoding="iso-8859-1"?>\\r\\n<é/>'.encode("latin-1")
    >>> b"".join(normalized([latin])).decode()
    '<?xml version="1.0" encoding="iso-8859-1"?>\\n<é/>'
    """
    before = b""
    for chunk in with_line_feeds(_in_utf_8(chunks)):
        text = before + chunk
        if len(text.translate(None, _CONTROLS)) < len(text) or b"\xef\xbf" in text:
            found = _NO_CHARACTER.search(text)
            if found is not None:
                yield text[: found.start()]
                code = ord(found[0].decode())
                raise TextError(f"the document has U+{code:04X}, which XML does not allow")
        partial = _PARTIAL.search(text, max(0, len(text) - 2))
        before = partial[0] if partial is not None else b""
        yield text[: len(text) - len(before)] if before else text
    if before:
        yield before


def with_line_feeds(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of an XML document whose lines end in line feeds only, as every parser of XML has to
    read them.

    >>> list(with_line_feeds([b"a\\r\\nb\\r", b"\\nc\\r", b"d"]))
    [b'a\\nb\\n', b'c\\n', b'd']
    """
    after_return = False
    for chunk in chunks:
        part = chunk[1:] if after_return and chunk.startswith(b"\n") else chunk
        if chunk:
            after_return = chunk.endswith(b"\r")
        yield part.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in part else part


def _in_utf_8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = iter(chunks)
    head = b""
    for chunk in rest:
        head += chunk
        if len(head) >= _DECLARATION_BYTES or b"?>" in head:
            break
        if len(head) > 1 and not _OPENING.startswith(head[: len(_OPENING)]):
            break
    name = _encoding_of(head)
    document = chain((head,), rest)
    if name == _UTF_8:
        yield from document
        return
    decode = codecs.getincrementaldecoder(name)().decode
    try:
        for chunk in document:
            yield decode(chunk).encode()
        yield decode(b"", final=True).encode()
    except UnicodeError as error:
        raise TextError(f"the document is not valid in its encoding, {name}: {error}") from None


def _encoding_of(head: bytes) -> str:
    """Python's name of a document's encoding."""
    if found := _UTF_16.get(head[:2]):
        return found
    name = declared_encoding(head)
    if not _ENCODINGS.fullmatch(name):
        raise TextError(f"the declared encoding {name} is unknown, or not that of the document")
    return name


def declared_encoding(document: bytes) -> str:
    """Python's name of the encoding that a document declares; UTF-8 if it declares none.

    >>> declared_encoding(b"<?xml version='1.0' encoding='Latin1'?><a/>")
    'iso8859-1'
    """
    declared = _DECLARED.match(document)
    name = _UTF_8 if declared is None else declared[1].decode()
    try:
        return codecs.lookup(name).name
    except LookupError:
        return name
