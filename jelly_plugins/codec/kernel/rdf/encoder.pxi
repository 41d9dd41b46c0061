# The term writer of `term_writer.py` and the encoder's loop: a backend's terms become rows.
#
# The writer looks up a term by identity first, then by equality, and describes it if it is not
# found. The reference describes all terms except generic ones, and raises the errors that it
# defines.

cdef enum:
    # Capacity of the cache of terms by identity.
    IDENTITIES = 1 << 13
    # Maximum number of terms of a statement.
    MOST_TERMS = 4


cdef enum:
    # Kinds of rows.
    WRITE_STATEMENT
    WRITE_GRAPH
    WRITE_IRI
    # In patches: a namespace's IRI and graph, and a header's value.
    WRITE_NAMESPACE
    WRITE_HEADER


cdef object IRI_KIND = Kind.IRI
cdef object BLANK_NODE_KIND = Kind.BLANK_NODE
cdef object LITERAL_KIND = Kind.LITERAL

cdef dict TABLE_NAMES = {ROW_NAME: "name", ROW_PREFIX: "prefix", ROW_DATATYPE: "datatype"}


cdef struct Identity:
    # A term and its description, both owned, so that no other object gets the term's address.
    PyObject *term
    PyObject *description


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Description:
    """A term to write.

    The garbage collector does not track it, because millions of short-lived objects would trigger
    collections. No cycle is possible: strings and terms of a quoted triple hold no description.
    """

    cdef EncodedTerm encoded
    # The objects that own the bytes of `encoded`.
    cdef object text
    cdef object datatype
    # The three terms of a quoted triple.
    cdef tuple parts
    # Whether it describes a generic term, so that equality depends on it alone.
    cdef bint generic
    # The generation of the equality cache that holds it; two different descriptions of the same
    # generation are of different terms.
    cdef uint64_t generation


