"""Conversion from any formats to any other: several steps, several sources, parts of streams."""

from __future__ import annotations

import io
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import (
    BlankNode,
    Frame,
    Iri,
    JellyError,
    LimitError,
    Limits,
    Literal,
    LogicalType,
    MissingExtraError,
    OptionsError,
    PhysicalType,
    Quad,
    SourceError,
    StreamOptions,
    TermError,
    TextError,
    Triple,
    convert,
    read,
    read_frames,
    write,
    write_frames,
)
from jelly_plugins.formats.convert import read_statements
from jelly_plugins.formats.settings import ConversionSettings, Frames, OptionChanges
from jelly_plugins.io.sources import Format
from jelly_plugins.io.streams import write_bytes

from ..conversions import converted as made

NT = b'<urn:s> <urn:p> "o"@en .\n_:b <urn:q> <<( <urn:a> <urn:b> _:c )>> .\n'
TURTLE = b"""@prefix ex: <http://example.org/> . @prefix not: <http://example.com/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:s ex:p ex:o, 1 ."""
TRIG = b"GRAPH <urn:g> { <urn:s> <urn:p> _:b }"


def statements(data: bytes, form: Format) -> list[Any]:
    return list(read_statements(data, form, ConversionSettings()))


def test_text_to_text_keeps_prefixes() -> None:
    assert b"@prefix ex: <http://example.org/> ." in made(TURTLE, "ttl", "trig")


