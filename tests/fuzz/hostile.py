"""Statements of classes whose methods return false values, for every encoder of all kernels.

The methods of a subclass of tuple, str, bytes or int do not agree with its contents in C: length,
items, hash, equality. They also change the objects that are being encoded. In all cases the process
must survive, and the output must be readable.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from jelly_plugins import BlankNode, Iri, JellyError, Literal, Quad, StreamOptions, Triple
from jelly_plugins.codec import DEFAULT_GRAPH, GenericFactory, PhysicalType
from jelly_plugins.codec.common.terms import describe, terms_of
from jelly_plugins.codec.patch.decoder import PatchDecoder
from jelly_plugins.codec.patch.encoder import PatchEncoder
from jelly_plugins.codec.patch.operations import END, Header, Operation, OperationKind
from jelly_plugins.codec.patch.options import PatchOptions, PatchStatementType, PatchStreamType
from jelly_plugins.codec.rdf.decoder import Decoder
from jelly_plugins.codec.rdf.encoder import Encoder
from jelly_plugins.codec.text.columns import Column, ColumnEncoder, Columns
from jelly_plugins.codec.text.transcoding import TextEncoder
from jelly_plugins.jena import JenaFormat, read, write
from jelly_plugins.jena.streams import RowWriter

from .comparison import native_of

#: Errors that may result: ours, and those that Python raises for an argument of a wrong type.
EXPECTED: Final = (
    *(JellyError, TypeError, ValueError, AttributeError, IndexError),
    *(OverflowError, RecursionError, UnicodeError, KeyError, StopIteration, MemoryError),
)


class FalseValues:
    """What the methods of hostile classes return, and the changes that they make meanwhile."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        #: Containers that are being encoded and may change.
        self.shared: list[list[Any]] = []
        #: Calls to make during encoding.
        self.calls: list[Callable[[], Any]] = []
        #: Whether encoders reject calls while they write a row, as the compiled ones do.
        self.guarded = False
        self.acts = 0

    def act(self) -> None:
        """Occasionally change an object that is being encoded."""
        rng = self.rng
        self.acts += 1
        if self.acts > 200:
            # Iteration would never end if the list kept changing.
            return
        if self.shared and rng.random() < 0.2:
            container = rng.choice(self.shared)
            change = rng.randrange(3)
            if change == 0:
                container.clear()
            elif change == 1 and len(container) < 50:
                container.extend(container[:3])
            elif container:
                container.pop()
        if self.calls and rng.random() < 0.1 and self.guarded:
            with suppress(*EXPECTED):
                rng.choice(self.calls)()

    def length(self) -> int:
        return self.rng.choice((0, 1, 2, 3, 4, 5, 7, 1 << 31, (1 << 63) - 1))

    def value(self) -> Any:
        """Return a value to use instead of a term."""
        return self.rng.choice(
            (None, 1, "x", b"x", (), [], Iri("urn:i"), (Iri("urn:i"),) * 5, Triple)
        )


def hostile_subclass(base: type, false_values: FalseValues, names: Iterable[str]) -> type:
    """Make a subclass whose methods with these names return false values."""

    def method(name: str) -> Callable[..., Any]:
        def false_method(self: Any, *arguments: Any) -> Any:
            false_values.act()
            rng = false_values.rng
            original = getattr(base, name)
            if rng.random() < 0.3:
                return original(self, *arguments)
            if name == "__len__":
                return false_values.length()
            if name == "__hash__":
                return rng.choice((0, 1, hash(Iri("urn:s"))))
            if name in ("__eq__", "__ne__", "__contains__"):
                return rng.random() < 0.5
            if name == "__iter__":
                return iter([false_values.value() for _ in range(rng.randrange(7))])
            if name in ("__index__", "__int__"):
                return rng.randrange(4)
            if name in ("encode", "__bytes__"):
                return rng.choice((b"", b"xyz", b"\xff" * 300))
            if name in ("__str__", "__radd__", "__add__", "__getitem__", "rfind", "isascii"):
                return false_values.value()
            return original(self, *arguments)

        return false_method

    return type(f"Hostile{base.__name__}", (base,), {name: method(name) for name in names})


