"""The generic term model: everything that Jelly can express, unchanged.

Lexical forms, language tags and labels are kept exactly. Only the spelling of xsd:string is
normalised: a literal with that datatype and one without any are the same literal in RDF 1.1, and
both have ``datatype`` None here.

The codec builds terms only through a :class:`TermFactory` and reads them only through a
:data:`Describe` function, so that it can read and make a backend's terms directly.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from ...errors import JellyError, StatementError, TermError
from ...notebook import MOST_CHARACTERS, parts

XSD_STRING: Final = "http://www.w3.org/2001/XMLSchema#string"
RDF_LANG_STRING: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"


@dataclass(frozen=True, slots=True)
class Iri:
    """An IRI, not validated: Jelly accepts any string."""

    value: str

    # Millions of terms are looked up; the hash that a dataclass generates costs twice as much.
    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True, slots=True)
class BlankNode:
    """A blank node with its label: any string, with no meaning outside its scope."""

    label: str

    def __hash__(self) -> int:
        return hash(self.label)


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal: simple (xsd:string), language-tagged, or typed.

    >>> Literal("1", datatype="http://www.w3.org/2001/XMLSchema#integer").datatype_iri
    'http://www.w3.org/2001/XMLSchema#integer'
    >>> Literal("x", datatype=XSD_STRING) == Literal("x")
    True
    """

    lex: str
    langtag: str | None = None
    datatype: str | None = None

    def __post_init__(self) -> None:
        if self.datatype == XSD_STRING:
            object.__setattr__(self, "datatype", None)
        if self.langtag is not None and self.datatype is not None:
            raise TermError("a literal has either a language tag or a datatype, not both")

    def __hash__(self) -> int:
        return hash((self.lex, self.langtag, self.datatype))

    @property
    def datatype_iri(self) -> str:
        """The datatype's IRI as defined in RDF 1.1 Concepts, section 3.3: never absent."""
        if self.langtag is not None:
            return RDF_LANG_STRING
        return self.datatype if self.datatype is not None else XSD_STRING


class DefaultGraph:
    """The name of the default graph; :data:`DEFAULT_GRAPH` is its one instance."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "DEFAULT_GRAPH"

    def __reduce__(self) -> str:
        return "DEFAULT_GRAPH"


DEFAULT_GRAPH: Final = DefaultGraph()


class Triple(NamedTuple):
    """A triple, as a statement or quoted inside another."""

    subject: Term
    predicate: Term
    object: Term


class Quad(NamedTuple):
    """A quad; ``graph`` is :data:`DEFAULT_GRAPH` for the default graph."""

    subject: Term
    predicate: Term
    object: Term
    graph: GraphName


@parts.register(Iri)
def _(term: Iri) -> Iterator[str]:
    yield f"<{term.value[:MOST_CHARACTERS]}> "


@parts.register(BlankNode)
def _(term: BlankNode) -> Iterator[str]:
    yield f"_:{term.label[:MOST_CHARACTERS]} "


@parts.register(Literal)
def _(term: Literal) -> Iterator[str]:
    yield f'"{term.lex[:MOST_CHARACTERS]}"'
    if term.langtag is not None:
        yield f"@{term.langtag}"
    elif term.datatype is not None:
        yield f"^^<{term.datatype[:MOST_CHARACTERS]}>"
    yield " "


@parts.register(DefaultGraph)
@parts.register(type(None))
def _(_: object) -> Iterator[str]:
    return iter(())


@parts.register(Triple)
def _(term: Triple) -> Iterator[str]:
    yield "<<( "
    for part in term:
        yield from parts(part)
    yield ")>> "


Term: TypeAlias = Iri | BlankNode | Literal | Triple
GraphName: TypeAlias = Iri | BlankNode | Literal | DefaultGraph
Statement: TypeAlias = Triple | Quad

T = TypeVar("T")


class TermFactory(Protocol[T]):
    """Makes a backend's terms for a decoder, which calls it once for each distinct term, within the
    limits of its caches.

    A constructor raises :class:`~jelly_plugins.TermError` or any ValueError for a term that its
    backend cannot hold; the decoder adds frame and row.
    """

    @property
    def default_graph(self) -> T:
        """The backend's name of the default graph."""
        ...

    def iri(self, value: str, /) -> T: ...

    def blank_node(self, label: str, /) -> T: ...

    def literal(self, lex: str, langtag: str | None, datatype: str | None, /) -> T:
        """Make a literal; ``datatype`` is None for xsd:string and for language-tagged strings."""
        ...

    def quoted_triple(self, subject: T, predicate: T, object_: T, /) -> T: ...

    def check_graph(self, name: T, /) -> None:
        """Check the name of a graph that starts in a stream of physical type GRAPHS. The graph may
        be empty, so that no statement has its name.
        """
        ...

    def triple(self, terms: tuple[T, T, T], /) -> Any:
        """Make a statement of a stream of triples; return ``terms`` unchanged to get a tuple."""
        ...

    def quad(self, terms: tuple[T, T, T, T], /) -> Any:
        """Make a statement of a stream of quads or graphs."""
        ...


