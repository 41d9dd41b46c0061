"""Conversion from any formats to any other: several steps, several sources, parts of streams."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
import rdflib

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
    StatementError,
    StreamOptions,
    TermError,
    TextError,
    Triple,
    convert,
    jena,
    read,
    read_frames,
    write_frames,
)
from jelly_plugins.codec import delimit
from jelly_plugins.formats.convert import read_statements
from jelly_plugins.formats.jelly_text import frames_of_text
from jelly_plugins.formats.settings import ConversionSettings, Frames, OptionChanges
from jelly_plugins.io.sources import Format
from jelly_plugins.io.streams import write_bytes

from ..conversions import converted, written

NT = b'<urn:s> <urn:p> "o"@en .\n_:b <urn:q> <<( <urn:a> <urn:b> _:c )>> .\n'
TURTLE = b"""@prefix ex: <http://example.org/> . @prefix not: <http://example.com/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:s ex:p ex:o, 1 ."""
TRIG = b"GRAPH <urn:g> { <urn:s> <urn:p> _:b }"
LINE = b"<urn:s> <urn:p> <urn:o> .\n"
QUOTED = b"<urn:s> <urn:p> <<( <urn:a> <urn:b> <urn:c> )>> .\n"

S, P, G, RELATIVE = map(Iri, ("urn:s", "urn:p", "urn:g", "rel"))
TRIPLE = Triple(S, P, Iri("urn:o"))
#: Formats of text with statements, not frames.
TEXTS = [each for each in Format if not each.is_binary and each is not Format.JELLY_TEXT]


def statements(data: bytes, form: Format) -> list[Any]:
    return list(read_statements(data, form, ConversionSettings()))


def frames_of(frames: list[Frame], options: StreamOptions, namespaces: bool = False) -> bytes:
    return written(lambda out: write_frames(frames, out, options=options, namespaces=namespaces))


@pytest.mark.parametrize("target", Format)
@pytest.mark.parametrize("source", Format)
def test_every_pair_of_formats(source: Format, target: Format) -> None:
    data = converted(LINE, "nt", source)
    for sources in (data, [data, data]):
        found = converted(sources, source, target)
        assert converted(found, target, "nt") == LINE * (1 + isinstance(sources, list))


@pytest.mark.parametrize("form", TEXTS)
def test_an_empty_stream_is_empty_text(form: Format) -> None:
    text = converted(write_bytes([]), "jelly", form)
    assert list(read(converted(text, form, "jelly"))) == []


@pytest.mark.parametrize("source", [form for form in Format if form.has_graphs])
def test_quads_of_named_graphs_need_a_format_with_graphs(source: Format, tmp_path: Path) -> None:
    path = tmp_path / f"x.{source}"
    path.write_bytes(converted(TRIG, "trig", source))
    for target in (form for form in Format if not form.has_graphs):
        with pytest.raises(TermError, match=f"named graph.*{target} has no graphs") as caught:
            convert(path, tmp_path / f"y.{target}", source_format=source)
        assert caught.value.source == str(path)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


# Several sources


