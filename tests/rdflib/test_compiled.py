"""Terms that the compiled half makes: in everything those of rdflib's own constructors."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import rdflib
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rdflib import BNode, URIRef

from jelly_plugins.rdflib.memory import compiled, parts_of
from jelly_plugins.rdflib.terms import RdflibFactory, make_literal, read_form

from .. import programs
from .test_terms import DATATYPES, LEXICAL_FORMS

pytestmark = [
    pytest.mark.skipif(compiled() is None, reason="the compiled half is not there"),
    pytest.mark.usefixtures("quiet"),
]

#: Datatypes whose values are equal to one another: no documents.
COMPARABLE = [name for name in DATATYPES if not name.endswith(("XMLLiteral", "HTML"))]

#: Forms that are near to being usual.
FORMS = st.one_of(
    st.sampled_from(LEXICAL_FORMS),
    st.text(max_size=8),
    st.from_regex(r"[-+]?[0-9]{0,20}(\.[0-9]{0,8})?([eE][-+]?[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"-?[0-9]{1,30}", fullmatch=True),
    st.floats().map(repr),
    st.decimals(allow_nan=False, places=4, min_value=-(10**9), max_value=10**9).map(str),
    st.dates().map(str),
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.from_regex(
        r"[0-2][0-9]{3}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,7})?)?"
        r"(Z|[+-][0-2][0-9]:[0-6][0-9])?",
        fullmatch=True,
    ),
    st.from_regex(r"-?P([0-9]{1,3}Y)?([0-9]{1,3}M)?([0-9]{1,3}D)?(T[0-9]{1,3}S)?", fullmatch=True),
    st.sampled_from(["true", "false", "1", "0", "True", "TRUE"]),
)


def outcome(make: Any, *arguments: Any) -> Any:
    try:
        return parts_of(make(*arguments))
    except Exception as error:
        return type(error), str(error)


@settings(deadline=None, max_examples=300)
@given(FORMS, st.sampled_from(COMPARABLE), st.booleans())
@example("-0", str(rdflib.XSD.integer), True)
@example("-P1MT1S", str(rdflib.XSD.yearMonthDuration), True)
@example("2024-01-01T24:00:00", str(rdflib.XSD.dateTime), True)
@example("0000-01-01", str(rdflib.XSD.date), True)
@example("-P1M1D", str(rdflib.XSD.duration), True)
def test_typed_literals(form: str, datatype: str, normalize: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rdflib, "NORMALIZE_LITERALS", normalize)
        factory = RdflibFactory()
        assert outcome(factory.literal, form, None, datatype) == outcome(
            make_literal, form, None, datatype
        )
        # Once more, now that the datatype is known.
        assert outcome(factory.literal, form, None, datatype) == outcome(
            make_literal, form, None, datatype
        )


@settings(deadline=None)
@given(
    st.text(max_size=5),
    st.none() | st.text(max_size=4) | st.from_regex(r"[a-zA-Z0-9-]{1,9}\n?", fullmatch=True),
)
@example("x", "en\n")
@example("x", "")
@example("x", "a--b")
def test_plain_and_tagged_literals(form: str, langtag: str | None) -> None:
    factory = RdflibFactory()
    for _ in range(2):
        assert outcome(factory.literal, form, langtag, None) == outcome(
            make_literal, form, langtag, None
        )


@settings(deadline=None)
@given(st.text())
@example("http://example.org/a b")
@example("\u20ac<")
def test_iris_and_blank_nodes(text: str) -> None:
    kept, fresh = RdflibFactory(blank_nodes="keep"), RdflibFactory()
    for made, expected in (
        (kept.iri(text), URIRef(text)),
        (kept.blank_node(text), BNode(text)),
    ):
        assert (type(made), made, hash(made)) == (type(expected), expected, hash(expected))
    one, other = fresh.blank_node(text), fresh.blank_node(f"{text}x")
    assert type(one) is BNode
    assert one == fresh.blank_node(text) != other
    assert one.isascii()
    assert one.isalnum()


def test_rdflib_still_says_that_an_iri_is_none(caplog: pytest.LogCaptureFixture) -> None:
    logging.disable(logging.NOTSET)
    with caplog.at_level(logging.WARNING, "rdflib.term"):
        RdflibFactory().iri("http://example.org/a b")
        RdflibFactory().iri("http://example.org/\u20ac>")
    assert len(caplog.records) == 2


def test_datatypes_that_are_bound() -> None:
    """They count from the next reading on."""
    unknown, integer = "urn:datatype", str(rdflib.XSD.integer)

    def check() -> None:
        factory = RdflibFactory()
        for datatype in unknown, integer, str(rdflib.XSD.boolean):
            for form in "1", "01", "true":
                expected = outcome(make_literal, form, None, datatype)
                assert outcome(factory.literal, form, None, datatype) == expected
                raw = rdflib.Literal(form, datatype=URIRef(datatype), normalize=False)
                assert str(read_form(raw)) == expected[1]
        assert outcome(factory.literal, "x", "en", None) == outcome(make_literal, "x", "en", None)

    class Shout(str):
        pass

    check()
    try:
        rdflib.term.bind(URIRef(unknown), complex, lexicalizer=str)
        check()
        rdflib.term.bind(URIRef(integer), float)
        check()
        rdflib.term._reset_bindings()
        check()
        rdflib.term.bind(
            rdflib.XSD.boolean, bool, lambda _: True, lambda _: "yes", datatype_specific=True
        )
        check()
        rdflib.term.bind(None, Shout, lambda text: Shout(text.upper()))  # type: ignore[arg-type]
        check()
    finally:
        rdflib.term._reset_bindings()
    check()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "normalize if normalize is not None else rdflib.NORMALIZE_LITERALS",
            "True if normalize is None else normalize",
            "Literal does not read rdflib.NORMALIZE_LITERALS",
        ),
        (
            "_ill_typed: Optional[bool]\n",
            "_ill_typed: Optional[bool]\n    def __init__(self, *_, **__): self._value = 1\n",
            "the Literal '' is made in another way",
        ),
        ("_invalid_uri_chars", "_other_uri_chars", "it lacks"),
    ],
)
def test_a_later_rdflib_is_told_from_the_one_that_is_known(
    old: str, new: str, reason: str, tmp_path: Path
) -> None:
    changed = tmp_path / "rdflib"
    shutil.copytree(
        Path(rdflib.__file__).parent, changed, ignore=shutil.ignore_patterns("__pycache__", "tools")
    )
    source = changed / "term.py"
    text = source.read_text()
    assert old in text
    source.write_text(text.replace(old, new))
    program = (
        "import logging; logging.basicConfig(format='%(message)s')\n"
        "import rdflib; from jelly_plugins.rdflib.memory import compiled\n"
        "graph = rdflib.Graph().parse(data='<urn:s> <urn:p> 01, \"x\"@en .', format='turtle')\n"
        "data = graph.serialize(format='jelly-plugins', encoding='jelly')\n"
        "copy = rdflib.Graph().parse(data=data, format='jelly-plugins')\n"
        "assert set(copy) == set(graph) and compiled() is None, rdflib.__file__\n"
    )
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    done = programs.run(program, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    (line,) = (each for each in done.stderr.splitlines() if "jelly-plugins" in each)
    assert f"differs from the versions that jelly-plugins supports: {reason}" in line