def test_errors_of_text_have_a_line_but_no_frame(tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    path.write_bytes(NT + b"nonsense\n")
    with pytest.raises(TextError, match="line 3") as wrong:
        convert(path, tmp_path / "x.ttl")
    assert wrong.value.source == str(path)
    path = tmp_path / "x.trig"
    path.write_bytes(TRIG)
    with pytest.raises(TermError, match="ttl has no graphs") as caught_text:
        convert(path, tmp_path / "x.ttl")
    assert (caught_text.value.source, caught_text.value.frame) == (str(path), None)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.nt", "x.trig"]


@pytest.mark.parametrize("target", ["jelly", "jelly-text", "nq", "rt"])
def test_several_formats_become_one(target: str, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_bytes(b"_:b <urn:p> _:c .\n")
    (tmp_path / "b.trig").write_bytes(TRIG)
    (tmp_path / "c.jelly").write_bytes(
        write_bytes([Triple(*map(Iri, ("urn:s", "urn:p", "urn:o")))])
    )
    paths = [tmp_path / name for name in ("a.nt", "b.trig", "c.jelly")]
    result = convert(paths, tmp_path / f"x.{target}")
    found = statements((tmp_path / f"x.{target}").read_bytes(), Format(target))
    assert result.statements in (3, 0) if target == "rt" else 3
    assert len(found) == 3
    nodes = {term for row in found for term in row if isinstance(term, BlankNode)}
    assert len(nodes) == 3
    kept = made(paths, [Format.N_TRIPLES, Format.TRIG, Format.JELLY], "nq", blank_nodes="keep")
    assert b"_:b <urn:p> _:c" in kept


def test_several_texts_of_triples_are_a_stream_of_triples() -> None:
    jelly = made([NT, TURTLE], [Format.N_TRIPLES, Format.TURTLE], "jelly", namespaces=True)
    with read_frames(jelly) as frames:
        assert frames.options.physical_type is PhysicalType.TRIPLES
        assert frames.options.rdf_star  # The first frame has a quoted triple.
        assert sum(len(frame.statements) for frame in frames) == 4
    with pytest.raises(JellyError, match="rdf_star"):
        made([NT, NT], "nt", "jelly", changes=OptionChanges(rdf_star=False))


# Jelly as text


S, P, G = Iri("urn:s"), Iri("urn:p"), Iri("urn:g")
JELLY = write_bytes([Quad(S, P, S, G), Quad(S, P, Literal("é\n"), G)])


def test_the_text_form_is_complete_and_readable() -> None:
    for data in (JELLY, write_bytes([], options=StreamOptions(stream_name="x"))):
        text = made(data, "jelly", "jelly-text")
        assert text.startswith(b"# frame 0\n")
        assert made(text, "jelly-text", "jelly") == data
    assert made(made(JELLY, "jelly", "nq"), "nq", "jelly-text") == made(
        JELLY, "jelly", "jelly-text"
    )
    assert made(made(JELLY, "jelly", "jelly-text"), "jelly-text", "nq").count(b"\n") == 2


def test_frames_of_nothing_stay() -> None:
    frames = [Frame(0), Frame(1, metadata={"x": b"y"}), Frame(2)]
    out = io.BytesIO()
    write_frames(frames, out, options=StreamOptions(logical_type=LogicalType.GRAPHS))
    text = made(out.getvalue(), "jelly", "jelly-text")
    assert text.count(b"# frame ") == 3
    assert made(text, "jelly-text", "jelly") == out.getvalue()


def test_invalid_streams_can_be_shown_as_text() -> None:
    text = made(JELLY, "jelly", "jelly-text").replace(b"max_name_table_size: 4000", b"")
    assert b"max_name_table_size" not in text
    with pytest.raises(OptionsError):
        made(text, "jelly-text", "nq")


@pytest.mark.parametrize(
    "limits",
    [
        Limits(frame_rows=2),
        Limits(string_bytes=1),
        Limits(name_table=10),
        Limits(frame_expansion=5),
        Limits(frame_bytes=20),
    ],
)
def test_the_limits_of_reading_apply_to_the_text_form(limits: Limits) -> None:
    for target in ("nq", "jelly-text"):
        with pytest.raises(LimitError):
            made(JELLY, "jelly", target, limits=limits)
        # After an invalid frame as well.
        with pytest.raises(LimitError if target == "jelly-text" else JellyError):
            made(write_bytes([]) + JELLY, "jelly", target, limits=limits)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        (b"# frame 0\nrows { options { nonsense: 1 } }", TextError, "line 2.*nonsense"),
        (b"# frame 0\n# frame 1\nrows { row", TextError, "line 3"),
        (b"# frame 0\n\xff", TextError, "line 2.*UTF-8"),
        (b"#" * 2000, LimitError, "frame_bytes"),
        (
            b"# frame 0\n"
            + b"rows { triple { s_triple_term { " * 1
            + b"s_triple_term { " * 3000
            + b"}" * 3003,
            JellyError,
            "frame 0|line 2",
        ),
    ],
)
def test_invalid_text(text: bytes, error: type[JellyError], words: str) -> None:
    with pytest.raises(error, match=words):
        made(
            text,
            "jelly-text",
            "nq",
            limits=Limits(frame_bytes=100_000 if len(text) > 2001 else 100),
        )


@cache
def numbered(form: str, number: int) -> bytes:
    """Different triples in a format."""
    if form != "jelly":
        return made(numbered("jelly", number), "jelly", form)
    return write_bytes(Triple(Iri(f"urn:{n}"), Iri("urn:p"), Iri("urn:o")) for n in range(number))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        *(("jelly", target) for target in ("jelly", "nt", "ttl", "rt", "jelly-text")),
        *((source, "nt") for source in ("nt", "ttl", "rt", "jelly-text")),
        *((source, "jelly") for source in ("nt", "several")),
    ],
)
def test_progress_counts_what_was_converted(source: str, target: str) -> None:
    number = 25_000
    data = numbered("jelly", number)
    reported: list[int] = []
    if source == "several":
        sources: Any = [data, b"<urn:s> <urn:p> <urn:o> ."]
        formats: Any = [Format.JELLY, Format.TURTLE]
        number += 1
    else:
        sources = numbered(source, number)
        formats = source
    result = convert(
        sources,
        io.BytesIO(),
        source_format=formats,
        target_format=target,
        progress=reported.append,
    )
    if (source, target) == ("jelly", "jelly-text"):
        assert not reported
    else:
        assert sum(reported) == result.statements == number
        assert len(reported) == 3


