"""Run values of columns, as an encoder has them: described once, written into a column's body.

The compiled module has the same functions, and its own :class:`Described`.
"""

from __future__ import annotations

from typing import Any, Final

from ..common.terms import Kind
from ..common.wire import bytes_field, varint_field

#: The field of a mixed column's value for each kind of term.
MIXED_FIELDS: Final = {Kind.IRI: 1, Kind.BLANK_NODE: 2, Kind.LITERAL: 3}


class Described:
    """What there is to write of a term.

    :param size: its length in bytes.
    :param raw: of a blank node its label, of a literal its lexical form, in UTF-8.
    :param tag: a literal's language tag, in UTF-8.
    :param datatype: a literal's datatype; None for xsd:string.
    :param prefix: of an IRI, and ``name`` what follows it.
    :ivar frame: the frame for which an IRI has ``prefix_id`` and ``name_id``, by the number that
        the writer gives it.
    """

    __slots__ = (
        "datatype",
        "frame",
        "kind",
        "name",
        "name_id",
        "prefix",
        "prefix_id",
        "raw",
        "size",
        "tag",
    )

    def __init__(
        self,
        kind: int,
        size: int,
        raw: bytes | None = None,
        tag: bytes | None = None,
        datatype: str | None = None,
        prefix: str | None = None,
        name: str | None = None,
    ) -> None:
        self.kind = kind
        self.size = size
        self.raw = raw
        self.tag = tag
        self.datatype = datatype
        self.prefix = prefix
        self.name = name
        self.frame = self.prefix_id = self.name_id = 0


def describe_all(writer: Any, terms: list[Any]) -> tuple[list[Any], int, int]:
    """Describe terms.

    :param writer: a ``_ColumnWriter``, which describes one.
    :return: what it makes of each, their length in bytes together, and a bit for each kind.
    """
    found = [writer.describe_term(term) for term in terms]
    kinds = 0
    for each in found:
        kinds |= 1 << each.kind
    return found, sum(each.size for each in found), kinds


def iri_numbers(writer: Any, values: list[Any]) -> tuple[list[int], list[int]]:
    """The numbers of an IRI column: of the names, and of the prefixes."""
    names = []
    prefixes = []
    last_prefix = last_name = 0
    for value in values:
        writer.find_ids(value)
        prefix, name = value.prefix_id, value.name_id
        names.append(0 if name == last_name + 1 else name)
        prefixes.append(0 if prefix == last_prefix else prefix)
        last_prefix, last_name = prefix, name
    return names, prefixes


def joined(number: int, values: list[Any]) -> bytes:
    """A field for the text of each value."""
    return b"".join([bytes_field(number, value.raw) for value in values])


def written_terms(writer: Any, values: list[Any], mixed: bool) -> bytes:
    """Field 1 of a column for each value: a SparqlTerm in a mixed column, or an RdfLiteral."""
    found = []
    datatypes: dict[str, int] = {}
    last_prefix = last_name = 0
    for value in values:
        if value.kind == Kind.IRI:
            writer.find_ids(value)
            prefix, name = value.prefix_id, value.name_id
            body = varint_field(1, 0 if prefix == last_prefix else prefix)
            body += varint_field(2, 0 if name == last_name + 1 else name)
            last_prefix, last_name = prefix, name
        elif value.kind == Kind.BLANK_NODE:
            body = value.raw
        else:
            body = bytes_field(1, value.raw) if value.raw else b""
            if value.tag is not None:
                body += bytes_field(2, value.tag)
            elif value.datatype is not None:
                number = datatypes.get(value.datatype)
                if number is None:
                    number = datatypes[value.datatype] = writer.datatype_id(value.datatype)
                body += varint_field(3, number)
        if mixed:
            body = bytes_field(MIXED_FIELDS[value.kind], body)
        found.append(bytes_field(1, body))
    return b"".join(found)


def packed_entries(number: int, entries: list[tuple[int, str]]) -> bytes:
    """Entries of a lookup as packed ones: fields of a frame.

    :param entries: the id of each as it is written, 0 for the one after the entry before, and the
        value.
    """
    fields = []
    body = bytearray()
    for written, value in entries:
        if written and body:
            fields.append(bytes_field(number, body))
            body = bytearray()
        body += varint_field(1, written) + bytes_field(2, value.encode())
    if body:
        fields.append(bytes_field(number, body))
    return b"".join(fields)
