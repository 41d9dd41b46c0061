"""Text that Oxigraph parses itself: the checks before the store gets it."""

from __future__ import annotations

import io
from pathlib import Path

import pyoxigraph as ox
import pytest

from jelly_plugins import JellyError, LimitError, TermError, TextError
from jelly_plugins.formats.reading import DEPTH
from jelly_plugins.oxigraph import BOOKKEEPING, load
from jelly_plugins.oxigraph import loading as direct

from ..codec.input_kinds import Trickle
from .support import contents

#: More than one transaction on disk.
FILLER = b"".join(b"<urn:s/%d> <urn:p> <urn:o> .\n" % number for number in range(9000))
assert len(FILLER) > direct.SMALL_BYTES


@pytest.mark.parametrize("name", ["nt", "nq", "ttl", "trig"])
def test_text_is_handed_over(store: ox.Store, name: str, tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf# a comment\n" + FILLER + b"_:b <urn:p> _:b .\n"
    path = tmp_path / f"x.{name}"
    path.write_bytes(text)
    store.add(ox.Quad(ox.BlankNode("b"), BOOKKEEPING, BOOKKEEPING))
    for src in (text, path, io.BytesIO(text)):
        assert load(store, src, format=name) is None
    assert len(store) == 9000 + 3 + 1
    # What cannot be read again is counted.
    assert load(store, Trickle(text, 1 << 16), format=name) == 9001


#: Ways of writing the name of the reserved graph in TriG, and in N-Quads the first two.
NAMES = [
    b"<urn:jelly-plugins:bookkeeping>",
    b"<urn:jelly\\u002Dplugins:bookk\\U00000065eping>",
    b"x:bookkeeping",
    b"y:lugins:bookkeeping",
    b"y:lugins\\u003Abookkeeping",
    b"z:keeping",
    b"e:",
    b"<./jelly-plugins:bookkeeping>",
]
PREFIXES = b"""@base <urn:a> . @prefix x: <urn:jelly-plugins:> . @prefix y: <urn:jelly-p> .
PREFIX z: <urn:jelly-plugins:book> PREFIX e: <urn:jelly-plugins:book\\u006Beeping>
"""


@pytest.mark.parametrize("before", [b"", FILLER], ids=["small", "bulk"])
@pytest.mark.parametrize("form", ["trig", "nq"])
@pytest.mark.parametrize("name", NAMES)
def test_the_reserved_graph_is_rejected(
    store: ox.Store, name: bytes, form: str, before: bytes
) -> None:
    if form == "trig":
        text = PREFIXES + before + name + b" { <urn:s> <urn:p> <urn:o> }\n"
    else:
        text = before + b"<urn:s> <urn:p> <urn:o> " + name + b" .\n"
    if form == "nq" and name not in NAMES[:2]:
        with pytest.raises(TextError):
            load(store, text, format=form)
    elif name == NAMES[4]:
        # Names with prefixes have no such escapes.
        with pytest.raises(TextError):
            load(store, text, format=form)
    else:
        for src in (text, Trickle(text, 1 << 16)):
            with pytest.raises(TermError, match="bookkeeping"):
                load(store, src, format=form)
        assert contents(store) == set()
        load(store, text, format=form, bookkeeping=True)
        assert store.contains_named_graph(BOOKKEEPING)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_reserved_graph_in_small_chunks(size: int) -> None:
    text = PREFIXES + NAMES[1] + b" { <urn:s> <urn:p> <urn:o> }\n"
    with pytest.raises(TermError, match="bookkeeping"):
        load(ox.Store(), Trickle(text, size), format="trig")


@pytest.mark.parametrize(
    "base", ["urn:jelly-plugins:bookkeeping", "urn:jelly-plugins:bookkeeping#x"]
)
def test_the_reserved_graph_by_the_base(base: str) -> None:
    with pytest.raises(TermError, match="bookkeeping"):
        load(ox.Store(), b"<> { <urn:s> <urn:p> 1 }", format="trig", base=base)


@pytest.mark.parametrize("text", [b'"bookkeeping"', b'"\\u0041"', b"<urn:jelly-plugins:x>"])
def test_text_that_only_looks_like_it(store: ox.Store, text: bytes) -> None:
    line = b"<urn:s> <urn:p> " + text
    assert load(store, line + b" <urn:g> .", format="nq") == 1
    # N-Triples and Turtle have no graphs.
    assert load(store, line + b" .", format="nt") is None
    assert load(store, line + b" .", format="ttl") is None
    assert len(store) == 2


@pytest.mark.parametrize("name", ["nt", "nq", "ttl", "trig"])
def test_nested_triple_terms(store: ox.Store, name: str) -> None:
    nested = b"<urn:s> <urn:p> " + b"<<( <urn:s> <urn:p> " * 50_000
    for text in (nested, nested + b"<urn:o>" + b" )>>" * 50_000 + b" .\n"):
        with pytest.raises(JellyError, match=r"nested|depth"):
            load(store, text, format=name)
    assert contents(store) == set()
    flat = b"<urn:s> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> .\n"
    assert load(store, flat * (DEPTH + 1), format=name) in (None, DEPTH + 1)


@pytest.mark.parametrize("name", ["ttl", "trig"])
def test_long_statements_of_short_text(store: ox.Store, name: str) -> None:
    """A bulk load holds a million statements: no text must make them long."""
    on_disk = not _in_memory(store)
    prefix = b"@prefix x: <urn:" + b"x" * 2000 + b"> .\n" + b"x:s x:p x:o .\n" * 3
    repeated = b'<urn:s> <urn:p> "' + b"x" * 2000 + b'" ' + b"~ " * 100 + b".\n"
    for text, is_counted in ((prefix, True), (repeated, on_disk)):
        counted = load(store, text, format=name)
        assert (counted is not None) is is_counted
    # Those of user directories are no reifiers.
    users = b"<http://example.org/~a> <urn:p> <http://example.org/~b> .\n" * 100
    assert load(store, users, format=name) is None


def _in_memory(store: ox.Store) -> bool:
    with pytest.raises((RuntimeError, OSError)) as caught:
        store.backup("")
    return "in-memory" in str(caught.value)


@pytest.mark.parametrize("before", [b"", FILLER], ids=["small", "bulk"])
@pytest.mark.parametrize("name", ["nt", "nq", "ttl", "trig"])
@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (b"<urn:s> <urn:p> .\n", TextError),
        (b"<urn:s> <urn:p> <http://a b> .\n", TextError),
        (b"<urn:s> <urn:p> \xff .\n", TextError),
        (b"<urn:s> <urn:p> <urn:o>", TextError),
        (b'<urn:s> <urn:p> "' + b"x" * (17 << 20), LimitError),
    ],
    ids=["statement", "IRI", "UTF-8", "truncated", "long"],
)
def test_errors_name_the_place_and_leave_the_store_as_it_was(
    store: ox.Store, before: bytes, name: str, bad: bytes, error: type[JellyError]
) -> None:
    old = ox.Quad(BOOKKEEPING, BOOKKEEPING, BOOKKEEPING)
    store.add(old)
    with pytest.raises(error) as caught:
        load(store, before + bad, format=name)
    assert caught.value.source == "<bytes>"
    if isinstance(caught.value, TextError):
        assert caught.value.line in (before.count(b"\n") + 1, before.count(b"\n") + 2)
        assert caught.value.column is not None
    assert contents(store) == {str(old)}


