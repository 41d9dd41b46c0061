"""``Graph.serialize`` without a destination: rdflib would decode what is not text."""

from __future__ import annotations

import functools
import io

import pytest
from rdflib import Graph, Literal, URIRef

from jelly_plugins import SourceError

from .support import parse

GRAPH = Graph().add((URIRef("urn:s"), URIRef("urn:p"), Literal("o")))


def test_without_an_encoding_it_is_rejected() -> None:
    with pytest.raises(SourceError, match="encoding="):
        GRAPH.serialize(format="jelly-plugins")


@pytest.mark.parametrize("encoding", [None, "utf-8"])
def test_a_buffer_of_the_callers_is_not_taken_for_a_string(encoding: str | None) -> None:
    buffer = io.BytesIO()
    GRAPH.serialize(buffer, format="jelly-plugins", encoding=encoding)
    assert set(parse(Graph(), buffer.getvalue())) == set(GRAPH)


def test_a_method_that_somebody_has_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    # An object without code in its place.
    monkeypatch.setattr(Graph, "serialize", functools.partialmethod(Graph.serialize))
    data = GRAPH.serialize(format="jelly-plugins", encoding="jelly")
    assert set(parse(Graph(), data)) == set(GRAPH)
