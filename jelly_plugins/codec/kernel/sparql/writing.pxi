# Write columns of cells. `column_writer` and `layouts` are the reference.
#
# All calls of the caller's code (to compare, hash and describe terms) happen while a column is
# made. The column holds strings, and is written without any call into Python.

cdef enum:
    IRI = 0
    BLANK_NODE = 1
    LITERAL = 2


cdef enum:
    NAMES = 0
    PREFIXES = 1
    DATATYPES = 2
    LOOKUPS = 3


cdef struct Value:
    # Like `column_writer.Value`; the address of a missing `tag` or `datatype` is NULL.
    int kind
    Slice text
    size_t characters
    Slice tag
    Slice datatype
    size_t datatype_characters


cdef class WrittenColumn:
    """See `column_writer.Column`."""

    cdef readonly size_t size
    cdef readonly int kinds
    cdef Value *values
    cdef Py_ssize_t count
    cdef Buffer layouts
    # The objects that own the bytes of the values.
    cdef list held

    def __cinit__(self):
        self.held = []

    def __dealloc__(self):
        PyMem_RawFree(self.values)
        release(&self.layouts)


cdef class ColumnWriter:
    """See `column_writer.ColumnWriter`."""

    cdef WriterTable tables[LOOKUPS]
    # Packed entries for the next frame: the complete messages with their tags, and the last
    # message.
    cdef Buffer entries[LOOKUPS]
    cdef Buffer last_entries[LOOKUPS]
    cdef Buffer body
    cdef uint64_t frame
    cdef bint whole
    # The ids that zeros in the next IRI refer to.
    cdef Ids ids
    cdef object reference
    cdef object limits
    # Names and sizes of the lookups, for errors.
    cdef tuple lookups
    cdef dict known
    cdef bint generic
    cdef size_t longest
    cdef uint64_t most_characters

    def __cinit__(self, options, describe, limits):
        self.reference = reference_writer.ColumnWriter(options, describe, limits)
        self.limits = limits
        self.known = self.reference._described
        self.lookups = (
            self.reference._names, self.reference._prefixes, self.reference._datatypes
        )
        self.generic = KNOWN_TERMS and describe is terms.describe
        self.tables[NAMES].size = options.max_name_table_size
        self.tables[PREFIXES].size = options.max_prefix_table_size
        self.tables[DATATYPES].size = options.max_datatype_table_size
        self.longest = max(
            0, min(limits.string_bytes, limits.frame_bytes - ROW_OVERHEAD, 1 << 62)
        )
        self.most_characters = min(limits.lookup_characters, 1 << 62)

    def __dealloc__(self):
        cdef int lookup
        for lookup in range(LOOKUPS):
            close_writer_table(&self.tables[lookup])
            release(&self.entries[lookup])
            release(&self.last_entries[lookup])
        release(&self.body)

    def text(self, value, what):
        """See the reference."""
        return self.reference.text(value, what)

    def begin(self):
        """See the reference."""
        self.frame += 1

    # Cells to values

    def column(self, cells):
        """See the reference."""
        cdef WrittenColumn column = WrittenColumn()
        cdef list found
        cdef Py_ssize_t size
        try:
            found = squeezed(cells, &column.layouts)
        except AttributeError as error:
            raise TermError(f"a cell is not a term: {error}") from None
        size = PyList_GET_SIZE(found)
        column.values = <Value *> PyMem_RawCalloc(size + 1, sizeof(Value))
        if column.values == NULL:
            raise MemoryError
        for term in found:
            if not self.generic or not self.put_generic(column, term):
                self.put_value(column, term)
            column.size += column.values[column.count].text.size
            column.size += column.values[column.count].tag.size
            column.kinds |= 1 << column.values[column.count].kind
            column.count += 1
        return column

    cdef bint put_generic(self, WrittenColumn column, term) except -1:
        """Append a generic term to a column; False if the reference has to describe it."""
        cdef Value *value = &column.values[column.count]
        cdef object kind = type(term)
        if kind is Iri:
            value.kind = IRI
            return self.put_slot(column, term, IRI_VALUE, &value.text, &value.characters)
        if kind is BlankNode:
            value.kind = BLANK_NODE
            return self.put_slot(column, term, BLANK_NODE_LABEL, &value.text, &value.characters)
        if kind is not Literal:
            return False
        value.kind = LITERAL
        if not self.put_slot(column, term, LITERAL_LEX, &value.text, &value.characters):
            return False
        if get_slot(<PyObject *> term, LITERAL_LANGTAG) != <PyObject *> None:
            return (
                get_slot(<PyObject *> term, LITERAL_DATATYPE) == <PyObject *> None
                and self.put_slot(column, term, LITERAL_LANGTAG, &value.tag, &value.characters)
                and value.tag.size != 0
            )
        return get_slot(<PyObject *> term, LITERAL_DATATYPE) == <PyObject *> None or (
            self.put_slot(column, term, LITERAL_DATATYPE, &value.datatype,
                          &value.datatype_characters)
        )

    cdef bint put_slot(self, WrittenColumn column, term, Py_ssize_t slot, Slice *slice,
                       size_t *characters) except -1:
        """Find the string in a slot of a term; False if there is none or it cannot be written."""
        cdef PyObject *text = get_slot(<PyObject *> term, slot)
        return (
            text != NULL
            and type(<object> text) is str
            and hold(column, <str> text, slice, characters)
            and slice.size <= self.longest
        )

    cdef int put_value(self, WrittenColumn column, term) except -1:
        """Append the reference's encoding of a term to a column."""
        cdef Value *value = &column.values[column.count]
        cdef PyObject *kept
        try:
            kept = PyDict_GetItemWithError(self.known, term)
        except (TypeError, AttributeError):
            kept = NULL
        found = <object> kept if kept != NULL else self.reference.value(term)
        value.kind, text, tag, datatype, _ = found
        value.tag = value.datatype = NOTHING
        hold(column, text, &value.text, &value.characters)
        if tag is not None:
            hold(column, tag, &value.tag, &value.datatype_characters)
        if datatype is not None:
            hold(column, datatype, &value.datatype, &value.datatype_characters)
        return 0

    # Values to columns

    def columns(self, list columns not None, bint whole):
        """See the reference."""
        cdef WrittenColumn column
        cdef Buffer into
        memset(&into, 0, sizeof(Buffer))
        self.whole = whole
        try:
            for number, each in columns:
                column = each
                self.body.size = 0
                self.write_values(number, column)
                write_field(&self.body, 0x12, &column.layouts)
                write_text(&into, <int> number << 3 | 2, contents(&self.body))
            return PyBytes_FromStringAndSize(<const char *> into.bytes, into.size)
        finally:
            release(&into)

    cdef int write_values(self, int number, WrittenColumn column) except -1:
        """Write the run values of a column into `body`."""
        cdef Value *value
        cdef Py_ssize_t at
        if number == IRIS:
            return self.write_iris(column)
        if number == MIXED or (number == LITERALS and not is_of_one_datatype(column)):
            return self.write_terms(column, number == MIXED)
        for at in range(column.count):
            value = &column.values[at]
            write_text(&self.body, 0x0A if number == BLANK_NODES else 0x1A, value.text)
        if number == LITERALS and column.count and column.values[0].datatype.bytes != NULL:
            write_number(&self.body, 0x20, self.datatype_id(&column.values[0]))
        return 0

    cdef int write_iris(self, WrittenColumn column) except -1:
        cdef Buffer names, prefixes
        cdef Ids written
        cdef bint one = True
        cdef Py_ssize_t at
        memset(&names, 0, sizeof(Buffer))
        memset(&prefixes, 0, sizeof(Buffer))
        self.ids = Ids(0, 0)
        try:
            for at in range(column.count):
                written = self.written_ids(&column.values[at])
                one = one and (at == 0 or written.prefix == 0)
                make_room(&names, 10)
                put_varint(&names, written.name)
                make_room(&prefixes, 10)
                put_varint(&prefixes, written.prefix)
            write_field(&self.body, 0x0A, &names)
            if one:
                # One prefix for all values, or none.
                prefixes.size = 0
                if self.ids.prefix:
                    make_room(&prefixes, 10)
                    put_varint(&prefixes, self.ids.prefix)
            write_field(&self.body, 0x1A, &prefixes)
        finally:
            release(&names)
            release(&prefixes)
        return 0

    cdef int write_terms(self, WrittenColumn column, bint mixed) except -1:
        """Write values as RdfLiteral, or in a mixed column as SparqlTerm."""
        cdef Value *value
        cdef Ids ids = Ids(0, 0)
        cdef uint32_t datatype = 0
        cdef size_t size, whole
        cdef Py_ssize_t at
        self.ids = Ids(0, 0)
        for at in range(column.count):
            value = &column.values[at]
            if value.kind == IRI:
                ids = self.written_ids(value)
                size = number_size(ids.prefix) + number_size(ids.name)
            elif value.kind == BLANK_NODE:
                size = value.text.size
            else:
                datatype = self.datatype_id(value) if value.datatype.bytes != NULL else 0
                size = text_size(value.text) + text_size(value.tag) + number_size(datatype)
            whole = 1 + varint_size(size) + size if mixed else size
            make_room(&self.body, whole + 32)
            put_byte(&self.body, 0x0A)
            put_varint(&self.body, whole)
            if mixed:
                # The number of its field is that of its kind plus one.
                put_byte(&self.body, (value.kind + 1) << 3 | 2)
                put_varint(&self.body, size)
            if value.kind == IRI:
                put_number(&self.body, 0x08, ids.prefix)
                put_number(&self.body, 0x10, ids.name)
            elif value.kind == BLANK_NODE:
                put(&self.body, value.text.bytes, value.text.size)
            else:
                put_text(&self.body, 0x0A, value.text)
                put_text(&self.body, 0x12, value.tag)
                put_number(&self.body, 0x18, datatype)
        return 0

    # Lookups

    cdef Ids written_ids(self, Value *value) except *:
        """Return the ids of an IRI as written after those of the previous one."""
        cdef Slice text = value.text
        cdef size_t cut = 0
        cdef size_t characters = 0
        cdef Ids found = Ids(0, 0)
        cdef Ids written
        if self.tables[PREFIXES].size:
            if not self.whole:
                cut = text.size
                while cut and text.bytes[cut - 1] != c"#" and text.bytes[cut - 1] != c"/":
                    cut -= 1
                characters = cut
                if value.characters != text.size:
                    characters = characters_in(text.bytes, text.bytes + cut)
            found.prefix = self.entry(PREFIXES, Slice(text.bytes, cut), characters)
        found.name = self.entry(
            NAMES, Slice(text.bytes + cut, text.size - cut), value.characters - characters
        )
        written.prefix = 0 if found.prefix == self.ids.prefix else found.prefix
        written.name = 0 if found.name == self.ids.name + 1 else found.name
        self.ids = found
        return written

    cdef uint32_t datatype_id(self, Value *value) except 0:
        if self.tables[DATATYPES].size == 0:
            # This call raises the error.
            self.reference._datatype(text_of(value.datatype))
        return self.entry(DATATYPES, value.datatype, value.datatype_characters)

    cdef uint32_t entry(self, int lookup, Slice text, size_t characters) except 0:
        """The id of an entry, which is created if missing."""
        cdef WriterTable *table = &self.tables[lookup]
        cdef WriterEntry *newest
        cdef uint64_t hash, entry_id
        cdef uint32_t found
        cdef Written written
        if table.newest:
            # The prefix or datatype is usually that of the previous value.
            newest = &table.entries[table.newest]
            if same(newest.bytes, newest.size, text.bytes, text.size):
                newest.row = self.frame
                return table.newest
        hash = hash_of(text.bytes, text.size)
        found = find_value(table, text, hash)
        if found:
            use(table, found, self.frame)
            return found
        written = choose_entry(table, characters, self.most_characters, self.frame, &entry_id)
        if written == TOO_LONG:
            raise over(
                self.limits, "lookup_characters", table.characters + characters,
                f"the length of all {self.lookups[lookup].name} entries",
            )
        if written == NO_ROOM:
            raise NoRoomError(self.lookups[lookup])
        self.enter(lookup, <uint32_t> entry_id, text, characters, hash)
        return <uint32_t> entry_id

    cdef int enter(self, int lookup, uint32_t entry_id, Slice text, size_t characters,
                   uint64_t hash) except -1:
        """Set an entry and write it; both steps succeed or fail together."""
        cdef WriterTable *table = &self.tables[lookup]
        cdef Buffer *into = &self.last_entries[lookup]
        cdef uint64_t written = written_id(table, entry_id)
        if written:
            self.end_entries(lookup)
        make_room(into, text.size + 32)
        if not fill_entry(table, entry_id, text, characters, hash, self.frame):
            raise MemoryError
        put_number(into, 0x08, written)
        put_byte(into, 0x12)
        put_varint(into, text.size)
        put(into, text.bytes, text.size)
        return 0

    cdef int end_entries(self, int lookup) except -1:
        """End the message of the last entries, if there is one: a new id starts another message."""
        write_field(&self.entries[lookup], (lookup + 4) << 3 | 2, &self.last_entries[lookup])
        self.last_entries[lookup].size = 0
        return 0

    def take_entries(self):
        """See the reference."""
        cdef int lookup
        cdef bytes taken = b""
        for lookup in range(LOOKUPS):
            self.end_entries(lookup)
            taken += PyBytes_FromStringAndSize(
                <const char *> self.entries[lookup].bytes, self.entries[lookup].size
            )
            self.entries[lookup].size = 0
        return taken