def test_a_base_that_is_no_iri(store: ox.Store) -> None:
    with pytest.raises(JellyError, match="base"):
        load(store, b"<s> <p> <o> .", format="ttl", base="no IRI")


def test_named_graphs_do_not_go_into_another_graph(store: ox.Store) -> None:
    for name, text in (
        ("nq", b"<urn:s> <urn:p> <urn:o> <urn:g> ."),
        ("trig", b"<urn:g> { <urn:s> <urn:p> <urn:o> }"),
    ):
        with pytest.raises(TermError, match="a quad in a named graph"):
            load(store, text, format=name, graph=ox.NamedNode("urn:t"))
    graph = ox.BlankNode("g")
    assert load(store, b"_:g <urn:p> <urn:o> .", format="ttl", graph=graph) is None
    [quad] = store
    assert quad.graph_name == graph != quad.subject


@pytest.mark.parametrize(
    "text",
    [
        b"@prefix p: <urn:" + b"x" * 4000 + b"> .\n" + b"p:%d p:a p:%d .\n" * 30_000,
        b"<urn:" + b"x" * 60_000 + b"> <urn:p> " + b",".join([b"%d"] * 8_000) + b" .",
    ],
    ids=["prefix", "subject"],
)
def test_text_whose_statements_take_far_more_than_it(text: bytes, tmp_path: Path) -> None:
    made = text % tuple(range(text.count(b"%d")))
    with pytest.raises(LimitError, match="frame_expansion"):
        load(ox.Store(tmp_path / "store"), made, format="ttl")
    store = ox.Store()
    if made.startswith(b"@"):
        with pytest.raises(LimitError, match="frame_expansion"):
            load(store, made, format="ttl")
    else:
        # In memory, the subject is held once.
        load(store, made, format="ttl")
        assert len(store) == 8_000
