"""``jelly inspect``, and the memory that commands take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jelly_plugins import Format, Frame, Iri, PhysicalType, StreamOptions, write, write_frames

from ..shared_data import shared
from .command import (
    EX,
    QUADS,
    TRIPLES,
    assert_failed,
    jelly,
    jelly_process,
    quads_file,
    triples_file,
)


def test_the_report_for_people(tmp_path: Path) -> None:
    path = triples_file(tmp_path, "x.jelly.gz")
    done = jelly("inspect", path)
    assert (done.code, done.err) == (0, "")
    lines = {line.split()[0]: line.split()[1:] for line in done.text.splitlines() if line.strip()}
    assert lines["source"] == [str(path)]
    assert lines["compression"] == ["gzip"]
    assert lines["statements"] == ["7"]
    assert lines["physical"] == ["type", "TRIPLES"]
    assert lines["TRIPLE"] == ["7"]
    assert lines["DATATYPE"] == ["1"]


def test_the_report_as_json(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    frames = [
        Frame(0, statements=QUADS[:7], namespaces=[("ex", Iri(EX))], metadata={"k": b"v"}),
        Frame(1, metadata={"k": b"\xff", "l": b""}),
        Frame(2, statements=QUADS[7:], namespaces=[("ex", Iri(EX + "2")), ("ex", Iri(EX))]),
    ]
    options = StreamOptions(physical_type=PhysicalType.GRAPHS, stream_name="a name")
    write_frames(frames, path, options=options, namespaces=True)
    done = jelly("inspect", path, "--json", "--frames")
    *reported, report = map(json.loads, done.text.splitlines())
    assert [each["statements"] for each in reported] == [7, 0, 1]
    assert reported[0]["metadata"] == {"k": "v"}
    assert reported[1]["metadata"] == {"k": "ff", "l": ""}
    assert reported[1]["rows"] == {}
    assert report["options"]["physical_type"] == "GRAPHS"
    assert report["options"]["stream_name"] == "a name"
    assert report["options"]["version"] == 2
    assert report["namespaces"] == {"ex": [EX, EX + "2"]}
    assert report["metadata"] == {"k": 2, "l": 1}
    assert (report["frames"], report["empty_frames"], report["statements"]) == (3, 1, 8)
    assert report["graphs"] == report["rows"]["GRAPH_START"] == report["rows"]["GRAPH_END"] == 2
    assert report["rows"]["NAMESPACE"] == 3
    assert report["rows"]["OPTIONS"] == 1
    assert report["file_size"] == path.stat().st_size
    assert report["size"] == sum(each["size"] for each in reported)
    assert report["bytes_per_statement"] == report["size"] / 8


def test_frames_are_printed_until_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    write_frames([TRIPLES, TRIPLES], path, options=StreamOptions())
    path.write_bytes(path.read_bytes()[:-1])
    done = jelly("inspect", path, "--frames")
    assert done.code == 1
    assert done.text.startswith("frame 0: statements 7, size ")
    assert "frame 1: the input ends inside a frame" in done.err


def test_stdin_and_concatenated_streams(tmp_path: Path) -> None:
    both = triples_file(tmp_path, "a").read_bytes() + quads_file(tmp_path, "b").read_bytes()
    assert_failed(jelly("inspect", "-", stdin=both), 1, "options differ")
    report = json.loads(jelly("inspect", "-", "--concatenated", "--json", stdin=both).text)
    assert (report["streams"], report["statements"], report["file_size"]) == (2, 15, None)


def test_limits_are_adjustable(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    assert_failed(
        jelly("--limit", "frame_rows=3", "inspect", path), 1, "(jelly --limit frame_rows=NUMBER ..."
    )
    write(TRIPLES, path, options=StreamOptions(max_name_table_size=4096))
    assert jelly("--limit", "name_table=4096", "inspect", path).code == 0
    assert_failed(
        jelly("--limit", "name_table=4095", "inspect", path),
        1,
        "(jelly --limit name_table=NUMBER ...",
    )


def test_text_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "x.ttl"
    path.write_text("@prefix ex: <http://example.org/> . ex:s a ex:o, <rel> .")
    assert_failed(jelly("inspect", path, "--from", "jelly"), 1, "text, not Jelly")
    assert_failed(jelly("inspect", path), 1, "x.ttl", "need a base")
    done = jelly("inspect", path, "--base", EX)
    assert [line.split()[-1] for line in done.text.splitlines()[1:]] == [
        *("ttl", "56", "2", "namespaces"),
        EX,
    ]
    assert_failed(jelly("inspect", path, "--frames"), 2, "--frames does not apply to text")


@pytest.mark.parametrize("form", Format)
def test_every_format_is_inspected_and_validated(form: Format, tmp_path: Path) -> None:
    source, path = triples_file(tmp_path, "source.jelly"), tmp_path / f"x.{form}"
    jelly("convert", source, "-o", path)
    if form is not Format.JELLY_TEXT:
        report = json.loads(jelly("inspect", path, "--json").text)
        assert (report["statements"], report["source"]) == (len(TRIPLES), str(path))
    done = jelly("validate", path, "--against", source, "--terms")
    assert f"\nstatements        {len(TRIPLES)}\n" in done.text
    assert done.text.endswith("comparison\n  equal  yes\n")
    other = tmp_path / "other.nt"
    other.write_text("<urn:s> <urn:p> <urn:o> .\n")
    assert jelly("validate", path, "--against", other).code == 1


@pytest.mark.parametrize("name", ["g", "so"])
@pytest.mark.parametrize(("form", "kind"), [("rt", "RDF Thrift"), ("rpb", "RDF Protobuf")])
@pytest.mark.parametrize("command", ["inspect --from jelly", "validate --from jelly"])
def test_formats_of_apache_jena_are_named(command: str, form: str, kind: str, name: str) -> None:
    path = shared(f"data/jena/{name}.{form}{'.gz' * (name == 'so')}")
    done = jelly(*command.split(), path)
    assert_failed(done, 1, f"this is {kind}, not Jelly: jelly convert --from {form}")


def test_malformed_jelly_is_not_called_rdf_protobuf(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    # The physical type.
    data = path.read_bytes()
    at = data.index(b"\x10\x01")
    path.write_bytes(data[: at + 1] + b"\x07" + data[at + 2 :])
    result = jelly("inspect", path)
    assert result.code == 1
    assert "RDF Protobuf" not in result.err


@pytest.mark.parametrize(
    ("few", "many", "form"),
    [
        # From some 100,000 on every cache of the codec is as full as it gets.
        (120_000, 240_000, "nt"),
        pytest.param(1_000_000, 4_000_000, "nt", marks=pytest.mark.slow),
        pytest.param(1_000_000, 4_000_000, "ttl", marks=pytest.mark.slow),
    ],
)
def test_more_triples_take_no_more_memory(few: int, many: int, form: str, tmp_path: Path) -> None:
    text, data = tmp_path / f"x.{form}", tmp_path / "x.jelly"

    def peaks(number: int) -> Iterator[int]:
        """The peaks of converting triples to Jelly and back, in bytes."""
        write_triples(text, number)
        for source, target in ((text, data), (data, text)):
            done = jelly_process("convert", source, "-o", target, "--force", first=PRINT_PEAK)
            assert done.code == 0, done
            yield int(done.out)

    for small, large in zip(list(peaks(few)), list(peaks(many)), strict=True):
        assert large < 150_000_000
        assert abs(large - small) < 0.2 * small


PRINT_PEAK = "import atexit, tests.memory; atexit.register(lambda: print(tests.memory.peak()))"


def write_triples(path: Path, number: int) -> None:
    """Triples with ever new subjects, literals and blank nodes."""
    with path.open("w") as file:
        for n in range(number // 5):
            item = f"<http://example.org/{n % 997}/item/{n}>"
            file.write(
                f"{item} <http://example.org/type> <http://example.org/class/{n % 53}> .\n"
                f'{item} <http://example.org/ns#label> "item number {n}"@en .\n'
                f"{item} <http://example.org/ns#value> "
                f'"{n * 7}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
                f"{item} <http://example.org/ns#part> _:b{n} .\n"
                f"_:b{n} <http://example.org/ns#next> <http://example.org/item/{n + 1}> .\n"
            )
