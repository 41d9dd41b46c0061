"""Statements of tuple subclasses whose methods do not agree with their contents."""

from __future__ import annotations

import io
from itertools import repeat
from typing import Any

import pytest
import rdflib

from jelly_plugins import BlankNode, Iri, JellyError, PhysicalType, Quad, StreamOptions, Triple
from jelly_plugins.codec import GenericFactory
from jelly_plugins.codec.patch.operations import END, Operation, OperationKind, add
from jelly_plugins.codec.patch.options import PatchOptions, PatchStatementType, PatchStreamType
from jelly_plugins.jena import JenaFormat, write
from jelly_plugins.rdflib.terms import EncoderTerms

from .conftest import Kernel

S, P, O, G = (Iri(f"urn:{letter}") for letter in "spog")  # noqa: E741


class FourLong(tuple[Any, ...]):
    """Reports that it has four items."""

    __slots__ = ()

    def __len__(self) -> int:
        return 4


class OtherItems(Quad):
    """Its methods return other items than it holds."""

    def __len__(self) -> int:
        return 7

    def __iter__(self) -> Any:
        return iter((O,) * 7)

    def __getitem__(self, _: Any) -> Any:
        return O


class Endless:
    """Has an infinite number of terms, and reports a length that exceeds the memory."""

    def __len__(self) -> int:
        return 1 << 40

    def __iter__(self) -> Any:
        return repeat(rdflib.URIRef("urn:s"))


class Long(tuple[Any, ...]):
    """Reports a length that exceeds the memory."""

    __slots__ = ()

    def __len__(self) -> int:
        return 1 << 40


OPTIONS = PatchOptions(
    statement_type=PatchStatementType.QUADS, stream_type=PatchStreamType.PUNCTUATED
)


@pytest.mark.parametrize("terms", [(S, P, O, G, G), (S, P, O), (S,) * 300])
def test_the_width_of_an_operation_is_that_of_its_tuple(kernel: Kernel, terms: Any) -> None:
    encoder = kernel.PatchEncoder(OPTIONS)
    for kind in (OperationKind.ADD, OperationKind.DELETE):
        with pytest.raises(JellyError, match=f"a statement of {len(terms)} terms"):
            encoder.add([Operation(kind, FourLong(terms))])


@pytest.mark.parametrize("physical", [PhysicalType.QUADS, PhysicalType.GRAPHS])
def test_the_terms_of_a_statement_are_those_of_its_tuple(
    kernel: Kernel, physical: PhysicalType
) -> None:
    quads = [Quad(S, P, O, G), OtherItems(S, P, BlankNode("b"), G), FourLong((S, P, O, G))]
    frames = kernel.encode(quads, StreamOptions(physical_type=physical))
    expected = [Quad(S, P, O, G), Quad(S, P, BlankNode("b"), G), Quad(S, P, O, G)]
    assert kernel.statements(*frames) == expected
    encoder = kernel.PatchEncoder(OPTIONS)
    frames = encoder.add([*map(add, quads), END])
    [frame] = map(kernel.PatchDecoder(GenericFactory()).decode, frames)
    assert [value for _, value in frame.operations[:3]] == expected


@pytest.mark.parametrize("width", [2, 4, 5, 300])
def test_a_quoted_triple_has_three_terms(kernel: Kernel, width: int) -> None:
    quoted = tuple.__new__(Triple, (S,) * width)
    with pytest.raises(JellyError, match=f"a quoted triple of {width} terms"):
        kernel.encode([Triple(S, P, quoted)], StreamOptions(rdf_star=True))


def test_a_length_reserves_no_memory(kernel: Kernel) -> None:
    options = StreamOptions(physical_type=PhysicalType.QUADS)
    encoder = kernel.PatchEncoder(OPTIONS)
    for statement in (Endless(), Long((S,) * 5)):
        for attempt in (
            lambda each: kernel.encode([each], options),
            lambda each: encoder.add([Operation(OperationKind.ADD, each)]),
            lambda each: write([each], io.BytesIO(), format=JenaFormat.PROTOBUF),
        ):
            with pytest.raises(JellyError, match="a statement of 5 terms"):
                attempt(statement)


def test_a_length_reserves_no_memory_for_rdflib() -> None:
    terms, uri = EncoderTerms(), rdflib.URIRef("urn:s")
    [batch] = terms.statements([(uri,) * 3, Long((uri,) * 3)], (terms.term(uri),))
    assert list(map(len, batch)) == [4, 4]
    [batch] = terms.statements([Endless()], (terms.term(uri),))
    assert list(map(len, batch)) == [6]
