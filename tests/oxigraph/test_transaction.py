"""One transaction of a store: quads of any shape, all or nothing, and what could get lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jelly_plugins import JellyError
from jelly_plugins.codec import BlankNode, Iri, Literal, Quad
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, add
from jelly_plugins.oxigraph import replay, rows
from jelly_plugins.oxigraph.patches import store as transactions
from jelly_plugins.oxigraph.patches.store import Update, apply
from jelly_plugins.oxigraph.rows import RowFactory, row_of
from jelly_plugins.patch import Patch

from .support import XSD, contents

A, B = ox.BlankNode("a"), ox.BlankNode("b")
N = ox.NamedNode("urn:n")
X = ox.Literal("x", language="en", direction=ox.BaseDirection.LTR)

SUBJECTS: list[Any] = [N, A]
OBJECTS: list[Any] = [N, B, X, ox.Triple(N, N, X), ox.Triple(A, N, ox.Triple(N, N, B))]
GRAPHS: list[Any] = [ox.DefaultGraph(), N, ox.BlankNode("g")]
SHAPES = [ox.Quad(s, N, o, g) for s, o, g in itertools.product(SUBJECTS, OBJECTS, GRAPHS)]


def test_every_shape(store: ox.Store) -> None:
    found = [row_of(quad) for quad in SHAPES]
    half = len(SHAPES) // 2
    store.extend(SHAPES[:half])
    apply(store, found[:half], found[half:])
    assert set(store) == set(SHAPES[half:])
    apply(store, found[half:], found[:half])
    assert set(store) == set(SHAPES[:half])
    apply(store, found, [])
    assert not list(store)


class Fails:
    """A function of Oxigraph's that fails at its n-th call."""

    def __init__(self, function: Callable[..., Any], at: int, error: BaseException) -> None:
        self._function = function
        self._left = at
        self._error = error

    def __call__(self, *args: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            raise self._error
        return self._function(*args)


@pytest.mark.parametrize("at", [1, 2, 7, 20, 30])
@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), MemoryError()], ids=repr)
def test_a_function_that_fails(store: ox.Store, at: int, error: BaseException) -> None:
    """Oxigraph says nothing of it, and goes on without the row."""
    old = SHAPES[:10]
    store.extend(old)
    before = contents(store)
    found = [row_of(quad) for quad in SHAPES]
    update = with_terms_of(found[:10], found[10:], lambda get: Fails(get, at, error))
    with pytest.raises(RuntimeError, match="nothing changed"):
        update.run(store)
    assert contents(store) == before
    apply(store, found[:10], found[10:])
    assert set(store) == set(SHAPES[10:])


def with_terms_of(deletes: Any, adds: Any, change: Any) -> transactions.Update:
    """An update whose terms come from another function."""
    update = transactions.Update()
    update.change(deletes, adds)
    terms: Any = SimpleNamespace(__getitem__=change(update._terms.__getitem__))
    update._terms = terms
    return update


# What comes in as data must not be read as SPARQL.

PAYLOADS = [
    '" } ; DROP ALL ; INSERT DATA { <urn:x> <urn:x> "',
    "> } ; DROP ALL #",
    "' } ; DROP ALL ; #",
    '"""\n} ; DROP ALL ; #"""',
    "\\u0022 } ; DROP ALL ; #",
    '\\" } ; DROP ALL ; #',
    "\\",
    "\\\\u0022",
    "\n\r\t\b\f\x00\x7f\u2028\ufffe\U0001f600",
    "?s ?p ?o",
    "_:b } GRAPH ?g { ",
]


@pytest.mark.parametrize("payload", PAYLOADS, ids=repr)
def test_injection(store: ox.Store, payload: str) -> None:
    kept = ox.Quad(N, N, N, N)
    store.add(kept)
    iri = Iri("urn:n")
    literals = [
        Literal(payload),
        Literal(payload, langtag="en"),
        Literal(payload, datatype="urn:d"),
        Literal(payload, datatype=f"{XSD}integer"),
    ]
    statements = [
        *(Quad(iri, iri, literal, iri) for literal in literals),
        *(Quad(BlankNode(payload), iri, literal, BlankNode(payload)) for literal in literals),
    ]
    patch = Patch([BEGIN, *map(add, statements), COMMIT], [("id", Literal(payload))])
    replay(store, [patch], name=payload)
    assert kept in store
    found = [quad.object.value for quad in store.quads_for_pattern(None, N, None, None)]
    assert sorted(found) == sorted([payload] * 8 + ["urn:n"])
    before = contents(store)
    for bad in (
        Quad(Iri(payload), iri, iri, iri),
        Quad(Iri(f"urn:{payload}> <urn:x> 1 }} ; DROP ALL #"), iri, iri, iri),
        Quad(iri, Iri(f"urn:{payload} "), iri, iri),
        Quad(iri, iri, iri, Iri(f"urn:{payload} ")),
        Quad(iri, iri, Literal("x", datatype=f"urn:{payload}>"), iri),
        Quad(iri, iri, Literal("x", langtag=f"en{payload}"), iri),
        Quad(iri, iri, Literal("x", langtag=f"en{payload}--ltr"), iri),
    ):
        with pytest.raises(JellyError):
            replay(store, [Patch([add(bad)])], name="bad")
        assert contents(store) == before


@given(st.text(max_size=8), st.booleans())
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_iri_is_itself_or_rejected(text: str, renamed: bool) -> None:
    store = ox.Store()
    factory = rows.RowFactory()
    try:
        term = factory.iri(f"urn:{text}")
    except JellyError:
        return
    row = factory.quad((factory.blank_node("a") if renamed else "<urn:n>", "<urn:n>", term, term))
    apply(store, [], [row])
    iri = ox.NamedNode(f"urn:{text}")
    assert list(store) == [ox.Quad(A if renamed else N, N, iri, iri)]


def test_long_terms_are_not_part_of_the_text() -> None:
    """They would be copied for each row."""
    factory = RowFactory()
    long = "x" * 400_000
    terms = [
        factory.iri(f"urn:{long}"),
        factory.literal(long, None, None),
        factory.literal(long, "en", None),
        factory.literal(long, None, f"urn:{long}"),
    ]
    short = factory.iri("urn:s")
    rows = [factory.quad((short, short, term, short)) for term in terms]
    rows += [factory.quad((terms[0],) * number + (short,) * (4 - number)) for number in (1, 2, 4)]
    rows += [factory.quad((factory.iri(f"urn:{at}"), short, terms[1], "")) for at in range(20)]
    update = Update()
    update.change((), rows)
    assert sum(map(len, update._parts)) < len(long)
    store = ox.Store()
    update.run(store)
    assert {row_of(quad) for quad in store} == set(rows)
    apply(store, rows, ())
    assert not list(store)
