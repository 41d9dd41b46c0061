# Lines that are written straight from a frame, with no term made on the way.
#
# That is for statements of IRIs, blank nodes and literals in the order of their positions, which is
# how all statements are written but few. Any other row, and any that is to be refused or that a
# validator has to see, is left to the reader: it sees the row as if nobody had looked at it.

cdef struct Placed:
    # Where a term stands in the output.
    int kind
    size_t start
    size_t size


cdef struct DirectText:
    # The terms of the statement before, and bits of those positions for which it is them that count
    # and not the reader's last terms.
    Placed last[4]
    int written
    # Bytes of long terms that were written, in this frame.
    uint64_t long_bytes
    # Statements that were written, in all frames.
    uint64_t statements
    # Names of the row whose last prefix has changed, with the prefix before, and what was counted
    # before the row.
    Entry *renamed[4]
    uint64_t prefixes_before[4]
    int renames
    uint64_t expansion_before


cdef Status write_direct(Reader *reader, DirectText *lines, Buffer *out,
                           size_t piece) noexcept nogil:
    """Write lines until there is a piece (AT_PLAN_END), a row is for the reader (READ), or something
    else stops it. Nothing may be planned."""
    cdef Status status = AT_FRAME_END
    cdef Field field
    cdef size_t size
    cdef int row = 0
    while reader.pos < reader.end:
        if out.size >= piece:
            status = AT_PLAN_END
            break
        status = open_row_at(reader, &field, &row)
        if status != READ:
            break
        if row == ROW_TRIPLE or row == ROW_QUAD:
            size = out.size
            lines.renames = 0
            lines.expansion_before = reader.expansion
            if not line_statement(reader, lines, out, field.start, field.stop):
                out.size = size
                take_names_back(reader, lines)
                take_row_back(reader)
                break
        elif row != ROW_NAME and row != ROW_PREFIX and row != ROW_DATATYPE:
            take_row_back(reader)
            break
        elif not read_row_body(reader, row, field.start, field.stop):
            status = reader.status
            break
        reader.state = state_after(reader, row)
        status = AT_FRAME_END
        if lines.long_bytes > reader.frame_expansion:
            status = TOO_MUCH_TEXT
            break
    return status if keep_last(reader, lines, out) else NO_MEMORY


cdef void take_row_back(Reader *reader) noexcept nogil:
    """Stand before the row again."""
    reader.pos = reader.row
    reader.rows -= 1
    reader.prefix_id = reader.row_prefix_id
    reader.name_id = reader.row_name_id
    reader.given = reader.row_given


cdef void take_names_back(Reader *reader, DirectText *lines) noexcept nogil:
    """Let names have the last prefixes that they had before the row, and count nothing for it: who
    reads it again counts it again."""
    while lines.renames:
        lines.renames -= 1
        lines.renamed[lines.renames].prefix_serial = lines.prefixes_before[lines.renames]
    reader.expansion = lines.expansion_before


cdef bint keep_last(Reader *reader, DirectText *lines, Buffer *out) noexcept nogil:
    """Let the reader's last terms be those that were written; False where there is no memory."""
    cdef Slice nothing = Slice(NULL, 0)
    cdef Placed *written
    cdef Term *term
    cdef int position
    for position in range(4):
        if not lines.written & 1 << position:
            continue
        written = &lines.last[position]
        if written.kind == DEFAULT_GRAPH:
            term = shared(reader.default_graph)
        else:
            term = new_term(&reader.pool, written.kind, nothing,
                            Slice(out.bytes + written.start, written.size))
            if term == NULL:
                return False
            if written.kind == BLANK_NODE:
                # A validator of a later statement asks for the label, which is in the text as it is.
                term.wire = Slice(term.text.bytes + 2, term.text.size - 2)
        drop(reader.last[position], &reader.pool)
        reader.last[position] = term
    lines.written = 0
    return True


