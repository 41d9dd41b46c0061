# Columns from terms. `values` and `layouts` are the reference.

cdef enum:
    IRI = 0
    BLANK_NODE = 1
    LITERAL = 2


cdef class Described:
    """See `values.Described`."""

    cdef readonly int kind
    cdef readonly Py_ssize_t size
    cdef readonly bytes raw
    cdef readonly bytes tag
    cdef readonly str datatype
    cdef readonly str prefix
    cdef readonly str name
    cdef public Py_ssize_t frame
    cdef public uint32_t prefix_id
    cdef public uint32_t name_id

    # Not __cinit__: `described` makes one without packing and parsing arguments.
    def __init__(self, int kind, Py_ssize_t size, bytes raw=None, bytes tag=None,
                 str datatype=None, str prefix=None, str name=None):
        self.kind = kind
        self.size = size
        self.raw = raw
        self.tag = tag
        self.datatype = datatype
        self.prefix = prefix
        self.name = name


cdef inline Described described(int kind, Py_ssize_t size, bytes raw):
    cdef Described made = Described.__new__(Described)
    made.kind = kind
    made.size = size
    made.raw = raw
    return made


cdef class Describer:
    """Describes the generic terms of one call; None is for what the reference has to describe."""

    cdef dict iris
    cdef bint split
    cdef Py_ssize_t longest
    cdef str prefix

    def __cinit__(self, writer):
        self.iris = writer.known_iris
        self.split = writer._prefixes.size > 0
        self.prefix = ""
        self.longest = max(
            0, min(writer._limits.string_bytes, writer._limits.frame_bytes - ROW_OVERHEAD, 1 << 62)
        )

    cdef bytes utf8(self, text):
        """The bytes of a string; None if it is none, or cannot be written."""
        cdef bytes raw
        if type(text) is not str:
            return None
        if PyUnicode_IS_ASCII(text):
            raw = PyBytes_FromStringAndSize(
                <const char *> PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text)
            )
        else:
            try:
                raw = PyUnicode_AsUTF8String(text)
            except UnicodeEncodeError:
                return None
        return raw if PyBytes_GET_SIZE(raw) <= self.longest else None

    cdef Described iri(self, term):
        cdef PyObject *kept
        cdef Py_ssize_t size, cut
        cdef const uint8_t *text
        cdef Described made
        value = slot_value(term, IRI_VALUE)
        if type(value) is not str:
            return None
        kept = PyDict_GetItem(self.iris, value)
        if kept != NULL:
            return <Described> kept
        size = cut = PyUnicode_GET_LENGTH(value)
        if not PyUnicode_IS_ASCII(value) or size > self.longest:
            return None
        # As `_cut` has it.
        text = <const uint8_t *> PyUnicode_DATA(value)
        if not self.split:
            cut = 0
        while cut and text[cut - 1] != c"#" and text[cut - 1] != c"/":
            cut -= 1
        # Most often it is the prefix of the IRI before, which need not be made and hashed again.
        if cut != PyUnicode_GET_LENGTH(self.prefix) or memcmp(
            text, PyUnicode_DATA(self.prefix), cut
        ):
            self.prefix = value[:cut]
        made = described(IRI, size, None)
        made.prefix = self.prefix
        made.name = value[cut:]
        if size <= CACHED_STRING:
            if len(self.iris) >= CACHE_ENTRIES:
                self.iris.clear()
            self.iris[value] = made
        return made

    cdef Described blank_node(self, term):
        raw = self.utf8(slot_value(term, BLANK_NODE_LABEL))
        if raw is None:
            return None
        return described(BLANK_NODE, PyBytes_GET_SIZE(raw), raw)

    cdef Described literal(self, term):
        cdef bytes raw
        cdef bytes tag = None
        cdef Described made
        cdef Py_ssize_t size
        raw = self.utf8(slot_value(term, LITERAL_LEX))
        if raw is None:
            return None
        size = PyBytes_GET_SIZE(raw)
        langtag = slot_value(term, LITERAL_LANGTAG)
        datatype = slot_value(term, LITERAL_DATATYPE)
        if langtag is not None:
            tag = self.utf8(langtag)
            if not tag or datatype is not None:
                return None
            size += PyBytes_GET_SIZE(tag)
        elif datatype is not None and (
            type(datatype) is not str
            or not PyUnicode_IS_ASCII(datatype)
            or PyUnicode_GET_LENGTH(datatype) > self.longest
        ):
            return None
        made = described(LITERAL, size, raw)
        made.tag = tag
        made.datatype = datatype
        return made


