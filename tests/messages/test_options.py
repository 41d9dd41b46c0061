"""Stream options of message logs in Jelly."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from jelly_plugins import Iri, JellyError, Literal, StatementError, StreamOptions, Triple
from jelly_plugins.io.streams import FrameReader
from jelly_plugins.messages import convert_messages, read_messages, write_messages
from jelly_plugins.messages.text import log_options

PLAIN = Triple(Iri("urn:s"), Iri("urn:p"), Literal("o"))
QUOTED = Triple(Iri("urn:s"), Iri("urn:p"), PLAIN)
LOGS = {
    "nt": b'VERSION "1.2-messages"\n<urn:s> <urn:p> "o" .\nMESSAGE\n%s',
    "nq": b'VERSION "1.2-messages"\n<urn:s> <urn:p> "o" .\nMESSAGE\n%s',
    "ttl": b'VERSION "1.2-messages"\n<urn:s> <urn:p> "o" .\nMESSAGE\n%s',
}
STAR = b'<urn:s> <urn:p> <<( <urn:s> <urn:p> "o" )>> .\n'


def options_of(src: object) -> StreamOptions:
    with FrameReader(src) as frames:  # type: ignore[arg-type]
        return frames.options


@pytest.mark.parametrize("syntax", LOGS)
def test_quoted_triples_are_declared_where_they_occur(syntax: str, tmp_path: Path) -> None:
    dst = tmp_path / "log.jelly"
    for rest, declared in ((b"", False), (STAR, True)):
        convert_messages(LOGS[syntax] % rest, dst, source_format=syntax)
        assert options_of(dst).rdf_star is declared
        assert len(list(read_messages(dst))) == 1 + declared
    again = tmp_path / "again.jelly"
    convert_messages(dst, again)
    assert options_of(again).rdf_star


@pytest.mark.parametrize("syntax", LOGS)
def test_quoted_triples_that_cannot_be_declared_any_more(syntax: str) -> None:
    log, out = LOGS[syntax] % STAR, io.BytesIO()
    with pytest.raises(StatementError, match="set rdf_star"):
        convert_messages(log, out, source_format=syntax, target_format="jelly")
    options = log_options(graphs=syntax == "nq", rdf_star=True)
    out = io.BytesIO()
    convert_messages(log, out, source_format=syntax, target_format="jelly", options=options)
    assert options_of(out.getvalue()).rdf_star


def test_messages_that_are_written() -> None:
    out = io.BytesIO()
    write_messages([[PLAIN]], out, format="jelly")
    assert not options_of(out.getvalue()).rdf_star
    with pytest.raises(JellyError, match=r"message 1: .*set rdf_star"):
        write_messages([[PLAIN], [QUOTED]], io.BytesIO(), format="jelly")
    options = log_options(graphs=True, rdf_star=True)
    assert write_messages([[PLAIN], [QUOTED]], out, format="jelly", options=options) == 2
    for syntax in ("nq", "ttl", "ndjsonld"):
        write_messages([[PLAIN]], io.BytesIO(), format=syntax)
    lines = io.BytesIO()
    write_messages([[QUOTED]], lines, format="nt")
    assert STAR in lines.getvalue()