cdef class TermWriter:
    """See :class:`jelly_plugins.codec.common.term_writer.TermWriter`; this is its compiled form."""

    cdef Writer writer
    cdef object reference
    # A weak reference to the encoder, which owns this object and gets the rows.
    cdef object encoder
    # The caller's Describe function.
    cdef object take_apart
    # Names of the lookups, by the row that sets an entry.
    cdef dict table_names
    # Rows and bytes left in the encoder's frame, once `_ask` has computed them.
    cdef bint asked
    cdef uint64_t room_rows
    cdef uint64_t room_bytes
    cdef object limits
    cdef uint64_t string_bytes
    cdef uint64_t row_bytes
    cdef uint64_t line_bytes
    cdef uint64_t nesting
    # Whether all terms are generic, and whether IRIs may be.
    cdef bint generic
    cdef bint generic_iri
    cdef TermTags tags
    # For text; initialised by the first text.
    cdef LineReader lines
    # Number of lines of the last text that became a row here; the last one may have been rejected
    # because of its frame.
    cdef uint64_t lines_written
    # Whether `lines.last`, not `last`, has the terms of the previous statement.
    cdef bint previous
    cdef Identity identities[IDENTITIES]
    cdef dict described
    cdef dict generic_iris
    cdef uint64_t generation
    # The terms of the previous statement and their descriptions, and the descriptions of the terms
    # that are being written, by position.
    cdef list last
    cdef list last_described
    cdef list describing
    # How often the running thread `owner` has entered. Rows may require other rows (of a graph's
    # start, of lines that only the reference reads), so that the same thread may enter again, but
    # not in the middle of a row, where only the caller's code could call it.
    cdef int entered
    cdef unsigned long owner
    cdef bint in_row

    def __cinit__(self, options, describe, limits, encoder):
        self.writer.names.size = options.max_name_table_size
        self.writer.prefixes.size = options.max_prefix_table_size
        self.writer.datatypes.size = options.max_datatype_table_size
        self.writer.lookup_characters = bounded(limits.lookup_characters)
        open_writer(&self.writer)
        self.reference = reference_writer.TermWriter(options, describe, limits, encoder)
        self.encoder = weakref.proxy(encoder)
        self.take_apart = describe
        self.table_names = TABLE_NAMES
        self.limits = limits
        self.nesting = bounded(limits.nesting)
        self.string_bytes = bounded(
            max(0, min(limits.string_bytes, limits.frame_bytes - ROW_OVERHEAD))
        )
        self.line_bytes = bounded(limits.frame_bytes)
        self.row_bytes = bounded(max(0, limits.frame_bytes - ROW_OVERHEAD))
        self.generic = KNOWN_TERMS and describe is terms.describe
        self.generic_iri = self.generic or (KNOWN_TERMS and type(describe) is terms.WithGeneric)
        for kind, tags in self.reference.tags.items():
            for position, tag in enumerate(tags):
                if tag is not None:
                    self.tags.sizes[<int> position][<int> kind] = len(tag)
                    memcpy(self.tags.bytes[<int> position][<int> kind], <const char *> tag, len(tag))
        self.described = {}
        self.generic_iris = {}
        self.generation = 1
        self.describing = [None] * 4
        self.forget_repeats()

    def __dealloc__(self):
        close_writer(&self.writer)
        close_line_reader(&self.lines)
        for at in range(IDENTITIES):
            Py_XDECREF(self.identities[at].term)
            Py_XDECREF(self.identities[at].description)

    cdef int _enter(self) except -1:
        """Begin to write; each call is followed by a `_leave`."""
        cdef unsigned long thread = PyThread_get_thread_ident()
        if self.in_row or (self.entered and self.owner != thread):
            raise OrderError("the encoder is already in use")
        self.owner = thread
        self.entered += 1
        return 0

    cdef int _leave(self) except -1:
        self.entered -= 1
        return 0

    def restart(self):
        """Make the next rows readable from here as well; see the reference."""
        self._enter()
        try:
            self.forget_repeats()
            self.ids = reference_writer.NO_IDS
            forget_entries(&self.writer.names)
            forget_entries(&self.writer.prefixes)
            forget_entries(&self.writer.datatypes)
        finally:
            self._leave()

    def forget_repeats(self):
        """Write the next statement in full."""
        self._enter()
        try:
            self.last = [None] * 4
            self.last_described = [None] * 4
            self.previous = False
            forget_previous(&self.lines)
        finally:
            self._leave()

    @property
    def ids(self):
        """Prefix id and name id that zeros in the next IRI would refer to."""
        return self.writer.prefix_id, self.writer.name_id

    @ids.setter
    def ids(self, value):
        self.writer.prefix_id, self.writer.name_id = value

    def text(self, value, what):
        """The UTF-8 bytes of a string, see the reference."""
        return self.reference.text(value, what)

    # Many rows at a time

    def add(self, encoder, statements, uint8_t tag, Py_ssize_t width, bint in_graphs):
        """Write statements as rows of an encoder, and end its full frames."""
        cdef tuple terms
        # False while the caller's iterator runs, because its errors do not belong to a row.
        cdef bint writing = False
        self._enter()
        try:
            self._repeat_by_object()
            for statement in statements:
                writing = True
                if not self.asked:
                    encoder.begin_restart()
                terms = terms_in(statement)
                if PyTuple_GET_SIZE(terms) != width:
                    raise encoder.wrong_width(terms)
                if not in_graphs:
                    self._statement(terms)
                elif terms[3] is encoder.graph:
                    self._statement(terms[:3])
                else:
                    self._hand_over(encoder)
                    encoder.triple_in_graph(terms)
                self._end_row(encoder, tag)
                writing = False
        except JellyError as error:
            self._hand_over(encoder)
            if writing:
                encoder.locate(error)
            raise
        finally:
            self._hand_over(encoder)
            self._leave()

    cdef int _end_row(self, encoder, uint8_t tag) except -1:
        """Write the statement in `body` as a row of an encoder, and end its frame if it is full."""
        self._write_row(encoder, tag)
        self._close_row(encoder)
        return 0

    cdef int _write_row(self, encoder, uint8_t tag) except -1:
        """Write the statement in `body` as a row."""
        self.writer.repeats += self.writer.body.size == 0
        if not write_row(&self.writer, tag):
            raise MemoryError
        return 0

    cdef int _close_row(self, encoder) except -1:
        """End an encoder's frame if the row that was written fills it."""
        if not self.asked:
            self._ask(encoder)
        if self._is_full():
            self._hand_over(encoder)
            encoder.end_full_frame()
        return 0

    cdef int _ask(self, encoder) except -1:
        """Compute what is left in an encoder's frame."""
        self.asked = True
        rows, size = encoder.room()
        self.room_rows = bounded(rows)
        self.room_bytes = bounded(size)
        return 0

    cdef inline bint _is_full(self) noexcept nogil:
        return (
            self.writer.row_count >= self.room_rows or self.writer.rows.size >= self.room_bytes
        )

    def add_text(self, encoder, bytes data not None, parser, uint8_t tag):
        """Write whole lines as rows of an encoder, and end its full frames.

        :param parser: a ``LineParser``, which reads the lines that are not of the usual form.
        """
        self._enter()
        data = held(data)
        try:
            self._add_text(encoder, data, parser, tag)
        finally:
            self._hand_over(encoder)
            end_text(&self.lines)
            let_go(data)
            self._leave()

    cdef int _add_text(self, encoder, bytes data, parser, uint8_t tag) except -1:
        """Write whole lines as rows; the last rows are not passed to the encoder yet."""
        cdef Writer *writer = &self.writer
        cdef LineReader *lines = &self.lines
        cdef const uint8_t *pos = <const uint8_t *> PyBytes_AS_STRING(data)
        cdef const uint8_t *end = pos + PyBytes_GET_SIZE(data)
        cdef const uint8_t *counted = pos
        cdef const uint8_t *start = pos
        cdef uint64_t count = 0
        cdef bint full
        # Whether only empty lines were read since the frame could last be ended.
        cdef bint at_start
        cdef Line line = LINE_WRITTEN
        cdef Written written = DONE
        self.lines_written = 0
        self._begin_text(parser)
        if characters_in(pos, end) < 0 or <uint64_t> (end - pos) > self.line_bytes:
            # The reference checks the whole text before it reads any part of it.
            self._repeat_by_object()
            encoder.add_unusual(parser.statements(data))
            return 0
        lines.checked = True
        try:
            while pos < end:
                if encoder.restarting:
                    # A restart point begins with a statement, not with an empty line.
                    parse_line(lines, pos, end, &line, NULL)
                    if line == LINE_WRITTEN:
                        encoder.begin_restart()
                self._repeat_by_text()
                if not self.asked:
                    self._ask(encoder)
                full = False
                at_start = True
                with nogil:
                    while pos < end and not full:
                        start = pos
                        pos = parse_line(lines, pos, end, &line, NULL)
                        if line == LINE_WRITTEN:
                            written = write_line(writer, lines, &self.tags, tag, self.row_bytes)
                            if written != DONE:
                                break
                            count += 1
                            self.lines_written += 1
                        if line == LINE_UNUSUAL:
                            pos = line_after(start, end)
                            break
                        if line == LINE_EMPTY and at_start:
                            break
                        at_start = False
                        full = line == LINE_WRITTEN and self._is_full()
                if line == LINE_WRITTEN and written != DONE:
                    self._hand_over(encoder)
                    error = self._rejection(written)
                    encoder.locate(error)
                    raise error
                if line == LINE_UNUSUAL:
                    self._hand_over(encoder)
                    parser.line_ends += line_ends_in(counted, start)
                    counted = pos
                    self._repeat_by_object()
                    encoder.add_unusual(parser.statements((<const char *> start)[:pos - start]))
                elif full:
                    self._hand_over(encoder)
                    try:
                        encoder.end_full_frame()
                    except JellyError as error:
                        # The rejected line is the one that filled the frame.
                        count -= 1
                        encoder.locate(error)
                        raise
        finally:
            parser.count += count
        parser.line_ends += line_ends_in(counted, end)
        return 0

    def add_columns(self, encoder, columns, ColumnSource source, parser, statement, uint8_t tag):
        """Write the rows of columns, and end the encoder's full frames.

        :param statement: makes the statement of a row that is not of the usual form, of the columns
            and the row's number.
        :return: the error that ended it, and the number of its row; None if all rows are written.
        """
        self._enter()
        try:
            return self._add_columns(encoder, columns, source, parser, statement, tag)
        finally:
            end_text(&self.lines)
            self._leave()

    cdef object _add_columns(self, encoder, columns, ColumnSource source, parser, statement,
                             uint8_t tag):
        cdef Writer *writer = &self.writer
        cdef LineReader *lines = &self.lines
        cdef uint64_t row = 0
        cdef bint full
        cdef bint usual = True
        cdef Written written = DONE
        self._begin_text(parser)
        try:
            while row < source.rows:
                if encoder.restarting and parse_row(lines, source.given, row, self.line_bytes):
                    encoder.begin_restart()
                self._repeat_by_text()
                self._ask(encoder)
                full = False
                with nogil:
                    while row < source.rows and not full:
                        usual = parse_row(lines, source.given, row, self.line_bytes)
                        if usual:
                            written = write_line(writer, lines, &self.tags, tag, self.row_bytes)
                        if not usual or written != DONE:
                            break
                        row += 1
                        full = self._is_full()
                self._hand_over(encoder)
                if not usual:
                    self._repeat_by_object()
                    written = DONE
                    encoder.add_unusual((statement(columns, row),))
                    row += 1
                elif written != DONE:
                    raise self._rejection(written)
                elif full:
                    # If the frame is rejected, it is because of the row that filled it.
                    row -= 1
                    encoder.end_full_frame()
                    row += 1
        except JellyError as error:
            return error, row
        finally:
            self._hand_over(encoder)
        return None

    cdef int _begin_text(self, parser) except -1:
        """Prepare for lines or columns."""
        begin_text(&self.lines, parser.quads, parser.relative_iris, self.string_bytes)
        # The reference rejects a triple term that is not allowed.
        self.lines.triples = (
            parser.dialect is not ntriples.Dialect.RDF_1_1 and self.tags.sizes[2][TRIPLE] > 0
            and self.nesting >= 1 and self.row_bytes >= LEAST_TRIPLE
        )
        return 0

    cdef int _repeat_by_text(self) except -1:
        """Compare the next terms with those of the previous line."""
        if not self.previous:
            self.previous = True
            forget_previous(&self.lines)
            for position, description in enumerate(self.last_described):
                self._recall(position, description)
        return 0

    cdef int _recall(self, int position, Description description) except -1:
        cdef EncodedTerm encoded
        cdef Description part
        if description is None:
            return 0
        encoded = description.encoded
        if encoded.kind == TRIPLE:
            self.lines.triple_key.size = 0
            for term in description.parts:
                part = self._describe(term)
                if part.encoded.kind == TRIPLE:
                    # No line that is read here has a triple term in a triple term.
                    return 0
                if not append_key(&self.lines.triple_key, &part.encoded):
                    raise MemoryError
            encoded.text = contents(&self.lines.triple_key)
        if not keep_previous(&self.lines.last[position], &encoded):
            raise MemoryError
        return 0

    cdef int _repeat_by_object(self) except -1:
        """Compare the next terms with objects again."""
        if self.previous:
            self.previous = False
            for position in range(4):
                # A position that no line has set keeps its previous term.
                if self.lines.last[position].kind >= 0:
                    self.last[position] = previous_term(&self.lines.last[position])
                    self.last_described[position] = self._describe(self.last[position])
        return 0

    cdef int _hand_over(self, encoder) except -1:
        """Pass the written rows to the encoder."""
        cdef Writer *writer = &self.writer
        self.asked = False
        if writer.row_count == 0:
            return 0
        encoder.add_rows(
            (<const char *> writer.rows.bytes)[:writer.rows.size], writer.row_count, writer.repeats
        )
        writer.rows.size = 0
        writer.row_count = 0
        writer.repeats = 0
        return 0

    # One row at a time. The encoder gets the rows of its entries; its body is returned.

    def statement(self, terms):
        """Write the body of an RdfTriple or RdfQuad."""
        cdef tuple given = terms_in(terms)
        if PyTuple_GET_SIZE(given) > MOST_TERMS:
            raise TypeError("a statement has three terms or four")
        self._enter()
        try:
            self._repeat_by_object()
            self._statement(given)
            return self._body()
        finally:
            self._hand_over(self.encoder)
            self._leave()

    def graph_name(self, term):
        """Write the body of an RdfGraphStart."""
        return self._single_row((term,), WRITE_GRAPH)

    def iri(self, value):
        """Write an RdfIri, with its length before it."""
        self.reference.text(value, "an IRI")
        return self._single_row((Iri(value),), WRITE_IRI)

    cdef bytes _single_row(self, tuple terms, int what):
        """Write the body of a row that is not a statement."""
        self._enter()
        try:
            self._row(terms, what)
            return self._body()
        finally:
            self._hand_over(self.encoder)
            self._leave()

    cdef bytes _body(self):
        return (<const char *> self.writer.body.bytes)[:self.writer.body.size]

    # Rows, written to the writer's `body`, and their entries, written to `rows`

    cdef int _statement(self, tuple terms) except -1:
        cdef Py_ssize_t position
        self._row(terms, WRITE_STATEMENT)
        for position in range(PyTuple_GET_SIZE(terms)):
            self.last[position] = terms[position]
            self.last_described[position] = self.describing[position]
        return 0

    cdef int _row(self, tuple terms, int what) except -1:
        """Write a whole row or nothing."""
        cdef Writer *writer = &self.writer
        cdef uint64_t prefix_id = writer.prefix_id
        cdef uint64_t name_id = writer.name_id
        cdef Written written
        self.in_row = True
        try:
            writer.row += 1
            writer.body.size = 0
            if what == WRITE_STATEMENT:
                written = self._terms(terms, 0)
            else:
                written = self._single(terms, what)
            if written == DONE and writer.body.size > self.row_bytes:
                written = ROW_TOO_LONG
            if written != DONE:
                raise self._rejection(written)
        except BaseException:
            writer.prefix_id = prefix_id
            writer.name_id = name_id
            raise
        finally:
            self.in_row = False
        return 0

    cdef object _rejection(self, Written written):
        cdef Writer *writer = &self.writer
        cdef str table
        if written == OUT_OF_MEMORY:
            raise MemoryError
        if written == ROW_TOO_LONG:
            return reason_of(self.reference.check_row, writer.body.size)
        if written == NO_DATATYPES:
            return reason_of(self.reference.datatype_id, text_of(contents(&writer.rejected)))
        table = self.table_names[writer.full.row_tag >> 3]
        if written == TOO_LONG:
            return over(
                self.limits, "lookup_characters", writer.found,
                f"the length of all {table} entries",
            )
        return TermError(
            f"the statement needs more {table} entries than the table has "
            f"({writer.full.size}): raise max_{table}_table_size"
        )

    # Terms. These functions return whether they wrote the term, and raise the reference's errors.

    cdef Written _terms(self, tuple terms, uint64_t depth) except? OUT_OF_MEMORY:
        """Write the terms of a statement, or of a triple that is quoted `depth` deep."""
        cdef Py_ssize_t position = 0
        cdef PyObject *term
        cdef Description description
        cdef Written written
        for position in range(PyTuple_GET_SIZE(terms)):
            term = PyTuple_GET_ITEM_borrow(terms, position)
            if depth == 0:
                if term == <PyObject *> self.last[position] and term != <PyObject *> None:
                    self.describing[position] = self.last_described[position]
                    continue
                if PyTuple_Check(<object> term):
                    self._check_nesting(<object> term)
            description = self._describe(<object> term)
            if depth == 0:
                if self._repeats(position, <object> term, description):
                    self.describing[position] = self.last_described[position]
                    continue
                self.describing[position] = description
            written = self._term(description, position, depth)
            if written != DONE:
                return written
        return DONE

    cdef Written _term(self, Description description, int position,
                       uint64_t depth) except? OUT_OF_MEMORY:
        """Write a term with its tag and its length before it."""
        cdef EncodedTerm *encoded = &description.encoded
        cdef Buffer *body = &self.writer.body
        cdef uint8_t tag_size = self.tags.sizes[position][encoded.kind]
        if tag_size == 0:
            raise self.reference.rejection(position, Kind(encoded.kind))
        if not append(body, self.tags.bytes[position][encoded.kind], tag_size):
            return OUT_OF_MEMORY
        return self._payload(description, depth)

    cdef Written _payload(self, Description description, uint64_t depth) except? OUT_OF_MEMORY:
        """Write a term with its length before it."""
        cdef EncodedTerm *encoded = &description.encoded
        cdef Written written
        cdef size_t at
        if encoded.kind == IRI:
            return write_iri(&self.writer, encoded)
        if encoded.kind == TRIPLE:
            if depth >= self.nesting:
                raise over(self.limits, "nesting", depth + 1, "the depth of quoted triples")
            at = self.writer.body.size
            written = self._terms(description.parts, depth + 1)
            if written == DONE and not insert_size(&self.writer.body, at):
                return OUT_OF_MEMORY
            return written
        return write_wire(&self.writer, encoded)

    cdef Written _single(self, tuple terms, int what) except? OUT_OF_MEMORY:
        """Write the name of a graph, or an IRI."""
        term = terms[0]
        cdef Description description = (
            self._describe(term) if what == WRITE_GRAPH else self._new_generic(term)
        )
        if what == WRITE_GRAPH:
            if self.tags.sizes[3][description.encoded.kind] == 0:
                raise self.reference.rejection(positions.GRAPH, Kind(description.encoded.kind))
            tag = reference_writer.GRAPH_START_TAGS[description.encoded.kind]
            if not append(&self.writer.body, <const char *> tag, len(tag)):
                return OUT_OF_MEMORY
        return self._payload(description, 0)

    cdef int _check_nesting(self, term) except -1:
        """Reject a quoted triple that is nested too deeply; most triples contain no other."""
        for part in <tuple> term:
            if PyTuple_Check(part):
                self.reference.check_nesting(term)
                return 0
        if self.nesting < 1 or self.row_bytes < LEAST_TRIPLE:
            self.reference.check_nesting(term)
        return 0

    cdef bint _repeats(self, Py_ssize_t position, term, Description description) except -1:
        """Whether a term equals the one in the same position of the previous statement."""
        cdef Description before = self.last_described[position]
        if before is None or term is None:
            return False
        if before is description:
            return True
        if before.generic and description.generic:
            return are_same(&before.encoded, &description.encoded)
        if before.generation and before.generation == description.generation:
            return False
        return self.last[position] == term

    # Descriptions

    cdef Description _describe(self, term):
        """Describe a term, using the caches."""
        cdef size_t at = (<size_t> <PyObject *> term >> 4) * 0x9E3779B97F4A7C15ULL >> 51
        cdef Identity *identity = &self.identities[at]
        cdef PyObject *old_term
        cdef PyObject *old_description
        cdef Description description
        if identity.term == <PyObject *> term:
            return <Description> identity.description
        if PyTuple_Check(term):
            # Hashing very deeply nested tuples would crash the process.
            return self._new_triple(term) if self.generic else self._from_caller(term)
        if (self.generic_iri and type(term) is Iri) or (
            self.generic and (type(term) is Literal or type(term) is BlankNode)
        ):
            description = self._new_generic(term)
        else:
            description = self._by_equality(term)
        old_term = identity.term
        old_description = identity.description
        Py_INCREF(<PyObject *> term)
        Py_INCREF(<PyObject *> description)
        identity.term = <PyObject *> term
        identity.description = <PyObject *> description
        Py_XDECREF(old_term)
        Py_XDECREF(old_description)
        return description

    cdef Description _by_equality(self, term):
        cdef Description description
        try:
            known = self.described.get(term)
        except (TypeError, AttributeError) as error:
            # The reference reports an invalid part of the term, if it finds one.
            self._from_caller(term)
            raise TermError(f"{term!r} is not a term: {error}") from None
        if known is not None:
            return known
        description = self._from_caller(term)
        if <size_t> len(self.described) >= CACHE_ENTRIES:
            self.described.clear()
            self.generation += 1
        description.generation = self.generation
        self.described[term] = description
        return description

    cdef Description _from_caller(self, term):
        """Describe a term with the caller's function."""
        cdef EncodedTerm *encoded
        cdef object found = self.take_apart(term)
        cdef Description description = self._from_usual(found)
        cdef tuple parts
        if description is not None:
            return description
        parts = self.reference.encoded(found)
        description = Description.__new__(Description)
        encoded = &description.encoded
        encoded.kind = parts[0]
        if encoded.kind == IRI:
            set_iri(description, parts[2] + parts[3], self.writer.split)
        elif encoded.kind == TRIPLE:
            description.parts = parts[2]
        else:
            set_wire(description, parts[2], parts[3])
            if parts[3] is None:
                # The reference has already put the length before it.
                skip_size(&encoded.text)
        return description

    cdef Description _from_usual(self, parts):
        """Make a description of the parts returned by the caller's function; None if they are
        unusual.
        """
        cdef Py_ssize_t size
        if type(parts) is not tuple:
            return None
        size = PyTuple_GET_SIZE(parts)
        if size == 2 and parts[0] is IRI_KIND and type(parts[1]) is str:
            return self._usual_iri(parts[1])
        if size == 4 and parts[0] is LITERAL_KIND:
            return self._usual_literal(parts[1], parts[2], parts[3])
        if size == 2 and parts[0] is BLANK_NODE_KIND:
            return self._usual_blank_node(parts[1])
        return None

    cdef Description _new_triple(self, term):
        cdef Description description
        if not isinstance(term, Triple) or PyTuple_GET_SIZE(term) != 3:
            return self._from_caller(term)
        description = Description.__new__(Description)
        description.encoded.kind = TRIPLE
        description.parts = <tuple> term
        return description

    cdef Description _new_generic(self, term):
        """Describe a generic term that is not nested; the reference describes unusual ones."""
        cdef Description description
        if type(term) is Iri:
            value = slot_value(term, IRI_VALUE)
            if type(value) is not str:
                return self._from_caller(term)
            known = self.generic_iris.get(value)
            if known is not None:
                return known
            description = self._usual_iri(value)
            if description is None and self.generic_iri:
                description = self._from_caller(term)
            elif description is None:
                # The IRI of a namespace, already checked: the Describe function of another backend
                # does not accept generic terms.
                description = Description.__new__(Description)
                set_iri(description, value, self.writer.split)
            description.generic = True
            if <size_t> len(self.generic_iris) >= CACHE_ENTRIES:
                self.generic_iris.clear()
            self.generic_iris[value] = description
            return description
        if type(term) is Literal:
            description = self._usual_literal(
                slot_value(term, LITERAL_LEX),
                slot_value(term, LITERAL_LANGTAG),
                slot_value(term, LITERAL_DATATYPE),
            )
        else:
            description = self._usual_blank_node(slot_value(term, BLANK_NODE_LABEL))
        if description is None:
            return self._from_caller(term)
        description.generic = True
        return description

    # Each of these returns None for a term that is too long or not of the usual form.

    cdef Description _usual_iri(self, str value):
        cdef Description description
        if PyUnicode_IS_ASCII(value):
            if <uint64_t> len(value) > self.string_bytes:
                return None
        elif not self._is_usual(value):
            return None
        description = Description.__new__(Description)
        set_iri(description, value, self.writer.split)
        return description

    cdef Description _usual_literal(self, lex, langtag, datatype):
        cdef Description description
        cdef bytes wire
        if type(lex) is not str or not self._is_usual(lex):
            return None
        if langtag is not None and (
            type(langtag) is not str or datatype is not None or not langtag
            or not self._is_usual(langtag)
        ):
            return None
        if datatype is not None and (type(datatype) is not str or not self._is_usual(datatype)):
            return None
        description = Description.__new__(Description)
        description.encoded.kind = LITERAL
        set_wire(description, literal_wire(lex, langtag), datatype)
        return description

    cdef Description _usual_blank_node(self, label):
        cdef Description description
        if type(label) is not str or not self._is_usual(label):
            return None
        description = Description.__new__(Description)
        description.encoded.kind = BLANK_NODE
        set_wire(description, PyUnicode_AsUTF8String(label), None)
        return description

    cdef bint _is_usual(self, str text):
        """Whether a text can certainly be encoded and is certainly not too long."""
        return (PyUnicode_MAX_CHAR_VALUE(text) < 0xD800
                and <uint64_t> len(text) * 3 <= self.string_bytes)