def describe_all(writer, list terms):
    """See `values.describe_all`."""
    cdef dict known = writer._described
    cdef bint generic = KNOWN_TERMS and writer.generic
    cdef Describer describer = Describer(writer)
    cdef list found = []
    cdef Described each
    cdef PyObject *kept
    cdef Py_ssize_t size = 0
    cdef int kinds = 0
    for term in terms:
        each = None
        if generic:
            if type(term) is Iri:
                each = describer.iri(term)
            elif type(term) is Literal:
                each = describer.literal(term)
            elif type(term) is BlankNode:
                each = describer.blank_node(term)
        else:
            try:
                kept = PyDict_GetItem(known, term)
            except TypeError:
                kept = NULL
            if kept != NULL:
                each = <Described> kept
        if each is None:
            each = writer.describe_term(term)
        size += each.size
        kinds |= 1 << each.kind
        found.append(each)
    return found, size, kinds


cdef class Table:
    """A `WriterTable` as `_ColumnWriter._iri_ids` uses it, for the columns of one call."""

    cdef object writer
    cdef object table
    cdef object ids
    cdef object to_end
    cdef list used
    cdef list waiting
    cdef object row
    cdef Py_ssize_t size
    cdef Py_ssize_t most
    cdef str last
    cdef uint32_t last_id

    def __cinit__(self, writer, table):
        self.writer = writer
        self.table = table
        self.ids = table._ids
        self.to_end = self.ids.move_to_end
        self.used = table._used
        self.waiting = writer.entries[table.name]
        self.row = writer._row_number
        self.size = table.size
        self.most = min(writer._limits.lookup_characters, 1 << 62)
        self.last = None

    cdef uint32_t find(self, str value) except? 0:
        """The id of an entry, which is made if there is none."""
        cdef PyObject *kept
        # The one before is used already, and last.
        if self.last is not None and (value is self.last or value == self.last):
            return self.last_id
        kept = PyDict_GetItem(self.ids, value)
        if kept != NULL:
            found = <object> kept
            self.to_end(value)
            self.used[<Py_ssize_t> found] = self.row
        else:
            found = self.enter(value)
        self.last = value
        self.last_id = found
        return self.last_id

    cdef object enter(self, str value):
        """See `TermWriter._enter` and `WriterTable.assign`; here is the case of a full table."""
        cdef PyObject *kept
        cdef Py_ssize_t characters = self.table.characters + PyUnicode_GET_LENGTH(value)
        cdef Py_ssize_t entry_id
        if len(self.ids) < self.size or characters > self.most:
            return self.writer._enter(self.table, value)
        oldest = next(iter(self.ids))
        kept = PyDict_GetItem(self.ids, oldest)
        if kept == NULL:
            raise KeyError(oldest)
        found = <object> kept
        entry_id = found
        if self.used[entry_id] == self.row:
            return self.writer._enter(self.table, value)
        del self.ids[oldest]
        self.used[entry_id] = self.row
        self.ids[value] = found
        self.table.characters = characters - len(oldest)
        self.waiting.append((0 if entry_id == self.table._last + 1 else found, value))
        self.table._last = found
        return found


cdef class Entries:
    """Finds the ids of IRIs as `_ColumnWriter.find_ids` does."""

    cdef object writer
    cdef Table names
    cdef Table prefixes
    cdef Py_ssize_t frame
    cdef bint usual

    def __cinit__(self, writer):
        self.writer = writer
        self.names = Table(writer, writer._names)
        self.prefixes = Table(writer, writer._prefixes)
        self.frame = writer._row_number
        self.usual = self.prefixes.size > 0 and not writer._whole

    cdef int find(self, Described value) except -1:
        if value.frame == self.frame:
            return 0
        if not self.usual:
            self.writer.find_ids(value)
            return 0
        value.prefix_id = self.prefixes.find(value.prefix)
        value.name_id = self.names.find(value.name)
        value.frame = self.frame
        return 0


