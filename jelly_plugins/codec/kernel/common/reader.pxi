# From the bytes of a frame to terms and planned statements. Nothing here needs the GIL.
#
# Reading stops (see `Status`) when the plan is full, at the end of the frame, at rare rows and
# fields that the reference reads (options, metadata), and at a rejected row. The reference reads a
# rejected row again and raises the error.

cdef enum Status:
    READ
    # Reading goes on after these stops.
    AT_PLAN_END
    AT_OPTIONS
    AT_FRAME_FIELD
    AT_NAMESPACE
    # The validator has to check new terms, see kernel/common/validator.pxi.
    NEEDS_VALIDATION
    AT_EMPTY_GRAPH
    AT_HEADER
    AT_BARE_ROW
    # Reading ends at these stops.
    AT_FRAME_END
    REJECTED
    NOT_RDF_1_2
    NOT_A_GRAPH
    TOO_MUCH_TEXT
    TOO_MANY_ROWS
    TOO_MANY_REPEATS
    TOO_MUCH_EXPANSION
    NO_MEMORY


cdef enum Event:
    STATEMENT
    # The previous statement, repeated.
    REPEAT
    GRAPH_START
    EMPTY_GRAPH
    # A row of a patch without content.
    BARE_ROW


cdef enum:
    # Maximum number of statements in a plan.
    PLAN = 512
    # Maximum size of a text stored in the entry itself.
    INLINE_BYTES = 64
    # Bytes of new terms after which a plan is full.
    PLAN_BYTES = 1 << 22
    STATES = 8
    # Rows of rdf.proto; checked when the module is loaded.
    ROW_OPTIONS = 1
    ROW_TRIPLE = 2
    ROW_QUAD = 3
    ROW_GRAPH_START = 4
    ROW_GRAPH_END = 5
    ROW_NAMESPACE = 6
    ROW_NAME = 9
    ROW_PREFIX = 10
    ROW_DATATYPE = 11
    ROW_TAG = 0x0A
    PREFIX_TAG = 0x08
    NAME_TAG = 0x10
    ENTRY_ID_TAG = 0x08
    ENTRY_TEXT_TAG = 0x12
    LEX_TAG = 0x0A
    LANGTAG_TAG = 0x12
    DATATYPE_TAG = 0x18


# Serial that no prefix has.
cdef uint64_t NEVER_USED = <uint64_t> -1


cdef struct Planned:
    Event event
    # The kind of the row, and its number in the frame.
    int kind
    uint64_t row
    # Not owned. A graph event has its name in the last one.
    Term *terms[4]


cdef struct Entry:
    # An entry of a lookup; its serial is 0 if it was never set.
    uint64_t serial
    size_t size
    size_t characters
    # For a name: the last IRI that it was part of, owned, if it was made a term, and the serial of
    # that IRI's prefix. For a datatype: its IRI, owned.
    uint64_t prefix_serial
    Term *term
    # Whether the name was part of an IRI in the cache.
    bint in_cache
    # For output as text: whether none of its characters need an escape in an IRI.
    bint plain
    # The entry's bytes, if they do not fit into `inline_bytes`.
    uint8_t *heap_bytes
    uint8_t inline_bytes[INLINE_BYTES]


cdef struct Table:
    Entry *entries
    size_t length
    uint64_t size
    uint64_t last
    # Total characters of all entries.
    uint64_t characters


cdef struct Reader:
    # Values from the options and the limits.
    bint text
    # Whether a validator checks terms that are written as text.
    bint validated
    # Whether the validator also writes literals: in its one form of them, and with language tags
    # that N-Triples cannot express.
    bint validator_writes
    bint declared[FIELD_NUMBERS]
    bint declared_graph[FIELD_NUMBERS]
    bint declared_value[FIELD_NUMBERS]
    bint has_namespaces
    # Rows of the format, and the state after each row: FIELD_NUMBERS for each state before it.
    const int8_t *row_fields
    const int8_t *next_states
    bint is_patch
    # Number of terms of a statement passed to the factory, and positions that a row must set.
    int width
    int required
    uint64_t string_bytes
    uint64_t lookup_characters
    uint64_t nesting
    uint64_t frame_rows
    uint64_t frame_repeats
    uint64_t frame_expansion
    # Maximum bytes of a term's text.
    uint64_t term_bytes
    # The text around the terms of a quoted triple, and its bytes with the spaces between them.
    Slice opening
    Slice closing
    uint64_t triple_overhead

    # State that is kept between frames.
    int state
    Table names
    Table prefixes
    Table datatypes
    uint64_t serial
    uint64_t prefix_id
    uint64_t name_id
    int given
    Term *last[4]
    Term *graph
    bint graph_is_empty
    Term *default_graph
    Cache iris
    Cache literals
    Cache blank_nodes
    Pool pool
    Buffer scratch

    # State of the frame.
    const uint8_t *pos
    const uint8_t *end
    uint64_t rows
    uint64_t repeats
    uint64_t expansion
    # Bytes of the frame.
    size_t size
    bint has_before
    # The current row: its position, and the reader's state before it.
    const uint8_t *row
    uint64_t row_number
    bint in_row
    int row_kind
    uint64_t row_prefix_id
    uint64_t row_name_id
    int row_given

    # The reason why reading stopped, in addition to the status.
    Status status
    # A stop that is processed after the statements planned before it; READ for none.
    Status stopped
    Field stopped_at
    # Name and IRI of a namespace, or key and value of a header. The IRI is NULL if a patch has
    # none.
    Slice namespace_name
    Term *namespace_iri

    # The plan, and its number of statements.
    Planned *plan
    size_t planned
    # Terms made since the plan was last empty, in order; not owned.
    Term **made
    size_t made_count
    size_t made_capacity
    size_t made_bytes


# Tables of the reference, as C arrays.

