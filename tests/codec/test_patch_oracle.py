"""Random logs are read back unchanged, and Protocol Buffers agrees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jelly_plugins.codec import (
    GenericFactory,
    Operation,
    PatchDecoder,
    PatchEncoder,
    PatchOptions,
    PatchStreamType,
)
from jelly_plugins.codec.patch.operations import END
from jelly_plugins.proto import patch_pb2

from ..patch.strategies import logs
from .oracle import PatchOracle

pytestmark = pytest.mark.usefixtures("patch_kernel")


@given(logs(), st.sampled_from([1, 2, 5, 256]))
def test_round_trip(log: tuple[PatchOptions, list[Operation]], frame_rows: int) -> None:
    options, rows = log
    encoder = PatchEncoder(options, frame_rows=frame_rows)
    frames = [*encoder.add(rows), *encoder.finish()]
    decoder = PatchDecoder(GenericFactory())
    decoded = [each for data in frames for each in decoder.decode(data).operations]
    assert decoded + decoder.finish() == rows
    assert decoder.options == encoder.options
    oracle = PatchOracle()
    seen = [each for data in frames for each in oracle.operations(data)]
    assert seen + ([END] if options.stream_type is PatchStreamType.FLAT else []) == rows
    for data in frames:
        assert patch_pb2.RdfPatchFrame.FromString(data).SerializeToString() == data


@given(logs(), logs())
def test_streams_are_continued(
    one: tuple[PatchOptions, list[Operation]], other: tuple[PatchOptions, list[Operation]]
) -> None:
    options, rows = one
    # The other log rarely has the same options; if they differ, write the first log again.
    _, more = other if other[0] == options else one
    if options.stream_type is PatchStreamType.FLAT:
        return
    encoder = PatchEncoder(options)
    frames = [*encoder.add(rows), *encoder.finish()]
    encoder = PatchEncoder(options, continues=True)
    frames += [*encoder.add(more), *encoder.finish()]
    oracle = PatchOracle()
    assert [each for data in frames for each in oracle.operations(data)] == rows + more
