"""The conversion functions, beyond the tests of the command."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import (
    BlankNode,
    Iri,
    Literal,
    LogicalType,
    PhysicalType,
    StatementError,
    StreamOptions,
    TermError,
    Triple,
    read,
    read_frames,
)
from jelly_plugins.errors import TextError
from jelly_plugins.formats.convert import convert
from jelly_plugins.formats.settings import Conversion, ConversionSettings, Frames, OptionChanges
from jelly_plugins.io.sources import Format
from jelly_plugins.io.streams import write_bytes

from ..conversions import converted as written

NT, JELLY = Format.N_TRIPLES, Format.JELLY
#: Formats of text with statements, not frames.
TEXTS = [each for each in Format if not each.is_binary and each is not Format.JELLY_TEXT]
PLAIN = b"<urn:s> <urn:p> <urn:o> .\n" * 2000
QUOTED = b"<urn:s> <urn:p> <<( <urn:a> <urn:b> <urn:c> )>> .\n"


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


def converted(source: Any, out: Any, form: Format, target: Format) -> Conversion:
    return convert(source, out, source_format=form, target_format=target)


def test_a_seekable_file_is_read_again_from_its_position(tmp_path: Path) -> None:
    source = io.BytesIO(b"not this" + PLAIN + QUOTED)
    source.seek(8)
    target = tmp_path / "x.jelly"
    result = convert(source, target, source_format=NT)
    assert result.statements == 2001 == len(list(read(target)))


def test_a_partly_written_output_is_not_restarted() -> None:
    out = io.BytesIO()
    with pytest.raises(StatementError, match=r"<bytes>: a quoted triple.*rdf_star"):
        convert(PLAIN * 3 + QUOTED, out, source_format=NT, target_format=JELLY)
    # No output was written before the first frame was full.
    out = io.BytesIO()
    assert converted(PLAIN[:26] + QUOTED, out, NT, JELLY).statements == 2
    with read_frames(out.getvalue()) as frames:
        assert frames.options.rdf_star


def test_undeclared_quoted_triples(tmp_path: Path) -> None:
    with pytest.raises(StatementError, match="rdf_star"):
        convert(
            QUOTED,
            tmp_path / "x.jelly",
            source_format=NT,
            target_format=JELLY,
            settings=ConversionSettings(changes=OptionChanges(rdf_star=False)),
        )
    assert list(tmp_path.iterdir()) == []


def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.nt"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(PLAIN + QUOTED))
    writer.start()
    with pytest.raises(StatementError, match="rdf_star"):
        convert(pipe, tmp_path / "x.jelly")
    writer.join()


def test_errors_of_writing_name_the_text() -> None:
    typed = b'<urn:s> <urn:p> "1"^^<urn:d> .'
    with pytest.raises(TermError) as caught:
        convert(
            typed,
            io.BytesIO(),
            source_format=NT,
            target_format=JELLY,
            settings=ConversionSettings(changes=OptionChanges(max_datatype_table_size=0)),
        )
    assert str(caught.value).startswith("<bytes>: a literal of datatype urn:d")


def test_an_empty_stream_is_empty_text() -> None:
    for form in TEXTS:
        out = io.BytesIO()
        assert converted(write_bytes([]), out, JELLY, form).statements == 0
        again = io.BytesIO()
        assert converted(out.getvalue(), again, form, JELLY).statements == 0
        assert list(read(again.getvalue())) == []


@pytest.mark.parametrize("target", Format)
def test_without_a_source(target: Format) -> None:
    with pytest.raises(ValueError, match="at least one source is required"):
        convert([], io.BytesIO(), source_format=[], target_format=target)


def test_settings_that_do_not_match_the_formats() -> None:
    grouped = OptionChanges(logical_type=LogicalType.GRAPHS)
    for settings, words in (
        (ConversionSettings(take_frames=Frames(0, 0)), "applies to Jelly only"),
        (ConversionSettings(changes=grouped, frame_rows=2), "do not set a frame size"),
    ):
        for target in (JELLY, Format.JELLY_TEXT):
            with pytest.raises(ValueError, match=words):
                settings.check([NT, JELLY], target)
        ConversionSettings(changes=grouped).check([NT, JELLY], target)
    ConversionSettings(changes=grouped, frame_rows=2).check([NT], NT)


def test_all_combinations_of_formats() -> None:
    """All combinations of source and target formats give the same statements."""
    for source in Format:
        data = written(PLAIN[:26], NT, source)
        for target in Format:
            for sources in (data, [data, data]):
                found = written(sources, source, target)
                assert written(found, target, NT) == PLAIN[:26] * (1 + isinstance(sources, list))


@pytest.mark.parametrize("target", [JELLY, Format.RDF_THRIFT])
@pytest.mark.parametrize("quads", [False, True])
def test_quoted_triples_of_rdf_star_are_read_on_request(quads: bool, target: Format) -> None:
    """In N-Triples and N-Quads pyoxigraph rejects this notation, and quoted triples as subjects."""
    source = Format.N_QUADS if quads else NT
    asked = ConversionSettings(changes=OptionChanges(rdf_star=True))
    star = QUOTED.replace(b"(", b"").replace(b")", b"")
    for line in (star, b"<<( <urn:s> <urn:p> _:o )>> <urn:p> <urn:o> .\n"):
        with pytest.raises(TextError, match="line 2, column"):
            convert(
                [io.BytesIO(b"\n" + line)], io.BytesIO(), source_format=source, target_format=target
            )
        convert(
            [io.BytesIO(line)],
            io.BytesIO(),
            source_format=source,
            target_format=target,
            settings=asked,
        )


def test_labels_in_rdf_xml_are_names() -> None:
    pyoxigraph = pytest.importorskip("pyoxigraph")
    rdflib = pytest.importorskip("rdflib")
    labels = ["0", "a", "label-30", "a:b", "1x.y", "label-", "\u00e9"]
    nodes = [BlankNode(label) for label in labels]
    source = write_bytes([Triple(node, Iri("urn:x:p"), node) for node in nodes])
    out = io.BytesIO()
    convert(source, out, source_format=JELLY, target_format=Format.RDF_XML)
    graph = rdflib.Graph().parse(data=out.getvalue(), format="xml")
    assert len(graph) == len(set(graph.subjects())) == len(labels)
    assert all(s == o for s, o in graph.subject_objects())
    again = pyoxigraph.parse(out.getvalue(), pyoxigraph.RdfFormat.RDF_XML)
    assert len({quad.subject for quad in again}) == len(labels)


S, P, RELATIVE = map(Iri, ("urn:s", "urn:p", "rel"))


@pytest.mark.parametrize("sources", [1, 2])
@pytest.mark.parametrize("target", ["nt", "nq", "ttl", "rt", "rpb"])
@pytest.mark.parametrize(
    "triple",
    [
        Triple(RELATIVE, P, S),
        Triple(S, RELATIVE, S),
        Triple(S, P, Triple(S, P, RELATIVE)),
        Triple(S, P, Literal("<urn:a", datatype="rel")),
    ],
)
def test_relative_iris_of_jelly_are_not_written(triple: Triple, target: str, sources: int) -> None:
    options = StreamOptions(
        physical_type=PhysicalType.TRIPLES, logical_type=LogicalType.FLAT_TRIPLES, rdf_star=True
    )
    jelly = write_bytes([triple], options=options)
    with pytest.raises(TermError, match=r"<rel> is relative|IRI 'rel'|datatype"):
        convert([jelly] * sources, io.BytesIO(), source_format="jelly", target_format=target)


def test_less_than_signs_in_strings_are_not_relative_iris() -> None:
    out = io.BytesIO()
    convert(
        write_bytes([Triple(Iri("urn:s"), Iri("urn:p"), Literal("<rel> <"))]),
        out,
        source_format="jelly",
        target_format="nt",
    )
    assert out.getvalue() == b'<urn:s> <urn:p> "<rel> <" .\n'
