"""Documents of XML as UTF-8.

Reference: XML 1.0, section "Character Encoding in Entities".
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from ..errors import TextError

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


def in_utf_8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of a document in UTF-8. The declaration of its encoding stays as it is.

    :param chunks: the document in its own encoding, without a byte order mark of UTF-8.
    :raises TextError: the encoding is not supported, or the document is not in it.

    >>> latin = '<?xml version="1.0" encoding="iso-8859-1"?><é/>'.encode("latin-1")
    >>> b"".join(in_utf_8([latin])).decode()
    '<?xml version="1.0" encoding="iso-8859-1"?><é/>'
    """
    rest = iter(chunks)
    head = b""
    for chunk in rest:
        head += chunk
        if len(head) >= _DECLARATION_BYTES or b"?>" in head:
            break
        if len(head) > 1 and not _OPENING.startswith(head[: len(_OPENING)]):
            break
    name = _UTF_16.get(head[:2])
    if name is None:
        name = declared_encoding(head)
        if not _ENCODINGS.fullmatch(name):
            raise TextError(f"the declared encoding {name} is unknown, or not that of the document")
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
