# Columns of query results, and their cells as terms. `term_reader` and `layouts` are the reference.

cdef struct Parts:
    # The parts of a column besides its run values, and whether the run values are lexical forms.
    Span layout
    Span names
    Span prefixes
    uint32_t datatype
    bint has_datatype
    bint lexes
    # Number of run values.
    Py_ssize_t values


cdef Py_ssize_t numbers_in(Span span) noexcept nogil:
    """Number of varints in a packed field, each of which has one byte below 128."""
    cdef Py_ssize_t count = 0
    cdef const uint8_t *pos = span.start
    while pos < span.stop:
        count += pos[0] < 0x80
        pos += 1
    return count


cdef bint find_parts(int number, const uint8_t *pos, const uint8_t *end,
                     Parts *parts) noexcept nogil:
    """Check all fields of a column; False if it is not of the usual form. If it is, each field can
    be read without further checks.
    """
    cdef Span span
    cdef uint8_t tag
    memset(parts, 0, sizeof(Parts))
    while pos < end:
        tag = pos[0]
        pos += 1
        if tag == 0x20 and number == LITERALS and not parts.has_datatype:
            parts.has_datatype = True
            pos = read_uint32(pos, end, &parts.datatype)
            if pos == NULL:
                return False
            continue
        pos = read_span(pos, end, &span)
        if pos == NULL:
            return False
        if tag == 0x12:
            if parts.layout.start != NULL:
                return False
            parts.layout = span
        elif number == IRIS:
            if tag == 0x0A and parts.names.start == NULL:
                parts.names = span
                parts.values = numbers_in(span)
            elif tag == 0x1A and parts.prefixes.start == NULL:
                parts.prefixes = span
            else:
                return False
        elif tag == 0x1A and number == LITERALS:
            parts.lexes = True
            parts.values += 1
        elif tag == 0x0A:
            parts.values += 1
        else:
            return False
    return parts.lexes or not parts.has_datatype


cdef struct Ids:
    uint32_t prefix
    uint32_t name


cdef bint read_iri_ids(Span span, Ids *ids) noexcept nogil:
    """Read an RdfIri; `ids` are those of the previous IRI. False if it is not of the usual form."""
    cdef Ids found = Ids(0, 0)
    cdef const uint8_t *pos = span.start
    if pos < span.stop and pos[0] == 0x08:
        pos = read_uint32(pos + 1, span.stop, &found.prefix)
    if pos != NULL and pos < span.stop and pos[0] == 0x10:
        pos = read_uint32(pos + 1, span.stop, &found.name)
    return pos == span.stop and follow(ids, found)


cdef inline bint follow(Ids *ids, Ids found) noexcept nogil:
    """Resolve the zeros of an IRI's ids; False if the resulting name id is invalid."""
    if found.prefix:
        ids.prefix = found.prefix
    if found.name == 0 and ids.name == <uint32_t> -1:
        return False
    ids.name = found.name if found.name else ids.name + 1
    return True


cdef struct IriIds:
    # The ids of an IRI column, in order; the numbers are owned.
    Numbers names
    Numbers prefixes
    Ids last
    Py_ssize_t at
    bint each


cdef bint open_ids(Parts *parts, IriIds *ids) noexcept nogil:
    """Read the numbers of an IRI column; False if they are not of the usual form. Close `ids` in
    both cases.
    """
    memset(ids, 0, sizeof(IriIds))
    if not read_packed(parts.names, &ids.names) or not read_packed(parts.prefixes, &ids.prefixes):
        return False
    ids.each = ids.prefixes.count == ids.names.count
    if not ids.each and ids.prefixes.count:
        ids.last.prefix = ids.prefixes.values[0]
    return ids.each or ids.prefixes.count <= 1


cdef inline bint next_ids(IriIds *ids) noexcept nogil:
    """Advance to the next IRI, whose ids are `last`; False after the last one or if it has no name.
    """
    cdef Ids found = Ids(0, 0)
    if ids.at == ids.names.count:
        return False
    found.name = ids.names.values[ids.at]
    if ids.each:
        found.prefix = ids.prefixes.values[ids.at]
    if not follow(&ids.last, found):
        return False
    ids.at += 1
    return True


