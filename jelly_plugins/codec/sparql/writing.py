# cython: language_level=3, auto_pickle=False
"""Columns of query results, and the lookup entries that they need: terms to wire bytes.

This module is compiled (as ``_writing``) where there is a compiler, and runs as it is otherwise;
:mod:`.kernel` chooses. It has no pointers: every index is checked.

Reference: sparql.proto, "Columns"; rdf2.proto.
"""

from __future__ import annotations

from typing import Any

from ...errors import TermError
from ..common.limits import ROW_OVERHEAD, over
from ..common.term_writer import LEAST_PREFIXES, NoRoomError
from ..common.terms import BlankNode, Iri, Kind, Literal, terms_of, text_of
from ..common.terms import describe as describe_generic
from .options import BLANK_NODES, DATATYPES, IRIS, LITERALS, MIXED, NAMES, PREFIXES

try:
    import cython
except ImportError:
    from ..common import cython_shim as cython

_IRI = int(Kind.IRI)
_BLANK_NODE = int(Kind.BLANK_NODE)
_LITERAL = int(Kind.LITERAL)

#: Values of longer terms are not kept.
_KEPT_BYTES = 1024
_KEPT_TERMS = 1 << 16


@cython.final
@cython.no_gc
@cython.cclass
class Value:
    """A term that can be written. It has only strings and bytes, so it is in no cycle.

    :ivar text: an IRI; ``raw`` the label of a blank node, or a literal's lexical form.
    :ivar size: bytes of the text and the language tag.
    :ivar datatype: a literal's datatype; None for xsd:string.
    """

    kind: cython.int
    size: cython.Py_ssize_t
    text: str
    raw: bytes
    tag: object
    datatype: object


@cython.cfunc
@cython.exceptval(-1)
def _is_ascii(text: str) -> cython.bint:
    if cython.compiled:
        return _is_ascii_object(text)
    return text.isascii()


@cython.cfunc
def _put_number(into: bytearray, value: cython.ulonglong) -> object:
    """Append a varint."""
    while value > 0x7F:
        into.append(value & 0x7F | 0x80)
        value >>= 7
    into.append(value)
    return None


@cython.cfunc
def _put_field(into: bytearray, number: cython.int, payload: object) -> object:
    """Append a field of bytes, empty or not."""
    into.append(number << 3 | 2)
    _put_number(into, len(payload))
    into += payload
    return None


@cython.final
@cython.cclass
class Lookup:
    """A lookup, and its new entries. It keeps the entries that the frame uses until the frame ends;
    a new entry replaces the next one, in order of the ids, that the frame does not use.

    :param number: its field in a frame.
    :ivar frame: an object for each frame.
    """

    name = cython.declare(object, visibility="readonly")
    size = cython.declare(cython.Py_ssize_t, visibility="readonly")
    number: cython.int
    limits: object
    characters: cython.Py_ssize_t
    frame: object
    ids: dict
    # By id, with nothing at 0: the values, and the last frame that used each.
    values: list
    used: list
    # The value that was used last, and its id.
    value: object
    value_id: cython.Py_ssize_t
    # The id of the entry that was set last, the complete fields, and the body of the last one.
    last: cython.Py_ssize_t
    fields: bytearray
    body: bytearray

    def __init__(self, number: int, name: str, size: int, limits: Any) -> None:
        self.number = number
        self.name = name
        self.size = size
        self.limits = limits
        self.characters = self.last = 0
        self.ids = {}
        self.values = [None]
        self.used = [None]
        self.fields = bytearray()
        self.body = bytearray()
        self.begin()

    @cython.cfunc
    def begin(self) -> object:
        """Begin a frame."""
        self.frame = object()
        self.value = None
        self.value_id = 0
        return None

    @cython.cfunc
    @cython.exceptval(-1)
    def id_of(self, value: str) -> cython.Py_ssize_t:
        """The id of an entry that the frame uses; it is set if it is missing."""
        # Most IRIs have the prefix of the one before, and most literals its datatype.
        if self.value is not None and self.value == value:
            return self.value_id
        found: object = self.ids.get(value)
        if found is None:
            found = self.set(value)
        self.value = value
        self.value_id = found
        self.used[self.value_id] = self.frame
        return self.value_id

    @cython.cfunc
    @cython.exceptval(-1)
    def set(self, value: str) -> cython.Py_ssize_t:
        at: cython.Py_ssize_t = len(self.values)
        turns: cython.Py_ssize_t = 0
        replaced: object = None
        if at > self.size:
            at = self.last
            while True:
                if turns == self.size:
                    raise NoRoomError(self)
                turns += 1
                at = at + 1 if at < self.size else 1
                if self.used[at] is not self.frame:
                    break
            replaced = self.values[at]
        characters = self.characters + len(value) - (0 if replaced is None else len(replaced))
        if characters > self.limits.lookup_characters:
            what = f"the length of all {self.name} entries"
            raise over(self.limits, "lookup_characters", characters, what)
        self.characters = characters
        if replaced is None:
            self.values.append(value)
            self.used.append(None)
        else:
            del self.ids[replaced]
            self.values[at] = value
        self.ids[value] = at
        if at != self.last + 1:
            # An id begins another field.
            self.end_field()
            self.body.append(1 << 3)
            _put_number(self.body, at)
        self.last = at
        _put_field(self.body, 2, value.encode())
        return at

    @cython.cfunc
    def end_field(self) -> object:
        if self.body:
            _put_field(self.fields, self.number, self.body)
            self.body = bytearray()
        return None

    @cython.cfunc
    def take(self) -> bytearray:
        """The new entries, as fields of a frame."""
        self.end_field()
        taken: bytearray = self.fields
        self.fields = bytearray()
        return taken