class Encoder(reference_encoder.Encoder):
    __doc__ = reference_encoder.Encoder.__doc__

    _term_writer = TermWriter

    def add(self, statements):
        """Write statements: triples in physical type TRIPLES, otherwise quads."""
        self._add(statements)
        return self._take_ended()

    def add_text(self, data, parser):
        """Write whole lines of N-Triples or N-Quads, as ``parser`` reads them."""
        row, _ = reference_encoder.ROW_AND_WIDTH[self.options.physical_type]
        if self.options.physical_type == PhysicalType.GRAPHS:
            self._add(parser.statements(data))
        else:
            self._writer.add_text(self, data, parser, row << 3 | BYTES)
        return self._take_ended()

    def add_columns(self, columns, source, parser, statement):
        """Write the rows of columns; see ``TermWriter.add_columns``."""
        row, _ = reference_encoder.ROW_AND_WIDTH[self.options.physical_type]
        return self._writer.add_columns(
            self, columns, source, parser, statement, row << 3 | BYTES
        )

    def _add(self, statements):
        row, width = reference_encoder.ROW_AND_WIDTH[self.options.physical_type]
        in_graphs = self.options.physical_type == PhysicalType.GRAPHS
        self._writer.add(self, statements, row << 3 | BYTES, width, in_graphs)

    def add_unusual(self, statements):
        """Write the statements of lines that the reference's parser has read."""
        self._add(statements)


