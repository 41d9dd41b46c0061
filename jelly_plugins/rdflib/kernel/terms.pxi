# rdflib's terms, equal to those that its constructors make.
#
# For each literal, rdflib's constructor looks up what depends only on the datatype: the functions
# that read a lexical form, write the canonical form, and check it. Here a `Recipe` holds them for
# each datatype of one read. Forms that are certainly canonical are not written again.

cdef bint[256] NOT_IN_AN_IRI
for _character in range(256):
    NOT_IN_AN_IRI[<int> _character] = chr(_character) in rdflib_term._invalid_uri_chars


def iri(str value not None):
    """The same as ``URIRef(value)``."""
    cdef Py_ssize_t at
    cdef const unsigned char *text
    cdef int kind = PyUnicode_KIND(value)
    cdef void *data = PyUnicode_DATA(value)
    cdef Py_UCS4 character
    if kind == 1:
        text = <const unsigned char *> data
        for at in range(PyUnicode_GET_LENGTH(value)):
            if NOT_IN_AN_IRI[text[at]]:
                # Logs a warning, and makes it.
                return URIRef(value)
    else:
        for at in range(PyUnicode_GET_LENGTH(value)):
            character = PyUnicode_READ(kind, data, at)
            if character < 128 and NOT_IN_AN_IRI[<int> character]:
                return URIRef(value)
    return new_identifier(URIRef, value)


def blank_node(str label not None):
    """The same as ``BNode(label)``."""
    return new_identifier(BNode, label)


cdef inline object new_identifier(kind, str text):
    identifier = new_text(kind, (text,))
    PyObject_GC_UnTrack(identifier)
    return identifier


cdef class Scope:
    """Makes blank nodes that belong to one read.

    :param plain: the prefix of labels that consist of letters and digits.
    :param other: makes the node of any other label.
    """

    cdef str plain
    cdef object other

    def __init__(self, str plain not None, other):
        self.plain = plain
        self.other = other

    def blank_node(self, str label not None):
        cdef const unsigned char *text = <const unsigned char *> PyUnicode_DATA(label)
        cdef Py_ssize_t at
        cdef unsigned char folded
        if not PyUnicode_IS_ASCII(label) or PyUnicode_GET_LENGTH(label) == 0:
            return self.other(label)
        for at in range(PyUnicode_GET_LENGTH(label)):
            folded = text[at] | 0x20
            if not (b"0" <= text[at] <= b"9" or b"a" <= folded <= b"z"):
                return self.other(label)
        return new_identifier(BNode, PyUnicode_Concat(self.plain, label))


cdef inline bint names_a_graph(PyObject *term):
    """Whether a term is not a literal, and not empty."""
    return not is_a(term, RdflibLiteral) and not (
        isinstance(<object> term, str) and PyUnicode_GET_LENGTH(<object> term) == 0)


cdef class Statements:
    """Accepts the statements of RDF 1.1.

    :param other: called with any other statement; returns its terms or rejects it.
    """

    cdef object other

    def __init__(self, other):
        self.other = other

    def check(self, tuple terms not None):
        if PyTuple_GET_SIZE(terms) < 3:
            raise TypeError("a statement has three terms or four")
        if (is_a(tuple_item(terms, 1), URIRef)
                and not is_a(tuple_item(terms, 0), RdflibLiteral)
                and (PyTuple_GET_SIZE(terms) == 3
                     or names_a_graph(tuple_item(terms, 3)))):
            PyObject_GC_UnTrack(terms)
            return terms
        return self.other(terms)


# Literals

cdef enum:
    # How literals of a datatype are made.
    LEFT_TO_RDFLIB
    TEXT
    UNKNOWN
    INTEGER
    FLOAT
    DECIMAL
    BOOLEAN
    DATE
    DATE_TIME
    OTHER


#: Datatypes whose forms rdflib also changes elsewhere.
cdef tuple CHANGED_AGAIN = (rdflib_term._XSD_NORMALISED_STRING, rdflib_term._XSD_TOKEN)