cdef bint line_statement(Reader *reader, DirectText *lines, Buffer *out, const uint8_t *pos,
                          const uint8_t *end) noexcept nogil:
    """Write a statement's line; False if it is for the reader, and then what was written of it is
    to be taken back."""
    cdef Placed terms[4]
    cdef Field field
    cdef int width = 4 if reader.required == 0b1111 else 3
    cdef int position
    cdef int at
    cdef int next = 0
    cdef int given = 0
    # Characters of datatypes, which count once the statement is written.
    cdef uint64_t datatypes = 0
    cdef uint64_t long_bytes = 0
    while pos < end:
        if end - pos >= 2 and pos[0] < 0x80 and pos[1] < 0x80 and pos[0] & 7 == BYTES:
            field.number = pos[0] >> 3
            field.start = pos + 2
            if pos[1] > end - field.start:
                return False
            field.stop = field.start + pos[1]
        elif read_field(pos, end, &field) == NULL or <int> (field.tag & 7) != BYTES:
            return False
        pos = field.stop
        if field.number >= FIELD_NUMBERS or TERM_POSITIONS[field.number] < 0:
            return False
        position = TERM_POSITIONS[field.number]
        if not reader.declared[field.number] or position >= width or position < next:
            return False
        while next < position:
            if not line_again(reader, lines, out, next, &terms[next]):
                return False
            next += 1
        given |= 1 << position
        terms[position].kind = TERM_KINDS[field.number]
        terms[position].start = out.size
        if not line_term(reader, lines, out, terms[position].kind, field.start, field.stop,
                         &datatypes):
            return False
        if not end_term(out, &terms[position]):
            return False
        next = position + 1
    reader.given |= given
    # A repeat of the whole statement is counted, and a missing term refused, by the reader.
    if given == 0 or reader.given != reader.required:
        return False
    while next < width:
        if not line_again(reader, lines, out, next, &terms[next]):
            return False
        next += 1
    if reader.validated and not is_rdf_1_2_line(reader, terms):
        return False
    for at in range(width):
        if terms[at].size > LONG_TERM:
            long_bytes += terms[at].size
    if reader.graph != NULL and reader.graph.kind != DEFAULT_GRAPH:
        if not append_with_space(out, reader.graph.text):
            return False
        if reader.graph.text.size > LONG_TERM:
            long_bytes += reader.graph.text.size
    if not append(out, <const char *> b".\n", 2):
        return False
    for at in range(width):
        if given >> at & 1 or lines.written >> at & 1:
            lines.last[at] = terms[at]
    lines.written |= given
    lines.long_bytes += long_bytes
    lines.statements += 1
    reader.expansion += datatypes
    reader.has_before = True
    reader.graph_is_empty = False
    return True


cdef inline bint is_rdf_1_2_line(Reader *reader, Placed *terms) noexcept nogil:
    """Whether RDF 1.2 has such kinds of terms where they are: as `is_rdf_1_2`."""
    cdef int graph = DEFAULT_GRAPH
    if reader.graph != NULL:
        graph = reader.graph.kind
    elif reader.required == 0b1111:
        graph = terms[3].kind
    return (
        (terms[0].kind == IRI or terms[0].kind == BLANK_NODE)
        and terms[1].kind == IRI
        and (graph == IRI or graph == BLANK_NODE or graph == DEFAULT_GRAPH)
    )


cdef inline bint end_term(Buffer *out, Placed *term) noexcept nogil:
    """Note the size of the term that was written last, and put a space behind it; False where there
    is no memory."""
    term.size = out.size - term.start
    if term.size:
        if not reserve(out, 1):
            return False
        put_byte(out, c" ")
    return True


cdef inline bint append_with_space(Buffer *out, Slice text) noexcept nogil:
    if not reserve(out, text.size + 1):
        return False
    put(out, text.bytes, text.size)
    put_byte(out, c" ")
    return True