class Kind(IntEnum):
    """A kind of term, as returned by a :data:`Describe` function."""

    IRI = 0
    BLANK_NODE = 1
    LITERAL = 2
    TRIPLE = 3
    DEFAULT_GRAPH = 4


#: Describes a backend's term as a tuple that begins with its :class:`Kind`: ``(IRI, value)``,
#: ``(BLANK_NODE, label)``, ``(LITERAL, lex, langtag, datatype)``, ``(TRIPLE, subject, predicate,
#: object)`` or ``(DEFAULT_GRAPH,)``. Terms must be hashable, and equal only if they are the same
#: term: the encoder describes each distinct one once.
Describe: TypeAlias = Callable[[Any], tuple[Any, ...]]


def terms_of(statement: Any) -> tuple[Any, ...]:
    """Return the terms of a statement. For a tuple these are its items, whatever the methods of a
    subclass return, as in the compiled kernel. For any other iterable these are its first items,
    five at most, which is more than a statement has; no memory is reserved by its ``__len__``.

    >>> terms_of([1, 2]), terms_of(Triple(1, 2, 3))
    ((1, 2), Triple(subject=1, predicate=2, object=3))
    """
    kind = type(statement)
    if kind is tuple or kind is Triple or kind is Quad:
        return statement  # type: ignore[no-any-return]
    if issubclass(kind, tuple):
        return tuple.__getitem__(statement, slice(None))
    return tuple(islice(statement, 5))


def parts_of(value: Any, widths: Container[int], what: str) -> tuple[Any, ...]:
    """Return the items of a statement, a header or a namespace, read by :func:`terms_of`.

    :raises StatementError: the number of items of ``what`` is not one of ``widths``.
    """
    parts = terms_of(value)
    if len(parts) not in widths:
        raise StatementError(f"{what} of {len(parts)} terms")
    return parts


def text_of(value: Any) -> Any:
    """Convert a string to an instance of ``str`` itself; return any other value unchanged."""
    kind = type(value)
    return value if kind is str or not issubclass(kind, str) else str.__str__(value)


class GenericFactory:
    """Makes the terms of this module."""

    default_graph: Final = DEFAULT_GRAPH

    iri = staticmethod(Iri)
    blank_node = staticmethod(BlankNode)
    literal = staticmethod(Literal)
    quoted_triple = staticmethod(Triple)
    # The same as _make, without a second check of the width.
    triple = staticmethod(partial(tuple.__new__, Triple))
    quad = staticmethod(partial(tuple.__new__, Quad))

    @staticmethod
    def check_graph(name: Any, /) -> None:
        """Any name is valid."""


def build(make: Callable[..., T], *parts: Any) -> T:
    """Call a method of a :class:`TermFactory`.

    :raises TermError: the factory rejects it.
    """
    try:
        return make(*parts)
    except JellyError:
        raise
    except ValueError as error:
        raise TermError(str(error)) from error


class WithGeneric:
    """Describes generic terms, the default graph among them, besides those of a backend.

    :param describe: describes the backend's terms.
    """

    def __init__(self, describe: Describe) -> None:
        self._describe = describe

    def __call__(self, term: Any) -> tuple[Any, ...]:
        return describe(term) if type(term) in _GENERIC else self._describe(term)


_GENERIC: Final = frozenset((Iri, BlankNode, Literal, Triple, DefaultGraph))


def describe(term: object) -> tuple[Any, ...]:
    """Describe a term of this module, see :data:`Describe`.

    :raises TermError: it is not a term of this module, or lacks a part.
    """
    try:
        if isinstance(term, Iri):
            return (Kind.IRI, term.value)
        if isinstance(term, Literal):
            return (Kind.LITERAL, term.lex, term.langtag, term.datatype)
        if isinstance(term, BlankNode):
            return (Kind.BLANK_NODE, term.label)
    except AttributeError:
        raise TermError("a term was made without its parts") from None
    if isinstance(term, Triple):
        return (Kind.TRIPLE, *terms_of(term))
    if isinstance(term, DefaultGraph):
        return (Kind.DEFAULT_GRAPH,)
    raise TermError(f"{term!r} is not a term of jelly_plugins")