def iri_numbers(writer, list values):
    """See `values.iri_numbers`."""
    cdef Entries entries = Entries(writer)
    cdef list names = []
    cdef list prefixes = []
    cdef Described value
    cdef Ids last = Ids(0, 0)
    for value in values:
        entries.find(value)
        names.append(0 if value.name_id == last.name + 1 else value.name_id)
        prefixes.append(0 if value.prefix_id == last.prefix else value.prefix_id)
        last = Ids(value.prefix_id, value.name_id)
    return names, prefixes


cdef inline size_t varint_size(uint64_t value) noexcept nogil:
    cdef size_t size = 1
    while value > 0x7F:
        value >>= 7
        size += 1
    return size


cdef inline void put_number(Buffer *into, uint64_t value) noexcept nogil:
    """Append a varint for which there is room."""
    while value > 0x7F:
        put_byte(into, <uint8_t> (value & 0x7F | 0x80))
        value >>= 7
    put_byte(into, <uint8_t> value)


cdef inline size_t field_size(size_t size) noexcept nogil:
    """Bytes of a field with a payload of so many, and a tag of one byte."""
    return 1 + varint_size(size) + size


cdef inline void put_field(Buffer *into, uint8_t tag, bytes payload) noexcept:
    put_byte(into, tag)
    put_number(into, PyBytes_GET_SIZE(payload))
    put(into, PyBytes_AS_STRING(payload), PyBytes_GET_SIZE(payload))


cdef inline void put_varint_field(Buffer *into, uint8_t tag, uint64_t value) noexcept:
    if value:
        put_byte(into, tag)
        put_number(into, value)


cdef inline size_t varint_field_size(uint64_t value) noexcept nogil:
    return 1 + varint_size(value) if value else 0


def joined(int number, list values):
    """See `values.joined`."""
    cdef Buffer into
    cdef Described value
    memset(&into, 0, sizeof(Buffer))
    try:
        for value in values:
            if not reserve(&into, PyBytes_GET_SIZE(value.raw) + 11):
                raise MemoryError
            put_field(&into, number << 3 | 2, value.raw)
        return PyBytes_FromStringAndSize(<const char *> into.bytes, into.size)
    finally:
        release(&into)


def written_terms(writer, list values, bint mixed):
    """See `values.written_terms`."""
    cdef Entries entries = Entries(writer)
    cdef dict datatypes = {}
    cdef Buffer into
    cdef Described value
    cdef Ids last = Ids(0, 0)
    cdef uint64_t prefix, name, datatype
    cdef size_t size, whole
    memset(&into, 0, sizeof(Buffer))
    try:
        for value in values:
            prefix = name = datatype = 0
            if value.kind == IRI:
                entries.find(value)
                prefix = 0 if value.prefix_id == last.prefix else value.prefix_id
                name = 0 if value.name_id == last.name + 1 else value.name_id
                last = Ids(value.prefix_id, value.name_id)
                size = varint_field_size(prefix) + varint_field_size(name)
            elif value.kind == BLANK_NODE:
                size = PyBytes_GET_SIZE(value.raw)
            else:
                if value.datatype is not None:
                    number = datatypes.get(value.datatype)
                    if number is None:
                        number = writer.datatype_id(value.datatype)
                        datatypes[value.datatype] = number
                    datatype = number
                size = varint_field_size(datatype)
                if PyBytes_GET_SIZE(value.raw):
                    size += field_size(PyBytes_GET_SIZE(value.raw))
                if value.tag is not None:
                    size += field_size(PyBytes_GET_SIZE(value.tag))
            whole = field_size(size) if mixed else size
            if not reserve(&into, field_size(whole)):
                raise MemoryError
            put_byte(&into, 0x0A)
            put_number(&into, whole)
            if mixed:
                # Its field is the one after its kind.
                put_byte(&into, (value.kind + 1) << 3 | 2)
                put_number(&into, size)
            if value.kind == IRI:
                put_varint_field(&into, 0x08, prefix)
                put_varint_field(&into, 0x10, name)
            elif value.kind == BLANK_NODE:
                put(&into, PyBytes_AS_STRING(value.raw), size)
            else:
                if PyBytes_GET_SIZE(value.raw):
                    put_field(&into, 0x0A, value.raw)
                if value.tag is not None:
                    put_field(&into, 0x12, value.tag)
                put_varint_field(&into, 0x18, datatype)
        return PyBytes_FromStringAndSize(<const char *> into.bytes, into.size)
    finally:
        release(&into)


