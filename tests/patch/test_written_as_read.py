"""RDF Patch is only written as readers accept it."""

from __future__ import annotations

import io
from typing import Any

import pytest

from jelly_plugins import BlankNode, Iri, Literal, Quad, StatementError, TermError, Triple
from jelly_plugins.codec import PatchOptions
from jelly_plugins.patch import Patch, add, add_namespace, read_patches, write_patches
from jelly_plugins.patch.logs import convert

S, LITERAL, NODE = Iri("urn:s"), Literal("x"), BlankNode("b")


@pytest.mark.parametrize("format", ["rdfp", "trp"])
@pytest.mark.parametrize(
    "statement",
    [
        *(Triple(LITERAL, S, S), Triple(S, LITERAL, S), Triple(S, NODE, S)),
        *(Triple(S, Triple(S, S, S), S), Triple(S, S, Triple(LITERAL, S, S))),
        Quad(S, S, S, LITERAL),
    ],
)
def test_generalized_statements_are_only_written_if_declared(statement: Any, format: str) -> None:  # noqa: A002
    patches = [Patch([add(statement)], [("id", S)])]
    with pytest.raises(StatementError, match=r"as (subject|predicate|graph)"):
        write_patches(patches, io.BytesIO(), format=format)
    log, again = io.BytesIO(), io.BytesIO()
    write_patches(patches, log, format="jellyp")
    with pytest.raises(StatementError, match=r"as (subject|predicate|graph)"):
        convert([log.getvalue()], again, target_format=format)


@pytest.mark.parametrize("format", ["rdfp", "trp"])
def test_declared(format: str) -> None:  # noqa: A002
    patches = [Patch([add(Quad(LITERAL, NODE, S, S))], [("id", S)])]
    file = io.BytesIO()
    options = PatchOptions(generalized_statements=True)
    write_patches(patches, file, format=format, options=options)
    assert list(read_patches(file.getvalue(), format=format, generalized=True)) == patches


@pytest.mark.parametrize("format", ["rdfp", "trp"])
@pytest.mark.parametrize("namespace", [LITERAL, NODE, Triple(S, S, S)])
def test_namespaces_are_iris(namespace: Any, format: str) -> None:  # noqa: A002
    patches = [Patch([add_namespace("ex", namespace)])]
    with pytest.raises(StatementError, match="a namespace is not an IRI"):
        write_patches(patches, io.BytesIO(), format=format)


@pytest.mark.parametrize("format", ["rdfp", "trp"])
@pytest.mark.parametrize("name", ["DefaultGraph", "DefaultGraphNode"])
@pytest.mark.parametrize(
    "make", [lambda g: add(Quad(S, S, S, g)), lambda g: add_namespace("", S, g)]
)
def test_what_means_the_default_graph(name: str, make: Any, format: str) -> None:  # noqa: A002
    patches = [Patch([make(Iri(f"urn:x-arq:{name}"))])]
    with pytest.raises(TermError, match="which means the default graph"):
        write_patches(patches, io.BytesIO(), format=format)
