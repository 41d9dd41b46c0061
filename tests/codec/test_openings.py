"""Readers do not confuse Jelly-RDF and Jelly-Patch, and report which one they got."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import pytest

from jelly_plugins import Iri, SourceError, StreamOptions, Triple, read, read_frames
from jelly_plugins.codec import (
    Encoder,
    LogicalType,
    PatchEncoder,
    PatchOptions,
    PatchStreamType,
    PhysicalType,
    delimit,
)
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, END
from jelly_plugins.patch import PatchFormat, PatchReader, read_patches
from jelly_plugins.tools.inspection import inspect

RDF_OPTIONS = [
    StreamOptions(physical_type=PhysicalType.QUADS, logical_type=LogicalType.FLAT_QUADS),
    StreamOptions(physical_type=PhysicalType.GRAPHS, logical_type=LogicalType.DATASETS),
    StreamOptions(logical_type=LogicalType.FLAT_TRIPLES, stream_name="named"),
    StreamOptions(stream_name="named", rdf_star=True, generalized_statements=True),
]


def rdf(options: StreamOptions) -> bytes:
    encoder = Encoder(options)
    if options.physical_type is PhysicalType.TRIPLES:
        encoder.add([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])
    return encoder.finish()[0]


def patch(stream_type: PatchStreamType) -> bytes:
    encoder = PatchEncoder(PatchOptions(stream_type=stream_type))
    return (encoder.add([BEGIN, COMMIT, END]) + encoder.finish())[0]


def arrow_rows(data: bytes) -> Any:
    return pytest.importorskip("jelly_plugins.arrow").read(data)


@pytest.mark.parametrize(
    "reader", [lambda data: list(read(data)), read_frames, inspect, arrow_rows]
)
@pytest.mark.parametrize("packed", [bytes, delimit, gzip.compress])
@pytest.mark.parametrize("stream_type", PatchStreamType)
def test_readers_of_jelly_rdf_reject_jelly_patch(
    reader: Callable[[bytes], Any],
    packed: Callable[[bytes], bytes],
    stream_type: PatchStreamType,
) -> None:
    with pytest.raises(SourceError, match=r"^<bytes>: this is Jelly-Patch, not Jelly-RDF$"):
        list(reader(packed(patch(stream_type))))


@pytest.mark.parametrize("reader", [PatchReader, read_patches])
@pytest.mark.parametrize("format", [None, *PatchFormat])
def test_readers_of_logs_reject_jelly_rdf(
    reader: Callable[..., Any],
    format: PatchFormat | None,  # noqa: A002
) -> None:
    for options in RDF_OPTIONS:
        for data in (rdf(options), delimit(rdf(options))):
            with pytest.raises(SourceError, match=r"^<bytes>: this is Jelly-RDF, not a log of "):
                list(reader(data, format=format))