cdef void close_ids(IriIds *ids) noexcept nogil:
    PyMem_RawFree(ids.names.values)
    PyMem_RawFree(ids.prefixes.values)


cdef struct Run:
    # Consecutive cells: different values, one repeated value, or unbound cells.
    Py_ssize_t length
    bint repeats
    bint unbound


cdef struct Layout:
    # The remaining cells of a column.
    Numbers *tokens
    Py_ssize_t token
    Py_ssize_t values
    Py_ssize_t rows
    Run pending
    bint broken


cdef void open_layout(Layout *layout, Numbers *tokens, Py_ssize_t values,
                      Py_ssize_t rows) noexcept nogil:
    memset(layout, 0, sizeof(Layout))
    layout.tokens = tokens
    layout.values = values
    layout.rows = rows


cdef bint next_run(Layout *layout, Run *run) noexcept nogil:
    """Find the next run of a column; False after the last one, and if the layout does not match the
    rows.

    All runs together have one cell for each row.
    """
    cdef Py_ssize_t skip
    if layout.pending.length:
        run[0] = layout.pending
        layout.pending.length = 0
        return True
    memset(run, 0, sizeof(Run))
    if layout.token < layout.tokens.count:
        if not read_token(layout, &skip, run):
            layout.broken = True
            return False
        if skip:
            layout.pending = run[0]
            run[0] = Run(skip, False, False)
    elif layout.values:
        run.length = layout.values
        layout.values = 0
        if run.length > layout.rows:
            layout.broken = True
            return False
        layout.rows -= run.length
    else:
        run.unbound = True
        run.length = layout.rows
        layout.rows = 0
    return run.length != 0


cdef inline bint read_token(Layout *layout, Py_ssize_t *skip, Run *run) noexcept nogil:
    """Read a token: the number of values before its run, and the run; False if they exceed the
    column.
    """
    cdef uint32_t token = layout.tokens.values[layout.token]
    layout.token += 1
    skip[0] = token >> 5
    run.unbound = token & 16
    run.repeats = not run.unbound
    run.length = token & 15
    if run.length == 15:
        if layout.token == layout.tokens.count:
            return False
        run.length += layout.tokens.values[layout.token]
        layout.token += 1
    run.length += 1 if run.unbound else 2
    if skip[0] > layout.values or run.length + skip[0] > layout.rows:
        return False
    layout.values -= skip[0]
    layout.rows -= run.length + skip[0]
    if run.repeats:
        if layout.values == 0:
            return False
        layout.values -= 1
    return True


cdef int check_values(Parts *parts, Py_ssize_t rows) except -1:
    """Check the number of values before any of them is made.

    :raises WireError: there are more than cells.
    """
    if parts.values > rows or numbers_in(parts.layout) > 2 * rows:
        raise too_many(rows)
    return 0


def read_column(reader, int number, bytes data not None, Py_ssize_t start, Py_ssize_t stop,
                Py_ssize_t rows):
    """Read the cells of a column; return None if the reference has to read it.

    :param reader: a ``ResultsTermReader``.
    """
    cdef const uint8_t *base = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef Parts parts
    cdef list values
    cdef list cells = None
    if not find_parts(number, base + start, base + stop, &parts):
        return None
    check_values(&parts, rows)
    before = reader.expansion
    try:
        if number == IRIS:
            values = iris(reader, &parts)
        elif parts.lexes:
            values = same_literals(reader, base + start, base + stop, parts.datatype)
        else:
            values = other_terms(reader, number, data, base + start, base + stop)
        if values is not None:
            cells = expanded(values, parts.layout, rows)
    except (ValueError, TypeError):
        pass
    if cells is None:
        reader.expansion = before
    return cells


cdef list expanded(list values, Span span, Py_ssize_t rows):
    """Do the same as `layouts.expand`; return None where it raises."""
    cdef Numbers tokens = Numbers(NULL, 0)
    cdef Layout layout
    cdef Run run
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t row = 0
    cdef Py_ssize_t place
    cdef PyObject *value
    cdef list cells
    if span.start == span.stop and PyList_GET_SIZE(values) == rows:
        return values
    try:
        if not read_packed(span, &tokens):
            return None
        cells = [None] * rows
        open_layout(&layout, &tokens, PyList_GET_SIZE(values), rows)
        while next_run(&layout, &run):
            if run.unbound:
                row += run.length
                continue
            for place in range(run.length):
                cells[row] = <object> PyList_GET_ITEM(values, at)
                row += 1
                if not run.repeats:
                    at += 1
            if run.repeats:
                at += 1
        return None if layout.broken else cells
    finally:
        PyMem_RawFree(tokens.values)