def test_progress_of_what_is_written_again() -> None:
    lines = b"".join(b"<urn:%d> <urn:p> <urn:o> .\n" % n for n in range(25_000))
    quoted = b"<urn:s> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> ."
    reported: list[int] = []
    out = io.BytesIO()
    settings = ConversionSettings(delimited=False)
    result = convert(
        lines + quoted,
        out,
        source_format="nt",
        target_format="jelly",
        settings=settings,
        progress=reported.append,
    )
    assert sum(reported) == result.statements == 25_001


def test_an_error_of_progress_ends_the_conversion(tmp_path: Path) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "x.jelly"
    with pytest.raises(KeyboardInterrupt):
        convert(10_000 * NT, path, source_format="nt", progress=stop)
    assert not list(tmp_path.iterdir())


def test_what_several_sources_lose_is_reported() -> None:
    out = io.BytesIO()
    write_frames([Frame(0, metadata={"x": b"y"})], out, options=StreamOptions())
    sources = [out.getvalue(), TURTLE]
    formats = [Format.JELLY, Format.TURTLE]
    result = convert(sources, io.BytesIO(), source_format=formats, target_format="nq")
    assert result.left_out == {"frame metadata entries": 1}
    with pytest.raises(OptionsError, match="metadata"):
        made(sources, formats, "jelly")
    assert len(list(read(made(sources, formats, "jelly", lossy=True)))) == 2
    out = io.BytesIO()
    options = StreamOptions(physical_type=PhysicalType.GRAPHS, logical_type=LogicalType.DATASETS)
    write_frames([Frame(0, empty_graphs=[Iri("urn:empty")])], out, options=options)
    sources = [out.getvalue(), TRIG]
    formats = [Format.JELLY, Format.TRIG]
    with pytest.raises(TermError, match="empty graph"):
        made(sources, formats, "jelly")
    assert len(list(read(made(sources, formats, "jelly", lossy=True)))) == 1


# Parts


@pytest.fixture
def grouped() -> bytes:
    """Make five frames of a triple each, with namespaces in the first."""
    out = io.BytesIO()
    frames = [
        Frame(0, statements=[Triple(Iri(f"x:{n}"), Iri("urn:p"), Iri("urn:o"))]) for n in range(5)
    ]
    frames[0].namespaces = [("x", Iri("x:"))]
    options = StreamOptions(logical_type=LogicalType.GRAPHS, version=2)
    write_frames(frames, out, options=options, namespaces=True)
    return out.getvalue()


@pytest.mark.parametrize(
    ("wanted", "subjects"),
    [
        (Frames(1, 2), "x:1 x:2"),
        (Frames(3, None), "x:3 x:4"),
        (Frames(4, 9), "x:4"),
        (Frames(0, 0), "x:0"),
    ],
)
def test_selected_frames(wanted: Frames, subjects: str, grouped: bytes) -> None:
    with read_frames(made(grouped, "jelly", "jelly", take_frames=wanted)) as frames:
        assert frames.options.logical_type == LogicalType.GRAPHS
        found = list(frames)
    assert " ".join(row.subject.value for frame in found for row in frame.statements) == subjects  # type: ignore[union-attr]
    assert found[0].namespaces == [("x", Iri("x:"))]
    assert made(grouped, "jelly", "nt", take_frames=wanted).count(b"\n") == len(subjects.split())


def test_selected_frames_that_do_not_exist(grouped: bytes) -> None:
    with pytest.raises(SourceError, match="no frame 5: the stream has 5"):
        made(grouped, "jelly", "nt", take_frames=Frames(5, None))
    with pytest.raises(ValueError, match="applies to Jelly only"):
        made(NT, "nt", "jelly", take_frames=Frames(0, 0))


def test_data_after_the_selection_is_not_read(grouped: bytes) -> None:
    assert made(grouped[:-3], "jelly", "nt", take_frames=Frames(0, 1)).count(b"\n") == 2