@pytest.mark.parametrize("target", ["jelly", "jelly-text", "nq", "rt"])
def test_several_formats_become_one(target: str, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_bytes(b"_:b <urn:p> _:c .\n")
    (tmp_path / "b.trig").write_bytes(TRIG)
    (tmp_path / "c.jelly").write_bytes(write_bytes([TRIPLE]))
    paths = [tmp_path / name for name in ("a.nt", "b.trig", "c.jelly")]
    assert convert(paths, tmp_path / f"x.{target}").statements == 3
    found = statements((tmp_path / f"x.{target}").read_bytes(), Format(target))
    assert len(found) == 3
    nodes = {term for row in found for term in row if isinstance(term, BlankNode)}
    assert len(nodes) == 3
    kept = converted(paths, ["nt", "trig", "jelly"], "nq", blank_nodes="keep")
    assert b"_:b <urn:p> _:c" in kept


def test_several_texts_of_triples_are_a_stream_of_triples() -> None:
    with read_frames(converted([NT, TURTLE], ["nt", "ttl"], "jelly")) as frames:
        assert frames.options.physical_type is PhysicalType.TRIPLES
        assert frames.options.rdf_star  # The first frame has a quoted triple.
        assert sum(len(frame.statements) for frame in frames) == 4


def test_what_several_sources_lose_is_reported() -> None:
    with_metadata = frames_of([Frame(0, metadata={"x": b"y"})], StreamOptions())
    result = convert(
        [with_metadata, TURTLE],
        io.BytesIO(),
        source_format=["jelly", "ttl"],
        target_format="nq",
    )
    assert result.left_out == {"frame metadata entries": 1}
    options = StreamOptions(physical_type=PhysicalType.GRAPHS, logical_type=LogicalType.DATASETS)
    with_graph = frames_of([Frame(0, empty_graphs=[Iri("urn:empty")])], options)
    for data, error, words, count in (
        (with_metadata, OptionsError, "metadata", 2),
        (with_graph, TermError, "empty graph", 2),
    ):
        with pytest.raises(error, match=words):
            converted([data, TURTLE], ["jelly", "ttl"], "jelly")
        found = read(converted([data, TURTLE], ["jelly", "ttl"], "jelly", lossy=True))
        assert len(list(found)) == count


def test_an_error_in_the_second_source_has_its_name_and_frame() -> None:
    good = write_bytes([])
    bad = io.BytesIO(good + b"\x02\xff\xff")
    bad.name = "bad.jelly"
    with pytest.raises(JellyError) as caught:
        converted([good, bad], "jelly", "nt")
    assert (caught.value.source, caught.value.frame) == ("bad.jelly", 1)


# Jelly as text

JELLY = write_bytes([Quad(S, P, S, G), Quad(S, P, Literal("é\n"), G)])


def test_the_text_form_is_complete_and_readable() -> None:
    empty = [Frame(0), Frame(1, metadata={"x": b"y"}), Frame(2)]
    for data, frames in (
        (JELLY, 1),
        (write_bytes([], options=StreamOptions(stream_name="x")), 1),
        (frames_of(empty, StreamOptions(logical_type=LogicalType.GRAPHS)), 3),
    ):
        text = converted(data, "jelly", "jelly-text")
        assert text.startswith(b"# frame 0\n")
        assert text.count(b"# frame ") == frames
        assert converted(text, "jelly-text", "jelly") == data
    text = converted(JELLY, "jelly", "jelly-text")
    assert converted(converted(JELLY, "jelly", "nq"), "nq", "jelly-text") == text
    assert converted(b"\xef\xbb\xbf" + text, "jelly-text", "nq").count(b"\n") == 2


def test_invalid_streams_can_be_shown_as_text() -> None:
    text = converted(JELLY, "jelly", "jelly-text").replace(b"  max_name_table_size: 4000\n", b"")
    (frame,) = frames_of_text([text], Limits())
    for source, form in ((text, "jelly-text"), (delimit(frame), "jelly")):
        with pytest.raises(OptionsError):
            converted(source, form, "nq")
    shown = converted(delimit(frame), "jelly", "jelly-text")
    assert b"max_name_table_size" not in shown
    for chunks in ([shown], [shown[at : at + 1] for at in range(len(shown))]):
        assert list(frames_of_text(chunks, Limits())) == [frame]


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
            converted(JELLY, "jelly", target, limits=limits)
        # After an invalid frame as well.
        with pytest.raises(LimitError if target == "jelly-text" else JellyError):
            converted(write_bytes([]) + JELLY, "jelly", target, limits=limits)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        (b"# frame 0\nrows { options { nonsense: 1 } }", TextError, "line 2.*nonsense"),
        (b"# frame 0\n# frame 1\nrows { row", TextError, "line 3"),
        (b"# frame 0\n\xff", TextError, "line 2.*UTF-8"),
        (b"#" * 200_000, LimitError, "frame_bytes"),
        (
            b"# frame 0\nrows { triple { s_triple_term { "
            + b"s_triple_term { " * 3000
            + b"}" * 3003,
            JellyError,
            "frame 0|line 2",
        ),
    ],
)
def test_invalid_text(text: bytes, error: type[JellyError], words: str) -> None:
    with pytest.raises(error, match=words):
        converted(text, "jelly-text", "nq", limits=Limits(frame_bytes=10_000))