cdef dict CONVERTERS = rdflib_term._toPythonMapping
cdef list SPECIFIC_RULES = rdflib_term._SpecificPythonToXSDRules
cdef list GENERIC_RULES = rdflib_term._GenericPythonToXSDRules
cdef dict CHECKS = rdflib_term._check_well_formed_types
cdef dict RDFLIB = rdflib.__dict__
cdef object NORMALIZE = "NORMALIZE_LITERALS"

cdef enum:
    # Digits of an integer that certainly fits into 64 bits, and of a decimal that is read quickly.
    SHORT_INTEGER = 18
    SHORT_DECIMAL = 200
    # Capacity of the caches of datatypes and language tags.
    REMEMBERED = 1024


@cython.final
cdef class Recipe:
    """How literals of one datatype are made.

    :ivar key: the datatype.
    :ivar converter: the function that reads a lexical form, from rdflib's table.
    :ivar check: the function that checks a lexical form; None if a value is enough.
    :ivar casts: the functions that write values, by the value's type; None to use the value itself.
    """

    cdef int kind
    cdef object key
    cdef object converter
    cdef object check
    cdef dict casts


cdef object cast_of(value, datatype):
    """Return the function with which rdflib writes a value; None if there is none."""
    for (python_type, its_datatype), cast in SPECIFIC_RULES:
        if isinstance(value, python_type) and its_datatype == datatype:
            return cast
    for python_type, (cast, _) in GENERIC_RULES:
        if isinstance(value, python_type):
            return cast
    return None


cdef Recipe new_recipe(datatype):
    """Make the recipe of a datatype, which is a URIRef or None."""
    cdef Recipe recipe = Recipe.__new__(Recipe)
    recipe.key = datatype
    recipe.casts = {}
    if datatype not in CONVERTERS:
        recipe.kind = LEFT_TO_RDFLIB if datatype in CHANGED_AGAIN else UNKNOWN
        return recipe
    # The table's own key: a lookup with it does not call `__eq__`.
    recipe.key = next(key for key in CONVERTERS if key == datatype)
    converter = recipe.converter = CONVERTERS[datatype]
    recipe.check = CHECKS.get(datatype)
    if (datatype in CHANGED_AGAIN or datatype not in rdflib_term.XSDToPython
            or datatype == rdflib_term._RDF_XMLLITERAL or datatype == rdflib_term._RDF_HTMLLITERAL):
        recipe.kind = LEFT_TO_RDFLIB
    elif converter is not rdflib_term.XSDToPython[datatype]:
        # Bound by the user.
        recipe.kind = LEFT_TO_RDFLIB
    elif converter is None:
        recipe.kind = TEXT if cast_of("", datatype) is None else LEFT_TO_RDFLIB
    elif converter is int:
        recipe.kind = INTEGER if cast_of(0, datatype) is None else OTHER
    elif converter is float:
        recipe.kind = FLOAT if cast_of(0.0, datatype) is None else OTHER
    elif converter is Decimal and is_format(cast_of(Decimal(0), datatype)):
        recipe.kind = DECIMAL
    elif converter is rdflib_term._parseBoolean:
        recipe.kind = BOOLEAN if cast_of(True, datatype)(True) == "true" else OTHER
    elif (converter is rdflib_term.parse_xsd_date
          and is_isoformat(cast_of(date(1, 2, 3), datatype), date(1, 2, 3))):
        recipe.kind = DATE
    elif (converter == datetime.fromisoformat
          and is_isoformat(cast_of(datetime(1, 2, 3), datatype), datetime(1, 2, 3))):
        recipe.kind = DATE_TIME
    else:
        recipe.kind = OTHER
    return recipe


cdef bint is_format(cast):
    """Whether a function writes decimals with all their digits."""
    return all(cast(Decimal(text)) == text for text in ("1.50", "-0.0", "0.00000000010", "100"))


cdef bint is_isoformat(cast, value):
    return cast(value) == value.isoformat()


def bindings():
    """A number that is another one after a datatype was bound."""
    return len(SPECIFIC_RULES) + len(GENERIC_RULES)


