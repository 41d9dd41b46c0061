"""A decoder's caches do not change its results: replaced entries, more terms than a cache holds."""

from __future__ import annotations

from itertools import product

import pytest

from jelly_plugins.codec import BlankNode, Encoder, Iri, Limits, Literal, StreamOptions, Triple
from jelly_plugins.errors import LimitError

from .conftest import Kernel
from .test_columns import batches_of

P = Iri("urn:p")


def test_more_terms_than_caches_hold(kernel: Kernel) -> None:
    numbers = [*range(20_000), *range(0, 20_000, 7)]
    triples = [
        Triple(BlankNode(f"b{number}"), Iri(f"http://example.org/{number % 9}#n{number}"), term)
        for number in numbers
        for term in (Literal(f"v{number}", "en"),)
    ]
    frames = Encoder(StreamOptions()).add(triples)
    found = kernel.statements(*frames)
    assert found == triples[: len(found)]
    rows = [value for columns in batches_of(kernel, frames) for value in columns.object.values()]
    assert rows == [f'"v{number}"@en' for number in numbers[: len(rows)]]


def test_names_under_several_prefixes(kernel: Kernel) -> None:
    iris = [Iri(f"http://example.org/{n}#{name}") for n, name in product(range(3), "abc")]
    triples = [Triple(s, p, o) for s, p, o in product(iris, repeat=3)]
    found = kernel.statements(*kernel.encode(triples))
    assert found == triples
    # Equal IRIs are the same object, even if other IRIs with the same name were read in between.
    assert len({id(term) for triple in found for term in triple}) == len(iris)


def test_the_expansion_of_a_frame_is_counted_consistently(kernel: Kernel) -> None:
    prefixes = [f"http://example.org/{n}#" for n in range(2)]
    triples = [
        Triple(Iri(prefixes[n % 2] + "a"), P, Literal(f"{n % 2}", None, "urn:t")) for n in range(9)
    ]
    frames = kernel.encode(triples, StreamOptions())
    # The subject changes with each statement, the predicate never; each literal has its datatype.
    needed = 9 * len(prefixes[0] + "a") + len(P.value) + 9 * len("urn:t")
    assert len(kernel.statements(*frames, limits=Limits(frame_expansion=needed))) == 9
    limits = Limits(frame_expansion=needed - 1)
    with pytest.raises(LimitError, match=f"is {needed}, above"):
        kernel.statements(*frames, limits=limits)
    with pytest.raises(LimitError, match=f"is {needed}, above"):
        batches_of(kernel, frames, limits=limits)


def test_what_a_frame_expands_to_beyond_its_rows_counts_for_the_next(kernel: Kernel) -> None:
    prefix = f"http://example.org/{'x' * 50_000}/"
    triples = [Triple(Iri(f"{prefix}{n % 7}"), P, Literal("o")) for n in range(70)]
    frames = kernel.encode(triples, StreamOptions(), frame_rows=20)
    limits = Limits(frame_expansion=2_000_000)
    for read in (
        lambda: kernel.statements(*frames, limits=limits),
        lambda: batches_of(kernel, frames, limits=limits),
    ):
        with pytest.raises(LimitError, match="frame_expansion") as caught:
            read()
        assert caught.value.frame == 2
    # What the stream itself has is not counted.
    long = [Triple(Iri(f"urn:{n}:{'x' * 50_000}"), P, Literal("o")) for n in range(70)]
    frames = kernel.encode(long, StreamOptions(max_prefix_table_size=0), frame_rows=20)
    assert kernel.statements(*frames, limits=limits) == long
