"""Oxigraph stores: load, dump, and results in pyoxigraph's forms."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import (
    BaseDirection,
    BlankNode,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    QueryResultsFormat,
    Store,
    Triple,
)

from jelly_plugins import Iri, JellyError, TermError
from jelly_plugins.jena import JenaFormat
from jelly_plugins.oxigraph import BOOKKEEPING, dump, load, read_solutions, write_solutions

from ..shared_data import shared
from .kernels import rows
from .test_rows import O as IRI_O
from .test_rows import P as IRI_P
from .test_rows import S as IRI_S
from .test_rows import literal, triple

FORMATS = list(JenaFormat)
S, P, O, G = (NamedNode(f"urn:{name}") for name in "spog")  # noqa: E741


def store_of() -> Store:
    store = Store()
    store.extend(
        [
            Quad(S, P, Literal("x\n", language="en")),
            Quad(S, P, Literal("x", language="ar", direction=BaseDirection.RTL), G),
            Quad(BlankNode("b"), P, Triple(S, P, Literal("1", datatype=P)), BlankNode("g")),
        ]
    )
    return store


def dumped(store: Store, form: JenaFormat, **settings: Any) -> bytes:
    file = io.BytesIO()
    dump(store, file, format=form, **settings)
    return file.getvalue()


@pytest.mark.parametrize("form", FORMATS)
def test_one_graph(form: JenaFormat) -> None:
    store = store_of()
    data = dumped(store, form, graph=G, namespaces={"u": "urn:"})
    copy = Store()
    names: list[Any] = []
    assert (
        load(copy, data, format=form, graph=O, on_namespace=lambda *name: names.append(name)) == 1
    )
    assert [quad.graph_name for quad in copy] == [O]
    assert names == [("u", "urn:")]
    copy = Store()
    for blank_nodes in ("fresh", "keep"):
        for atomic in (True, False):
            with pytest.raises(JellyError, match="graph"):
                load(
                    copy,
                    dumped(store, form),
                    format=form,
                    graph=G,
                    blank_nodes=blank_nodes,
                    atomic=atomic,
                )  # type: ignore[arg-type]
    assert len(copy) == 0
    # A quad in the default graph has no graph name.
    default = dumped(store, form, graph=DefaultGraph())
    assert load(copy, default, format=form, graph=G, blank_nodes="keep") == 1
    with pytest.raises(JellyError):
        load(copy, dumped(store, form), format=form, graph=G, quoted_triples="reify")


@pytest.mark.parametrize("form", FORMATS)
def test_bad_sources_change_nothing(form: JenaFormat) -> None:
    good = rows(form, *[triple(IRI_S, IRI_P, IRI_O)] * 10)
    for bad in (
        rows(form, triple(IRI_S, IRI_P, ("iri", {"iri": "relative"}))),
        rows(form, triple(IRI_S, IRI_P, ("iri", {"iri": "urn:a b"}))),
        rows(form, triple(IRI_S, IRI_P, literal("x", langtag="waytoolong"))),
        rows(form, triple(IRI_S, IRI_P, literal("x", datatype="d"))),
        rows(form, triple(("tripleTerm", {"S": IRI_S, "P": IRI_P, "O": IRI_O}), IRI_P, IRI_O)),
        good[:-4],
    ):
        for settings in ({}, {"blank_nodes": "keep"}, {"quoted_triples": "reject"}):
            store = Store()
            with pytest.raises(JellyError) as caught:
                load(store, good + bad, format=form, **settings)  # type: ignore[arg-type]
            assert len(store) == 0
            assert caught.value.source == "<bytes>"


def test_bookkeeping_is_not_dumped() -> None:
    store = store_of()
    store.add(Quad(S, P, O, BOOKKEEPING))
    data = dumped(store, JenaFormat.THRIFT)
    assert load(Store(), data, format="rt") == 3
    data = dumped(store, JenaFormat.THRIFT, bookkeeping=True)
    copy = Store()
    with pytest.raises(TermError):
        load(copy, data, format="rt")
    assert len(copy) == 0
    assert load(copy, data, format="rt", bookkeeping=True) == 4


# Results


@pytest.mark.parametrize("form", ["srt", "srp"])
def test_results_of_jena(form: str, tmp_path: Path) -> None:
    path = shared(f"data/jena/g.{form}")
    found = json.loads(read_solutions(path).serialize(format=QueryResultsFormat.JSON) or b"")
    expected = json.loads(shared("data/jena/g.srj").read_text())
    text = json.dumps(found, sort_keys=True).replace("98c1c69328b745e272db3e67d35c066d", "b0")
    assert text == json.dumps(expected, sort_keys=True)
    write_solutions(read_solutions(path), tmp_path / f"x.{form}")
    assert (tmp_path / f"x.{form}").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("form", FORMATS)
def test_results_of_a_store(form: JenaFormat) -> None:
    query = "SELECT ?s ?o ?none { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    store = store_of()
    file = io.BytesIO()
    write_solutions(store.query(query), file, format=form)  # type: ignore[arg-type]
    copy = read_solutions(file.getvalue())
    assert [variable.value for variable in copy.variables] == ["s", "o", "none"]
    assert sorted(map(str, copy)) == sorted(map(str, store.query(query)))  # type: ignore[arg-type]
    with pytest.raises(TermError, match="ASK"):
        write_solutions(store.query("ASK {}"), file, format=form)  # type: ignore[arg-type]
    file = io.BytesIO()
    from jelly_plugins.sparql import write_results

    write_results(["s"], [(Iri("not absolute"),)], file, format=form)
    with pytest.raises(TermError, match="Oxigraph rejects the IRI"):
        read_solutions(file.getvalue())