TUPLE_METHODS: Final = ("__len__", "__iter__", "__getitem__", "__hash__", "__eq__", "__contains__")
STR_METHODS: Final = (
    *("__len__", "__iter__", "__getitem__", "__hash__", "__eq__", "encode", "__str__", "__add__"),
    *("__radd__", "rfind", "isascii"),
)
BYTES_METHODS: Final = ("__len__", "__iter__", "__getitem__", "__add__", "__radd__", "__bytes__")
INT_METHODS: Final = ("__index__", "__int__", "__hash__", "__eq__")


class Maker:
    """Makes terms and statements, some of which have false methods."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.false_values = FalseValues(rng)

    def of(self, base: type, methods: tuple[str, ...]) -> type:
        names = {name for name in methods if self.rng.random() < 0.5} or {methods[0]}
        if base.__hash__ is not None and "__eq__" in names:
            names.add("__hash__")
        if "__hash__" in names and base in (tuple, Triple, Quad, str, int):
            names.add("__eq__")
        return hostile_subclass(base, self.false_values, sorted(names))

    def text(self, text: str) -> str:
        made: str = text
        if self.rng.random() < 0.3:
            made = self.of(str, STR_METHODS)(text)
        return made

    def term(self, position: int, depth: int = 0) -> Any:
        rng = self.rng
        kind = rng.random()
        if kind < 0.03:
            return self.false_values.value()
        if kind < 0.15 and depth < 3:
            parts = [self.term(at, depth + 1) for at in range(rng.choice((2, 3, 3, 3, 3, 4, 5)))]
            return self.tuple_of(parts, Triple)
        if position == 3 and kind < 0.3:
            return DEFAULT_GRAPH
        if position == 2 and kind < 0.6:
            datatype = rng.choice((None, None, "urn:d"))
            return Literal(self.text("lex"), datatype=datatype and self.text(datatype))
        if position != 1 and kind < 0.7:
            return BlankNode(self.text("b"))
        return Iri(self.text(rng.choice(("urn:a", "urn:b#c", "http://e/é"))))

    def tuple_of(self, parts: list[Any], usual: type) -> Any:
        rng = self.rng
        base: Any = rng.choice((tuple, usual))
        if rng.random() < 0.5:
            base = self.of(base, TUPLE_METHODS)
        return tuple.__new__(base, parts)

    def statement(self, width: int) -> Any:
        rng = self.rng
        real = rng.choice((width, width, width, width, width + 1, 3, 5, 0, 200))
        parts = [self.term(min(at, 3)) for at in range(min(real, 5))]
        parts += [Iri("urn:x")] * (real - len(parts))
        if rng.random() < 0.1:
            self.false_values.shared.append(parts)
            return parts
        return self.tuple_of(parts, Triple if width == 3 else Quad)

    def statements(self, width: int) -> list[Any]:
        made = [self.statement(width) for _ in range(self.rng.randrange(1, 6))]
        self.false_values.shared.append(made)
        return made

    def describe(self, term: Any) -> Any:
        """A Describe function whose results are sometimes false."""
        found = describe(term)
        if self.rng.random() < 0.2:
            return self.rng.choice((list, lambda parts: self.tuple_of(list(parts), tuple)))(found)
        if self.rng.random() < 0.05:
            return (*found, *found)
        return found


def _tried(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except EXPECTED:
        return None


def _frames(add: Callable[[], Any], finish: Callable[[], Any]) -> list[bytes]:
    frames = []
    for call in (add, add, finish):
        frames += _tried(call) or []
    frames += _tried(finish) or []
    return frames


def _readable(decoder: Any, frames: list[bytes]) -> None:
    """Check that the output is a valid stream, as far as Python's limits allow."""
    for frame in frames:
        assert type(frame) is bytes
        decoder.decode(frame)


