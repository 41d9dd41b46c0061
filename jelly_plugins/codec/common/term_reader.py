"""From wire bytes to a backend's terms: lookups, IRIs, literals, quoted triples, repeats.

All formats built on Jelly's terms share it; it does not depend on rows and frames. The factory is
called once for each distinct term, within caches of bounded size.

Reference: Jelly-RDF specification, sections "Prefix, name, and datatype lookups", "RDF terms" and
"Repeated terms".
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ...errors import LookupTableError, StatementError, WireError
from ..common import positions
from .limits import Limits, over
from .options import CommonOptions
from .terms import XSD_STRING, Kind, TermFactory, build
from .wire import (
    BYTES,
    VARINT,
    check_empty,
    read_field,
    read_fields,
    read_string,
    uint32,
    wrong_type,
)

#: A cache is cleared when it reaches this many entries.
CACHE_ENTRIES: Final = 1 << 16
#: Longer strings are not cached.
CACHED_STRING: Final = 1 << 10

IRI_FIELDS: Final = {1: VARINT, 2: VARINT}
LITERAL_FIELDS: Final = {1: BYTES, 2: BYTES, 3: VARINT}
ENTRY_FIELDS: Final = {1: VARINT, 2: BYTES}
#: Tags of prefix id and name id in RdfIri, for its short forms.
_PREFIX_TAG: Final = 1 << 3 | VARINT
_NAME_TAG: Final = 2 << 3 | VARINT


class Checkpoint(NamedTuple):
    """A decoder's state before a row."""

    #: A member of the format's states.
    state: int
    #: The lookups of names, prefixes and datatypes: the last id, and the entries by id.
    tables: tuple[tuple[int, dict[int, str]], ...]
    prefix_id: int
    name_id: int
    #: A bit for each position that some statement has set.
    given: int


class ReaderTable:
    """Entries 1 to ``size`` of one lookup, by id. Grows only as entries are set."""

    __slots__ = ("characters", "last", "name", "size", "values")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        #: Total characters of all entries.
        self.characters = 0
        #: Entries by id; index 0 is unused.
        self.values: list[str | None] = [None]
        #: The id that was set last; the next entry's id of 0 denotes the one after it.
        self.last = 0

    def assign(self, entry_id: int, value: str) -> int:
        """Set an entry and return its id; id 0 is the previous entry's id plus one."""
        entry_id = entry_id or self.last + 1
        if entry_id > self.size:
            raise LookupTableError(
                f"{self.name} entry {entry_id} is outside the declared table of {self.size}"
            )
        self.last = entry_id
        missing = entry_id + 1 - len(self.values)
        if missing > 0:
            self.values.extend([None] * missing)
        self.characters += len(value) - len(self.values[entry_id] or "")
        self.values[entry_id] = value
        return entry_id

    def get(self, entry_id: int) -> str:
        """Return the value of an entry."""
        value = self.values[entry_id] if 0 < entry_id < len(self.values) else None
        if value is None:
            raise LookupTableError(
                f"{self.name} entry {entry_id} is used but was never set "
                f"(the table has {self.size} entries)"
            )
        return value


