"""Defects of pyjelly 0.8 in reading and writing bytes and statements; `test_checklist` has those
of rows that it accepts.
"""

from __future__ import annotations

import io

import pytest

from jelly_plugins import (
    BlankNode,
    Iri,
    JellyError,
    LimitError,
    PhysicalType,
    Quad,
    StreamOptions,
    Triple,
    read,
    read_frames,
    write,
    write_frames,
)
from jelly_plugins.codec import GenericFactory
from jelly_plugins.formats.transcode import transcode
from jelly_plugins.io.streams import encode

from .. import programs
from . import wire_builder as w
from .conftest import Kernel

S, P, OB = Iri("urn:s"), Iri("urn:p"), Iri("urn:o")
SPO = Triple(S, P, OB)


def test_blank_nodes_of_two_files_do_not_merge() -> None:
    file = io.BytesIO()
    write([Triple(BlankNode("b"), P, OB)], file)
    out = io.BytesIO()
    transcode([file.getvalue(), file.getvalue()], out)
    assert len({statement.subject for statement in read(out.getvalue())}) == 2


def test_graph_names_are_not_lost() -> None:
    quads = [Quad(S, P, OB, Iri("urn:g1")), Quad(S, P, OB, Iri("urn:g2"))]
    for physical in (PhysicalType.QUADS, PhysicalType.GRAPHS):
        file = io.BytesIO()
        write(quads, file, options=StreamOptions(physical_type=physical))
        assert list(read(file.getvalue())) == quads


def test_namespaces_are_read_and_written_without_brackets(kernel: Kernel) -> None:
    (data,) = encode([SPO], namespaces={"ex": "http://example.org/"})
    assert b"<" not in data
    (frame,) = kernel.decode(data)
    assert frame.namespaces == [("ex", Iri("http://example.org/"))]


@pytest.mark.parametrize("physical", list(PhysicalType))
def test_an_empty_stream_can_be_read(physical: PhysicalType) -> None:
    options = StreamOptions(physical_type=physical)
    for writing in (
        lambda file: write([], file, options=options),
        lambda file: write_frames([], file, options=options),
        lambda file: write_frames([[]], file, options=options),
    ):
        file = io.BytesIO()
        writing(file)
        assert file.getvalue()
        assert list(read(file.getvalue())) == []


@pytest.mark.parametrize("depth", [10, 64, 65, 90, 100, 1000])
def test_quoted_triples_100_deep_are_not_written_and_then_rejected(
    kernel: Kernel, depth: int
) -> None:
    statement = SPO
    for _ in range(depth):
        statement = Triple(statement, P, OB)
    try:
        frames = kernel.encode([statement], StreamOptions(rdf_star=True))
    except LimitError:
        assert depth > 64
    else:
        assert kernel.statements(*frames) == [statement]
        assert depth <= 64


@pytest.mark.parametrize("delimited", [True, False])
@pytest.mark.parametrize("first", [1, 2])
def test_a_first_read_of_fewer_than_three_bytes_is_not_misdetected(
    first: int, delimited: bool
) -> None:
    class Slow(io.BytesIO):
        """Returns the first bytes alone, as a socket may."""

        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(first if self.tell() == 0 else size)

        read1 = read

    data = w.frame(w.options(), *w.SPO, w.spo())
    with read_frames(Slow(w.stream(data) if delimited else data)) as frames:
        assert [frame.statements for frame in frames] == [[SPO]]
        assert frames.delimited is delimited


def test_a_declared_length_of_8_gb_is_rejected() -> None:
    asked: list[int] = []

    class Recording(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            asked.append(-1 if size is None else size)
            return super().read(size)

        read1 = read

    data = w.stream(w.frame(w.options())) + b"\x80\x80\x80\x80\x20" + b"x" * 1000
    with pytest.raises(LimitError, match="8589934592"):
        list(read(Recording(data)))
    assert min(asked) > 0
    assert max(asked) <= 1 << 20


REPEATS = """
import tracemalloc
from jelly_plugins import LimitError
from jelly_plugins.codec import GenericFactory
from tests.codec.conftest import load_kernel
from tests.codec.test_hostile import repeats

data = repeats()
decoder = load_kernel({kernel!r}).Decoder(GenericFactory())
tracemalloc.start()
try:
    decoder.decode(data)
except LimitError as error:
    print("rejected")
print(tracemalloc.get_traced_memory()[1])
"""


def test_a_20_mb_frame_of_repeats_does_not_expand(kernel: Kernel) -> None:
    code = REPEATS.format(kernel=kernel.name)
    done = programs.run(code)
    result, peak = done.stdout.split()
    assert result == "rejected"
    assert int(peak) < 20_000_000


BAD_INPUT = [
    w.frame(w.options(), w.triple(w.iri(name=99), w.iri(), w.iri())),
    w.frame(w.options(), w.triple()),
    w.frame(w.options(), w.name("x", id=2**31)),
    w.frame(w.options(7)),
    w.frame(w.options(), b"\x0a\x00"),
    b"\x0a\x05\x0a",
    b"\xff" * 30,
]


@pytest.mark.parametrize("data", BAD_INPUT, ids=range(len(BAD_INPUT)))
def test_bad_input_has_one_type_of_error(kernel: Kernel, data: bytes) -> None:
    """pyjelly raises IndexError, TypeError, KeyError, AssertionError and DecodeError."""
    with pytest.raises(JellyError):
        kernel.Decoder(GenericFactory()).decode(data)
