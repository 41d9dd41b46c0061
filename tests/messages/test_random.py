"""Random logs, damaged logs, and logs cut at every byte: each gives messages or a JellyError, the
same from every syntax and for chunks of any size. Terms that a syntax cannot express are
rejected when they are written.
"""

from __future__ import annotations

import io
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jelly_plugins import BlankNode, Iri, JellyError, Literal, Triple
from jelly_plugins.errors import TermError, TextError
from jelly_plugins.messages import read_messages, write_messages

from ..codec.input_kinds import Trickle
from .logs import DELIMITED, EARLY, EX, FORMATS, LOGS, XSD, outcome, quad_sets, read, written

#: Chunks of text that resemble other syntax.
_TEXTS = st.lists(
    st.sampled_from(
        (
            "MESSAGE",
            "@message .",
            "# @message",
            "\n",
            "\r",
            "---",
            '"',
            "'",
            "\\",
            "{}",
            "</",
            "<!--",
        )
    )
    | st.text(
        st.characters(codec="utf-8", exclude_categories=("Cc",), exclude_characters="\ufffe\uffff"),
        max_size=4,
    ),
    max_size=6,
).map("".join)
_IRIS = st.sampled_from(("a", "MESSAGE", "a.MESSAGE", "é", "x/y#z", "b_1-2")).map(
    lambda name: Iri(EX + name)
)
#: Labels, some of which are not valid names in XML: RDF/XML replaces these.
_NODES = st.sampled_from(("b0", "b1", "MESSAGE", "a b", "b.-c")).map(BlankNode)
_LITERALS = st.builds(
    Literal, _TEXTS, st.sampled_from((None, "en", "de-at", "message"))
) | st.builds(Literal, _TEXTS, st.none(), st.sampled_from((XSD + "date", EX + "MESSAGE")))
_TRIPLES = st.builds(Triple, _IRIS | _NODES, _IRIS, _IRIS | _NODES | _LITERALS)
_XML = st.lists(st.lists(_TRIPLES, max_size=5), max_size=5)


@given(_XML)
@settings(max_examples=60)
def test_random_logs_are_the_same_from_every_syntax(log: list[list[Triple]]) -> None:
    expected = quad_sets(read(written(log, "nq"), "nq"))
    assert [len(each) for each in expected] == [len(set(each)) for each in log]
    for format_ in FORMATS:
        data = written(log, format_)
        assert quad_sets(read(data, format_)) == expected
        if format_ in DELIMITED:
            data = written(log, format_, dialect=EARLY)
            assert quad_sets(read(data, format_, dialect=EARLY)) == expected


@pytest.mark.parametrize("dialect", [None, EARLY])
@pytest.mark.parametrize("format_", FORMATS)
def test_cuts_at_every_byte(format_: str, dialect: str | None) -> None:
    log = [LOGS[4][1][1:4], [], LOGS[4][1][8:11], []]
    data = written(log, format_, dialect=dialect)
    whole, error = outcome(data, format_, dialect=dialect)
    assert error is None
    for cut in range(len(data)):
        found, error = outcome(data[:cut], format_, dialect=dialect)
        assert len(found) <= len(whole) + 1
        # The last message may be incomplete if the log does not show it.
        for one, other in zip(found[:-1], whole, strict=False):
            assert one == other
        if found and error is not None and format_ != "jelly":
            assert found[-1] == whole[len(found) - 1]


@pytest.mark.parametrize("dialect", [None, EARLY])
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("step", [1, 7, 100])
def test_chunks_of_any_size(format_: str, dialect: str | None, step: int) -> None:
    data = written(LOGS[4], format_, dialect=dialect)
    assert outcome(Trickle(data, step), format_, dialect=dialect) == outcome(
        data, format_, dialect=dialect
    )


_LOOKALIKES = b"""\
VERSION "1.2-messages"
PREFIX message: <urn:m:> PREFIX MESSAGE.x: <urn:x:> PREFIX ex: <urn:e:>
ex:a message:MESSAGE ex:b.MESSAGE , MESSAGE.x:a , ex:b....MESSAGE .
<< message:a message:b message:c ~ message:r >> message:d message:e .
MESSAGE.x:a ex:p message:a .
message
MESSAGE ex:a.message.b ex:p ex:c..message .
"""


@pytest.mark.parametrize("step", range(1, 40))
def test_names_that_begin_like_delimiters_in_chunks_of_any_size(step: int) -> None:
    assert outcome(_LOOKALIKES, "ttl")[1] is None
    assert outcome(Trickle(_LOOKALIKES, step), "ttl") == outcome(_LOOKALIKES, "ttl")


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("step", [1, 100])
def test_a_byte_order_mark_is_skipped(format_: str, step: int) -> None:
    data = written(LOGS[4], format_)
    if format_ != "jelly":
        marked = Trickle(b"\xef\xbb\xbf" + data, step)
        assert outcome(marked, format_) == outcome(data, format_)


_INSERTED = (
    b"MESSAGE\n",
    b"\nMESSAGE\n",
    b"@message .",
    b"# @message\n",
    b'VERSION "1.2-messages"\n',
    b"'''",
    b'"""',
    b"<<(",
    b")>>",
    b"{",
    b"}",
    b".",
    b"#",
    b"\r",
    b"---\n",
    b"*a",
    b"&a ",
    b"<!--",
    b"<![CDATA[",
    b"{}\n",
    b'{"@context":{}}\n',
    b"\\",
    b"GRAPH <urn:g> {",
    b"<!DOCTYPE x [<!ENTITY a 'b'>]>",
    b"...\n",
    b"\xff",
)


