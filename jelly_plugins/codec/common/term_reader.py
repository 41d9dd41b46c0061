"""From wire bytes to a backend's terms: lookups, IRIs, literals, quoted triples, repeats.

All formats built on Jelly's terms share it; it does not depend on rows and frames. The factory is
called once for each distinct term, within caches of bounded size.

Reference: Jelly-RDF specification, sections "RDF terms" and "Repeated terms".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ...errors import JellyError, LookupTableError, StatementError, TermError, WireError
from ..common import positions
from .limits import Limits, over
from .lookups import ReaderTable
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

#: A cache is cleared when it reaches this many entries,
CACHE_ENTRIES: Final = 1 << 16
#: or when its strings reach this many characters.
CACHE_CHARACTERS: Final = 64 << 20
#: Longer strings are not cached.
CACHED_STRING: Final = 1 << 10

_PREFIX_SHIFT: Final = 48

IRI_FIELDS: Final = {1: VARINT, 2: VARINT}
LITERAL_FIELDS: Final = {1: BYTES, 2: BYTES, 3: VARINT}
ENTRY_FIELDS: Final = {1: VARINT, 2: BYTES}

_IRI: Final = Kind.IRI
_LITERAL: Final = Kind.LITERAL

#: Tags of prefix id and name id in RdfIri, for its short forms.
_PREFIX_TAG: Final = 1 << 3 | VARINT
_NAME_TAG: Final = 2 << 3 | VARINT


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A decoder's state before a row.

    :ivar state: the position in the order of rows, a member of the format's states.
    :ivar names: the name lookup, by id; likewise ``prefixes`` and ``datatypes``.
    :ivar next_ids: the ids that an entry id of 0 denotes: name, prefix, datatype.
    :ivar prefix_id: the id that a prefix id of 0 denotes.
    :ivar name_id: the id before the one that a name id of 0 denotes.
    :ivar given: a bit for each position that some statement has set.
    """

    state: int
    names: dict[int, str]
    prefixes: dict[int, str]
    datatypes: dict[int, str]
    next_ids: tuple[int, int, int]
    prefix_id: int
    name_id: int
    given: int