cdef int8_t NEXT_STATE[STATES][FIELD_NUMBERS]
cdef int8_t NO_FIELDS[FIELD_NUMBERS]
cdef int8_t ROW_FIELDS[FIELD_NUMBERS]
cdef int8_t IRI_FIELDS[FIELD_NUMBERS]
cdef int8_t LITERAL_FIELDS[FIELD_NUMBERS]
cdef int8_t ENTRY_FIELDS[FIELD_NUMBERS]
cdef int8_t NAMESPACE_FIELDS[FIELD_NUMBERS]
cdef int8_t GRAPH_START_FIELDS[FIELD_NUMBERS]
cdef int8_t GRAPH_START_KINDS[FIELD_NUMBERS]
cdef int8_t TERM_POSITIONS[FIELD_NUMBERS]
cdef int8_t TERM_KINDS[FIELD_NUMBERS]


cdef int load_reader_rules() except -1:
    memset(NEXT_STATE, -1, sizeof(NEXT_STATE))
    for before, rows in rules.NEXT.items():
        for row, after in rows.items():
            NEXT_STATE[<int> before][<int> row] = after
    fill_known(NO_FIELDS, {})
    fill_known(ROW_FIELDS, {int(row): BYTES for row in rules.Row})
    fill_known(NAMESPACE_FIELDS, reference_decoder.NAMESPACE_FIELDS)
    fill_known(IRI_FIELDS, reference_terms.IRI_FIELDS)
    fill_known(LITERAL_FIELDS, reference_terms.LITERAL_FIELDS)
    fill_known(ENTRY_FIELDS, reference_terms.ENTRY_FIELDS)
    fill_known(GRAPH_START_FIELDS, dict.fromkeys(positions.GRAPH_START_FIELDS, BYTES))
    memset(GRAPH_START_KINDS, -1, sizeof(GRAPH_START_KINDS))
    for number, kind in positions.GRAPH_START_FIELDS.items():
        GRAPH_START_KINDS[<int> number] = kind
    memset(TERM_POSITIONS, -1, sizeof(TERM_POSITIONS))
    for number, (position, kind) in positions.STATEMENT_FIELDS.items():
        if not 0 < number < FIELD_NUMBERS:
            raise ValueError(f"the kernel has no slot for field {number}")
        TERM_POSITIONS[<int> number] = position
        TERM_KINDS[<int> number] = kind
    return 0


cdef void *reject(Reader *reader, Status status) noexcept nogil:
    """Set the reason for returning NULL."""
    reader.status = status
    return NULL


cdef bint fail(Reader *reader, Status status) noexcept nogil:
    """Set the reason for returning False."""
    reader.status = status
    return False


# Lookups

cdef bint grow_table(Table *table, size_t length) noexcept nogil:
    """Reserve space for entries below `length`."""
    cdef Entry *moved
    cdef size_t larger = table.length * 2
    if larger > table.size + 1:
        larger = table.size + 1
    if larger < length:
        larger = length
    moved = <Entry *> PyMem_RawRealloc(table.entries, larger * sizeof(Entry))
    if moved == NULL:
        return False
    memset(moved + table.length, 0, (larger - table.length) * sizeof(Entry))
    table.entries = moved
    table.length = larger
    return True


cdef inline Entry *entry_at(Table *table, uint64_t entry_id) noexcept nogil:
    """Return an entry that was set, otherwise NULL."""
    if entry_id >= table.length or table.entries[entry_id].serial == 0:
        return NULL
    return &table.entries[entry_id]


cdef inline const uint8_t *bytes_at(Entry *entry) noexcept nogil:
    """Return the entry's text, which is stored in the table unless it is long."""
    return &entry.inline_bytes[0] if entry.heap_bytes == NULL else entry.heap_bytes


cdef Entry *set_entry(Reader *reader, Table *table, const uint8_t *pos,
                      const uint8_t *end) noexcept nogil:
    """Read a lookup entry; return NULL if it is rejected."""
    cdef Slice value = Slice(NULL, 0)
    cdef uint64_t entry_id = 0
    cdef uint64_t total
    cdef Py_ssize_t characters
    cdef Entry *entry
    if not read_entry(pos, end, &entry_id, &value):
        return <Entry *> reject(reader, REJECTED)
    characters = text_length(reader, value)
    if characters < 0:
        return NULL
    if entry_id == 0:
        entry_id = table.last + 1
    if entry_id > table.size:
        return <Entry *> reject(reader, REJECTED)
    if entry_id >= table.length and not grow_table(table, entry_id + 1):
        return <Entry *> reject(reader, NO_MEMORY)
    entry = &table.entries[entry_id]
    total = table.characters + characters - entry.characters
    if total > reader.lookup_characters:
        return <Entry *> reject(reader, REJECTED)
    if not put_text(entry, value):
        return <Entry *> reject(reader, NO_MEMORY)
    table.characters = total
    entry.characters = characters
    entry.plain = reader.text and not iri_needs_care(value.bytes, value.size)
    drop(entry.term, &reader.pool)
    entry.term = NULL
    entry.prefix_serial = NEVER_USED
    entry.in_cache = False
    reader.serial += 1
    entry.serial = reader.serial
    table.last = entry_id
    return entry


