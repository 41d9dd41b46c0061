"""Names of syntaxes, media types, files."""

from __future__ import annotations

import gc
import gzip
import warnings
from pathlib import Path

import pytest

from jelly_plugins import SourceError, TextError
from jelly_plugins.messages import LogFormat, read_messages, write_messages
from jelly_plugins.messages.formats import Dialect, Syntax, format_of, syntax_named

from .logs import FORMATS, LOGS, quad_sets, sizes

S = "<urn:s> <urn:p> <urn:o> .\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("application/n-triples", Syntax(LogFormat.N_TRIPLES)),
        ("application/n-quads;version=1.2-messages", Syntax(LogFormat.N_QUADS, True)),
        ('Text/Turtle ; charset=utf-8; Version="1.1-messages"', Syntax(LogFormat.TURTLE, True)),
        ("application/trig; version=1.2-basic-messages", Syntax(LogFormat.TRIG, True)),
        ("application/trig; version=1.2", Syntax(LogFormat.TRIG)),
        (
            "application/trig; version=1.2; messages=rdfm",
            Syntax(LogFormat.TRIG, True, Dialect.COMMENT_2025),
        ),
        ("application/x-ld+ndjson", Syntax(LogFormat.NDJSON_LD)),
        ("application/rdfm+yaml", Syntax(LogFormat.YAML_LD)),
        ("application/rdfm+xml", Syntax(LogFormat.RDF_XML)),
        ("application/x-jelly-rdf", Syntax(LogFormat.JELLY)),
        ("N-Triples", Syntax(LogFormat.N_TRIPLES)),
        ("NDJSON-LD", Syntax(LogFormat.NDJSON_LD)),
        ("YAML-LD", Syntax(LogFormat.YAML_LD)),
        ("RDF/XML", Syntax(LogFormat.RDF_XML)),
        ("turtle", Syntax(LogFormat.TURTLE)),
        ("jelly", Syntax(LogFormat.JELLY)),
    ],
)
def test_names(name: str, expected: Syntax) -> None:
    assert syntax_named(name) == expected


@pytest.mark.parametrize(
    "name",
    ["", "csv", "text/plain", "text/turtle; version=1.3", "text/turtle; version", "text/turtle;;"],
)
def test_invalid_names(name: str) -> None:
    with pytest.raises(ValueError, match=r"one of|known|media type"):
        syntax_named(name)


def test_dialects_do_not_contradict() -> None:
    with pytest.raises(ValueError, match="dialect"):
        syntax_named("text/turtle; messages=rdfm", "current")
    with pytest.raises(ValueError, match="dialect"):
        syntax_named("text/turtle; version=1.2-messages", "2025-comment")
    with pytest.raises(ValueError, match="2024"):
        syntax_named("text/turtle", "2024")
    assert syntax_named("text/turtle; messages=rdfm", "2025-comment").announced


def test_a_media_type_announces() -> None:
    assert sizes(S + "MESSAGE\n" + S, "text/turtle; version=1.2-messages") == [1, 1]
    with pytest.raises(TextError, match="announce"):
        sizes(S + "MESSAGE\n" + S, "text/turtle")


def test_names_of_files() -> None:
    assert format_of("a/x.YAML.zst") == "yamlld"
    assert format_of("x.txt") is format_of("x") is None


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("ending", ["", ".gz", ".bz2"])
def test_paths_and_open_files(format_: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{format_}{ending}"
    assert write_messages(LOGS[4], path) == len(LOGS[4])
    with read_messages(path) as messages:
        found = list(messages)
        assert messages.name == str(path)
    with path.open("rb") as file:
        assert list(read_messages(file)) == found
    assert {message.source for message in found} == {str(path)}
    assert quad_sets(found) == quad_sets(read_messages(path))


@pytest.mark.parametrize("format_", FORMATS)
def test_a_log_that_is_not_read_is_closed(format_: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{format_}"
    write_messages(LOGS[3], path)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with read_messages(path):
            pass
        gc.collect()
    assert not found


def test_errors_of_sources(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="format="):
        read_messages(b"")
    with pytest.raises(ValueError, match="format="):
        write_messages([], tmp_path / "x.txt")
    with pytest.raises(SourceError, match=r"none\.nt"):
        read_messages(tmp_path / "none.nt")
    broken = gzip.compress((S * 100).encode())[:-12]
    for format_ in FORMATS:
        with pytest.raises(SourceError if format_ == "jelly" else Exception, match="<bytes>"):
            sizes(broken, format_)


def test_text_is_not_jelly() -> None:
    with pytest.raises(SourceError, match="this is text, not Jelly"):
        sizes('VERSION "1.2-messages"\n' + S, "jelly")