cdef bint hold(WrittenColumn column, str text, Slice *slice, size_t *characters) except -1:
    """Find a string's UTF-8, and hold the string; False if it cannot be encoded."""
    cdef bytes raw
    if PyUnicode_IS_ASCII(text):
        column.held.append(text)
        slice[0] = Slice(<const uint8_t *> PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text))
    else:
        try:
            raw = PyUnicode_AsUTF8String(text)
        except UnicodeEncodeError:
            return False
        column.held.append(raw)
        slice[0] = slice_of_bytes(raw)
    characters[0] = PyUnicode_GET_LENGTH(text)
    return True


cdef bint is_of_one_datatype(WrittenColumn column) noexcept:
    """Whether all values of a column of literals have the same datatype and none has a language
    tag.
    """
    cdef Value *first = &column.values[0]
    cdef Value *value
    cdef Py_ssize_t at
    for at in range(column.count):
        value = &column.values[at]
        if value.tag.bytes != NULL:
            return False
        if (value.datatype.bytes == NULL) != (first.datatype.bytes == NULL):
            return False
        if value.datatype.bytes != first.datatype.bytes and not same(
            value.datatype.bytes, value.datatype.size, first.datatype.bytes, first.datatype.size
        ):
            return False
    return True


# Fields, which are omitted if they are empty