cdef inline bint read_entry(const uint8_t *pos, const uint8_t *end, uint64_t *entry_id,
                            Slice *value) noexcept nogil:
    """Find the fields of a lookup entry; False if it is malformed."""
    cdef Fields walk
    cdef int found
    # An entry with only a text is the most common one, followed by one with a small id; the generic
    # loop reads these too.
    if end - pos >= 4 and pos[0] == ENTRY_ID_TAG and pos[1] < 0x80 and pos[2] == ENTRY_TEXT_TAG:
        if pos[3] < 0x80 and pos[3] == end - pos - 4:
            entry_id[0] = pos[1]
            value[0] = Slice(pos + 4, pos[3])
            return True
    elif (end - pos >= 5 and pos[0] == ENTRY_ID_TAG and pos[1] >= 0x80 and pos[2] < 0x80
          and pos[3] == ENTRY_TEXT_TAG and pos[4] < 0x80 and pos[4] == end - pos - 5):
        entry_id[0] = <uint64_t> pos[2] << 7 | (pos[1] & 0x7F)
        value[0] = Slice(pos + 5, pos[4])
        return True
    elif (end - pos >= 2 and pos[0] == ENTRY_TEXT_TAG and pos[1] < 0x80
          and pos[1] == end - pos - 2):
        value[0] = Slice(pos + 2, pos[1])
        return True
    open_fields(&walk, pos, end, ENTRY_FIELDS)
    found = next_field(&walk)
    while found > 0:
        if walk.field.number == 1:
            entry_id[0] = walk.field.value
            if entry_id[0] > <uint64_t> 0xFFFFFFFF:
                return False
        else:
            value[0] = Slice(walk.field.start, walk.field.stop - walk.field.start)
        found = next_field(&walk)
    return found == 0


cdef bint put_text(Entry *entry, Slice text) noexcept nogil:
    """Set an entry's text, with memory of about its size; False if memory is exhausted."""
    cdef uint8_t *heap_bytes = NULL
    if text.size > INLINE_BYTES:
        if entry.heap_bytes != NULL and entry.size == text.size:
            heap_bytes = entry.heap_bytes
        else:
            heap_bytes = <uint8_t *> PyMem_RawRealloc(entry.heap_bytes, text.size)
            if heap_bytes == NULL:
                return False
        memcpy(heap_bytes, text.bytes, text.size)
    else:
        if entry.heap_bytes != NULL:
            PyMem_RawFree(entry.heap_bytes)
        if text.size:
            memcpy(entry.inline_bytes, text.bytes, text.size)
    entry.heap_bytes = heap_bytes
    entry.size = text.size
    return True


cdef bint set_datatype(Reader *reader, const uint8_t *pos, const uint8_t *end) noexcept nogil:
    cdef Entry *entry = set_entry(reader, &reader.datatypes, pos, end)
    if entry == NULL:
        return False
    if same(bytes_at(entry), entry.size, XSD_STRING_BYTES, XSD_STRING_SIZE):
        # A literal with this datatype is a simple one.
        return True
    entry.term = make_datatype(reader, entry)
    return entry.term != NULL or fail(reader, NO_MEMORY)


cdef Term *make_datatype(Reader *reader, Entry *entry) noexcept nogil:
    cdef Slice nothing = Slice(NULL, 0)
    cdef Slice text = Slice(bytes_at(entry), entry.size)
    cdef Term *datatype
    if reader.text:
        reader.scratch.size = 0
        if not (append(&reader.scratch, <const char *> b"^^", 2)
                and append_iri(&reader.scratch, text.bytes, text.size)):
            return NULL
        text = Slice(reader.scratch.bytes, reader.scratch.size)
    datatype = new_term(&reader.pool, DATATYPE, nothing, text)
    if datatype != NULL:
        datatype.needs_validation = reader.validated and not is_plain_datatype(text)
        datatype.characters = entry.characters
    return datatype


cdef inline Py_ssize_t text_length(Reader *reader, Slice text) noexcept nogil:
    """Count the characters of a text; reject it and return -1 if it is malformed or too long."""
    cdef Py_ssize_t characters
    if text.size > reader.string_bytes:
        reject(reader, REJECTED)
        return -1
    characters = characters_in(text.bytes, text.bytes + text.size)
    if characters < 0:
        reject(reader, REJECTED)
    return characters


# Terms. Each function returns a new reference, or NULL if the term is rejected.

cdef bint note_made(Reader *reader, Term *term) noexcept nogil:
    """Queue a term for conversion to an object, in order."""
    cdef Term **moved
    cdef size_t capacity
    term.row = reader.row_number
    reader.made_bytes += sizeof(Term) + term.text.size
    if has_wire(term.kind):
        reader.made_bytes += term.wire.size
    if reader.text and not term.needs_validation:
        return True
    if reader.made_count == reader.made_capacity:
        capacity = reader.made_capacity * 2 if reader.made_capacity else 256
        moved = <Term **> PyMem_RawRealloc(reader.made, capacity * sizeof(Term *))
        if moved == NULL:
            return False
        reader.made = moved
        reader.made_capacity = capacity
    reader.made[reader.made_count] = term
    reader.made_count += 1
    return True


