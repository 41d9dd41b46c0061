"""From a backend's terms to wire bytes: lookups, IRIs, literals, quoted triples, repeats.

Shared by every format that is built on Jelly's terms; knows nothing of frames. What terms need in
the lookups comes out as rows of its own, before the row that refers to it.

Reference: Jelly-RDF specification, sections "RDF terms" and "Repeated terms".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..errors import JellyError, StatementError, TermError
from . import rules
from .limits import Limits, over
from .lookups import WriterTable
from .options import StreamOptions
from .terms import Describe, Kind
from .wire import BYTES, bytes_field, string_field, varint, varint_field

#: A cache that reaches this many entries starts afresh.
CACHE_ENTRIES: Final = 1 << 16

#: Tag of the field that a term sets, by position and kind.
_TAGS: Final = {
    (position, kind): varint(number << 3 | BYTES)
    for number, (position, kind) in rules.STATEMENT_FIELDS.items()
}


class _NoRoomError(Exception):
    """A row needs more entries of a lookup than there are."""

    def __init__(self, table: WriterTable) -> None:
        super().__init__(table)
        self.table = table


class TermWriter:
    """The state that terms are written with: three lookups, the last ids, the last terms.

    :param options: sizes of the lookups and features declared.
    :param describe: takes the caller's terms apart.
    :param limits: bounds for strings and nesting, those of a reader by default.
    :param entry: takes a lookup's name (``"name"``, ``"prefix"``, ``"datatype"``) and the body of
        an entry, and writes its row.
    """

    def __init__(
        self,
        options: StreamOptions,
        describe: Describe,
        limits: Limits,
        entry: Callable[[str, bytes], None],
    ) -> None:
        self._describe_term = describe
        self._limits = limits
        self._entry = entry
        self._generalized = options.generalized_statements
        self._rdf_star = options.rdf_star
        self._names = WriterTable("name", options.max_name_table_size)
        self._prefixes = WriterTable("prefix", options.max_prefix_table_size)
        self._datatypes = WriterTable("datatype", options.max_datatype_table_size)
        self._split = self._prefixes.size > 0
        self._prefix_id = 0
        self._name_id = 0
        self._last: list[Any] = [None, None, None, None]
        self._described: dict[Any, tuple[Any, ...]] = {}

    def forget_repeats(self) -> None:
        """Write the next statement in full."""
        self._last = [None, None, None, None]

    def statement(self, terms: tuple[Any, ...]) -> bytes:
        """Write the body of an RdfTriple or RdfQuad; a term that stands where it stood in the
        statement before is left out.

        :raises StatementError: a term needs an option that was not declared.
        :raises TermError: a term cannot be said with these options.
        """
        last = self._last
        return self._row(lambda: self._terms(terms, last, 0), terms)

    def graph_name(self, term: Any) -> bytes:
        """Write the body of an RdfGraphStart."""

        def body() -> bytes:
            description = self._describe(term)
            kind = description[0]
            self._check_declared(rules.GRAPH, kind)
            number = _GRAPH_START_NUMBERS[kind]
            return bytes_field(number, self._term(description, 0))

        return self._row(body, None)

    def iri(self, value: str) -> bytes:
        """Write an RdfIri."""
        return self._row(lambda: self._iri(value), None)

    def _row(self, write: Callable[[], bytes], terms: tuple[Any, ...] | None) -> bytes:
        """Write one row; on success ``terms`` become what the next statement may repeat."""
        state = self._prefix_id, self._name_id
        try:
            try:
                body = write()
            except _NoRoomError as error:
                # IRIs under more prefixes than the table holds: say them whole, under the empty
                # one. The entries written meanwhile stay, and are of use later.
                if error.table is not self._prefixes:
                    raise
                self._prefix_id, self._name_id = state
                self._end_row()
                self._split = False
                body = write()
        except _NoRoomError as error:
            self._prefix_id, self._name_id = state
            raise TermError(
                f"the statement needs more {error.table.name} entries than the table has "
                f"({error.table.size}): raise max_{error.table.name}_table_size"
            ) from None
        except JellyError:
            self._prefix_id, self._name_id = state
            raise
        finally:
            self._end_row()
            self._split = self._prefixes.size > 0
        if terms is not None:
            self._last[: len(terms)] = terms
        return body

    def _end_row(self) -> None:
        self._names.end_row()
        self._prefixes.end_row()
        self._datatypes.end_row()

    def _terms(self, terms: tuple[Any, ...], last: list[Any] | None, depth: int) -> bytes:
        parts = []
        for position, term in enumerate(terms):
            if last is not None and last[position] == term and term is not None:
                continue
            description = self._described.get(term)
            if description is None:
                description = self._describe(term)
            kind = description[0]
            if kind not in rules.PLAIN[position] or kind == Kind.TRIPLE:
                self._check_declared(position, kind)
            payload = self._term(description, depth)
            size = len(payload)
            parts.append(_TAGS[position, kind])
            parts.append(size.to_bytes() if size < 0x80 else varint(size))
            parts.append(payload)
        return b"".join(parts)

    def _describe(self, term: Any) -> tuple[Any, ...]:
        """Take a term apart, once for each distinct one. A literal's description gets its
        wire form as far as it needs no lookup."""
        cache = self._described
        description = cache.get(term)
        if description is None:
            description = self._describe_term(term)
            kind = description[0]
            if kind == Kind.LITERAL:
                _, lex, langtag, datatype = description
                wire = string_field(1, self._checked(lex, "a lexical form"))
                if langtag is not None:
                    if not langtag:
                        raise TermError("a language tag is empty")
                    wire += bytes_field(2, self._checked(langtag, "a language tag").encode())
                description = (Kind.LITERAL, wire, datatype)
            elif kind == Kind.BLANK_NODE:
                label = self._checked(description[1], "a blank node label")
                description = (Kind.BLANK_NODE, label.encode())
            elif kind == Kind.IRI:
                self._checked(description[1], "an IRI")
            if len(cache) >= CACHE_ENTRIES:
                cache.clear()
            cache[term] = description
        return description

    def _checked(self, text: str, what: str) -> str:
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise TermError(f"{what} holds half of a surrogate pair, which UTF-8 has not") from None
        if size > self._limits.string_bytes:
            raise over(self._limits, "string_bytes", size, f"the length of {what}")
        return text

    def _check_declared(self, position: int, kind: Kind) -> None:
        if position == rules.GRAPH and kind == Kind.TRIPLE:
            raise StatementError("a quoted triple cannot name a graph")
        if position != rules.GRAPH and kind == Kind.DEFAULT_GRAPH:
            raise StatementError(f"the default graph cannot be a {rules.POSITIONS[position]}")
        option = rules.undeclared(position, kind, self._generalized, self._rdf_star)
        if option:
            raise StatementError(
                f"{kind.name} as {rules.POSITIONS[position]} needs {option}=True in the options"
            )

    def _term(self, description: tuple[Any, ...], depth: int) -> bytes:
        kind = description[0]
        if kind == Kind.IRI:
            return self._iri(description[1])
        if kind == Kind.LITERAL:
            wire: bytes = description[1]
            datatype: str | None = description[2]
            return wire if datatype is None else wire + varint_field(3, self._datatype(datatype))
        if kind == Kind.BLANK_NODE:
            label: bytes = description[1]
            return label
        if kind == Kind.TRIPLE:
            if depth >= self._limits.nesting:
                raise over(self._limits, "nesting", depth + 1, "the depth of quoted triples")
            return self._terms(description[1:], None, depth + 1)
        return b""

    def _iri(self, value: str) -> bytes:
        prefix = ""
        name = value
        if self._split:
            cut = max(value.rfind("#"), value.rfind("/")) + 1
            prefix = value[:cut]
            name = value[cut:]
        prefix_id = 0
        if self._prefixes.size:
            prefix_id = self._look_up(self._prefixes, prefix)
        name_id = self._look_up(self._names, name)

        body = b""
        if prefix_id != self._prefix_id:
            self._prefix_id = prefix_id
            body = varint_field(1, prefix_id)
        if name_id != self._name_id + 1:
            body += varint_field(2, name_id)
        self._name_id = name_id
        return body

    def _datatype(self, datatype: str) -> int:
        if not self._datatypes.size:
            raise TermError(f"a literal of datatype {datatype}, but max_datatype_table_size is 0")
        return self._look_up(self._datatypes, datatype)

    def _look_up(self, table: WriterTable, value: str) -> int:
        entry_id = table.find(value)
        if entry_id:
            return entry_id
        assigned = table.assign(value)
        if assigned is None:
            raise _NoRoomError(table)
        entry_id, written = assigned
        self._entry(table.name, varint_field(1, written) + string_field(2, value))
        return entry_id


_GRAPH_START_NUMBERS: Final = {kind: number for number, kind in rules.GRAPH_START_FIELDS.items()}