def encoder_case(rng: random.Random, pick: Callable[[Any], Any]) -> None:
    maker = Maker(rng)
    maker.false_values.guarded = pick is native_of
    physical = rng.choice(list(PhysicalType))
    options = StreamOptions(physical_type=physical, generalized_statements=True, rdf_star=True)
    describing = rng.choice((describe, maker.describe))
    encoder = pick(Encoder)(options, describing, frame_rows=rng.choice((1, 4, 200)))
    width = 3 if physical is PhysicalType.TRIPLES else 4
    false_values = maker.false_values
    false_values.calls += (
        lambda: encoder.add(maker.statements(width)),
        lambda: encoder._writer.forget_repeats(),
        lambda: encoder._writer.statement((Iri("urn:x"),) * 9),
        encoder.restart,
    )

    def add() -> Any:
        if rng.random() < 0.2:
            key = maker.of(bytes, BYTES_METHODS)(b"value")
            frames = encoder.add(())
            return [*frames, encoder.flush({maker.text("key"): key})]
        if rng.random() < 0.2 and physical is PhysicalType.GRAPHS:
            encoder.start_graph(maker.term(3))
        return encoder.add(maker.statements(width))

    frames = _frames(add, encoder.finish)
    if encoder._frames == len(frames):
        _readable(pick(Decoder)(GenericFactory()), frames)


def patch_case(rng: random.Random, pick: Callable[[Any], Any]) -> None:
    maker = Maker(rng)
    maker.false_values.guarded = pick is native_of
    kind = rng.choice(list(PatchStatementType))
    options = PatchOptions(
        statement_type=kind,
        stream_type=PatchStreamType.PUNCTUATED,
        generalized_statements=True,
        rdf_star=True,
    )
    describing = rng.choice((describe, maker.describe))
    encoder = pick(PatchEncoder)(options, describing)
    width = 4 if kind is PatchStatementType.QUADS else 3
    kinds = (OperationKind.ADD, OperationKind.DELETE, 2, maker.of(int, INT_METHODS)(3))
    false_values = maker.false_values
    false_values.calls.append(
        lambda: encoder.add([Operation(OperationKind.ADD, maker.statement(width))])
    )

    def add() -> Any:
        sort = rng.random()
        batch = [Operation(rng.choice(kinds), each) for each in maker.statements(width)]
        if sort < 0.4:
            header = Header(maker.text("key"), maker.term(2))
            batch.insert(0, Operation(rng.choice((OperationKind.HEADER, 14)), header))
        false_values.shared.append(batch)
        return encoder.add(batch)

    def finish() -> Any:
        return encoder.add([END]) + encoder.finish()

    frames = _frames(add, finish)
    decoder = pick(PatchDecoder)(GenericFactory())
    if encoder._frames == len(frames):
        _readable(decoder, frames)


def jena_case(rng: random.Random, _pick: Callable[[Any], Any]) -> None:
    maker = Maker(rng)
    format_ = rng.choice(list(JenaFormat))
    describing = rng.choice((describe, describe, maker.describe))
    writer = RowWriter(format_, describing)

    def add(width: int) -> None:
        for statement in maker.statements(width):
            for term in terms_of(statement):
                writer.term(term)

    def written() -> bytes:
        out = io.BytesIO()
        write(maker.statements(rng.choice((3, 4))), out, format=format_)
        return out.getvalue()

    maker.false_values.calls.append(lambda: add(3))
    for _ in range(3):
        _tried(lambda: add(rng.choice((3, 4))))
        rows = _tried(written)
        if rows is not None:
            list(read(rows, format=format_))


def text_case(rng: random.Random, pick: Callable[[Any], Any]) -> None:
    maker = Maker(rng)
    data = b"<urn:s> <urn:p> <urn:o> .\n<urn:s> <urn:p> << <urn:s> <urn:p> _:b >> .\n"
    hostile = maker.of(bytes, BYTES_METHODS)(data)
    encoder: Any = pick(TextEncoder)(StreamOptions(rdf_star=True))
    _readable(
        pick(Decoder)(GenericFactory()),
        _frames(lambda: encoder.feed(hostile), encoder.finish),
    )