def changed(data: bytes, chosen: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(chosen.choice((1, 1, 2, 5))):
        at = chosen.randrange(len(made) + 1)
        kind = chosen.random()
        if kind < 0.3:
            made[at : at + 1] = bytes((chosen.randrange(256),))
        elif kind < 0.5:
            del made[at : at + chosen.randrange(1, 20)]
        elif kind < 0.7:
            start = chosen.randrange(len(made) + 1)
            made[at:at] = made[start : start + chosen.randrange(30)]
        else:
            made[at:at] = chosen.choice(_INSERTED)
    return bytes(made)


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 4000), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("dialect", [None, EARLY])
@pytest.mark.parametrize("format_", FORMATS)
def test_changed_logs(format_: str, dialect: str | None, seeds: range) -> None:
    for seed in seeds:
        chosen = random.Random(f"{format_}{dialect}{seed}")
        data = changed(written(chosen.choice(LOGS), format_, dialect=dialect), chosen)
        found, error = outcome(data, format_, dialect=dialect)
        source: Any = Trickle(data, chosen.choice((1, 3, 50)))
        again, other = outcome(source, format_, dialect=dialect)
        assert (error is None) == (other is None)
        # Frames that are read together are lost together.
        if error is None or format_ != "jelly":
            assert list(map(len, found)) == list(map(len, again))


# What is written as a log is read back; everything else is rejected while it is written

IRIS = [
    *("http://ex/100%", "http://ex/%zz", "http://[bad", "http://ex:port/", "http://ex/a[1]"),
    *("http://ex/#a#b", "http://ex/\u00e9", "http://ex/a%20b", "urn:x:", "http://", "a:"),
    *("http://ex:99999/", "http://user@ex@b/", "http://ex/\ue000", "x-y.z:q", "urn:@type"),
    *("http://ex/\x85b", "http://ex/\u2028b", "http://ex/\ufffeb", "http://ex/" + "x" * 1100),
    *("mailto:a b", "1a:b", "rel", "", "http://ex/<", "http://ex/\\", "urn:\ud800"),
]
TAGS = ["en-x-toolong123", "EN-gb", "a", "i", "x-y", "zh-classical", "en-", "", "e!", "\u00e9"]
TEXTS = [
    *("", "\x00", "\ufffe", "\r", "a\tb", "a\nb", "\x85", "x \x85 y", "\u2028", "x\u2029\u2029 y"),
    *(" a ", "\x7f", "\x9f", "\ufeff", "\U0010fffe", "\U000fffff", "\\", '"', "'", "]]>", "<!--"),
    *("\ud800", "\\u2028", "yes", "1e20", "- a", "a: b", "#", "&a;"),
]
JSON = "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON"
TERMS: list[Any] = [
    *map(Iri, IRIS),
    *(Literal("x", tag) for tag in TAGS),
    *(Literal("x", None, iri) for iri in IRIS),
    *map(Literal, TEXTS),
    *(Literal(lex, None, JSON) for lex in ("{}", '{"@context": {"a": "urn:b"}}', "1e2", "x")),
    *map(BlankNode, ("a b", "nodeID://1", "", "label-61", "-x", "x.", "a:b")),
]


def lower(term: Any) -> Any:
    """pyoxigraph lower-cases language tags."""
    tagged = isinstance(term, Literal) and term.langtag
    return Literal(term.lex, term.langtag.lower()) if tagged else term


@pytest.mark.parametrize("form", FORMATS)
def test_every_term_is_read_back_or_rejected(form: str) -> None:
    written = 0
    for term in TERMS:
        quads: list[Any] = [Triple(Iri("urn:s"), Iri("urn:p"), term)]
        if isinstance(term, Iri):
            quads += [Triple(term, Iri("urn:p"), Iri("urn:o")), Triple(Iri("urn:s"), term, term)]
        for quad in quads:
            out = io.BytesIO()
            try:
                write_messages([[quad]], out, format=form)
            except JellyError:
                continue
            written += 1
            [message] = read_messages(out.getvalue(), format=form)
            found = [tuple(map(lower, each[:3])) for each in message.quads]
            assert found == [tuple(map(lower, quad))], (term, out.getvalue())
    assert written > 40


@pytest.mark.parametrize("form", FORMATS)
def test_errors_of_terms_name_the_message(form: str) -> None:
    good = Triple(Iri("urn:s"), Iri("urn:p"), Literal("<rel> <"))
    messages: list[Any] = [[good], [], [good, good]]
    assert len(read(written(messages, form), form)) == 3
    bad: list[Any] = [Literal("\ud800")]
    if form != "jelly":
        bad += [Iri("rel"), Iri(""), Literal("x", None, "#rel"), Iri("1:a"), Literal("x", "e n")]
    if form not in ("jelly", "nt", "nq"):
        bad += [Iri("http://ex/100%"), Literal("x", None, "http://ex/100%"), Literal("x", "a")]
    for term in bad:
        with pytest.raises(TermError, match=r"^message 3: "):
            written([*messages, [good._replace(object=term)]], form)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("trickle", [False, True])
def test_the_line_of_an_error_before_invalid_utf_8(trickle: bool, end: str) -> None:
    data = b'VERSION "1.2-messages"\n<urn:a> <urn:b> zz .\nMESSAGE\n<urn:a> <urn:b> "\xff" .\n'
    data = data.replace(b"\n", end.encode())
    source = Trickle(data) if trickle else data
    with pytest.raises(TextError, match="line 2, column 17"):
        list(read_messages(source, format="nt"))