def test_a_stream_that_is_not_delimited(grouped: bytes) -> None:
    many = b"".join(b"<urn:s%d> <urn:p> <urn:o> .\n" % n for n in range(3000))
    for sources, form in ((many, "nt"), ([many, many], "nt"), (made(many, "nt", "jelly"), "jelly")):
        bare = made(sources, form, "jelly", delimited=False)
        with read_frames(bare) as frames:
            assert len(list(frames)) == 1
            assert frames.delimited is False
    with pytest.raises(OptionsError, match="has several"):
        made(grouped, "jelly", "jelly", delimited=False)
    assert (
        read_frames(made(grouped, "jelly", "jelly", delimited=False, take_frames=Frames(1, 1)))
        .__next__()
        .rows
    )


def test_options_as_another_stream_has_them() -> None:
    like = StreamOptions(
        physical_type=PhysicalType.QUADS,
        logical_type=LogicalType.DATASETS,
        stream_name="like",
        max_name_table_size=64,
    )
    with read_frames(made(NT, "nt", "jelly", changes=OptionChanges(like=like))) as frames:
        found = frames.options
    assert (found.physical_type, found.stream_name) == (PhysicalType.QUADS, "like")
    assert (found.max_name_table_size, found.logical_type) == (64, LogicalType.FLAT_QUADS)


def test_unknown_formats(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give source_format="):
        convert(NT, tmp_path / "x.jelly")
    with pytest.raises(ValueError, match=r"did you mean turtle\?"):
        convert(NT, tmp_path / "x.jelly", source_format="turtel")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("forms", [("jelly", "jelly-text"), ("jelly-text", "jelly")])
def test_the_error_without_protobuf_names_the_extra(
    forms: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = made(JELLY, "jelly", forms[0])
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'jelly-plugins\[cli\]'"):
        made(source, *forms)


_DIRECTED_NT = b'<urn:s> <urn:p> "x"@en--ltr .\n<urn:s> <urn:p> "x"@en .\n'
_DIRECTED_TTL = b'<urn:s> <urn:p> "x"@en--ltr, "x"@en .'
DIRECTED = {
    Format.N_TRIPLES: _DIRECTED_NT,
    Format.N_QUADS: _DIRECTED_NT,
    Format.TURTLE: _DIRECTED_TTL,
    Format.TRIG: _DIRECTED_TTL,
    Format.JSON_LD: b"""{"@id": "urn:s", "urn:p": [
        {"@value": "x", "@language": "en", "@direction": "ltr"},
        {"@value": "x", "@language": "en"}]}""",
}


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("target", [form for form in Format if "jelly" not in form])
@pytest.mark.parametrize("source", DIRECTED)
def test_base_directions_are_kept(source: Format, target: Format, several: bool) -> None:
    out, back = io.BytesIO(), io.BytesIO()
    given = [DIRECTED[source]] * (1 + several)
    convert(given, out, source_format=source, target_format=target)
    convert(out.getvalue(), back, source_format=target, target_format="nq")
    assert set(back.getvalue().splitlines()) == set(_DIRECTED_NT.splitlines())


@pytest.mark.parametrize("source", DIRECTED)
def test_jelly_cannot_carry_base_directions(source: Format) -> None:
    for given in ([DIRECTED[source]], [DIRECTED[source]] * 2):
        with pytest.raises(JellyError, match="Jelly cannot carry the base direction"):
            convert(given, io.BytesIO(), source_format=source, target_format="jelly")


def test_a_language_tag_with_an_unknown_direction() -> None:
    jelly = io.BytesIO()
    write([Triple(Iri("urn:s"), Iri("urn:p"), Literal("x", "en--up"))], jelly)
    with pytest.raises(JellyError, match="en--up"):
        convert(jelly.getvalue(), io.BytesIO(), source_format="jelly", target_format="ttl")


@pytest.mark.parametrize("target", ["ttl", "trig", "rdf"])
def test_prefixes_whose_names_the_format_cannot_write_are_left_out(target: str) -> None:
    jelly = io.BytesIO()
    frame = Frame(
        0,
        statements=[Triple(Iri("urn:x:s"), Iri("urn:x:p"), Iri("urn:x:o"))],
        namespaces=[("a b", Iri("urn:x:")), ("ok", Iri("urn:x:"))],
    )
    write_frames([frame], jelly, options=StreamOptions(), namespaces=True)
    text = made(jelly.getvalue(), "jelly", target)
    assert len(statements(text, Format(target))) == 1
    assert b"ok:" in text
    assert b"a b" not in text


def test_an_error_in_the_second_source_has_its_name_and_frame() -> None:
    good, bad = io.BytesIO(), io.BytesIO()
    write([], good)
    bad.name = "bad.jelly"
    bad.write(good.getvalue() + b"\x02\xff\xff")
    bad.seek(0)
    with pytest.raises(JellyError) as caught:
        convert([good.getvalue(), bad], io.BytesIO(), source_format="jelly", target_format="nt")
    assert (caught.value.source, caught.value.frame) == ("bad.jelly", 1)


@pytest.mark.parametrize("name", ["rdf-syntax-ns#bagID", "rdf-syntax-ns#li"])
def test_predicates_that_rdf_xml_cannot_express(name: str) -> None:
    for iri in (f"http://www.w3.org/1999/02/22-{name}", "http://www.w3.org/2000/xmlns/x"):
        with pytest.raises(TermError, match=r"cannot express the predicate|reserved syntax term"):
            made(f'<urn:s> <{iri}> "o" .'.encode(), "nt", "rdf")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("\n    @prefix HR: <http://example.org/> .\n    HR:s HR:p HR:o .\n", "ttl"),
        ("\n        <urn:MHO> <urn:p> <urn:o> .\n", "nt"),
        ("_:deadbeef {\n\t<urn:x:-a> <tag:a,2020:_1> <tag:a,2020:_1> .\n}\n", "trig"),
    ],
)
def test_text_that_begins_as_the_options_of_jelly_do(text: str, form: str) -> None:
    assert made(text.encode(), form, "nq").count(b"\n") == 1