cdef class IriMaker:
    """Makes IRIs of two ids as `TermReader._found_iri` does; returns None if the reference has to
    make it.
    """

    cdef object reader
    cdef list name_keys
    cdef list prefix_keys
    cdef list last_iris
    cdef list name_values
    cdef list prefix_values
    cdef dict made
    cdef object make
    cdef bint generic
    cdef Py_ssize_t longest
    cdef Py_ssize_t most
    cdef Py_ssize_t expansion
    cdef uint32_t held
    cdef object prefix_key

    def __cinit__(self, reader):
        self.reader = reader
        self.name_keys = reader._name_keys
        self.prefix_keys = reader._prefix_keys
        self.last_iris = reader._last_iris
        self.name_values = reader.names.values
        self.prefix_values = reader.prefixes.values
        self.made = reader._iris
        self.make = reader._factory.iri
        self.generic = KNOWN_TERMS and type(reader._factory) is GenericFactory
        self.longest = min(reader._limits.string_bytes, 1 << 62)
        self.most = min(reader._limits.frame_expansion, 1 << 62)
        self.expansion = 0
        self.held = <uint32_t> -1
        self.prefix_key = -1

    cdef object get(self, Ids ids):
        cdef object name_key, found, key, term
        cdef str value
        cdef Py_ssize_t size
        if (
            ids.name >= PyList_GET_SIZE(self.name_keys)
            or ids.prefix >= PyList_GET_SIZE(self.prefix_keys)
        ):
            return None
        if ids.prefix != self.held:
            self.held = ids.prefix
            self.prefix_key = <object> PyList_GET_ITEM(self.prefix_keys, ids.prefix)
        name_key = <object> PyList_GET_ITEM(self.name_keys, ids.name)
        if name_key <= 0 or self.prefix_key < 0:
            return None
        found = <object> PyList_GET_ITEM(self.last_iris, ids.name)
        key = self.prefix_key + name_key
        if <object> PyTuple_GET_ITEM(found, 0) == key:
            return <object> PyTuple_GET_ITEM(found, 1)
        value = <str> PyList_GET_ITEM(self.name_values, ids.name)
        if ids.prefix:
            value = (<str> PyList_GET_ITEM(self.prefix_values, ids.prefix)) + value
        size = PyUnicode_GET_LENGTH(value)
        self.expansion += size
        if size > self.longest or self.expansion > self.most:
            return None
        # Making a generic term is faster than finding it in the cache.
        term = new_iri(value) if self.generic else self.kept(key, value)
        if size <= CACHED_STRING:
            self.last_iris[ids.name] = (key, term)
        return term

    cdef object kept(self, key, str value):
        """Return the cached IRI of a key, or make and cache one."""
        cdef PyObject *known = PyDict_GetItem(self.made, key)
        cdef Py_ssize_t size = PyUnicode_GET_LENGTH(value)
        if known != NULL:
            return <object> known
        term = self.make(value)
        if size <= CACHED_STRING:
            self.reader._iri_characters += size
            if (
                len(self.made) >= CACHE_ENTRIES
                or self.reader._iri_characters > CACHE_CHARACTERS
            ):
                self.made.clear()
                self.reader._iri_characters = size
            PyDict_SetItem(self.made, key, term)
        return term


cdef list iris(reader, Parts *parts):
    cdef IriIds ids
    cdef list terms = []
    cdef object term
    cdef IriMaker maker = IriMaker(reader)
    maker.expansion = reader.expansion
    try:
        if not open_ids(parts, &ids):
            return None
        while next_ids(&ids):
            term = maker.get(ids.last)
            if term is None:
                return None
            terms.append(term)
        if ids.at < ids.names.count:
            return None
        reader.expansion = maker.expansion
        return terms
    finally:
        close_ids(&ids)


