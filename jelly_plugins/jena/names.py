"""The encodings of Jena RDF Binary: their names, and detection by name or content."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from ..codec.common.detection import StreamKind, jena_kind_of
from ..io.sources import ending_of

#: Bytes at the start of a source from which its encoding is detected.
DETECTION_BYTES: Final = 16


class JenaFormat(StrEnum):
    """An encoding by its usual file ending."""

    THRIFT = "rt"
    PROTOBUF = "rpb"


_ENDINGS: Final = {
    ".rt": JenaFormat.THRIFT,
    ".trdf": JenaFormat.THRIFT,
    ".rpb": JenaFormat.PROTOBUF,
    ".pbrdf": JenaFormat.PROTOBUF,
    ".srt": JenaFormat.THRIFT,
    ".srp": JenaFormat.PROTOBUF,
}

_TITLES: Final = {
    "rdfthrift": JenaFormat.THRIFT,
    "application/rdf+thrift": JenaFormat.THRIFT,
    "thrift": JenaFormat.THRIFT,
    "rdfprotobuf": JenaFormat.PROTOBUF,
    "application/rdf+protobuf": JenaFormat.PROTOBUF,
    "protobuf": JenaFormat.PROTOBUF,
}


def format_named(name: str) -> JenaFormat:
    """The encoding with a given name: its file ending, title or media type.

    :raises ValueError: there is none of that name.

    >>> format_named("rdf-thrift"), format_named("rpb")
    (<JenaFormat.THRIFT: 'rt'>, <JenaFormat.PROTOBUF: 'rpb'>)
    """
    plain = name.lower().replace("-", "") if isinstance(name, str) else ""
    found = _TITLES.get(plain) or _ENDINGS.get(f".{plain}")
    if found is None:
        raise ValueError(f"{name!r} is not one of the formats {', '.join(JenaFormat)}")
    return found


def format_of(named: object) -> JenaFormat | None:
    """The encoding that a path or the name of an open file ends in, compressed or not; None if
    unknown.

    >>> format_of("data/x.rt.gz"), format_of("x.pbrdf"), format_of("x.nt")
    (<JenaFormat.THRIFT: 'rt'>, <JenaFormat.PROTOBUF: 'rpb'>, None)
    """
    return _ENDINGS.get(ending_of(named))


def detect(head: bytes) -> JenaFormat | None:
    """The encoding by how the content opens: a row, or the variables of results; None if it opens
    like neither.

    :param head: the first :data:`DETECTION_BYTES`, or all there are.

    >>> detect(bytes.fromhex("1c1802657818047572")), detect(bytes.fromhex("080a060a0165"))
    (<JenaFormat.THRIFT: 'rt'>, <JenaFormat.PROTOBUF: 'rpb'>)
    """
    return _KINDS.get(jena_kind_of(head))


_KINDS: Final = {
    StreamKind.RDF_THRIFT: JenaFormat.THRIFT,
    StreamKind.RDF_PROTOBUF: JenaFormat.PROTOBUF,
    None: None,
}