class TextEncoder(reference_text.TextEncoder):
    __doc__ = reference_text.TextEncoder.__doc__

    _encoder_type = Encoder

    def _add(self, data):
        return self._encoder.add_text(data, self._parser)


class ColumnEncoder(reference_columns.ColumnEncoder):
    __doc__ = reference_columns.ColumnEncoder.__doc__

    _encoder_type = Encoder

    def _add(self, columns):
        source = ColumnSource(columns)
        if not source.fits or self.options.physical_type == PhysicalType.GRAPHS:
            return super()._add(columns)
        rejected = self._encoder.add_columns(columns, source, self._parser, self.statement)
        if rejected is not None:
            raise self.located(*rejected)
        return self._encoder.add(())


cdef object reason_of(check, found):
    """Return the error that one of the reference's checks raises for a value."""
    try:
        check(found)
    except JellyError as error:
        return error
    return WireError("the row cannot be written (the kernels do not agree: please report this)")


# Parts of descriptions

cdef inline object in_utf8(str text):
    """Return an object with a text's UTF-8: the text itself if it is ASCII, otherwise bytes."""
    return text if PyUnicode_IS_ASCII(text) else PyUnicode_AsUTF8String(text)


cdef inline Slice utf8_of(object owner):
    """Return the bytes of an object of :func:`in_utf8`."""
    if type(owner) is bytes:
        return slice_of_bytes(owner)
    return Slice(<const uint8_t *> PyUnicode_DATA(owner), PyUnicode_GET_LENGTH(owner))


