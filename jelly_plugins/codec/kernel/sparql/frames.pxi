# Fields of a frame, and packed lookup entries. `term_reader` is the reference.

def find_fields(bytes data not None, Py_ssize_t start, Py_ssize_t stop, dict known not None, repeated,
                Py_ssize_t most):
    """Do the same as `term_reader.gather`; return None where it raises, or for a field that is not
    of the usual form.
    """
    cdef const uint8_t *base = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef const uint8_t *pos = base + start
    cdef const uint8_t *end = base + stop
    cdef const uint8_t *begin
    cdef Span span
    cdef uint32_t value
    cdef uint8_t tag
    cdef dict found = {}
    cdef PyObject *fields
    while pos < end:
        if most == 0:
            return None
        most -= 1
        tag = pos[0]
        wire_type = known.get(tag >> 3)
        if tag >= 0x80 or wire_type is None or wire_type != tag & 7:
            return None
        value = 0
        begin = pos + 1
        if tag & 7 == 0:
            pos = read_uint32(begin, end, &value)
        elif tag & 7 == 2:
            pos = read_span(begin, end, &span)
            begin = span.start
        else:
            return None
        if pos == NULL:
            return None
        number = tag >> 3
        field = (begin - base, pos - base, value)
        fields = PyDict_GetItem(found, number)
        if fields == NULL:
            found[number] = [field]
        elif number in repeated:
            (<list> <object> fields).append(field)
        else:
            return None
    return found


def enter_packed(reader, bint prefixes, bytes data not None, list fields not None):
    """Read packed entries of names or prefixes.

    :return: number of fields read; if it is less than all, the reference has to read the next one.
    """
    cdef const uint8_t *base = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef const uint8_t *pos
    cdef const uint8_t *end
    cdef Span span
    cdef uint32_t entry_id
    cdef uint64_t bytes_, first
    cdef Py_ssize_t at, count
    cdef Py_ssize_t longest = min(reader._limits.string_bytes, 1 << 62)
    cdef uint64_t most = min(reader._limits.lookup_characters, 1 << 62)
    table = reader.prefixes if prefixes else reader.names
    cdef list values = table.values
    cdef list keys = reader._prefix_keys if prefixes else reader._name_keys
    cdef list last_iris = reader._last_iris
    cdef list found
    cdef uint64_t last = table.last
    cdef uint64_t size = table.size
    cdef Py_ssize_t characters = table.characters
    # Columns of text do not cache IRIs by key.
    cdef bint keyed = type(reader._factory) is not ColumnFactory
    cdef Py_ssize_t read = 0
    serial = reader._serial
    shift = PREFIX_SHIFT if prefixes else 0
    key = -1
    while len(keys) < len(values):
        keys.append(-1)
    for start, stop, _ in fields:
        pos = base + <Py_ssize_t> start
        end = base + <Py_ssize_t> stop
        entry_id = 0
        bytes_ = 0
        found = []
        if pos < end and pos[0] == 0x08:
            pos = read_uint32(pos + 1, end, &entry_id)
        try:
            while pos != NULL and pos < end and pos[0] == 0x12 and len(found) <= size:
                pos = read_span(pos + 1, end, &span)
                if pos != NULL:
                    bytes_ += span.stop - span.start
                    found.append(
                        PyUnicode_DecodeUTF8(
                            <const char *> span.start, span.stop - span.start, NULL
                        )
                    )
        except UnicodeDecodeError:
            break
        count = PyList_GET_SIZE(found)
        first = entry_id if entry_id else last + 1
        if (
            pos != end
            or bytes_ > <uint64_t> longest
            or (count and first + count - 1 > size)
            or first > <uint64_t> PyList_GET_SIZE(values)
            or characters + bytes_ > most
        ):
            break
        for at in range(count):
            value = <str> PyList_GET_ITEM(found, at)
            characters += PyUnicode_GET_LENGTH(value)
            if keyed:
                serial += 1
                key = serial << shift
            if first + at == <uint64_t> PyList_GET_SIZE(values):
                values.append(value)
                keys.append(key)
            else:
                before = <object> PyList_GET_ITEM(values, first + at)
                if before is not None:
                    characters -= PyUnicode_GET_LENGTH(before)
                values[first + at] = value
                keys[first + at] = key
        if count:
            last = first + count - 1
        read += 1
    if not prefixes:
        while PyList_GET_SIZE(last_iris) < PyList_GET_SIZE(values):
            last_iris.append((0, None))
    table.characters = characters
    table.last = last
    reader._serial = serial
    return read