class TermReader:
    """The state of reading terms: three lookups, the last ids, the last terms.

    :param factory: makes the terms.
    :param options: sizes of the lookups and features declared.
    :param limits: the limits on untrusted input.
    :param width: number of terms of a statement: 3, or 4 with a graph.
    """

    def __init__(
        self, factory: TermFactory[Any], options: CommonOptions, limits: Limits, width: int
    ) -> None:
        self._factory = factory
        self._limits = limits
        self._generalized = options.generalized_statements
        self._rdf_star = options.rdf_star
        self.names = ReaderTable("name", options.max_name_table_size)
        self.prefixes = ReaderTable("prefix", options.max_prefix_table_size)
        self.datatypes = ReaderTable("datatype", options.max_datatype_table_size)
        self._prefix_id = 0
        self._name_id = 0
        #: Terms of the previous statement by position, which an unset position repeats.
        self.last: list[Any] = [None] * width
        #: The current graph as a tuple of one, where statements do not have a graph.
        self.graph: tuple[Any, ...] = ()
        #: Bits of the positions that no statement has set yet.
        self._missing = (1 << width) - 1
        #: Characters of IRIs made so far in this frame.
        self.expansion = 0

        # An IRI's key is the sum of the serial numbers of its prefix and its name. A serial is
        # never reused, so that replacing an entry needs no search for stale IRIs.
        self._serial = 0
        self._name_keys: list[int] = [0]
        self._prefix_keys: list[int] = [0]
        self._iris: dict[int, Any] = {}
        self._iri_characters = 0
        #: For each name, by id, the last IRI that it was part of, with its key.
        self._last_iris: list[tuple[int, Any]] = [(0, None)]
        #: Literals by their bytes on the wire, each with the length of its datatype's IRI.
        self._literals: dict[bytes, tuple[Any, int]] = {}
        self._blank_nodes: dict[bytes, Any] = {}

        # Fields that this stream may use, by tag: position, bit of the position, and kind of term.
        self._quoted_tags = self._tags(3)
        self._statement_tags = self._tags(width)

    def _tags(self, width: int) -> dict[int, tuple[int, int, Kind]]:
        return {
            number << 3 | BYTES: (position, 1 << position, kind)
            for number, (position, kind) in positions.STATEMENT_FIELDS.items()
            if position < width
            and positions.undeclared(position, kind, self._generalized, self._rdf_star) is None
        }

    def restore(self, before: Checkpoint) -> None:
        """Continue at a checkpoint of another reader of the same stream, with empty caches."""
        for entries, next_id, table, enter in (
            (before.names, before.next_ids[0], self.names, self.enter_name),
            (before.prefixes, before.next_ids[1], self.prefixes, self.enter_prefix),
            (before.datatypes, before.next_ids[2], self.datatypes, self.enter_datatype),
        ):
            for entry_id, value in entries.items():
                enter(entry_id, value)
            table.last = next_id - 1
        self._prefix_id = before.prefix_id
        self._name_id = before.name_id
        self._missing &= ~before.given

    def begin_frame(self) -> None:
        """Reset the counters of the frame."""
        self.expansion = 0

    # Lookup entries

    def set_name(self, data: bytes, pos: int, end: int) -> None:
        """Read an RdfNameEntry."""
        self.enter_name(*self._entry(data, pos, end))

    def enter_name(self, entry_id: int, value: str) -> None:
        """Set an entry of the name lookup; id 0 is the previous entry's id plus one."""
        self._enter(self.names, self._name_keys, 0, entry_id, value)
        missing = len(self._name_keys) - len(self._last_iris)
        if missing > 0:
            self._last_iris.extend([(0, None)] * missing)

    def set_prefix(self, data: bytes, pos: int, end: int) -> None:
        """Read an RdfPrefixEntry."""
        self.enter_prefix(*self._entry(data, pos, end))

    def enter_prefix(self, entry_id: int, value: str) -> None:
        """Set an entry of the prefix lookup, as :meth:`enter_name` does."""
        self._enter(self.prefixes, self._prefix_keys, _PREFIX_SHIFT, entry_id, value)

    def set_datatype(self, data: bytes, pos: int, end: int) -> None:
        """Read an RdfDatatypeEntry."""
        self.enter_datatype(*self._entry(data, pos, end))

    def enter_datatype(self, entry_id: int, value: str) -> None:
        """Set an entry of the datatype lookup, as :meth:`enter_name` does."""
        self._assign(self.datatypes, entry_id, value)
        self._literals.clear()

    def _enter(
        self, table: ReaderTable, keys: list[int], shift: int, entry_id: int, value: str
    ) -> None:
        entry_id = self._assign(table, entry_id, value)
        self._serial += 1
        missing = len(table.values) - len(keys)
        if missing > 0:
            keys.extend([-1] * missing)
        keys[entry_id] = self._serial << shift

    def _assign(self, table: ReaderTable, entry_id: int, value: str) -> int:
        """Set an entry and return its id."""
        entry_id = table.assign(entry_id, value)
        if table.characters > self._limits.lookup_characters:
            raise over(
                self._limits,
                "lookup_characters",
                table.characters,
                f"the length of all {table.name} entries",
            )
        return entry_id

    def _entry(self, data: bytes, pos: int, end: int) -> tuple[int, str]:
        entry_id = 0
        value = ""
        for number, start, stop, varint in read_fields(
            data, pos, end, ENTRY_FIELDS, "a lookup entry"
        ):
            if number == 1:
                entry_id = uint32(varint, "a lookup entry's id")
            else:
                value = self.string(data, start, stop, "a lookup entry")
        return entry_id, value

    def string(self, data: bytes, pos: int, end: int, what: str) -> str:
        if end - pos > self._limits.string_bytes:
            raise over(self._limits, "string_bytes", end - pos, f"the length of {what}")
        return read_string(data, pos, end, what)

    # Terms

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
            elif end - at == 3 and data[at + 2] < 0x80:
                name_id += (data[at + 2] - 1) << 7
                at += 3
        if at < end:
            prefix_id = name_id = 0
            for number, _, _, value in read_fields(data, pos, end, IRI_FIELDS, "RdfIri"):
                if number == 1:
                    prefix_id = value
                else:
                    name_id = value
        if prefix_id:
            self._prefix_id = prefix_id
        else:
            prefix_id = self._prefix_id
        if not name_id:
            name_id = self._name_id + 1
        self._name_id = name_id
        return self._found_iri(prefix_id, name_id)

    def _found_iri(self, prefix_id: int, name_id: int) -> Any:
        """Return the IRI of two entries; prefix id 0 means no prefix."""
        try:
            name_key = self._name_keys[name_id]
            prefix_key = self._prefix_keys[prefix_id]
        except IndexError:
            name_key = prefix_key = -1
        if name_key > 0 <= prefix_key:
            key = prefix_key + name_key
            last_key, term = self._last_iris[name_id]
            return term if key == last_key else self._make_iri(prefix_id, name_id, key)
        return self._make_iri(prefix_id, name_id, 0)

    def _make_iri(self, prefix_id: int, name_id: int, key: int) -> Any:
        """Build an IRI, or find it in the cache by its key; key 0 means that it is not cached."""
        name = self.names.get(name_id)
        prefix = self.prefixes.get(prefix_id) if prefix_id else ""
        size = len(prefix) + len(name)
        limits = self._limits
        if size > limits.string_bytes:
            raise over(limits, "string_bytes", size, "the length of an IRI")
        # Count it unless it is the name's last IRI, so that the count does not depend on the cache.
        self._expand(size)
        term = self._iris.get(key)
        if term is None:
            term = build(self._factory.iri, prefix + name)
            if size > CACHED_STRING or not key:
                return term
            self._iri_characters += size
            if len(self._iris) >= CACHE_ENTRIES or self._iri_characters > CACHE_CHARACTERS:
                self._iris.clear()
                self._iri_characters = size
            self._iris[key] = term
        self._last_iris[name_id] = (key, term)
        return term

    def _expand(self, size: int) -> None:
        """Count characters that a few bytes of the stream expand to."""
        self.expansion += size
        if self.expansion > self._limits.frame_expansion:
            raise over(
                self._limits, "frame_expansion", self.expansion, "what IRIs of a frame expand to"
            )

    def blank_node(self, data: bytes, pos: int, end: int) -> Any:
        """Read a blank node's label."""
        raw = data[pos:end]
        term = self._blank_nodes.get(raw)
        if term is None:
            label = self.string(data, pos, end, "a blank node label")
            term = build(self._factory.blank_node, label)
            self._remember(self._blank_nodes, raw, term)
        return term

    def literal(self, data: bytes, pos: int, end: int) -> Any:
        """Read an RdfLiteral."""
        raw = data[pos:end]
        found = self._literals.get(raw)
        if found is None:
            return self._make_literal(raw, data, pos, end)
        term, size = found
        if size:
            self._expand(size)
        return term

    def _make_literal(self, raw: bytes, data: bytes, pos: int, end: int) -> Any:
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
        term, size = self._build_literal(lex, langtag, datatype)
        if size <= CACHED_STRING:
            self._remember(self._literals, raw, (term, size))
        return term

    def _build_literal(
        self, lex: str, langtag: str | None, datatype: str | None
    ) -> tuple[Any, int]:
        """Make a literal; return it with the length of its datatype's IRI."""
        if datatype == XSD_STRING:
            datatype = None
        term = build(self._factory.literal, lex, langtag, datatype)
        size = 0 if datatype is None else len(datatype)
        if size:
            # A backend may copy the datatype's IRI into each literal, as text does.
            self._expand(size)
        return term, size

    def quoted_triple(self, data: bytes, pos: int, end: int, depth: int = 1) -> Any:
        """Read an RdfTriple quoted inside another one; every position must be set."""
        if depth > self._limits.nesting:
            raise over(self._limits, "nesting", depth, "the depth of quoted triples")
        terms: list[Any] = [None, None, None]
        given = self._read_terms(data, pos, end, terms, self._quoted_tags, depth)
        if given != 0b111:
            missing = positions.POSITIONS[(~given & 0b111).bit_length() - 1]
            raise StatementError(f"a quoted triple has no {missing}; terms cannot repeat there")
        return build(self._factory.quoted_triple, *terms)

    def _remember(self, cache: dict[bytes, Any], raw: bytes, term: Any) -> None:
        if len(raw) <= CACHED_STRING:
            if len(cache) >= CACHE_ENTRIES:
                cache.clear()
            cache[raw] = term

    # Statements

    def make_statement(self) -> Any:
        """Make the statement that :meth:`statement` has read, with the factory."""
        terms: Any = (*self.last, *self.graph)
        # Inlined from `build`, to avoid a call for each statement.
        try:
            return self._factory.triple(terms) if len(terms) == 3 else self._factory.quad(terms)
        except JellyError:
            raise
        except ValueError as error:
            raise TermError(str(error)) from error

    def statement(self, data: bytes, pos: int, end: int) -> bool:
        """Read an RdfTriple or RdfQuad into :attr:`last`.

        :return: whether any term was set; False if the statement repeats the previous one.
        :raises StatementError: the statement repeats a term that no statement has set yet.
        """
        given = self._read_terms(data, pos, end, self.last, self._statement_tags, 0)
        if self._missing:
            self._missing &= ~given
            if self._missing:
                position = positions.POSITIONS[self._missing.bit_length() - 1]
                raise StatementError(f"the {position} repeats, but no statement before has one")
        return given != 0

    def _read_terms(
        self,
        data: bytes,
        pos: int,
        end: int,
        terms: list[Any],
        tags: dict[int, tuple[int, int, Kind]],
        depth: int,
    ) -> int:
        """Read the fields of RdfTriple or RdfQuad into ``terms``; return a bit for each position
        that was set.
        """
        given = 0
        while pos < end:
            tag = data[pos]
            known = tags.get(tag)
            start = pos + 2
            # Nearly every tag and every length take one byte.
            if known is not None and tag < 0x80 and start <= end and data[pos + 1] < 0x80:
                stop = start + data[pos + 1]
                if stop > end:
                    raise WireError("a field ends after its message")
            else:
                tag, start, stop, _ = read_field(data, pos, end)
                known = tags.get(tag)
                if known is None:
                    self._check_unknown(tag, len(terms))
                    pos = stop
                    continue
            pos = stop
            position, bit, kind = known
            if given & bit:
                raise WireError(f"a statement's {positions.POSITIONS[position]} is set twice")
            given |= bit
            if kind is _IRI:
                terms[position] = self.iri(data, start, stop)
            elif kind is _LITERAL:
                terms[position] = self.literal(data, start, stop)
            elif kind is Kind.BLANK_NODE:
                terms[position] = self.blank_node(data, start, stop)
            elif kind is Kind.TRIPLE:
                terms[position] = self.quoted_triple(data, start, stop, depth + 1)
            else:
                check_empty(data, start, stop, "RdfDefaultGraph")
                terms[position] = self._factory.default_graph
        return given

    def _check_unknown(self, tag: int, width: int) -> None:
        """Skip an unknown field of RdfTriple or RdfQuad; reject a known one."""
        number = tag >> 3
        if number not in positions.STATEMENT_FIELDS:
            return
        if tag & 7 != BYTES:
            raise wrong_type(number, "a statement")
        position, kind = positions.STATEMENT_FIELDS[number]
        if position >= width:
            raise StatementError("a triple has a graph")
        option = positions.undeclared(position, kind, self._generalized, self._rdf_star)
        raise StatementError(
            f"{kind.name} as {positions.POSITIONS[position]}, but the stream options "
            f"do not declare {option}"
        )

    def graph_name(self, data: bytes, pos: int, end: int) -> Any:
        """Read the name of an RdfGraphStart, which never repeats.

        :raises StatementError: the name is missing, or needs an option that was not declared.
        :raises TermError: the factory rejects the name.
        """
        name = self._graph_name(data, pos, end)
        build(self._factory.check_graph, name)
        return name

    def _graph_name(self, data: bytes, pos: int, end: int) -> Any:
        known = dict.fromkeys(positions.GRAPH_START_FIELDS, BYTES)
        names = list(read_fields(data, pos, end, known, "RdfGraphStart"))
        if not names:
            raise StatementError("a graph start has no name; names cannot repeat there")
        if len(names) > 1:
            raise WireError("a graph start has two names")
        number, start, stop, _ = names[0]
        kind = positions.GRAPH_START_FIELDS[number]
        option = positions.undeclared(positions.GRAPH, kind, self._generalized, self._rdf_star)
        if option:
            raise StatementError(
                f"{kind.name} as graph, but the stream options do not declare {option}"
            )
        if kind == Kind.IRI:
            return self.iri(data, start, stop)
        if kind == Kind.BLANK_NODE:
            return self.blank_node(data, start, stop)
        if kind == Kind.LITERAL:
            return self.literal(data, start, stop)
        check_empty(data, start, stop, "RdfDefaultGraph")
        return self._factory.default_graph