cdef inline size_t number_size(uint64_t value) noexcept nogil:
    return 1 + varint_size(value) if value else 0


cdef inline size_t text_size(Slice text) noexcept nogil:
    return 1 + varint_size(text.size) + text.size if text.size else 0


cdef inline void put_number(Buffer *into, uint8_t tag, uint64_t value) noexcept nogil:
    """Append a field to reserved space."""
    if value:
        put_byte(into, tag)
        put_varint(into, value)


cdef inline void put_text(Buffer *into, uint8_t tag, Slice text) noexcept nogil:
    """Append a field to reserved space."""
    if text.size:
        put_byte(into, tag)
        put_varint(into, text.size)
        put(into, text.bytes, text.size)


cdef inline int make_room(Buffer *into, size_t more) except -1:
    if not reserve(into, more):
        raise MemoryError
    return 0


cdef inline int write_number(Buffer *into, uint8_t tag, uint64_t value) except -1:
    make_room(into, 11)
    put_number(into, tag, value)
    return 0


cdef inline int write_text(Buffer *into, uint8_t tag, Slice text) except -1:
    """Append a repeated field, which is written even if it is empty."""
    make_room(into, text.size + 11)
    put_byte(into, tag)
    put_varint(into, text.size)
    put(into, text.bytes, text.size)
    return 0