class HostileColumn:
    """A column whose parts change at each access, and whose buffers change."""

    def __init__(self, maker: Maker, offsets: bytearray, data: bytearray, rows: int) -> None:
        self._maker = maker
        self._offsets = offsets
        self.data = data
        self._rows = rows
        self.validity = None

    def _act(self) -> None:
        rng = self._maker.rng
        if rng.random() < 0.3:
            self._offsets[rng.randrange(len(self._offsets))] = rng.choice((0, 1, 127, 255))

    @property
    def offsets(self) -> bytearray:
        self._act()
        return self._offsets

    @property
    def rows(self) -> int:
        self._act()
        return self._rows

    @property
    def offset(self) -> int:
        self._act()
        return self._maker.rng.choice((0, 0, 0, 0, 0, 1, (1 << 62) - 1, 1 << 63))

    def values(self) -> Any:
        self._act()
        return [b"<urn:x>"] * self._rows

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def columns_case(rng: random.Random, pick: Callable[[Any], Any]) -> None:
    maker = Maker(rng)
    rows = 8
    cells = [rng.choice((b"<urn:x>", b"_:b", b"odd", b'"x"@en')) for _ in range(rows)]
    ends = [0]
    for cell in cells:
        ends.append(ends[-1] + len(cell))
    offsets = b"".join(end.to_bytes(4, "little") for end in ends)

    def column() -> Any:
        if rng.random() < 0.5:
            return HostileColumn(maker, bytearray(offsets), bytearray(b"".join(cells)), rows)
        return Column(rows=rows, offsets=offsets, data=b"".join(cells))

    columns = Columns(rows=rows, subject=column(), predicate=column(), object=column())
    encoder: Any = pick(ColumnEncoder)(StreamOptions(generalized_statements=True), generalized=True)
    _tried(lambda: encoder.add(columns))
    _tried(encoder.finish)


def rdflib_case(rng: random.Random, pick: Callable[[Any], Any]) -> None:
    import rdflib

    from jelly_plugins.rdflib.memory import compiled
    from jelly_plugins.rdflib.terms import describe_node, generic_term

    if pick is _reference or (module := compiled()) is None:
        return
    maker = Maker(rng)
    false_values = maker.false_values
    false_values.guarded = True

    def term() -> Any:
        base = rng.choice((rdflib.URIRef, rdflib.BNode, rdflib.Literal))
        if rng.random() < 0.5:
            names = ("__len__", "__hash__", "__eq__", "__str__", "__getitem__")
            base = hostile_subclass(base, false_values, rng.sample(names, 2))
        made = base("urn:x")
        if isinstance(made, rdflib.Literal) and rng.random() < 0.3:
            part = rng.choice(("_language", "_datatype", "_value"))
            setattr(made, part, false_values.value())
        return made

    def statements(width: int) -> list[Any]:
        made = []
        for _ in range(rng.randrange(1, 6)):
            parts = [term() for _ in range(rng.choice((width, width, 2, 5)))]
            made.append(tuple(parts) if rng.random() < 0.7 else maker.tuple_of(parts, tuple))
        false_values.shared.append(made)
        return made

    generic = module.Generic(describe_node, generic_term)
    false_values.calls += (lambda: generic.statements(statements(3)),)
    width = rng.choice((3, 4))
    _tried(lambda: generic.statements(statements(width), (Iri("urn:g"),) * rng.randrange(3)))


def _reference(reference: Any) -> Any:
    return reference


#: Cases by the encoder that they use.
SORTS: Final = {
    "rdf": encoder_case,
    "patch": patch_case,
    "jena": jena_case,
    "text": text_case,
    "columns": columns_case,
    "rdflib": rdflib_case,
}

KERNELS: Final[dict[str, Callable[[Any], Any]]] = {"python": _reference, "native": native_of}


def run(cases: range, kernel: str) -> int:
    """Run the cases with these numbers on a kernel; a failure names its case.

    :return: number of cases that were run.
    """
    sorts = list(SORTS.items())
    for case in cases:
        name, check = sorts[case % len(sorts)]
        try:
            check(random.Random(case), KERNELS[kernel])
        except Exception as error:
            raise AssertionError(f"case {case} ({name}, {kernel}): {error!r}") from error
    return len(cases)


if __name__ == "__main__":
    import sys
    import time

    kernel, seconds, first = sys.argv[1], float(sys.argv[2]), int((*sys.argv, "0")[3])
    end = time.monotonic() + seconds
    number = first
    while time.monotonic() < end:
        number += run(range(number, number + 70), kernel)
    print(f"{kernel}: {number - first} cases from {first} on without a finding")
