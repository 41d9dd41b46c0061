"""Random statements and rows; ``test_rows`` and ``test_files`` compare what is written with other
implementations.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jelly_plugins import BlankNode, Iri, JellyError, Literal, Quad, Triple
from jelly_plugins.jena import JenaFormat, read

from ..fuzz.jena import made_rows, random_rows
from .kernels import Kernel, lines_of

FORMATS = list(JenaFormat)


def outcome(call: Any, *arguments: Any, **settings: Any) -> Any:
    """Return the result of a call, or the type and message of its error."""
    try:
        return call(*arguments, **settings)
    except JellyError as error:
        return type(error).__name__, str(error).removeprefix("<bytes>: ")


@pytest.mark.parametrize("form", FORMATS)
def test_terms_are_read_as_text_is(kernel: Kernel, form: JenaFormat) -> None:
    """From rows of any kind; the fuzzer compares the kernels."""
    rejected = 0
    for number in range(300):
        rng = Random(f"wire/{number}")
        data = made_rows(rng, form, 1) if number % 4 else random_rows(rng, form)
        found = outcome(lambda data=data: list(read(data, format=form)))
        assert outcome(kernel.read, data, form, size=7) == found
        rejected += isinstance(found, tuple)
    assert 30 < rejected < 270


IRIS = st.sampled_from(["urn:a", "http://e/x", "http://e/é", "http://e/#y", "urn:" + "z" * 200])
NODES = st.one_of(IRIS.map(Iri), st.sampled_from(["b", "b1", "a b", ""]).map(BlankNode))
TEXT = st.text(max_size=20)
OBJECTS = st.recursive(
    st.one_of(
        NODES,
        st.builds(Literal, TEXT),
        st.builds(Literal, TEXT, st.sampled_from(["en", "de-CH", "ar--rtl"])),
        st.builds(Literal, TEXT, st.none(), IRIS),
    ),
    lambda inner: st.builds(Triple, NODES, IRIS.map(Iri), inner),
    max_leaves=3,
)
STATEMENTS = st.one_of(
    st.builds(Triple, NODES, IRIS.map(Iri), OBJECTS),
    st.builds(Quad, NODES, IRIS.map(Iri), OBJECTS, NODES),
)


@pytest.mark.parametrize("form", FORMATS)
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(statements=st.lists(STATEMENTS, max_size=5), abbreviate=st.booleans())
def test_written_rows_are_read_back(
    kernel: Kernel, form: JenaFormat, statements: list[Any], abbreviate: bool
) -> None:
    writer = kernel.RowWriter(form)
    prefixes = {"e": "http://e/", "h": "http://e/#"} if abbreviate else {}
    data = b"".join(writer.add_prefix(*each) for each in prefixes.items())
    assert kernel.read(data + writer.add_lines(lines_of(statements)), form) == statements