cdef inline int write_field(Buffer *into, uint8_t tag, Buffer *body) except -1:
    make_room(into, body.size + 11)
    put_text(into, tag, contents(body))
    return 0


# Layouts

cdef inline bint are_equal(object cell, object last) except -1:
    """Whether two cells are the same term."""
    cdef bint lexes, tags
    if cell is last:
        return True
    if cell is None or last is None:
        return False
    if KNOWN_TERMS and type(cell) is type(last):
        if type(cell) is Iri:
            return equal_slots(cell, last, IRI_VALUE)
        if type(cell) is BlankNode:
            return equal_slots(cell, last, BLANK_NODE_LABEL)
        if type(cell) is Literal:
            # Compare both, because either may be missing.
            lexes = equal_slots(cell, last, LITERAL_LEX)
            tags = equal_slots(cell, last, LITERAL_LANGTAG)
            return equal_slots(cell, last, LITERAL_DATATYPE) and tags and lexes
    return cell == last


cdef inline bint equal_slots(object one, object other, Py_ssize_t slot) except -1:
    cdef PyObject *left = get_slot(<PyObject *> one, slot)
    cdef PyObject *right = get_slot(<PyObject *> other, slot)
    if left == NULL or right == NULL:
        # This comparison raises an error.
        return one == other
    return left == right or <object> left == <object> right


cdef list squeezed(cells, Buffer *layouts):
    """Return the run values of a column's cells and its packed layout; see `layouts.squeeze`."""
    cdef list values = []
    cdef Py_ssize_t skip = 0
    cdef Py_ssize_t run = 0
    cdef object last = None
    for cell in cells:
        if are_equal(cell, last):
            run += 1
            continue
        if run:
            skip = end_run(layouts, skip, run, last is None)
        if cell is not None:
            values.append(cell)
        last = cell
        run = 1
    if last is not None:
        end_run(layouts, skip, run, False)
    return values


cdef inline Py_ssize_t end_run(Buffer *layouts, Py_ssize_t skip, Py_ssize_t run,
                               bint unbound) except -1:
    """Append the token of a run, if it needs one; return the number of values before the next one.
    """
    cdef Py_ssize_t length = run - 1 if unbound else run - 2
    if length < 0:
        return skip + 1
    make_room(layouts, 20)
    put_varint(layouts, skip << 5 | (16 if unbound else 0) | min(length, 15))
    if length >= 15:
        put_varint(layouts, length - 15)
    return 0
