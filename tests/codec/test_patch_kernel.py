"""Errors that only the compiled kernel can have with patches: memory, references, re-entrance."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    GenericFactory,
    Iri,
    Limits,
    Literal,
    Operation,
    PatchOptions,
    Quad,
    Triple,
)
from jelly_plugins.codec.common.terms import WithGeneric
from jelly_plugins.codec.patch.decoder import PatchDecoder
from jelly_plugins.codec.patch.encoder import PatchEncoder as ReferenceEncoder
from jelly_plugins.codec.patch.operations import (
    BEGIN,
    COMMIT,
    END,
    add,
    add_namespace,
    delete,
    delete_namespace,
    header,
)
from jelly_plugins.errors import JellyError, OrderError, TermError

from ..fuzz.comparison import native
from .test_kernel import memory_held_by

OPTIONS = PatchOptions(rdf_star=True)


def operations(count: int = 100) -> list[Operation]:
    rows = [header("id", Iri("urn:id")), BEGIN, add_namespace("ex", Iri("urn:ex:"), Iri("urn:g0"))]
    for number in range(count):
        statement = Quad(
            Iri(f"http://example.org/{number // 3}"),
            Iri("http://example.org/ns#p"),
            Literal(str(number), None, f"urn:type{number % 3}")
            if number % 5
            else Triple(Iri("urn:s"), Iri("urn:p"), Literal(str(number), "en")),
            Iri(f"urn:g{number // 40}"),
        )
        rows.append((add if number % 2 else delete)(statement))
        rows += [rows[-1]] * (number % 7 == 0)
    return [*rows, delete_namespace("ex", None, Iri("urn:g0")), COMMIT, END]


def frames() -> list[bytes]:
    encoder = native().PatchEncoder(OPTIONS, frame_rows=50)
    made: list[bytes] = encoder.add(operations()) + encoder.finish()
    return made


class Entering(GenericFactory):
    """Calls the decoder that is calling it."""

    decoder: Any = None

    def iri(self, value: str) -> Iri:  # type: ignore[override]
        if self.decoder is not None:
            self.decoder.decode(b"")
        return Iri(value)


def test_a_decoder_is_not_entered_twice() -> None:
    factory = Entering()
    factory.decoder = native().PatchDecoder(factory)
    with pytest.raises(OrderError, match="while decoding"):
        factory.decoder.decode(frames()[0])


def test_errors_of_a_factory_have_the_row() -> None:
    class Choosy(GenericFactory):
        def iri(self, value: str) -> Iri:  # type: ignore[override]
            if value == "urn:ex:":
                raise ValueError("not this one")
            return Iri(value)

    for decoder_class in (native().PatchDecoder, PatchDecoder):
        with pytest.raises(TermError, match="frame 0, row 7: not this one"):
            decoder_class(Choosy()).decode(frames()[0])


def test_operations_in_reference_cycles_are_collected() -> None:
    class Statement:
        operation: Any = None

    class Factory(GenericFactory):
        def quad(self, _: Any) -> Statement:  # type: ignore[override]
            return Statement()

    def decode() -> None:
        decoder = native().PatchDecoder(Factory())
        for row in decoder.decode(frames()[0]).operations:
            if isinstance(row.value, Statement):
                row.value.operation = row
        gc.collect()

    assert memory_held_by(decode, 5) == 0


@pytest.mark.parametrize("value", ["urn:a", "urn:\ud800", 7, "x" * 200])
def test_generic_terms_among_those_of_a_backend(value: Any) -> None:
    """The reference describes each of them; the kernel reads generic IRIs itself."""
    pyoxigraph = pytest.importorskip("pyoxigraph")
    from jelly_plugins.oxigraph.terms import describe

    node = pyoxigraph.NamedNode("urn:a")
    rows = [
        header("id", Iri("urn:a")),
        add(Quad(node, Iri("urn:p"), Iri("urn:a"), DEFAULT_GRAPH)),
        add(Quad(Iri("urn:a"), Iri("urn:p"), node, DEFAULT_GRAPH)),
        add_namespace("x", Iri("urn:a"), node),
        add(Quad(Iri("urn:a"), Iri(value), node, Iri("urn:a"))),
        header("id", Iri(value)),
    ]
    made = []
    for encoder_class in (ReferenceEncoder, native().PatchEncoder):
        encoder = encoder_class(OPTIONS, WithGeneric(describe), limits=Limits(string_bytes=100))
        found: list[Any] = []
        for row in rows:
            try:
                encoder.add([row])
            except JellyError as error:
                found.append((type(error), str(error)))
        made.append([*found, encoder.add([END])])
    assert made[0] == made[1]
    assert len(made[0]) == (1 if value == "urn:a" else 3)


def test_rows_without_a_kind_are_rejected() -> None:
    for encoder in (native().PatchEncoder(OPTIONS), ReferenceEncoder(OPTIONS)):
        with pytest.raises(KeyError):
            encoder.add([(None, Quad(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"), Iri("urn:g")))])
        assert not encoder.inside_patch