@pytest.mark.parametrize("character", ["\U0001f600", "\u017f", "\u3400", "\u0237"])
def test_rdf_xml_has_only_names_that_parsers_of_xml_read(character: str) -> None:
    with pytest.raises(TermError, match="cannot express the predicate"):
        made(f"<urn:s> <http://e/{character}> <urn:o> .\n".encode(), "nt", "rdf")
    line = "<urn:s> <http://e/été> <urn:o> .\n".encode()
    assert made(made(line, "nt", "rdf"), "rdf", "nt") == line


@pytest.mark.parametrize("character", "\x00\x01\x08\x0b\x1f")
def test_characters_that_xml_lacks(character: str) -> None:
    for written in (character, f"\\u{ord(character):04X}"):
        with pytest.raises(TermError, match="XML cannot express the character"):
            made(f'<urn:s> <urn:p> "a{written}b" .\n'.encode(), "nt", "rdf")


@pytest.mark.parametrize("target", ["ttl", "trig", "rdf"])
@pytest.mark.parametrize("iri", ["urn:x:%2F", "http://e.org/%C3%A9", "http://e.org/%2Fa"])
def test_a_namespace_that_ends_within_an_escape_is_no_prefix(iri: str, target: str) -> None:
    line = f"<urn:s> <{iri}> <urn:o> .\n".encode()
    assert made(made(made(line, "nt", "rdf"), "rdf", target), target, "nt") == line


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (b"<urn:%b> <urn:p> 0%b ." % (b"x" * 100_000, b",1" * 1000), "ttl"),
        (b'{"@id":"urn:%b","urn:p":[%b"0"]}' % (b"x" * 100_000, b'"1",' * 1000), "jsonld"),
    ],
)
def test_what_statements_have_copies_of_is_bounded(text: bytes, form: str) -> None:
    limits = Limits(frame_expansion=10_000_000)
    with pytest.raises(LimitError, match="frame_expansion"):
        made(text, form, "nt", limits=limits)
    short = text.replace(b"x" * 100_000, b"x" * 1000)
    assert made(short, form, "nt", limits=limits).count(b"\n") in (2, 1001)