@cython.final
cdef class Literals:
    """Makes the same literals as ``rdflib.term.Literal``, for one read: datatypes that are bound
    later do not count.

    :param slow: the factory's function, which makes unusual literals from a lexical form, a
        language tag and the IRI of a datatype, and raises the errors.
    """

    cdef object slow
    cdef Recipe plain
    cdef dict recipes
    cdef dict langtags

    def __init__(self, slow):
        self.slow = slow
        self.langtags = {}
        self.recipes = {}
        self.plain = new_recipe(None)

    cdef Recipe _recipe(self, str datatype):
        known = self.recipes.get(datatype)
        if known is not None:
            return <Recipe> known
        recipe = new_recipe(iri(datatype))
        if len(self.recipes) >= REMEMBERED:
            self.recipes.clear()
        self.recipes[datatype] = recipe
        return recipe

    def literal(self, str lex not None, langtag, datatype):
        """The same as ``Literal(lex, lang=langtag, datatype=datatype)``."""
        cdef Recipe recipe
        if datatype is not None:
            if langtag is not None:
                return self.slow(lex, langtag, datatype)
            recipe = self._recipe(datatype)
            if recipe.kind == UNKNOWN:
                return new_literal(lex, None, recipe.key, None, None)
            return self._typed(lex, recipe, datatype)
        if self.plain.kind != TEXT:
            return self.slow(lex, langtag, datatype)
        if langtag is not None:
            known = self.langtags.get(langtag)
            if known is None:
                if not is_langtag(langtag):
                    return self.slow(lex, langtag, datatype)
                if len(self.langtags) >= REMEMBERED:
                    self.langtags.clear()
                self.langtags[langtag] = known = langtag
            langtag = known
        return new_literal(lex, langtag, None, lex, None)

    cdef object _typed(self, str lex, Recipe recipe, datatype):
        cdef int kind = recipe.kind
        cdef object value = None
        cdef object ill_typed = None
        cdef str text = lex
        cdef bint rejected = False
        if kind == TEXT:
            value = lex
        elif kind == INTEGER:
            value = short_integer(lex)
        elif kind == FLOAT:
            try:
                value = PyFloat_FromString(lex)
            except ValueError:
                # rdflib reports the error.
                rejected = True
            if not rejected and RDFLIB[NORMALIZE]:
                text = repr(value)
        elif kind == DECIMAL:
            if is_short_decimal(lex):
                value = Decimal(lex)
        elif kind == BOOLEAN:
            if lex == "true":
                value = True
            elif lex == "false":
                value = False
        elif kind == DATE:
            if is_date(lex):
                try:
                    value = date.fromisoformat(lex)
                except ValueError:
                    rejected = True
        elif kind == DATE_TIME:
            if is_date_time(lex):
                try:
                    value = datetime.fromisoformat(lex)
                except ValueError:
                    rejected = True
                if not rejected and RDFLIB[NORMALIZE] and PyUnicode_GET_LENGTH(lex) != 19:
                    text = value.isoformat()
        if value is None and not rejected:
            if kind == LEFT_TO_RDFLIB or kind == DECIMAL:
                return self.slow(lex, None, datatype)
            # Exceptions of converters and casts are raised again there, and reported as a
            # TermError.
            try:
                value = recipe.converter(lex)
                if value is not None and RDFLIB[NORMALIZE]:
                    text = self._written(value, recipe)
            except Exception:
                rejected = True
            if not rejected and (value is None or text is None):
                return self.slow(lex, None, datatype)
        if not rejected:
            try:
                ill_typed = False if recipe.check is None else not recipe.check(lex, value)
            except Exception:
                rejected = True
        # Outside the handlers of exceptions, because rdflib logs the error that it handles.
        if rejected:
            return self.slow(lex, None, datatype)
        return new_literal(text, None, recipe.key, value, ill_typed)

    cdef str _written(self, value, Recipe recipe):
        """Write a value in the same way as rdflib; return None for an unusual one."""
        kind = type(value)
        if kind in recipe.casts:
            cast = recipe.casts[kind]
        else:
            cast = recipe.casts[kind] = cast_of(value, recipe.key)
        written = value if cast is None else cast(value)
        if type(written) is str:
            return written
        if type(written) is int or type(written) is float:
            return str(written)
        return None