cdef bint line_again(Reader *reader, DirectText *lines, Buffer *out, int position,
                      Placed *again) noexcept nogil:
    """Write the term that stood in a position before; False if there is none, or one that has no
    text of its own."""
    cdef Term *term
    again.start = out.size
    if lines.written & 1 << position:
        again.kind = lines.last[position].kind
        # First of all, because it may move what is copied.
        if not reserve(out, lines.last[position].size):
            return False
        put(out, out.bytes + lines.last[position].start, lines.last[position].size)
        return end_term(out, again)
    term = reader.last[position]
    if term == NULL or term.kind == TRIPLE:
        return False
    again.kind = term.kind
    return append(out, term.text.bytes, term.text.size) and end_term(out, again)


cdef inline bint line_term(Reader *reader, DirectText *lines, Buffer *out, int kind,
                           const uint8_t *pos, const uint8_t *end,
                           uint64_t *datatypes) noexcept nogil:
    if kind == IRI:
        return line_iri(reader, lines, out, pos, end, datatypes[0])
    if kind == LITERAL:
        return line_literal(reader, out, pos, end, datatypes)
    if kind == BLANK_NODE:
        return line_blank_node(reader, out, Slice(pos, end - pos))
    # The default graph has no text.
    return kind == DEFAULT_GRAPH and pos == end


cdef bint line_blank_node(Reader *reader, Buffer *out, Slice label) noexcept nogil:
    """Write a blank node; where terms are validated, one that is written with its own label."""
    cdef size_t start = out.size
    if text_length(reader, label) < 0 or not append_label(out, label):
        return False
    return not reader.validated or out.size - start == label.size + 2


cdef bint line_iri(Reader *reader, DirectText *lines, Buffer *out, const uint8_t *pos,
                   const uint8_t *end, uint64_t counted) noexcept nogil:
    """Write an IRI that is not long.

    :param counted: characters that are to be added to the frame's.
    """
    cdef uint64_t prefix_id = 0
    cdef uint64_t name_id = 0
    cdef uint64_t prefix_serial = 0
    cdef uint64_t characters
    cdef size_t start
    cdef Entry *prefix = NULL
    cdef Entry *name
    if not read_iri_ids(reader, pos, end, &prefix_id, &name_id):
        return False
    name = entry_at(&reader.names, name_id)
    if name == NULL:
        return False
    characters = name.characters
    if prefix_id:
        prefix = entry_at(&reader.prefixes, prefix_id)
        if prefix == NULL:
            return False
        prefix_serial = prefix.serial
        characters += prefix.characters
    if prefix_serial == name.prefix_serial:
        return append_entries(out, prefix, name)
    if (characters > CACHED_STRING or characters > reader.string_bytes
            or reader.expansion + counted + characters > reader.frame_expansion):
        return False
    reader.expansion += characters
    drop(name.term, &reader.pool)
    name.term = NULL
    # No statement has more IRIs than positions.
    lines.renamed[lines.renames] = name
    lines.prefixes_before[lines.renames] = name.prefix_serial
    lines.renames += 1
    name.prefix_serial = prefix_serial
    start = out.size
    return append_entries(out, prefix, name) and (
        not reader.validated or is_plain_iri(Slice(out.bytes + start, out.size - start))
    )


cdef bint line_literal(Reader *reader, Buffer *out, const uint8_t *pos, const uint8_t *end,
                        uint64_t *datatypes) noexcept nogil:
    """Write a literal, and add its datatype's characters to `datatypes`."""
    cdef LiteralParts parts
    if not read_literal_parts(reader, pos, end, &parts):
        return False
    if not is_written(parts.langtag, parts.datatype):
        return False
    if reader.validated and not is_plain_literal(parts.langtag, parts.datatype):
        return False
    if parts.datatype != NULL:
        datatypes[0] += parts.datatype.characters
        if reader.expansion + datatypes[0] > reader.frame_expansion:
            return False
    return append_literal(out, parts.lex, parts.langtag, parts.datatype)
