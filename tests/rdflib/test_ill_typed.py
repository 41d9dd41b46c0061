"""Literals that rdflib cannot make a value of: it says so once, as of any of its parsers."""

from __future__ import annotations

import logging

import pytest
from rdflib import Graph

from jelly_plugins import Iri, Literal, Triple
from jelly_plugins.io.streams import write_bytes

XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.mark.parametrize(
    ("lex", "datatype"),
    [("abc", "integer"), ("abc", "double"), ("2020-13-45", "date"), ("abc", "dateTime")],
)
def test_one_message_of_one_error(
    lex: str, datatype: str, caplog: pytest.LogCaptureFixture
) -> None:
    triple = Triple(Iri("urn:s"), Iri("urn:p"), Literal(lex, datatype=XSD + datatype))
    with caplog.at_level(logging.WARNING, logger="rdflib.term"):
        graph = Graph().parse(data=write_bytes([triple] * 3), format="jelly-plugins")
    assert len(graph) == 1
    [message] = caplog.records
    assert message.exc_info is not None
    assert message.exc_info[1] is not None
    assert message.exc_info[1].__context__ is None
