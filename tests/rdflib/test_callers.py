"""What is read from the call stack, and what users would meet without it."""

from __future__ import annotations

import functools
import io

import pytest
from rdflib import ConjunctiveGraph, Graph, Literal, URIRef

from jelly_plugins import Quad, TermError
from jelly_plugins.rdflib import callers

from .support import G, O, P, S, conjunctive_graph, jelly, parse

TRIPLE = (URIRef("urn:s"), URIRef("urn:p"), Literal("o"))


@pytest.fixture
def no_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "_locals_of", lambda _: None)


def test_a_conjunctive_graph_takes_quads() -> None:
    graph = parse(conjunctive_graph(), jelly([Quad(S, P, O, G)]))
    assert [str(each.identifier) for each in graph.contexts() if len(each)] == [G.value]


@pytest.mark.usefixtures("no_stack")
def test_without_the_stack_a_conjunctive_graph_refuses_quads() -> None:
    graph = conjunctive_graph()
    with pytest.raises(TermError, match=r"parse into rdflib\.Dataset\(\)"):
        parse(graph, jelly([Quad(S, P, O, G)]))
    assert len(graph) == 0


@pytest.mark.usefixtures("no_stack")
def test_without_the_stack_rdflib_decodes_what_is_not_text() -> None:
    try:
        found: object = Graph().add(TRIPLE).serialize(format="jelly-plugins")
    except UnicodeDecodeError:
        return
    # Or, worse, it can: a string that is neither text nor Jelly.
    assert isinstance(found, str)
    assert "urn:s" in found


@pytest.mark.parametrize("encoding", [None, "utf-8"])
def test_a_buffer_of_the_callers_is_not_taken_for_a_string(encoding: str | None) -> None:
    buffer = io.BytesIO()
    graph = Graph().add(TRIPLE)
    graph.serialize(buffer, format="jelly-plugins", encoding=encoding)
    assert set(parse(Graph(), buffer.getvalue())) == set(graph)


def test_methods_that_somebody_has_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    # An object without code in place of each.
    for owner, name in ((ConjunctiveGraph, "parse"), (Graph, "serialize")):
        monkeypatch.setattr(owner, name, functools.partialmethod(getattr(owner, name)))
    data = Graph().add(TRIPLE).serialize(format="jelly-plugins", encoding="jelly")
    assert len(parse(conjunctive_graph(), data)) == 1