@cython.cfunc
def _put_run(
    layout: bytearray, skip: cython.Py_ssize_t, unbound: cython.bint, length: cython.Py_ssize_t
) -> object:
    """Append a run's token, with an extension if its length needs one."""
    length -= 1 if unbound else 2
    code: cython.Py_ssize_t = length if length < 15 else 15
    _put_number(layout, skip << 5 | (16 if unbound else 0) | code)
    if code == 15:
        _put_number(layout, length - 15)
    return None


@cython.cfunc
@cython.exceptval(-1)
def _are_equal(cell: object, last: object) -> cython.bint:
    if cell is last:
        return True
    if cell is None or last is None:
        return False
    kind = type(cell)
    if kind is type(last):
        # The classes' own comparison takes many times as long.
        if kind is Iri:
            return cell.value == last.value
        if kind is Literal:
            return (
                cell.lex == last.lex
                and cell.langtag == last.langtag
                and cell.datatype == last.datatype
            )
    # Comparing or hashing tuples that are nested deeply enough ends the process.
    return not isinstance(cell, tuple) and cell == last


def squeeze(cells: Any) -> tuple[list[Any], bytearray]:
    """The run values and the layout of a column's cells; None is an unbound cell.

    >>> squeeze(["a", "b", "b", None, None, None])
    (['a', 'b'], bytearray(b' '))
    """
    values: list = []
    layout: bytearray = bytearray()
    # Values used once since the last token, and the length of the current run.
    skip: cython.Py_ssize_t = 0
    run: cython.Py_ssize_t = 0
    last: object = None
    for cell in cells:
        if run and _are_equal(cell, last):
            run += 1
            continue
        if run == 1 and last is not None:
            skip += 1
        elif run:
            _put_run(layout, skip, last is None, run)
            skip = 0
        if cell is not None:
            values.append(cell)
        last = cell
        run = 1
    # Cells after the last run are unbound anyway.
    if run > 1 and last is not None:
        _put_run(layout, skip, False, run)
    return values, layout


