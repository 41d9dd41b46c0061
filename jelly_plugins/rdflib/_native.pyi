"""What is compiled; see ``_native.pyx``."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rdflib.term import BNode, Literal, URIRef

def iri(value: str, /) -> URIRef: ...
def blank_node(label: str, /) -> BNode: ...

class Scope:
    def __init__(self, plain: str, other: Callable[[str], str], /) -> None: ...
    def blank_node(self, label: str, /) -> BNode: ...

class Statements:
    def __init__(self, other: Callable[[tuple[Any, ...]], Any], /) -> None: ...
    def check(self, terms: tuple[Any, ...], /) -> Any: ...

class Literals:
    def __init__(self, slow: Callable[[str, str | None, str | None], Literal], /) -> None: ...
    def literal(self, lex: str, langtag: str | None, datatype: str | None, /) -> Literal: ...

class Generic:
    def __init__(
        self,
        other: Callable[[Any], tuple[Any, ...]],
        make: Callable[[tuple[Any, ...]], Any],
        /,
    ) -> None: ...
    def term(self, term: Any, /) -> Any: ...
    def statements(
        self, statements: Iterable[tuple[Any, ...]], /, extra: tuple[Any, ...] = ()
    ) -> list[tuple[Any, ...]]: ...
    def subject(
        self,
        spo: dict[Any, Any],
        subject: Any,
        extra: tuple[Any, ...],
        found: list[tuple[Any, ...]],
        contexts: dict[Any, Mapping[Any, bool]] | None = None,
        usual: Mapping[Any, bool] | None = None,
        context: str | None = None,
    ) -> None: ...

class Added:
    @property
    def new(self) -> dict[tuple[Any, Any, Any], None]: ...
    @property
    def known(self) -> list[tuple[Any, Any, Any]]: ...

class IndexWriter:
    def __init__(
        self, spo: dict[Any, Any], pos: dict[Any, Any], osp: dict[Any, Any], /
    ) -> None: ...
    @property
    def graphs(self) -> dict[Any, Added]: ...
    def add(self, statements: list[Any], /) -> None: ...