cdef int set_iri(Description description, str value, bint split) except -1:
    """Set a description to an IRI."""
    cdef EncodedTerm *encoded = &description.encoded
    description.text = in_utf8(value)
    encoded.text = utf8_of(description.text)
    encoded.kind = IRI
    encoded.characters = PyUnicode_GET_LENGTH(value)
    cut_iri(encoded, split)
    return 0


cdef int set_wire(Description description, bytes wire, datatype) except -1:
    """Set a description to a literal or a blank node."""
    cdef EncodedTerm *encoded = &description.encoded
    description.text = wire
    encoded.text = Slice(<const uint8_t *> PyBytes_AS_STRING(wire), PyBytes_GET_SIZE(wire))
    if datatype is not None:
        description.datatype = PyUnicode_AsUTF8String(datatype)
        encoded.typed = True
        encoded.datatype = Slice(<const uint8_t *> PyBytes_AS_STRING(description.datatype),
                              PyBytes_GET_SIZE(description.datatype))
        encoded.datatype_characters = PyUnicode_GET_LENGTH(datatype)
    return 0


cdef object previous_term(PreviousTerm *previous):
    """Convert a term of the previous line to a generic term."""
    cdef LiteralParts parts
    cdef Slice text = contents(&previous.text)
    if previous.kind == IRI:
        return Iri(text_of(text))
    if previous.kind == BLANK_NODE:
        return BlankNode(text_of(text))
    if previous.kind == DEFAULT_GRAPH:
        return terms.DEFAULT_GRAPH
    if previous.kind == TRIPLE:
        return Triple(*terms_of_key(text))
    memset(&parts, 0, sizeof(LiteralParts))
    find_literal_parts(text.bytes, text.bytes + text.size, &parts)
    return Literal(
        text_of(parts.lex),
        text_of(parts.langtag) if parts.langtag.size else None,
        text_of(contents(&previous.datatype)) if previous.typed else None,
    )