@pytest.mark.parametrize("forms", [("jelly", "jelly-text"), ("jelly-text", "jelly")])
def test_the_error_without_protobuf_names_the_extra(
    forms: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = converted(JELLY, "jelly", forms[0])
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'jelly-plugins\[cli\]'"):
        converted(source, *forms)


@pytest.mark.parametrize("target", Format)
@pytest.mark.parametrize("error", [ValueError("mine"), OSError("mine"), SyntaxError("mine")])
def test_errors_of_the_caller_are_not_those_of_terms(target: Format, error: Exception) -> None:
    def fail(_: object) -> Any:
        raise error

    with pytest.raises(type(error)) as caught:
        convert(LINE, io.BytesIO(), source_format="nt", target_format=target, progress=fail)
    assert caught.value is error
    file = io.BytesIO()
    file.write = fail  # type: ignore[method-assign]
    with pytest.raises(type(error)) as caught:
        convert(LINE, file, source_format="nt", target_format=target)
    assert caught.value is error


# Parts, and frames that are not delimited


@pytest.fixture
def grouped() -> bytes:
    """Make five frames of a triple each, with namespaces in the first."""
    frames = [Frame(0, statements=[Triple(Iri(f"x:{n}"), P, S)]) for n in range(5)]
    frames[0].namespaces = [("x", Iri("x:"))]
    return frames_of(frames, StreamOptions(logical_type=LogicalType.GRAPHS, version=2), True)


def test_selected_frames(grouped: bytes) -> None:
    """``jelly convert --take-frames`` has which they are."""
    with read_frames(converted(grouped, "jelly", "jelly", take_frames=Frames(3, None))) as frames:
        assert frames.options.logical_type == LogicalType.GRAPHS
        assert next(iter(frames)).namespaces == [("x", Iri("x:"))]
    assert converted(grouped, "jelly", "nt", take_frames=Frames(3, None)).count(b"\n") == 2
    with pytest.raises(SourceError, match="no frame 5: the stream has 5"):
        converted(grouped, "jelly", "nt", take_frames=Frames(5, None))
    # Data after the selection is not read.
    assert converted(grouped[:-3], "jelly", "nt", take_frames=Frames(0, 1)).count(b"\n") == 2


def test_a_stream_that_is_not_delimited(grouped: bytes) -> None:
    many, jelly = LINE * 3000, write_bytes([TRIPLE] * 3000)
    for sources, form in ((many, "nt"), ([many, many], "nt"), (jelly, "jelly")):
        with read_frames(converted(sources, form, "jelly", delimited=False)) as frames:
            assert len(list(frames)) == 1
            assert frames.delimited is False
    with pytest.raises(OptionsError, match="has several"):
        converted(grouped, "jelly", "jelly", delimited=False)
    one = converted(grouped, "jelly", "jelly", delimited=False, take_frames=Frames(1, 1))
    assert len(list(read(one))) == 1


# Settings


@pytest.mark.parametrize("logical", [0, *LogicalType])
@pytest.mark.parametrize("physical", PhysicalType)
def test_the_logical_type_follows_the_physical_type(logical: int, physical: PhysicalType) -> None:
    options = StreamOptions(logical_type=logical)
    changed = OptionChanges(physical_type=physical).applied(options)
    changed.check_consistency()
    assert changed.grouped is options.grouped
    flat = OptionChanges(physical_type=physical, flat=True).applied(options)
    flat.check_consistency()
    assert not flat.grouped
    assert flat.logical_type


def test_options_as_another_stream_has_them() -> None:
    like = StreamOptions(
        physical_type=PhysicalType.QUADS,
        logical_type=LogicalType.DATASETS,
        stream_name="like",
        max_name_table_size=64,
    )
    with read_frames(converted(NT, "nt", "jelly", changes=OptionChanges(like=like))) as frames:
        found = frames.options
    assert (found.physical_type, found.stream_name) == (PhysicalType.QUADS, "like")
    assert (found.max_name_table_size, found.logical_type) == (64, LogicalType.FLAT_QUADS)


@pytest.mark.parametrize("target", Format)
def test_settings_that_do_not_match_the_formats(target: Format) -> None:
    with pytest.raises(ValueError, match="at least one source is required"):
        converted([], [], target)
    with pytest.raises(ValueError, match="applies to Jelly only"):
        converted(NT, "nt", target, take_frames=Frames(0, 0))
    grouped = OptionChanges(logical_type=LogicalType.GRAPHS)
    # Frames are the elements.
    settings = {"changes": grouped, "frame_rows": 2}
    if target in (Format.JELLY, Format.JELLY_TEXT):
        with pytest.raises(ValueError, match="do not set a frame size"):
            converted([LINE, JELLY], ["nt", "jelly"], target, **settings)
    else:
        converted(LINE, "nt", target, **settings)
    converted([LINE], ["nt"], target, changes=grouped)


def test_formats_that_are_unknown(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give source_format="):
        convert(NT, tmp_path / "x.jelly")
    with pytest.raises(ValueError, match="give target_format="):
        convert(NT, tmp_path / "x", source_format="nt")
    assert list(tmp_path.iterdir()) == []


# Quoted triples, which the options of Jelly declare before they occur

STAR = ConversionSettings(changes=OptionChanges(rdf_star=True))


def test_quoted_triples_are_declared_where_they_occur(tmp_path: Path) -> None:
    # Read again, from its position.
    source, target = io.BytesIO(b"not this" + LINE * 2000 + QUOTED), tmp_path / "x.jelly"
    source.seek(8)
    assert convert(source, target, source_format="nt").statements == 2001
    # No output was written before the first frame was full.
    for data in (target.read_bytes(), converted(LINE + QUOTED, "nt", "jelly")):
        with read_frames(data) as frames:
            assert frames.options.rdf_star


def test_quoted_triples_that_cannot_be_declared_any_more(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.nt"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(LINE * 2000 + QUOTED))
    writer.start()
    undeclared = ConversionSettings(changes=OptionChanges(rdf_star=False))
    for source, target, settings in (
        # The output was written in part; the source is read once; the caller rejects them.
        (LINE * 6000 + QUOTED, io.BytesIO(), ConversionSettings()),
        (pipe, tmp_path / "x.jelly", ConversionSettings()),
        (QUOTED, tmp_path / "x.jelly", undeclared),
        ([NT, NT], tmp_path / "x.jelly", undeclared),
    ):
        with pytest.raises(StatementError, match=r"a quoted triple.*rdf_star"):
            convert(source, target, source_format="nt", target_format="jelly", settings=settings)
    writer.join()
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("target", ["jelly", "rt"])
@pytest.mark.parametrize("source", ["nt", "nq"])
def test_quoted_triples_of_rdf_star_are_read_on_request(source: str, target: str) -> None:
    """In N-Triples and N-Quads pyoxigraph rejects this notation, and quoted triples as subjects."""
    star = QUOTED.replace(b"(", b"").replace(b")", b"")
    for line in (star, b"<<( <urn:s> <urn:p> _:o )>> <urn:p> <urn:o> .\n"):
        with pytest.raises(TextError, match="line 2, column"):
            converted(b"\n" + line, source, target)
        assert converted(line, source, target, settings=STAR)


# What a target cannot express

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
@pytest.mark.parametrize("source", DIRECTED)
def test_base_directions_are_kept_except_in_jelly(source: Format, several: bool) -> None:
    given = [DIRECTED[source]] * (1 + several)
    for target in (form for form in Format if "jelly" not in form):
        back = converted(converted(given, source, target), target, "nq")
        assert set(back.splitlines()) == set(_DIRECTED_NT.splitlines())
    with pytest.raises(JellyError, match="Jelly cannot carry the base direction"):
        converted(given, source, "jelly")
    unknown = write_bytes([Triple(S, P, Literal("x", "en--up"))])
    with pytest.raises(JellyError, match="en--up"):
        converted(unknown, "jelly", source)


def test_what_jelly_cannot_carry_names_the_text() -> None:
    changes = OptionChanges(max_datatype_table_size=0)
    with pytest.raises(TermError, match=r"^<bytes>: a literal of datatype urn:d"):
        converted(b'<urn:s> <urn:p> "1"^^<urn:d> .', "nt", "jelly", changes=changes)


@pytest.mark.parametrize("sources", [1, 2])
@pytest.mark.parametrize("source", ["jelly", "rt", "rpb"])
@pytest.mark.parametrize(
    "triple",
    [
        Triple(RELATIVE, P, S),
        Triple(S, RELATIVE, S),
        Triple(S, P, Triple(S, P, RELATIVE)),
        Triple(S, P, Literal("<urn:a", datatype="rel")),
    ],
)
def test_relative_iris_stay_in_their_format(triple: Triple, source: str, sources: int) -> None:
    options = StreamOptions.flat(PhysicalType.TRIPLES).changed(None, {"rdf_star": True})
    data = write_bytes([TRIPLE, triple], options=options)
    if source != "jelly":
        data = written(jena.write, [TRIPLE, triple], format=source, namespaces={"e": "re"})
    family = ("jelly",) if source == "jelly" else ("rt", "rpb")
    for target in ("nt", "nq", "ttl", "jelly", "rt", "rpb"):
        if target in family:
            again = converted(data, source, target)
            assert list((read if target == "jelly" else jena.read)(again))[1] == triple
            continue
        with pytest.raises(TermError, match=r"<bytes>: .*(<rel> is relative|IRI|datatype)"):
            converted([data] * sources, source, target)


def test_less_than_signs_in_strings_are_not_relative_iris() -> None:
    data = write_bytes([Triple(S, P, Literal("<rel> <"))])
    assert converted(data, "jelly", "nt") == b'<urn:s> <urn:p> "<rel> <" .\n'


@pytest.mark.parametrize("target", ["ttl", "trig", "rdf"])
def test_prefixes_that_the_format_cannot_write_are_left_out(target: str) -> None:
    frame = Frame(0, statements=[Triple(*map(Iri, ("urn:x:s", "urn:x:p", "urn:x:o")))])
    frame.namespaces = [("a b", Iri("urn:x:")), ("ok", Iri("urn:x:"))]
    text = converted(frames_of([frame], StreamOptions(), True), "jelly", target)
    assert len(statements(text, Format(target))) == 1
    assert b"ok:" in text
    assert b"a b" not in text
    # In RDF/XML, a namespace may end within an escape.
    for iri in ("urn:x:%2F", "http://e.org/%C3%A9", "http://e.org/%2Fa"):
        line = f"<urn:s> <{iri}> <urn:o> .\n".encode()
        again = converted(converted(line, "nt", "rdf"), "rdf", target)
        assert converted(again, target, "nt") == line


RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@pytest.mark.parametrize(
    ("predicate", "words"),
    [
        *((f"http://e/{name}", "no XML name at its end") for name in ("", "1")),
        # Names that parsers of XML do not read.
        *((f"http://e/{name}", "the predicate <") for name in "\U0001f600\u017f\u3400\u0237"),
        *((f"{RDF}{name}", "predicate|reserved") for name in ("bagID", "li", "Description")),
        ("http://www.w3.org/2000/xmlns/x", "the predicate <"),
    ],
)
def test_predicates_that_rdf_xml_cannot_express(predicate: str, words: str) -> None:
    with pytest.raises(TermError, match=words):
        converted(f'<urn:s> <{predicate}> "o" .'.encode(), "nt", "rdf")
    line = "<urn:s> <http://e/été> <urn:o> .\n".encode()
    assert converted(converted(line, "nt", "rdf"), "rdf", "nt") == line


@pytest.mark.parametrize("character", "\x00\x01\x08\x0b\x1f\ufffe")
def test_characters_that_xml_lacks(character: str) -> None:
    for text in (character, f"\\u{ord(character):04X}"):
        with pytest.raises(TermError, match=rf"XML cannot .* U\+{ord(character):04X}"):
            converted(f'<urn:s> <urn:p> "a{text}b" .\n'.encode(), "nt", "rdf")


def test_labels_in_rdf_xml_are_names() -> None:
    labels = ["0", "a", "label-30", "a:b", "1x.y", "label-", "\u00e9"]
    nodes = [BlankNode(label) for label in labels]
    source = write_bytes([Triple(node, Iri("urn:x:p"), node) for node in nodes])
    text = converted(source, "jelly", "rdf")
    graph = rdflib.Graph().parse(data=text, format="xml")
    assert len(graph) == len(set(graph.subjects())) == len(labels)
    assert all(s == o for s, o in graph.subject_objects())
    again = pyoxigraph.parse(text, pyoxigraph.RdfFormat.RDF_XML)
    assert len({quad.subject for quad in again}) == len(labels)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("\n    @prefix HR: <http://example.org/> .\n    HR:s HR:p HR:o .\n", "ttl"),
        ("\n        <urn:MHO> <urn:p> <urn:o> .\n", "nt"),
        ("_:deadbeef {\n\t<urn:x:-a> <tag:a,2020:_1> <tag:a,2020:_1> .\n}\n", "trig"),
    ],
)
def test_text_that_begins_as_the_options_of_jelly_do(text: str, form: str) -> None:
    assert converted(text.encode(), form, "nq").count(b"\n") == 1


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
        converted(text, form, "nt", limits=limits)
    short = text.replace(b"x" * 100_000, b"x" * 1000)
    assert converted(short, form, "nt", limits=limits).count(b"\n") in (2, 1001)
