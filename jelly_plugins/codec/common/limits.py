"""Limits that a reader checks before it allocates, and a writer before it writes.

The same limits hold in both directions by default, so that readers can read what writers write.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from ...errors import LimitError

#: Protocol Buffers libraries stop at 100 nested messages; three of them are frame, row, statement.
NESTING_CEILING = 90

#: Maximum size of a row besides its strings: tags, lengths and ids.
ROW_OVERHEAD = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Upper bounds, each checked before memory of that size is allocated.

    >>> Limits(frame_bytes=1 << 30).frame_bytes
    1073741824
    """

    #: Entries of the name lookup that a stream may declare.
    name_table: int = 4096
    #: Entries of the prefix lookup that a stream may declare.
    prefix_table: int = 4096
    #: Entries of the datatype lookup that a stream may declare.
    datatype_table: int = 256
    #: Bytes of one frame. In RDF/XML: bytes between two statements.
    frame_bytes: int = 64 << 20
    #: Rows of one frame.
    frame_rows: int = 1_000_000
    #: Cells of one frame of query results: rows times variables.
    frame_cells: int = 4_000_000
    #: Variables of query results.
    variables: int = 65_536
    #: Consecutive empty frames, of which a compressed source can have any number.
    empty_frames: int = 1_000_000
    #: Bytes of one string: lookup entry, lexical form, language tag, blank node label, whole IRI.
    string_bytes: int = 16 << 20
    #: Characters of all entries of one lookup together.
    lookup_characters: int = 128 << 20
    #: Depth of quoted triples; 1 is a quoted triple that holds no other.
    nesting: int = 64
    #: Statements of one frame that repeat all terms of the previous one.
    frame_repeats: int = 250_000
    #: Characters that one frame may expand to: IRIs built from prefixes and names, and datatypes of
    #: its literals. A few bytes can refer to entries of megabytes repeatedly. Where each statement
    #: has a copy of its terms, as in text, also the bytes of terms of more than 1024 bytes that a
    #: frame repeats. What exceeds the bytes of a frame and 1024 for each of its rows counts for the
    #: next frame too, so that this bounds whole streams. Columns have separate limits, those of a
    #: batch. Code that holds many frames must bound their expansion itself: Oxigraph's bulk loader
    #: holds a million statements with a copy of each term.
    frame_expansion: int = 256 << 20

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 0:
                raise ValueError(f"limit {field.name} must not be negative")
        if self.nesting > NESTING_CEILING:
            raise ValueError(f"limit nesting must be at most {NESTING_CEILING}")


DEFAULT_LIMITS = Limits()


def usual_expansion(size: int, rows: int) -> int:
    """What a frame may expand to that does not count for the next one."""
    return size + (rows << 10)


def over(limits: Limits, name: str, found: int, what: str) -> LimitError:
    """The error for ``what`` of size ``found``, above the limit ``name``."""
    bound = getattr(limits, name)
    return LimitError(
        f"{what} is {found}, above the limit of {bound} (Limits.{name}, --limit {name}=NUMBER)"
    )
