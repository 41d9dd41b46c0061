# The term writer of `patch/encoder.py` and the encoder's loop. This file writes statements,
# headers and the bounds of transactions. The reference encoder writes namespaces and the ends of
# patches, with terms that this file writes.

cdef dict PATCH_TABLE_NAMES = {
    PATCH_NAME: "name", PATCH_PREFIX: "prefix", PATCH_DATATYPE: "datatype"
}


cdef object HEADER_KIND = OperationKind.HEADER
cdef object ROW_HEADER = patch_rules.PatchRow.HEADER
cdef object ROW_BEGIN = patch_rules.PatchRow.TRANSACTION_START
cdef object ROW_COMMIT = patch_rules.PatchRow.TRANSACTION_COMMIT
cdef object ROW_PUNCTUATION = patch_rules.PatchRow.PUNCTUATION


cdef frozenset WRITTEN_KINDS = frozenset((
    OperationKind.ADD, OperationKind.DELETE, OperationKind.HEADER,
    OperationKind.BEGIN, OperationKind.COMMIT, OperationKind.ABORT,
))


cdef class PatchTermWriter(TermWriter):
    """See :class:`jelly_plugins.codec.patch.encoder.PatchTermWriter`; this is its compiled
    form.
    """

    def __cinit__(self, options, describe, limits, encoder):
        cdef Writer *writer = &self.writer
        self.table_names = PATCH_TABLE_NAMES
        writer.names.row_tag = PATCH_NAME << 3 | BYTES
        writer.prefixes.row_tag = PATCH_PREFIX << 3 | BYTES
        writer.datatypes.row_tag = PATCH_DATATYPE << 3 | BYTES
        # One less than zero, so that the first ids are written in full.
        writer.prefix_id = writer.name_id = <uint64_t> -1
        writer.names.last = writer.prefixes.last = writer.datatypes.last = <uint64_t> -1

    def add_operations(self, encoder, operations, Py_ssize_t width):
        """Write operations as rows of an encoder, and end its full frames."""
        # Whether the encoder is in the state after a statement, which another statement does not
        # change.
        cdef bint ready = False
        # False while the caller's iterator runs, because its errors do not belong to a row.
        cdef bint writing = False
        self._enter()
        try:
            self._repeat_by_object()
            for operation in operations:
                writing = True
                kind, value = operation
                if type(kind) is not OperationKind:
                    kind = reference_patch_encoder.kind_of(kind)
                if ready and (kind is ADD_KIND or kind is DELETE_KIND):
                    self._write_statement(encoder, kind, value, width)
                    self._close_row(encoder)
                elif kind in WRITTEN_KINDS:
                    ready = self._add_row(encoder, kind, value, width)
                else:
                    self._hand_over(encoder)
                    encoder.add_operation(kind, value)
                    ready = False
                writing = False
        except JellyError as error:
            self._hand_over(encoder)
            if writing:
                encoder.locate(error)
            raise
        finally:
            self._hand_over(encoder)
            self._leave()

    def add_lines(self, encoder, kind, bytes data not None, parser):
        """Write the statements of whole lines as rows of an encoder."""
        self._enter()
        try:
            after = encoder.state_after(patch_rules.ROW_OF[kind])
            try:
                self._add_lines(encoder, kind, data, parser)
            finally:
                # If no line was written, the rows are only the entries of a rejected line.
                if self.lines_written:
                    encoder.enter(after)
        finally:
            self._hand_over(encoder)
            self._leave()

    cdef int _add_lines(self, encoder, kind, bytes data, parser) except -1:
        """Write the statements of whole lines; the last rows are not passed to the encoder yet."""
        data = held(data)
        encoder.kind_of_lines = kind
        try:
            self._add_text(
                encoder, data, parser,
                (PATCH_ADD if kind is ADD_KIND else PATCH_DELETE) << 3 | BYTES,
            )
        finally:
            end_text(&self.lines)
            let_go(data)
        return 0

    def add_patch(self, encoder, headers, bytes deleted not None, bytes added not None, parser):
        """Write a patch of one transaction of lines as rows of an encoder, and its end.

        Terms are not compared with those of the previous statement by object: only lines have any.
        """
        cdef dict allowed = patch_rules.NEXT
        # False while lines are read, whose errors have their own position.
        cdef bint writing = True
        # The state after the last row; None before the first one, and after the end of the patch.
        state = None
        self._enter()
        try:
            opened = encoder.state_after(ROW_HEADER if headers else ROW_BEGIN)
            for header in headers:
                self._write_header(header)
                state = opened
                self._close_row(encoder)
            self._write_bound(ROW_BEGIN)
            state = allowed[opened][ROW_BEGIN] if headers else opened
            self._close_row(encoder)
            encoder.enter(state)
            writing = False
            if deleted:
                self._add_lines(encoder, DELETE_KIND, deleted, parser)
            if added:
                self._add_lines(encoder, ADD_KIND, added, parser)
            writing = True
            self._write_bound(ROW_COMMIT)
            state = allowed[state][ROW_COMMIT]
            self._close_row(encoder)
            if encoder.end is ROW_PUNCTUATION:
                self._write_bound(ROW_PUNCTUATION)
            self._hand_over(encoder)
            encoder.leave_patch(allowed[state][encoder.end])
            state = None
        except JellyError as error:
            self._hand_over(encoder)
            if writing:
                encoder.locate(error)
            raise
        finally:
            self._hand_over(encoder)
            if state is not None:
                encoder.enter(state)
            self._leave()

    cdef int _write_bound(self, row) except -1:
        """Write the row of a bound of a transaction or patch."""
        if not open_row(&self.writer, <uint8_t> (<int> row) << 3 | BYTES, 0):
            raise MemoryError
        return 0

    cdef bint _add_row(self, encoder, kind, value, Py_ssize_t width) except -1:
        """Write a statement, a header or a bound of a transaction as a row of an encoder.

        :return: whether it is a statement.
        """
        cdef bint found = False
        row = patch_rules.ROW_OF[kind]
        after = encoder.state_after(row)
        if kind is ADD_KIND or kind is DELETE_KIND:
            self._write_statement(encoder, kind, value, width)
            found = True
        elif kind is HEADER_KIND:
            self._write_header(value)
        else:
            self._write_bound(row)
        encoder.enter(after)
        self._close_row(encoder)
        return found

    cdef int _write_statement(self, encoder, kind, value, Py_ssize_t width) except -1:
        """Write the row of a statement."""
        cdef tuple terms = terms_in(value)
        if PyTuple_GET_SIZE(terms) != width:
            check_width(terms, width)
        self._statement(terms)
        self._write_row(encoder, (PATCH_ADD if kind is ADD_KIND else PATCH_DELETE) << 3 | BYTES)
        return 0

    cdef int _write_header(self, header) except -1:
        """Write the row of an RdfPatchHeader."""
        cdef Writer *writer = &self.writer
        cdef bytes key
        cdef size_t size
        name, value = header
        if type(name) is str and self._is_usual(name):
            key = PyUnicode_AsUTF8String(name)
        else:
            key = self.reference.text(name, "a header's key")
        self._row((value,), WRITE_HEADER)
        size = PyBytes_GET_SIZE(key)
        if size:
            size += 1 + varint_size(size)
        if not open_row(writer, PATCH_HEADER << 3 | BYTES, size + writer.body.size):
            raise MemoryError
        if size:
            put_byte(&writer.rows, 1 << 3 | BYTES)
            put_varint(&writer.rows, PyBytes_GET_SIZE(key))
            put(&writer.rows, <const uint8_t *> PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
        put(&writer.rows, writer.body.bytes, writer.body.size)
        return 0

    def namespace(self, name, iri, graph):
        """Write the body of an RdfPatchNamespace."""
        self.reference.text(name, "a namespace's name")
        self._enter()
        try:
            self._repeat_by_object()
            self._row((iri, graph), WRITE_NAMESPACE)
            if graph is not None:
                self.last[3] = graph
                self.last_described[3] = self.describing[3]
            return string_field(1, name) + self._body()
        finally:
            self._hand_over(self.encoder)
            self._leave()

    cdef Written _single(self, tuple terms, int what) except? OUT_OF_MEMORY:
        """Write the IRI and the graph of a namespace, or the value of a header."""
        cdef Description description
        cdef Written written = DONE
        if what == WRITE_HEADER:
            return self._tagged(self._find(terms[0]), 2, reference_patch_encoder.VALUE_TAGS)
        iri, graph = terms
        if iri is not None:
            description = self._find(iri)
            if description.encoded.kind != IRI:
                raise TermError(f"a namespace is an IRI, not {iri!r}")
            if not append(&self.writer.body, <const char *> NAMESPACE_IRI_TAG, 1):
                return OUT_OF_MEMORY
            written = self._payload(description, 0)
        if graph is None or written != DONE:
            return written
        if self.last[3] is graph:
            self.describing[3] = self.last_described[3]
            return DONE
        description = self._find(graph)
        if self._repeats(3, graph, description):
            self.describing[3] = self.last_described[3]
            return DONE
        self.describing[3] = description
        return self._tagged(description, 3, reference_patch_encoder.GRAPH_TAGS)

    cdef Written _tagged(self, Description description, int position,
                         dict field_tags) except? OUT_OF_MEMORY:
        """Write a term that is not part of a statement."""
        cdef int kind = description.encoded.kind
        if self.tags.sizes[position][kind] == 0:
            raise self.reference.rejection(position, Kind(kind))
        tag = field_tags[kind]
        if not append(&self.writer.body, <const char *> tag, len(tag)):
            return OUT_OF_MEMORY
        return self._payload(description, 0)

    cdef Description _find(self, term):
        """Describe a term, after checking the nesting of a quoted triple."""
        if PyTuple_Check(term):
            self._check_nesting(term)
        return self._describe(term)


cdef bytes NAMESPACE_IRI_TAG = reference_patch_encoder.IRI_TAG


class PatchEncoder(reference_patch_encoder.PatchEncoder):
    __doc__ = reference_patch_encoder.PatchEncoder.__doc__

    _term_writer = PatchTermWriter

    def _add_all(self, operations):
        self._writer.add_operations(self, operations, 4 if self._quads else 3)

    def _add_lines(self, kind, data, parser):
        if parser.quads is self._quads:
            self._writer.add_lines(self, kind, data, parser)
        else:
            super()._add_lines(kind, data, parser)

    def add_patch(self, headers, deleted, added, parser):
        """Write a patch of one transaction of lines, see the reference."""
        if parser.quads is not self._quads:
            return super().add_patch(headers, deleted, added, parser)
        self._writer.add_patch(self, headers, deleted, added, parser)
        return self._take_ended()

    def add_unusual(self, statements):
        kind = self.kind_of_lines
        self._add_all(Operation(kind, statement) for statement in statements)