cdef Term *read_iri(Reader *reader, const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Read an RdfIri."""
    cdef uint64_t prefix_id = 0
    cdef uint64_t name_id = 0
    if not read_iri_ids(reader, pos, end, &prefix_id, &name_id):
        return <Term *> reject(reader, REJECTED)
    return iri_of(reader, prefix_id, name_id)


cdef inline bint read_iri_ids(Reader *reader, const uint8_t *pos, const uint8_t *end,
                              uint64_t *found_prefix, uint64_t *found_name) noexcept nogil:
    """Read an RdfIri's ids, and advance the ids that zeros refer to; False if it is malformed."""
    cdef Fields walk
    cdef uint64_t prefix_id = 0
    cdef uint64_t name_id = 0
    cdef size_t size = end - pos
    cdef int found
    # Ids of one byte are by far the most common; the generic loop reads these too.
    if size == 2 and pos[0] == NAME_TAG and pos[1] < 0x80:
        name_id = pos[1]
    elif size == 2 and pos[0] == PREFIX_TAG and pos[1] < 0x80:
        prefix_id = pos[1]
    elif (size == 4 and pos[0] == PREFIX_TAG and pos[2] == NAME_TAG
          and pos[1] < 0x80 and pos[3] < 0x80):
        prefix_id = pos[1]
        name_id = pos[3]
    elif size:
        open_fields(&walk, pos, end, IRI_FIELDS)
        found = next_field(&walk)
        while found > 0:
            if walk.field.number == 1:
                prefix_id = walk.field.value
            else:
                name_id = walk.field.value
            found = next_field(&walk)
        if found < 0:
            return False
    if prefix_id:
        reader.prefix_id = prefix_id
    if name_id == 0:
        name_id = reader.name_id + 1
    reader.name_id = name_id
    found_prefix[0] = reader.prefix_id
    found_name[0] = name_id
    return True


cdef Term *iri_of(Reader *reader, uint64_t prefix_id, uint64_t name_id) noexcept nogil:
    cdef Entry *name = entry_at(&reader.names, name_id)
    cdef Entry *prefix = NULL
    cdef uint64_t prefix_serial = 0
    cdef Term *term = NULL
    if name == NULL:
        return <Term *> reject(reader, REJECTED)
    if prefix_id:
        prefix = entry_at(&reader.prefixes, prefix_id)
        if prefix == NULL:
            return <Term *> reject(reader, REJECTED)
        prefix_serial = prefix.serial
    if name.prefix_serial == prefix_serial and name.term != NULL:
        return shared(name.term)
    if name.in_cache:
        term = find_iri(&reader.iris, prefix_serial, name.serial)
    if term != NULL:
        if not expand(reader, term.characters):
            return NULL
        shared(term)
    else:
        term = make_iri(reader, prefix, name, name.prefix_serial != prefix_serial)
        if term == NULL:
            return NULL
        if term.characters > CACHED_STRING:
            return term
        term.prefix_serial = prefix_serial
        term.name_serial = name.serial
    # For text, building the IRI again costs as little as finding it in the cache.
    if name.term != NULL and not reader.text and not keep_iri(reader, name):
        drop(term, &reader.pool)
        return <Term *> reject(reader, NO_MEMORY)
    drop(name.term, &reader.pool)
    name.term = shared(term)
    name.prefix_serial = prefix_serial
    return term


cdef bint keep_iri(Reader *reader, Entry *name) noexcept nogil:
    """Put the IRI that a name was last part of into the cache, because the name becomes part of
    another one; False if memory is exhausted. Most names have one prefix, so that most IRIs
    never enter the cache and their memory is reused soon.
    """
    name.in_cache = True
    return (find_iri(&reader.iris, name.prefix_serial, name.serial) != NULL
            or remember(&reader.iris, mixed(name.prefix_serial, name.serial), name.term,
                        &reader.pool))


cdef bint expand(Reader *reader, uint64_t characters) noexcept nogil:
    """Count characters that a few bytes of the stream expand to, whenever the reference counts
    them.
    """
    reader.expansion += characters
    if reader.expansion > reader.frame_expansion:
        return fail(reader, TOO_MUCH_EXPANSION)
    return True


cdef bint append_entries(Buffer *out, Entry *prefix, Entry *name) noexcept nogil:
    """Append the IRI made of a name and an optional prefix, in N-Triples syntax; False if memory is
    exhausted.
    """
    if not append(out, <const char *> b"<", 1):
        return False
    if prefix != NULL and not append_entry(out, prefix):
        return False
    return append_entry(out, name) and append(out, <const char *> b">", 1)


cdef inline bint append_entry(Buffer *out, Entry *entry) noexcept nogil:
    """Append an entry's characters, escaped as in IRIs; False if memory is exhausted."""
    if not entry.plain:
        return append_escaped(out, bytes_at(entry), entry.size, IRI_ESCAPES)
    return append(out, bytes_at(entry), entry.size)


cdef Term *make_iri(Reader *reader, Entry *prefix, Entry *name, bint counts) noexcept nogil:
    """Build an IRI; `counts` is False if it was the name's last one, which does not expand again.
    """
    cdef Slice nothing = Slice(NULL, 0)
    cdef Buffer *scratch = &reader.scratch
    cdef uint64_t characters = name.characters
    cdef Term *term
    cdef bint written = True
    if prefix != NULL:
        characters += prefix.characters
    if characters > reader.string_bytes:
        return <Term *> reject(reader, REJECTED)
    if counts and not expand(reader, characters):
        return NULL
    scratch.size = 0
    if reader.text:
        written = append_entries(scratch, prefix, name)
    else:
        if prefix != NULL:
            written = append(scratch, bytes_at(prefix), prefix.size)
        written = written and append(scratch, bytes_at(name), name.size)
    if written:
        if reader.text and scratch.size > reader.term_bytes:
            return <Term *> reject(reader, REJECTED)
        term = new_term(&reader.pool, IRI, nothing, Slice(scratch.bytes, scratch.size))
        if term != NULL:
            term.needs_validation = reader.validated and not is_plain_iri(term.text)
        if term != NULL and note_made(reader, term):
            term.characters = characters
            return term
        drop(term, &reader.pool)
    return <Term *> reject(reader, NO_MEMORY)


cdef Term *read_blank_node(Reader *reader, const uint8_t *pos,
                           const uint8_t *end) noexcept nogil:
    cdef Slice wire = Slice(pos, end - pos)
    cdef Slice text = Slice(NULL, 0)
    # For text, building the term again costs as little as finding it in the cache.
    cdef bint kept = not reader.text and wire.size <= CACHED_STRING
    cdef uint64_t hash = 0
    cdef Term *term
    if kept:
        hash = hash_of(pos, end - pos)
        term = find_wire(&reader.blank_nodes, hash, wire)
        if term != NULL:
            return shared(term)
    if text_length(reader, wire) < 0:
        return NULL
    if reader.text:
        reader.scratch.size = 0
        if not append_label(&reader.scratch, wire):
            return <Term *> reject(reader, NO_MEMORY)
        if reader.scratch.size > reader.term_bytes:
            return <Term *> reject(reader, REJECTED)
        text = Slice(reader.scratch.bytes, reader.scratch.size)
    term = new_term(&reader.pool, BLANK_NODE, wire_kept(reader, wire), text)
    if term == NULL:
        return <Term *> reject(reader, NO_MEMORY)
    if note_made(reader, term) and (
        not kept or remember(&reader.blank_nodes, hash, term, &reader.pool)
    ):
        return term
    drop(term, &reader.pool)
    return <Term *> reject(reader, NO_MEMORY)


cdef Term *read_literal(Reader *reader, const uint8_t *pos, const uint8_t *end) noexcept nogil:
    cdef Slice wire = Slice(pos, end - pos)
    # For text, building the term again costs as little as finding it in the cache.
    cdef bint kept = not reader.text and wire.size <= CACHED_STRING
    cdef uint64_t hash = 0
    cdef Term *term = NULL
    if kept:
        hash = hash_of(pos, end - pos)
        term = find_wire(&reader.literals, hash, wire)
    if term != NULL and has_its_datatype(reader, term):
        shared(term)
        kept = False
    else:
        term = make_literal(reader, wire)
        if term == NULL:
            return NULL
    if term.parts[0] != NULL:
        kept = kept and term.parts[0].characters <= CACHED_STRING
        if not expand(reader, term.parts[0].characters):
            drop(term, &reader.pool)
            return NULL
    if kept and not remember(&reader.literals, hash, term, &reader.pool):
        drop(term, &reader.pool)
        return <Term *> reject(reader, NO_MEMORY)
    return term


cdef inline bint has_its_datatype(Reader *reader, Term *literal) noexcept nogil:
    """Whether a cached literal's datatype is still the one that its id on the wire refers to."""
    cdef Entry *entry
    if literal.name_serial == 0:
        return True
    entry = entry_at(&reader.datatypes, literal.name_serial)
    return entry != NULL and entry.term == literal.parts[0]


cdef struct LiteralParts:
    # A language tag of size 0 means none; xsd:string has an id but no datatype.
    Slice lex
    Slice langtag
    uint64_t datatype_id
    Term *datatype
    uint64_t characters


cdef bint read_literal_parts(Reader *reader, const uint8_t *pos, const uint8_t *end,
                             LiteralParts *parts) noexcept nogil:
    """Read an RdfLiteral; False if it is rejected."""
    cdef Entry *datatype
    cdef Py_ssize_t characters
    memset(parts, 0, sizeof(LiteralParts))
    if not find_literal_parts(pos, end, parts):
        return fail(reader, REJECTED)
    characters = text_length(reader, parts.lex)
    if characters < 0 or text_length(reader, parts.langtag) < 0:
        return False
    parts.characters = characters
    if parts.datatype_id:
        datatype = entry_at(&reader.datatypes, parts.datatype_id)
        if datatype == NULL:
            return fail(reader, REJECTED)
        parts.datatype = datatype.term
    return True


cdef bint find_literal_parts(const uint8_t *pos, const uint8_t *end,
                             LiteralParts *parts) noexcept nogil:
    """Find the fields of an RdfLiteral; False if it is malformed."""
    cdef Fields walk
    cdef Slice part
    cdef const uint8_t *after
    cdef int found
    # A short lexical form followed by short parts; the generic loop reads these too.
    if end - pos >= 2 and pos[0] == LEX_TAG and pos[1] < 0x80 and pos[1] <= end - pos - 2:
        parts.lex = Slice(pos + 2, pos[1])
        after = pos + 2 + pos[1]
        if after == end:
            return True
        if (end - after >= 3 and after[0] == LANGTAG_TAG and after[1] < 0x80
                and after[1] == end - after - 2):
            parts.langtag = Slice(after + 2, after[1])
            return True
        if end - after == 2 and after[0] == DATATYPE_TAG and 0 < after[1] < 0x80:
            parts.datatype_id = after[1]
            return True
    open_fields(&walk, pos, end, LITERAL_FIELDS)
    found = next_field(&walk)
    while found > 0:
        part = Slice(walk.field.start, walk.field.stop - walk.field.start)
        if walk.field.number == 1:
            parts.lex = part
        elif walk.field.number == 2:
            parts.langtag = part
            if part.size == 0:
                return False
        else:
            parts.datatype_id = walk.field.value
            if parts.datatype_id == 0:
                return False
        found = next_field(&walk)
    return found == 0 and not (parts.langtag.size and parts.datatype_id)


cdef inline Slice wire_kept(Reader *reader, Slice wire) noexcept nogil:
    """Return the bytes on the wire that a term keeps: all, if an object is made of them or a
    validator may need them; none, if only a text is made of them.
    """
    return Slice(NULL, 0) if reader.text and not reader.validated else wire


cdef inline Slice part_of_copy(Slice copied, Slice part, Slice whole) noexcept nogil:
    """Find a part of `whole` in the copy of `whole`, if there is a copy."""
    if copied.size == 0:
        return copied
    if part.size:
        part.bytes = copied.bytes + (part.bytes - whole.bytes)
    return part


cdef Term *make_literal(Reader *reader, Slice wire) noexcept nogil:
    cdef LiteralParts parts
    cdef Slice text = Slice(NULL, 0)
    cdef Term *term
    if not read_literal_parts(reader, wire.bytes, wire.bytes + wire.size, &parts):
        return NULL
    if reader.text:
        if not (reader.validator_writes or is_written(parts.langtag, parts.datatype)):
            return <Term *> reject(reader, REJECTED)
        reader.scratch.size = 0
        if not append_literal(&reader.scratch, parts.lex, parts.langtag, parts.datatype):
            return <Term *> reject(reader, NO_MEMORY)
        if reader.scratch.size > reader.term_bytes:
            return <Term *> reject(reader, REJECTED)
        text = Slice(reader.scratch.bytes, reader.scratch.size)
    term = new_term(&reader.pool, LITERAL, wire_kept(reader, wire), text)
    if term == NULL:
        return <Term *> reject(reader, NO_MEMORY)
    term.name_serial = parts.datatype_id
    term.characters = parts.characters
    term.lex = part_of_copy(term.wire, parts.lex, wire)
    term.langtag = part_of_copy(term.wire, parts.langtag, wire)
    if parts.datatype != NULL:
        term.parts[0] = shared(parts.datatype)
    term.needs_validation = reader.validated and not (
        is_plain_literal(parts.langtag, parts.datatype)
        and (not reader.validator_writes or is_plain_form(term))
    )
    if not note_made(reader, term):
        drop(term, &reader.pool)
        return <Term *> reject(reader, NO_MEMORY)
    return term


cdef Term *read_quoted_triple(Reader *reader, const uint8_t *pos, const uint8_t *end,
                              uint64_t depth) noexcept nogil:
    cdef Slice nothing = Slice(NULL, 0)
    cdef Term *parts[4]
    cdef Term *term = NULL
    cdef uint64_t size = reader.triple_overhead
    cdef uint64_t long_bytes = 0
    cdef bint needs_validation
    cdef int given = 0
    memset(parts, 0, sizeof(parts))
    if depth > reader.nesting:
        return <Term *> reject(reader, REJECTED)
    if read_terms(reader, pos, end, parts, 3, depth, &given):
        for position in range(3 if given == 0b111 else 0):
            size += text_size(parts[position])
            long_bytes += long_text(parts[position])
        # Its size is checked again after its terms are validated.
        needs_validation = given == 0b111 and reader.validated and not is_plain_triple(parts)
        if given == 0b111 and (not reader.text or needs_validation or size <= reader.term_bytes):
            term = new_term(&reader.pool, TRIPLE, nothing, nothing)
            if term != NULL:
                term.needs_validation = needs_validation
            if term != NULL and note_made(reader, term):
                term.characters = size
                term.prefix_serial = long_bytes
                memcpy(term.parts, parts, sizeof(term.parts))
                return term
            reject(reader, NO_MEMORY)
        else:
            reject(reader, REJECTED)
    drop(term, &reader.pool)
    for position in range(3):
        drop(parts[position], &reader.pool)
    return NULL


cdef inline uint64_t text_size(Term *term) noexcept nogil:
    """Bytes of a term in N-Triples."""
    return term.characters if term.kind == TRIPLE else term.text.size


cdef inline uint64_t long_text(Term *term) noexcept nogil:
    """Bytes of the long terms within a term's text."""
    if term.kind == TRIPLE:
        return term.prefix_serial
    return term.text.size if term.text.size > LONG_TERM else 0


cdef Term *read_term(Reader *reader, int kind, const uint8_t *pos, const uint8_t *end,
                     uint64_t depth) noexcept nogil:
    if kind == IRI:
        return read_iri(reader, pos, end)
    if kind == LITERAL:
        return read_literal(reader, pos, end)
    if kind == BLANK_NODE:
        return read_blank_node(reader, pos, end)
    if kind == TRIPLE:
        return read_quoted_triple(reader, pos, end, depth + 1)
    return shared(reader.default_graph) if is_empty_message(reader, pos, end) else NULL


cdef bint is_empty_message(Reader *reader, const uint8_t *pos,
                           const uint8_t *end) noexcept nogil:
    """Skip a message that has no fields."""
    cdef Fields walk
    open_fields(&walk, pos, end, NO_FIELDS)
    return next_field(&walk) == 0 or fail(reader, REJECTED)


# Statements

cdef bint read_terms(Reader *reader, const uint8_t *pos, const uint8_t *end, Term **terms,
                     int width, uint64_t depth, int *given) noexcept nogil:
    """Read the fields of an RdfTriple or RdfQuad into `terms`, which own their contents, and set a
    bit of `given` for each position.
    """
    cdef Field field
    cdef Term *term
    cdef const uint8_t *start
    cdef const uint8_t *stop
    cdef uint64_t number
    cdef int position
    while pos < end:
        if end - pos >= 2 and pos[0] < 0x80 and pos[1] < 0x80 and pos[0] & 7 == BYTES:
            number = pos[0] >> 3
            start = pos + 2
            if pos[1] > end - start or number == 0:
                return fail(reader, REJECTED)
            stop = start + pos[1]
        else:
            stop = read_field(pos, end, &field)
            if stop == NULL:
                return fail(reader, REJECTED)
            number = field.number
            start = field.start
            if (number < FIELD_NUMBERS and TERM_POSITIONS[number] >= 0
                    and <int> (field.tag & 7) != BYTES):
                return fail(reader, REJECTED)
        pos = stop
        if number >= FIELD_NUMBERS or TERM_POSITIONS[number] < 0:
            continue
        position = TERM_POSITIONS[number]
        if not reader.declared[number] or position >= width or given[0] & 1 << position:
            return fail(reader, REJECTED)
        given[0] |= 1 << position
        term = read_term(reader, TERM_KINDS[number], start, stop, depth)
        if term == NULL:
            return False
        drop(terms[position], &reader.pool)
        terms[position] = term
    return True


cdef bint read_statement(Reader *reader, const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Read a statement and plan it."""
    cdef Planned *planned = &reader.plan[reader.planned]
    cdef int given = 0
    cdef int width = 4 if reader.required == 0b1111 else 3
    if not read_terms(reader, pos, end, reader.last, width, 0, &given):
        return False
    reader.given |= given
    if reader.given != reader.required:
        return fail(reader, REJECTED)
    if reader.validated and (given or not reader.has_before) and not is_rdf_1_2(reader):
        return fail(reader, NOT_RDF_1_2)
    planned.kind = reader.row_kind
    planned.row = reader.row_number
    if given or not reader.has_before:
        planned.event = STATEMENT
        reader.has_before = True
    else:
        planned.event = REPEAT
        reader.repeats += 1
        if reader.repeats > reader.frame_repeats:
            return fail(reader, TOO_MANY_REPEATS)
    memcpy(planned.terms, reader.last, sizeof(planned.terms))
    if reader.graph != NULL:
        planned.terms[3] = reader.graph
    reader.planned += 1
    reader.graph_is_empty = False
    return True


cdef void plan_event(Reader *reader, Event event) noexcept nogil:
    cdef Planned *planned = &reader.plan[reader.planned]
    planned.event = event
    planned.kind = reader.row_kind
    planned.row = reader.row_number
    planned.terms[3] = reader.graph
    reader.planned += 1


cdef bint start_graph(Reader *reader, const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Read an RdfGraphStart with exactly one name."""
    cdef Fields walk
    cdef Field name
    cdef Term *graph
    open_fields(&walk, pos, end, GRAPH_START_FIELDS)
    if next_field(&walk) <= 0:
        return fail(reader, REJECTED)
    name = walk.field
    if next_field(&walk) != 0 or not reader.declared_graph[name.number]:
        return fail(reader, REJECTED)
    graph = read_term(reader, GRAPH_START_KINDS[name.number], name.start, name.stop, 0)
    if graph == NULL:
        return False
    drop(reader.graph, &reader.pool)
    reader.graph = graph
    reader.has_before = False
    reader.graph_is_empty = True
    if reader.validated and graph.kind == LITERAL:
        return fail(reader, NOT_A_GRAPH)
    plan_event(reader, GRAPH_START)
    return True


cdef bint read_namespace(Reader *reader, const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Read a namespace declaration, or an RdfPatchNamespace, into `namespace_name` and
    `namespace_iri`, which is NULL if a patch's row has none.
    """
    cdef Fields walk
    cdef Slice iri = Slice(NULL, 0)
    cdef Field graph
    cdef int found
    graph.number = 0
    reader.namespace_name = Slice(NULL, 0)
    if reader.is_patch:
        open_fields(&walk, pos, end, PATCH_NAMESPACE_FIELDS)
    else:
        open_fields(&walk, pos, end, NAMESPACE_FIELDS)
    found = next_field(&walk)
    while found > 0:
        if walk.field.number == 1:
            reader.namespace_name = Slice(walk.field.start, walk.field.stop - walk.field.start)
            if text_length(reader, reader.namespace_name) < 0:
                return False
        elif walk.field.number == 2:
            iri = Slice(walk.field.start, walk.field.stop - walk.field.start)
        elif graph.number:
            return fail(reader, REJECTED)
        else:
            graph = walk.field
        found = next_field(&walk)
    if found < 0 or not reader.has_namespaces:
        return fail(reader, REJECTED)
    # The IRI is read before the graph, whatever their order on the wire.
    if iri.bytes != NULL:
        reader.namespace_iri = read_iri(reader, iri.bytes, iri.bytes + iri.size)
        if reader.namespace_iri == NULL:
            return False
    elif reader.row_kind != PATCH_NAMESPACE_DELETE or not reader.is_patch:
        return fail(reader, REJECTED)
    reader.status = AT_NAMESPACE
    return not reader.is_patch or read_namespace_graph(reader, &graph)


# Rows

cdef Status read_rows(Reader *reader) noexcept nogil:
    """Read rows until a stop."""
    cdef Status status
    while reader.pos < reader.end:
        if reader.planned == PLAN or reader.made_bytes > PLAN_BYTES:
            return AT_PLAN_END
        status = read_row(reader)
        if status != READ:
            return status
    return AT_FRAME_END


cdef void begin_plan(Reader *reader) noexcept nogil:
    """Clear the plan, and free the unowned terms. Needs the GIL, unless none of them has an object.
    """
    reader.planned = 0
    reader.made_bytes = 0
    sweep(&reader.pool)


cdef Status plan_more(Reader *reader) noexcept nogil:
    """Plan the next rows, after all planned ones are written; return the stop if there is nothing
    to plan. For writing text: terms have objects only if a validator writes their text.
    """
    cdef Status status
    if reader.validator_writes:
        with gil:
            begin_plan(reader)
    else:
        begin_plan(reader)
    if reader.stopped != READ:
        status = reader.stopped
        reader.stopped = READ
        return status
    status = read_rows(reader)
    if status != AT_PLAN_END:
        # Write the rows planned before the stop first.
        reader.stopped = status
    return NEEDS_VALIDATION if reader.made_count else READ


cdef Status read_row(Reader *reader) noexcept nogil:
    """Read the field of the frame at `pos`, usually a row."""
    cdef Field field
    cdef int row = 0
    cdef bint read
    cdef Status status = open_row_at(reader, &field, &row)
    if status != READ:
        return status
    reader.row_kind = row
    if reader.is_patch:
        read = read_patch_row_body(reader, row, field.start, field.stop)
    else:
        read = read_row_body(reader, row, field.start, field.stop)
    if read:
        reader.state = state_after(reader, row)
    return reader.status


cdef inline int state_after(Reader *reader, int row) noexcept nogil:
    """The state after a row; -1 if the row is not allowed."""
    return reader.next_states[reader.state * FIELD_NUMBERS + row]


cdef inline Status open_row_at(Reader *reader, Field *found, int *found_row) noexcept nogil:
    """Find the row at `pos`; return READ if its message, `found`, is to be read."""
    cdef Field field
    cdef const uint8_t *pos = reader.pos
    cdef int row
    reader.row = pos
    reader.row_number = reader.rows
    # A tag may take more bytes than it needs; such a row is recognised later.
    reader.in_row = pos[0] == ROW_TAG
    if reader.in_row and reader.end - pos >= 2 and pos[1] < 0x80:
        field.start = pos + 2
        if pos[1] > reader.end - field.start:
            return REJECTED
        field.stop = field.start + pos[1]
    elif read_field(pos, reader.end, &field) == NULL:
        return REJECTED
    elif field.tag != ROW_TAG:
        reader.stopped_at = field
        reader.pos = field.stop
        return AT_FRAME_FIELD
    reader.pos = field.stop
    row = find_row(&field, reader.row_fields)
    if row < 0:
        return REJECTED
    reader.in_row = True
    reader.rows += 1
    if reader.rows > reader.frame_rows:
        return TOO_MANY_ROWS
    if state_after(reader, row) < 0:
        return REJECTED
    if row == ROW_OPTIONS:
        reader.stopped_at = field
        return AT_OPTIONS
    reader.row_prefix_id = reader.prefix_id
    reader.row_name_id = reader.name_id
    reader.row_given = reader.given
    reader.status = READ
    found[0] = field
    found_row[0] = row
    return READ


cdef inline int find_row(Field *field, const int8_t *rows) noexcept nogil:
    """Return the row of the format that `field` holds, and set `field` to its message; -1 if it
    holds not exactly one.
    """
    cdef const uint8_t *start = field.start
    if (field.stop - start >= 2 and start[1] < 0x80 and start + 2 + start[1] == field.stop
            and start[0] & 7 == BYTES and start[0] >> 3 < FIELD_NUMBERS
            and rows[start[0] >> 3] >= 0):
        field.start = start + 2
        return start[0] >> 3
    return find_long_row(field, rows)


cdef int find_long_row(Field *field, const int8_t *rows) noexcept nogil:
    """Do the same as `find_row`, for any field."""
    cdef Fields walk
    cdef int row
    open_fields(&walk, field.start, field.stop, rows)
    if next_field(&walk) <= 0:
        return -1
    field[0] = walk.field
    row = <int> field.number
    return row if next_field(&walk) == 0 else -1


cdef bint read_row_body(Reader *reader, int row, const uint8_t *start,
                        const uint8_t *stop) noexcept nogil:
    """Process a row other than options, and set `status` if reading stops after it; False if it is
    rejected.
    """
    if row == ROW_TRIPLE or row == ROW_QUAD:
        return read_statement(reader, start, stop)
    if row == ROW_NAME:
        return set_entry(reader, &reader.names, start, stop) != NULL
    if row == ROW_PREFIX:
        return set_entry(reader, &reader.prefixes, start, stop) != NULL
    if row == ROW_DATATYPE:
        return set_datatype(reader, start, stop)
    if row == ROW_NAMESPACE:
        return read_namespace(reader, start, stop)
    if row == ROW_GRAPH_START:
        return start_graph(reader, start, stop)
    if row != ROW_GRAPH_END:
        # Readers skip it.
        return True
    if not is_empty_message(reader, start, stop):
        return False
    if reader.graph_is_empty:
        plan_event(reader, EMPTY_GRAPH)
        reader.graph_is_empty = False
    return True


# Making and unmaking a reader

cdef bint open_reader(Reader *reader) noexcept nogil:
    """Initialise a reader of zeros."""
    cdef Slice nothing = Slice(NULL, 0)
    reader.term_bytes = <uint64_t> -1
    reader.row_fields = ROW_FIELDS
    reader.next_states = &NEXT_STATE[0][0]
    reader.plan = <Planned *> PyMem_RawCalloc(PLAN, sizeof(Planned))
    reader.default_graph = new_term(&reader.pool, DEFAULT_GRAPH, nothing, nothing)
    return reader.plan != NULL and reader.default_graph != NULL


cdef void begin_frame(Reader *reader, bytes data):
    """Begin a frame, which must stay valid until `end_frame`."""
    reader.expansion = carried(reader, reader.expansion)
    reader.size = PyBytes_GET_SIZE(data)
    reader.pos = <const uint8_t *> PyBytes_AS_STRING(data)
    reader.end = reader.pos + reader.size
    reader.in_row = False
    reader.rows = 0
    reader.repeats = 0
    reader.has_before = False


cdef inline uint64_t carried(Reader *reader, uint64_t counted) noexcept nogil:
    """What counts for the next frame, of what a frame has counted; see `limits.usual_expansion`."""
    cdef uint64_t usual = reader.size + (reader.rows << 10)
    return counted - usual if counted > usual else 0


cdef void end_frame(Reader *reader) noexcept nogil:
    """Clear all pointers into the frame."""
    reader.pos = reader.end = reader.row = NULL
    memset(&reader.stopped_at, 0, sizeof(Field))
    reader.namespace_name = Slice(NULL, 0)


cdef void close_table(Table *table, Pool *pool) noexcept nogil:
    for entry_id in range(table.length):
        PyMem_RawFree(table.entries[entry_id].heap_bytes)
        drop(table.entries[entry_id].term, pool)
    PyMem_RawFree(table.entries)
    memset(table, 0, sizeof(Table))


cdef void close_reader(Reader *reader) noexcept nogil:
    """Free everything that a reader holds. Needs the GIL, unless it made no objects."""
    close_table(&reader.names, &reader.pool)
    close_table(&reader.prefixes, &reader.pool)
    close_table(&reader.datatypes, &reader.pool)
    clear(&reader.iris, &reader.pool)
    clear(&reader.literals, &reader.pool)
    clear(&reader.blank_nodes, &reader.pool)
    for position in range(4):
        drop(reader.last[position], &reader.pool)
    drop(reader.graph, &reader.pool)
    drop(reader.default_graph, &reader.pool)
    drop(reader.namespace_iri, &reader.pool)
    sweep(&reader.pool)
    close_pool(&reader.pool)
    release(&reader.scratch)
    PyMem_RawFree(reader.plan)
    PyMem_RawFree(reader.made)
    memset(reader, 0, sizeof(Reader))