cdef list same_literals(reader, const uint8_t *pos, const uint8_t *end, uint32_t datatype_id):
    """Literals of one datatype."""
    cdef dict made = {}
    cdef list terms = []
    cdef Span span
    cdef uint32_t skipped
    cdef uint8_t tag
    cdef PyObject *known
    cdef Py_ssize_t longest = min(reader._limits.string_bytes, 1 << 62)
    cdef object make = reader._build_literal
    cdef bint generic = KNOWN_TERMS and type(reader._factory) is GenericFactory
    datatype = reader.datatypes.get(datatype_id) if datatype_id else None
    if datatype == XSD_STRING:
        datatype = None
    # The expansion that the reference counts for each value.
    cdef Py_ssize_t size = 0 if datatype is None else len(datatype)
    while pos < end:
        tag = pos[0]
        if tag == 0x20:
            pos = read_uint32(pos + 1, end, &skipped)
            continue
        pos = read_span(pos + 1, end, &span)
        if tag == 0x12:
            continue
        if tag != 0x1A or span.stop - span.start > longest:
            return None
        lex = PyUnicode_DecodeUTF8(<const char *> span.start, span.stop - span.start, NULL)
        if generic:
            terms.append(new_literal(lex, None, datatype))
            continue
        known = PyDict_GetItem(made, lex)
        if known == NULL:
            term, _ = make(lex, None, datatype)
            PyDict_SetItem(made, lex, term)
        else:
            term = <object> known
            if size:
                reader._expand(size)
        terms.append(term)
    if generic and size:
        reader._expand(size * len(terms))
    return terms


cdef list other_terms(reader, int number, bytes data, const uint8_t *pos, const uint8_t *end):
    """Values one by one: blank nodes, literals, or terms of a mixed column."""
    cdef const uint8_t *base = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef list terms = []
    cdef Span span
    cdef Span inner
    cdef uint8_t kind = 0x12 if number == BLANK_NODES else 0x1A
    cdef bint generic = KNOWN_TERMS and type(reader._factory) is GenericFactory
    cdef Py_ssize_t longest = min(reader._limits.string_bytes, 1 << 62)
    cdef Ids ids = Ids(0, 0)
    cdef IriMaker maker = IriMaker(reader)
    cdef object term
    cdef uint8_t tag
    literal = reader.literal
    blank_node = reader.blank_node
    maker.expansion = 0
    maker.most = max(maker.most - reader.expansion, 0)
    while pos < end:
        tag = pos[0]
        pos = read_span(pos + 1, end, &span)
        if tag == 0x12:
            continue
        if number == MIXED:
            if span.start == span.stop:
                return None
            kind = span.start[0]
            if read_span(span.start + 1, span.stop, &inner) != span.stop:
                return None
            span = inner
        term = None
        if kind == 0x0A:
            if not read_iri_ids(span, &ids):
                return None
            term = maker.get(ids)
            if term is None:
                return None
        elif kind == 0x12:
            if generic and span.stop - span.start <= longest:
                term = new_blank_node(
                    PyUnicode_DecodeUTF8(
                        <const char *> span.start, span.stop - span.start, NULL
                    )
                )
            else:
                term = blank_node(data, span.start - base, span.stop - base)
        elif kind == 0x1A:
            if generic and span.stop - span.start <= longest:
                term = untyped_literal(span)
            if term is None:
                term = literal(data, span.start - base, span.stop - base)
        else:
            return None
        terms.append(term)
    if maker.expansion:
        reader._expand(maker.expansion)
    return terms


cdef object untyped_literal(Span span):
    """Read a literal without a datatype, with or without a language tag; None for any other."""
    cdef const uint8_t *pos = span.start
    cdef Span part
    cdef object lex = ""
    cdef object langtag = None
    if pos < span.stop and pos[0] == 0x0A:
        pos = read_span(pos + 1, span.stop, &part)
        if pos == NULL:
            return None
        lex = PyUnicode_DecodeUTF8(<const char *> part.start, part.stop - part.start, NULL)
    if pos < span.stop and pos[0] == 0x12:
        pos = read_span(pos + 1, span.stop, &part)
        if pos == NULL or part.start == part.stop:
            return None
        langtag = PyUnicode_DecodeUTF8(<const char *> part.start, part.stop - part.start, NULL)
    return new_literal(lex, langtag, None) if pos == span.stop else None