cdef list terms_of_key(Slice triple_key):
    """Read the terms whose encoding :func:`append_key` has written."""
    cdef const uint8_t *end = triple_key.bytes + triple_key.size
    cdef const uint8_t *pos = triple_key.bytes
    cdef PreviousTerm term
    cdef uint64_t size = 0
    cdef list found = []
    while pos < end:
        term.kind = pos[0]
        term.typed = pos[1]
        pos = read_varint(pos + 2, end, &size)
        term.text.bytes = <uint8_t *> pos
        term.text.size = size
        pos = read_varint(pos + size, end, &size)
        term.datatype.bytes = <uint8_t *> pos
        term.datatype.size = size
        pos += size
        found.append(previous_term(&term))
    return found


cdef void skip_size(Slice *slice) noexcept nogil:
    """Skip the varint at the start of a slice."""
    cdef uint64_t size
    cdef const uint8_t *end = slice.bytes + slice.size
    slice.bytes = read_varint(slice.bytes, end, &size)
    slice.size = end - slice.bytes


cdef bytes literal_wire(str lex, langtag):
    """Encode an RdfLiteral's lexical form and language tag."""
    cdef object lex_owner = in_utf8(lex)
    cdef object tag_owner = b"" if langtag is None else in_utf8(langtag)
    cdef Slice raw = utf8_of(lex_owner)
    cdef Slice tag = utf8_of(tag_owner)
    cdef bytes wire
    cdef Buffer out
    cdef size_t size = 0
    if raw.size:
        size += 1 + varint_size(raw.size) + raw.size
    if tag.size:
        size += 1 + varint_size(tag.size) + tag.size
    wire = PyBytes_FromStringAndSize(NULL, size)
    out.bytes = <uint8_t *> PyBytes_AS_STRING(wire)
    out.size = 0
    if raw.size:
        put_byte(&out, LEX_TAG)
        put_varint(&out, raw.size)
        put(&out, raw.bytes, raw.size)
    if tag.size:
        put_byte(&out, LANGTAG_TAG)
        put_varint(&out, tag.size)
        put(&out, tag.bytes, tag.size)
    return wire