cdef object new_literal(str text, langtag, datatype, value, ill_typed):
    literal = new_text(RdflibLiteral, (text,))
    set_slot(literal, LITERAL_LANGUAGE, langtag)
    set_slot(literal, LITERAL_DATATYPE, datatype)
    set_slot(literal, LITERAL_VALUE, value)
    set_slot(literal, LITERAL_ILL_TYPED, ill_typed)
    if not may_hold(<PyObject *> value):
        PyObject_GC_UnTrack(literal)
    return literal


# Forms that are certainly canonical. Each function returns False, or None, if it is not certain.

cdef bint is_langtag(str text):
    """Whether a tag consists of letters, then groups of letters and digits after hyphens."""
    cdef const unsigned char *pos = <const unsigned char *> PyUnicode_DATA(text)
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text)
    cdef Py_ssize_t at
    cdef bint first = True
    cdef bint empty = True
    cdef unsigned char folded
    if not PyUnicode_IS_ASCII(text):
        return False
    for at in range(size):
        folded = pos[at] | 0x20
        if b"a" <= folded <= b"z" or (not first and b"0" <= pos[at] <= b"9"):
            empty = False
        elif pos[at] == b"-" and not empty:
            first = False
            empty = True
        else:
            return False
    return not empty


cdef object short_integer(str text):
    """Return the value of a short canonical integer, otherwise None."""
    cdef const unsigned char *pos = <const unsigned char *> PyUnicode_DATA(text)
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text)
    cdef Py_ssize_t at = 0
    cdef long long number = 0
    cdef bint negative
    if not PyUnicode_IS_ASCII(text) or size == 0 or size > SHORT_INTEGER:
        return None
    negative = pos[0] == b"-"
    if negative:
        at = 1
    if at == size or (pos[at] == b"0" and size > 1):
        return None
    while at < size:
        if not b"0" <= pos[at] <= b"9":
            return None
        number = number * 10 + (pos[at] & 0x0F)
        at += 1
    return -number if negative else number


cdef bint is_short_decimal(str text):
    """Whether a text is digits without leading zeros, optionally with a point and digits."""
    cdef const unsigned char *pos = <const unsigned char *> PyUnicode_DATA(text)
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text)
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t start
    if not PyUnicode_IS_ASCII(text) or size == 0 or size > SHORT_DECIMAL:
        return False
    if pos[0] == b"-":
        at = 1
    start = at
    while at < size and b"0" <= pos[at] <= b"9":
        at += 1
    if at == start or (pos[start] == b"0" and at - start > 1):
        return False
    if at == size:
        return True
    if pos[at] != b".":
        return False
    at += 1
    start = at
    while at < size and b"0" <= pos[at] <= b"9":
        at += 1
    return at == size and at > start


cdef bint fits(const unsigned char *pos, const char *pattern, Py_ssize_t size):
    """Whether a text has digits where the pattern has 0, and otherwise the same characters."""
    cdef Py_ssize_t at
    for at in range(size):
        if pattern[at] == b"0":
            if not b"0" <= pos[at] <= b"9":
                return False
        elif pos[at] != <unsigned char> pattern[at]:
            return False
    return True


cdef bint is_date(str text):
    return (PyUnicode_IS_ASCII(text) and PyUnicode_GET_LENGTH(text) == 10
            and fits(<const unsigned char *> PyUnicode_DATA(text), b"0000-00-00", 10))


cdef bint is_date_time(str text):
    """Whether a text is a time in whole seconds before 24:00, optionally with Z or an offset."""
    cdef const unsigned char *pos = <const unsigned char *> PyUnicode_DATA(text)
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text)
    if not PyUnicode_IS_ASCII(text) or size < 19 or not fits(pos, b"0000-00-00T00:00:00", 19):
        return False
    if pos[11] == b"2" and pos[12] >= b"4":
        return False
    return (
        size == 19
        or (size == 20 and pos[19] == b"Z")
        or (size == 25 and (pos[19] == b"+" or pos[19] == b"-")
            and fits(pos + 20, b"00:00", 5))
    )
