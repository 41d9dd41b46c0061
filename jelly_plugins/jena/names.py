"""The encodings of Jena RDF Binary: their names, and detection by name or content."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from ..codec.common.detection import StreamKind, jena_kind_of
from ..errors import shown
from ..io.sources import ending_of

#: Bytes at the start of a source from which its encoding is detected.
DETECTION_BYTES: Final = 16

#: Apache Jena's names of the default graph: no other graph can have them.
DEFAULT_GRAPHS: Final = ("urn:x-arq:DefaultGraph", "urn:x-arq:DefaultGraphNode")


class JenaFormat(StrEnum):
    """An encoding by its usual file ending."""

    THRIFT = "rt"
    PROTOBUF = "rpb"


#: File endings, and titles and media types without hyphens, of graphs and of results.
_NAMES: Final = {
    **dict.fromkeys(("rt", "trdf", "srt", "thrift", "rdfthrift"), JenaFormat.THRIFT),
    **dict.fromkeys(("rpb", "pbrdf", "srp", "protobuf", "rdfprotobuf"), JenaFormat.PROTOBUF),
    "application/rdf+thrift": JenaFormat.THRIFT,
    "application/rdf+protobuf": JenaFormat.PROTOBUF,
}


def format_named(name: str) -> JenaFormat:
    """The encoding with a given name: its file ending, title or media type.

    :raises ValueError: there is none of that name.

    >>> format_named("rdf-thrift"), format_named("rpb")
    (<JenaFormat.THRIFT: 'rt'>, <JenaFormat.PROTOBUF: 'rpb'>)
    """
    found = _NAMES.get(name.lower().replace("-", "")) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f"{shown(name)} is not one of the formats {', '.join(JenaFormat)}")
    return found


def format_of(named: object) -> JenaFormat | None:
    """The encoding that a path or the name of an open file ends in, compressed or not; None if
    unknown.

    >>> format_of("data/x.rt.gz"), format_of("x.pbrdf"), format_of("x.nt")
    (<JenaFormat.THRIFT: 'rt'>, <JenaFormat.PROTOBUF: 'rpb'>, None)
    """
    return _NAMES.get(ending_of(named).removeprefix("."))


def detect(head: bytes) -> JenaFormat | None:
    """The encoding by how the content opens: a row, or the variables of results; None if it opens
    like neither.

    :param head: the first :data:`DETECTION_BYTES`, or all there are.

    >>> detect(bytes.fromhex("1c1802657818047572")), detect(bytes.fromhex("080a060a0165"))
    (<JenaFormat.THRIFT: 'rt'>, <JenaFormat.PROTOBUF: 'rpb'>)
    """
    kind = jena_kind_of(head)
    if kind is None:
        return None
    return JenaFormat.THRIFT if kind is StreamKind.RDF_THRIFT else JenaFormat.PROTOBUF