class TermReader:
    """The state of reading terms: three lookups, the last ids, the last terms.

    :param width: number of terms of a statement: 3, or 4 with a graph.
    """

    def __init__(
        self, factory: TermFactory[Any], options: CommonOptions, limits: Limits, width: int
    ) -> None:
        self._factory = factory
        self._limits = limits
        self._options = options
        self.names = ReaderTable("name", options.max_name_table_size)
        self.prefixes = ReaderTable("prefix", options.max_prefix_table_size)
        self.datatypes = ReaderTable("datatype", options.max_datatype_table_size)
        self.tables = (self.names, self.prefixes, self.datatypes)
        self._prefix_id = 0
        self._name_id = 0
        #: Terms of the previous statement by position, which an unset position repeats.
        self.last: list[Any] = [None] * width
        #: The current graph as a tuple of one, where statements do not have a graph.
        self.graph: tuple[Any, ...] = ()
        #: Bits of the positions that no statement has set yet.
        self._missing = (1 << width) - 1
        #: Characters of IRIs made so far in this frame, and those above the usual before it.
        self.expansion = 0
        #: How often each entry of the prefix lookup was set.
        self._prefix_versions: dict[int, int] = {}
        #: By id of the name, the last IRI that it was part of, after its prefix's id and version.
        self._last_iris: dict[int, tuple[int, int, Any]] = {}
        self._iris: dict[str, Any] = {}
        #: Literals by their bytes on the wire, each with the length of its datatype's IRI.
        self._literals: dict[bytes, tuple[Any, int]] = {}
        self._blank_nodes: dict[bytes, Any] = {}

    def restore(self, before: Checkpoint) -> None:
        """Continue at a checkpoint of another reader of the same stream, with empty caches."""
        for table, (last, entries) in zip(self.tables, before.tables, strict=True):
            for entry_id, value in entries.items():
                self._enter(table, entry_id, value)
            table.last = last
        self._prefix_id = before.prefix_id
        self._name_id = before.name_id
        self._missing &= ~before.given

    def begin_frame(self, usual: int) -> None:
        """Begin to count for a frame."""
        self.expansion = max(0, self.expansion - usual)

    # Lookup entries

    def set_entry(self, table: ReaderTable, data: bytes, pos: int, end: int) -> None:
        """Read an RdfNameEntry, RdfPrefixEntry or RdfDatatypeEntry."""
        entry_id = 0
        value = ""
        for number, start, stop, varint in read_fields(
            data, pos, end, ENTRY_FIELDS, "a lookup entry"
        ):
            if number == 1:
                entry_id = uint32(varint, "a lookup entry's id")
            else:
                value = self.string(data, start, stop, "a lookup entry")
        self._enter(table, entry_id, value)

    def _enter(self, table: ReaderTable, entry_id: int, value: str) -> None:
        """Set an entry; id 0 is the previous entry's id plus one."""
        entry_id = table.assign(entry_id, value)
        if table.characters > self._limits.lookup_characters:
            what = f"the length of all {table.name} entries"
            raise over(self._limits, "lookup_characters", table.characters, what)
        if table is self.names:
            self._last_iris.pop(entry_id, None)
        elif table is self.prefixes:
            self._prefix_versions[entry_id] = self._prefix_versions.get(entry_id, 0) + 1
        else:
            self._literals.clear()

    def string(self, data: bytes, pos: int, end: int, what: str) -> str:
        if end - pos > self._limits.string_bytes:
            raise over(self._limits, "string_bytes", end - pos, f"the length of {what}")
        return read_string(data, pos, end, what)

    # Terms

    def term(self, kind: Kind, data: bytes, pos: int, end: int, depth: int = 0) -> Any:
        """Read a term of a kind, within ``depth`` quoted triples."""
        if kind is Kind.IRI:
            return self.iri(data, pos, end)
        if kind is Kind.LITERAL:
            return self._literal(data, pos, end)
        if kind is Kind.BLANK_NODE:
            return self._blank_node(data, pos, end)
        if kind is Kind.TRIPLE:
            return self._quoted_triple(data, pos, end, depth + 1)
        check_empty(data, pos, end, "RdfDefaultGraph")
        return self._factory.default_graph

    def check_declared(self, position: int, kind: Kind) -> None:
        """Reject a kind of term that the options do not declare for a position."""
        options = self._options
        missing = positions.undeclared(
            position, kind, options.generalized_statements, options.rdf_star
        )
        if missing:
            raise StatementError(
                f"{kind.name} as {positions.POSITIONS[position]}, but the stream options "
                f"do not declare {missing}"
            )

    def iri(self, data: bytes, pos: int, end: int) -> Any:
        """Read an RdfIri and advance the state that its zeros refer to."""
        prefix_id = name_id = 0
        at = pos
        # Nearly every prefix id takes one byte, and nearly every name id one or two.
        if end - at > 1 and data[at] == _PREFIX_TAG and data[at + 1] < 0x80:
            prefix_id = data[at + 1]
            at += 2
        if end - at > 1 and data[at] == _NAME_TAG:
            name_id = data[at + 1]
            if name_id < 0x80:
                at += 2
            elif end - at > 2 and data[at + 2] < 0x80:
                name_id += (data[at + 2] - 1) << 7
                at += 3
        if at < end:
            prefix_id = name_id = 0
            for number, _, _, varint in read_fields(data, pos, end, IRI_FIELDS, "RdfIri"):
                if number == 1:
                    prefix_id = varint
                else:
                    name_id = varint
        prefix_id = self._prefix_id = prefix_id or self._prefix_id
        name_id = self._name_id = name_id or self._name_id + 1
        version = self._prefix_versions.get(prefix_id, 0)
        last = self._last_iris.get(name_id)
        if last is not None and last[0] == prefix_id and last[1] == version:
            return last[2]
        value = self.names.get(name_id)
        if prefix_id:
            value = self.prefixes.get(prefix_id) + value
        size = len(value)
        if size > self._limits.string_bytes:
            raise over(self._limits, "string_bytes", size, "the length of an IRI")
        self._expand(size)
        term = self._iris.get(value)
        if term is None:
            term = build(self._factory.iri, value)
            _remember(self._iris, value, term)
        if size <= CACHED_STRING:
            self._last_iris[name_id] = (prefix_id, version, term)
        return term

    def _expand(self, size: int) -> None:
        """Count characters that a few bytes of the stream expand to."""
        self.expansion += size
        if self.expansion > self._limits.frame_expansion:
            what = "what IRIs of a frame expand to"
            raise over(self._limits, "frame_expansion", self.expansion, what)

    def _blank_node(self, data: bytes, pos: int, end: int) -> Any:
        raw = data[pos:end]
        term = self._blank_nodes.get(raw)
        if term is None:
            label = self.string(data, pos, end, "a blank node label")
            term = build(self._factory.blank_node, label)
            _remember(self._blank_nodes, raw, term)
        return term

    def _literal(self, data: bytes, pos: int, end: int) -> Any:
        """Read an RdfLiteral."""
        raw = data[pos:end]
        found = self._literals.get(raw)
        if found is not None:
            term, size = found
        else:
            lex, langtag, datatype = self._literal_parts(data, pos, end)
            term = build(self._factory.literal, lex, langtag, datatype)
            size = 0 if datatype is None else len(datatype)
        # A backend may copy the datatype's IRI into each literal, as text does.
        self._expand(size)
        if found is None and size <= CACHED_STRING:
            _remember(self._literals, raw, (term, size))
        return term

    def _literal_parts(
        self, data: bytes, pos: int, end: int
    ) -> tuple[str, str | None, str | None]:  # fmt: skip
        lex = ""
        langtag = datatype = None
        for number, start, stop, value in read_fields(data, pos, end, LITERAL_FIELDS, "RdfLiteral"):
            if number == 1:
                lex = self.string(data, start, stop, "a lexical form")
            elif number == 2:
                langtag = self.string(data, start, stop, "a language tag")
                if not langtag:
                    raise StatementError("a language tag is empty")
            else:
                if not self.datatypes.size:
                    raise LookupTableError(
                        "a typed literal in a stream whose datatype table has size 0"
                    )
                if not value:
                    raise LookupTableError("datatype 0 is not valid")
                datatype = self.datatypes.get(value)
        if langtag is not None and datatype is not None:
            raise WireError("a literal has both a language tag and a datatype")
        return lex, langtag, None if datatype == XSD_STRING else datatype

    def _quoted_triple(self, data: bytes, pos: int, end: int, depth: int) -> Any:
        """Read an RdfTriple quoted inside another one; every position must be set."""
        if depth > self._limits.nesting:
            raise over(self._limits, "nesting", depth, "the depth of quoted triples")
        terms: list[Any] = [None, None, None]
        given = self._read_terms(data, pos, end, terms, depth)
        if given != 0b111:
            missing = positions.POSITIONS[(~given & 0b111).bit_length() - 1]
            raise StatementError(f"a quoted triple has no {missing}; terms cannot repeat there")
        return build(self._factory.quoted_triple, *terms)

    # Statements

    def make_statement(self) -> Any:
        """Make the statement that :meth:`statement` has read, with the factory."""
        terms = (*self.last, *self.graph)
        return build(self._factory.triple if len(terms) == 3 else self._factory.quad, terms)

    def statement(self, data: bytes, pos: int, end: int) -> bool:
        """Read an RdfTriple or RdfQuad into :attr:`last`.

        :return: whether any term was set; False if the statement repeats the previous one.
        """
        given = self._read_terms(data, pos, end, self.last, 0)
        self._missing &= ~given
        if self._missing:
            position = positions.POSITIONS[self._missing.bit_length() - 1]
            raise StatementError(f"the {position} repeats, but no statement before has one")
        return given != 0

    def _read_terms(self, data: bytes, pos: int, end: int, terms: list[Any], depth: int) -> int:
        """Read the fields of RdfTriple or RdfQuad into ``terms``; return a bit for each position
        that was set.
        """
        given = 0
        while pos < end:
            tag, start, pos, _ = read_field(data, pos, end)
            known = positions.STATEMENT_FIELDS.get(tag >> 3)
            if known is None:
                continue
            if tag & 7 != BYTES:
                raise wrong_type(tag >> 3, "a statement")
            position, kind = known
            if position >= len(terms):
                raise StatementError("a triple has a graph")
            bit = 1 << position
            if given & bit:
                raise WireError(f"a statement's {positions.POSITIONS[position]} is set twice")
            given |= bit
            if kind is Kind.IRI:
                terms[position] = self.iri(data, start, pos)
            else:
                self.check_declared(position, kind)
                terms[position] = self.term(kind, data, start, pos, depth)
        return given

    def graph_name(self, data: bytes, pos: int, end: int) -> Any:
        """Read the name of an RdfGraphStart, which never repeats."""
        known = dict.fromkeys(positions.GRAPH_START_FIELDS, BYTES)
        names = list(read_fields(data, pos, end, known, "RdfGraphStart"))
        if not names:
            raise StatementError("a graph start has no name; names cannot repeat there")
        if len(names) > 1:
            raise WireError("a graph start has two names")
        number, start, stop, _ = names[0]
        kind = positions.GRAPH_START_FIELDS[number]
        self.check_declared(positions.GRAPH, kind)
        name = self.term(kind, data, start, stop)
        build(self._factory.check_graph, name)
        return name


def _remember(cache: dict[Any, Any], raw: bytes | str, term: Any) -> None:
    if len(raw) <= CACHED_STRING:
        if len(cache) >= CACHE_ENTRIES:
            cache.clear()
        cache[raw] = term
