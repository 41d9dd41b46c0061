# Text for a backend that is strict about terms but need not check all of them again. Terms that are
# certainly well-formed (kernel/common/plain_terms.pxi) are not validated. A validator, the
# backend's own factory, makes or rejects the others.

cdef bint is_rdf_1_2(Reader *reader) noexcept nogil:
    """Whether the statement that was read has only kinds of terms that RDF 1.2 allows there. Quoted
    triples were checked before.
    """
    cdef Term *graph = reader.graph if reader.graph != NULL else reader.last[3]
    if graph != NULL and graph.kind != IRI and graph.kind != BLANK_NODE:
        if graph.kind != DEFAULT_GRAPH:
            return False
    return ((reader.last[0].kind == IRI or reader.last[0].kind == BLANK_NODE)
            and reader.last[1].kind == IRI)


# With the GIL

cdef int validate_made(Reader *reader, validator) except -1:
    """Make the terms that are not plain with the validator, in the order of the stream.

    :raises TermError: the validator rejects a term; with its row.
    """
    cdef dict triples = {}
    for at in range(reader.made_count):
        made_by(validator, reader.made[at], triples)
    reader.made_count = 0
    return 0


cdef object made_by(validator, Term *term, dict triples):
    """Make a term that was read with the validator.

    :param triples: the quoted triples that it has made since the plan was last empty.
    :raises TermError: the validator rejects a term; with the term's row.
    """
    try:
        return validated_term(term, validator, triples)
    except JellyError as error:
        raise error.locate(row=term.row)
    except ValueError as error:
        raise TermError(str(error), row=term.row) from error


cdef int reject_statement(Reader *reader, validator) except -1:
    """Raise the validator's error for a statement that RDF 1.2 does not allow."""
    cdef dict triples = {}
    cdef Term *graph = reader.graph if reader.graph != NULL else reader.last[3]
    terms = tuple([validated_term(reader.last[at], validator, triples) for at in range(3)])
    if reader.width == 3:
        validator.triple(terms)
    else:
        validator.quad((*terms, validated_term(graph, validator, triples)))
    raise TermError("a statement has a kind of term where RDF 1.2 has none of it")


cdef object validated_term(Term *term, validator, dict triples):
    """Make a term with the validator; each quoted triple is made once, however many quote it.

    :raises TermError: or ValueError: the validator rejects a term.
    """
    if term.kind == IRI:
        return validator.iri(iri_in(term.text))
    if term.kind == BLANK_NODE:
        return validator.blank_node(text_of(term.wire))
    if term.kind == LITERAL:
        return validator.literal(*literal_in(term))
    if term.kind == TRIPLE:
        made = triples.get(<size_t> term)
        if made is None:
            made = triples[<size_t> term] = validator.quoted_triple(
                validated_term(term.parts[0], validator, triples),
                validated_term(term.parts[1], validator, triples),
                validated_term(term.parts[2], validator, triples),
            )
        return made
    return validator.default_graph


cdef tuple literal_in(Term *term):
    """A literal's lexical form, language tag and datatype."""
    datatype = None
    if term.parts[0] != NULL:
        datatype = iri_in(Slice(term.parts[0].text.bytes + 2, term.parts[0].text.size - 2))
    return text_of(term.lex), text_of(term.langtag) if term.langtag.size else None, datatype


cdef object iri_in(Slice text):
    """Return the IRI of a term in N-Triples syntax, in brackets."""
    return lines.unescaped(text_of(Slice(text.bytes + 1, text.size - 2)))