@cython.final
@cython.cclass
class ColumnWriter:
    """Writes the columns of a stream's frames.

    :param options: sizes of the lookups.
    :param describe: describes the caller's terms.
    :param limits: limits on the output.
    """

    _describe: object
    _generic: cython.bint
    _limits: object
    _longest: cython.Py_ssize_t
    _known: dict
    _names: Lookup
    _prefixes: Lookup
    _datatypes: Lookup
    _splits: cython.bint
    # The ids that zeros in the next IRI would refer to, and the ids of an IRI as they are written.
    _prefix_id: cython.Py_ssize_t
    _name_id: cython.Py_ssize_t
    _written_prefix: cython.Py_ssize_t
    _written_name: cython.Py_ssize_t

    def __init__(self, options: Any, describe: Any, limits: Any) -> None:
        self._describe = describe
        self._generic = describe is describe_generic
        self._limits = limits
        self._longest = min(
            limits.string_bytes, max(limits.frame_bytes - ROW_OVERHEAD, -1), 1 << 61
        )
        self._known = {}
        self._names = Lookup(NAMES, "name", options.max_name_table_size, limits)
        self._prefixes = Lookup(PREFIXES, "prefix", options.max_prefix_table_size, limits)
        self._datatypes = Lookup(DATATYPES, "datatype", options.max_datatype_table_size, limits)
        self._splits = options.max_prefix_table_size >= LEAST_PREFIXES
        self._prefix_id = self._name_id = 0

    def begin(self) -> None:
        """Start a frame: entries that are used from here on are kept until its end."""
        self._names.begin()
        self._prefixes.begin()
        self._datatypes.begin()

    def text(self, value: Any, what: str) -> bytes:
        """The UTF-8 bytes of a string."""
        return self._raw(value, what)

    @cython.cfunc
    def _raw(self, value: object, what: str) -> bytes:
        if not isinstance(value, str):
            raise TermError(f"{what} is not a string: {value!r}")
        text: str = value if type(value) is str else text_of(value)
        try:
            raw: bytes = text.encode("utf-8")
        except UnicodeEncodeError:
            raise TermError(f"{what} has a lone surrogate, which UTF-8 cannot encode") from None
        if len(raw) <= self._longest:
            return raw
        if len(raw) > self._limits.string_bytes:
            raise over(self._limits, "string_bytes", len(raw), f"the length of {what}")
        size = len(raw) + ROW_OVERHEAD
        raise over(self._limits, "frame_bytes", size, "the length of a row")

    # Cells to values

    def column(self, cells: Any) -> tuple[tuple[list[Value], bytearray, bool], int, int]:
        """Make the column of some cells; None is an unbound cell.

        :return: the column (its run values, its layout, and whether literals have one datatype and
            no language tags), the bytes of its values, and a bit for each kind of term.
        """
        try:
            terms, layout = squeeze(cells)
        except AttributeError as error:
            raise TermError(f"a cell is not a term: {error}") from None
        values: list = []
        value: Value
        datatype: object = None
        of_one_datatype: cython.bint = True
        size: cython.Py_ssize_t = 0
        kinds: cython.int = 0
        for term in terms:
            value = self._value(term)
            if not values:
                datatype = value.datatype
            if value.tag is not None or value.datatype != datatype:
                of_one_datatype = False
            values.append(value)
            size += value.size
            kinds |= 1 << value.kind
        return (values, layout, of_one_datatype), size, kinds

    @cython.cfunc
    def _value(self, term: object) -> Value:
        """The parts of a term; kept unless the term is long, or takes little to take apart."""
        if self._generic:
            # Taking generic terms apart takes less time than finding them.
            kind = type(term)
            try:
                if kind is Iri:
                    return self._iri(term.value)
                if kind is Literal:
                    return self._literal(term.lex, term.langtag, term.datatype)
                if kind is BlankNode:
                    return self._text_value(_BLANK_NODE, term.label, "a blank node label")
            except AttributeError:
                # The term lacks a part, which its description says.
                pass
        if isinstance(term, tuple):
            return self._made(self._describe(term))
        try:
            found = self._known.get(term)
        except (TypeError, AttributeError) as error:
            # Most such things are not terms, which their description says.
            self._made(self._describe(term))
            raise TermError(f"{term!r} is not a term: {error}") from None
        if found is None:
            found = self._made(self._describe(term))
            value: Value = found
            if value.size <= _KEPT_BYTES:
                if len(self._known) >= _KEPT_TERMS:
                    self._known.clear()
                self._known[term] = found
        return found

    @cython.cfunc
    def _made(self, described: object) -> Value:
        parts = terms_of(described)
        kind = int(parts[0])
        if kind == _IRI:
            return self._iri(parts[1])
        if kind == _BLANK_NODE:
            return self._text_value(kind, parts[1], "a blank node label")
        if kind != _LITERAL:
            raise TermError("Jelly-SPARQL has no quoted triples and no default graph")
        _, lex, tag, datatype = parts
        return self._literal(lex, tag, datatype)

    @cython.cfunc
    def _iri(self, iri: object) -> Value:
        made: Value = Value()
        made.kind = _IRI
        made.raw = made.tag = made.datatype = None
        if type(iri) is str and _is_ascii(iri) and len(iri) <= self._longest:
            made.text = iri
            made.size = len(iri)
        else:
            made.size = len(self._raw(iri, "an IRI"))
            made.text = iri if type(iri) is str else text_of(iri)
        return made

    @cython.cfunc
    def _text_value(self, kind: cython.int, text: object, what: str) -> Value:
        made: Value = Value()
        made.kind = kind
        made.raw = self._raw(text, what)
        made.size = len(made.raw)
        made.text = made.tag = made.datatype = None
        return made

    @cython.cfunc
    def _literal(self, lex: object, tag: object, datatype: object) -> Value:
        made: Value = self._text_value(_LITERAL, lex, "a lexical form")
        if tag is not None:
            if datatype is not None:
                raise TermError("a literal has either a language tag or a datatype, not both")
            if not tag:
                raise TermError("a language tag is empty")
            made.tag = self._raw(tag, "a language tag")
            made.size += len(made.tag)
        if datatype is not None:
            self._raw(datatype, "a datatype")
            made.datatype = text_of(datatype)
        return made

    # Values to columns

    def columns(self, columns: Any) -> bytes:
        """Write the columns of a frame.

        :param columns: the type of each column and the result of :meth:`column`, in order of the
            types.
        """
        into: bytearray = bytearray()
        for number, (values, layout, of_one_datatype) in columns:
            body = self._body(number, values, of_one_datatype)
            if layout:
                _put_field(body, 2, layout)
            _put_field(into, number, body)
        return bytes(into)

    @cython.cfunc
    def _body(
        self, number: cython.int, values: list, of_one_datatype: cython.bint
    ) -> bytearray:  # fmt: skip
        """Write the run values of a column."""
        into: bytearray = bytearray()
        value: Value
        self._prefix_id = self._name_id = 0
        if number == IRIS:
            self._put_iris(into, values)
        elif number == BLANK_NODES:
            for value in values:
                _put_field(into, 1, value.raw)
        elif number == LITERALS and of_one_datatype and values:
            for value in values:
                _put_field(into, 3, value.raw)
            value = values[0]
            if value.datatype is not None:
                into.append(4 << 3)
                _put_number(into, self._datatype_id(value.datatype))
        else:
            for value in values:
                body = self._term(value)
                if number == MIXED:
                    # The number of its field is that of its kind plus one.
                    inner = body
                    body = bytearray()
                    _put_field(body, value.kind + 1, inner)
                _put_field(into, 1, body)
        return into

    @cython.cfunc
    def _put_iris(self, into: bytearray, values: list) -> object:
        names: bytearray = bytearray()
        prefixes: bytearray = bytearray()
        one: cython.bint = True
        first: cython.bint = True
        value: Value
        for value in values:
            self._find_ids(value)
            one = one and (first or self._written_prefix == 0)
            first = False
            _put_number(names, self._written_name)
            _put_number(prefixes, self._written_prefix)
        if names:
            _put_field(into, 1, names)
        if one:
            # One prefix for all values, or none.
            prefixes = bytearray()
            if self._prefix_id:
                _put_number(prefixes, self._prefix_id)
        if prefixes:
            _put_field(into, 3, prefixes)
        return None

    @cython.cfunc
    def _term(self, value: Value) -> bytearray:
        """Write the body of an RdfIri, a label, or an RdfLiteral."""
        body: bytearray = bytearray()
        if value.kind == _IRI:
            self._find_ids(value)
            if self._written_prefix:
                body.append(1 << 3)
                _put_number(body, self._written_prefix)
            if self._written_name:
                body.append(2 << 3)
                _put_number(body, self._written_name)
        elif value.kind == _BLANK_NODE:
            body += value.raw
        else:
            if value.raw:
                _put_field(body, 1, value.raw)
            if value.tag is not None:
                _put_field(body, 2, value.tag)
            if value.datatype is not None:
                body.append(3 << 3)
                _put_number(body, self._datatype_id(value.datatype))
        return body

    # Lookups

    @cython.cfunc
    def _find_ids(self, value: Value) -> object:
        """Set the ids of an IRI as they are written after those of the previous one."""
        prefix: str = ""
        name: str = value.text
        cut: cython.Py_ssize_t
        slash: cython.Py_ssize_t
        prefix_id: cython.Py_ssize_t = 0
        if self._prefixes.size:
            if self._splits:
                cut = name.rfind("#")
                slash = name.rfind("/")
                if slash > cut:
                    cut = slash
                prefix = name[: cut + 1]
                name = name[cut + 1 :]
            prefix_id = self._prefixes.id_of(prefix)
        name_id: cython.Py_ssize_t = self._names.id_of(name)
        self._written_prefix = 0 if prefix_id == self._prefix_id else prefix_id
        self._written_name = 0 if name_id == self._name_id + 1 else name_id
        self._prefix_id = prefix_id
        self._name_id = name_id
        return None

    @cython.cfunc
    @cython.exceptval(-1)
    def _datatype_id(self, datatype: str) -> cython.Py_ssize_t:
        if not self._datatypes.size:
            raise TermError(f"a literal of datatype {datatype}, but max_datatype_table_size is 0")
        return self._datatypes.id_of(datatype)

    def take_entries(self) -> bytes:
        """The entries for the next frame, as its fields."""
        return bytes(self._names.take() + self._prefixes.take() + self._datatypes.take())