def packed_entries(int number, list entries):
    """See `values.packed_entries`."""
    cdef Buffer fields
    cdef Buffer body
    cdef const char *text
    cdef Py_ssize_t size
    cdef uint64_t entry_id
    memset(&fields, 0, sizeof(Buffer))
    memset(&body, 0, sizeof(Buffer))
    try:
        for written, value in entries:
            entry_id = written
            if entry_id:
                end_entries(&fields, &body, number)
            text = PyUnicode_AsUTF8AndSize(value, &size)
            if not reserve(&body, size + 32):
                raise MemoryError
            put_varint_field(&body, 0x08, entry_id)
            put_byte(&body, 0x12)
            put_number(&body, size)
            put(&body, text, size)
        end_entries(&fields, &body, number)
        return PyBytes_FromStringAndSize(<const char *> fields.bytes, fields.size)
    finally:
        release(&fields)
        release(&body)


cdef int end_entries(Buffer *fields, Buffer *body, int number) except -1:
    """Append packed entries as a field, if there are some."""
    if body.size:
        if not reserve(fields, field_size(body.size)):
            raise MemoryError
        put_byte(fields, number << 3 | 2)
        put_number(fields, body.size)
        put(fields, body.bytes, body.size)
        body.size = 0
    return 0


def pack(list numbers):
    """Numbers as the payload of a packed field."""
    cdef Buffer into
    memset(&into, 0, sizeof(Buffer))
    try:
        if not reserve(&into, PyList_GET_SIZE(numbers) * 10 + 1):
            raise MemoryError
        for number in numbers:
            put_number(&into, number)
        return PyBytes_FromStringAndSize(<const char *> into.bytes, into.size)
    finally:
        release(&into)


cdef inline bint are_equal(object cell, object last) except -1:
    """Whether two cells are one term."""
    if cell is last:
        return True
    if cell is None or last is None:
        return False
    if KNOWN_TERMS and type(cell) is type(last):
        if type(cell) is Iri:
            return slot_value(cell, IRI_VALUE) == slot_value(last, IRI_VALUE)
        if type(cell) is BlankNode:
            return slot_value(cell, BLANK_NODE_LABEL) == slot_value(last, BLANK_NODE_LABEL)
        if type(cell) is Literal:
            return (
                slot_value(cell, LITERAL_LEX) == slot_value(last, LITERAL_LEX)
                and slot_value(cell, LITERAL_LANGTAG) == slot_value(last, LITERAL_LANGTAG)
                and slot_value(cell, LITERAL_DATATYPE) == slot_value(last, LITERAL_DATATYPE)
            )
    return cell == last


def squeeze(cells):
    """See `layouts.squeeze`."""
    cdef list values = []
    cdef list layouts = []
    cdef Py_ssize_t skip = 0
    cdef Py_ssize_t run = 0
    cdef object last = None
    for cell in cells:
        if are_equal(cell, last):
            run += 1
            continue
        if run:
            if last is None:
                put_run(layouts, skip, 16, run - 1)
                skip = 0
            elif run == 1:
                skip += 1
            else:
                put_run(layouts, skip, 0, run - 2)
                skip = 0
        if cell is not None:
            values.append(cell)
        last = cell
        run = 1
    if last is not None and run >= 2:
        put_run(layouts, skip, 0, run - 2)
    return values, layouts


cdef inline int put_run(list layouts, Py_ssize_t skip, int kind, Py_ssize_t length) except -1:
    """See `layouts.put_run`."""
    if length < 15:
        layouts.append(skip << 5 | kind | length)
    else:
        layouts.append(skip << 5 | kind | 15)
        layouts.append(length - 15)
    return 0
