"""Compare the codec with Protocol Buffers and an independently written reader."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from jelly_plugins import JellyError, PhysicalType
from jelly_plugins.codec import GenericFactory, PatchStreamType
from jelly_plugins.codec.patch.operations import COMMIT, END
from jelly_plugins.codec.rdf.restarts import MARK
from jelly_plugins.proto import patch_pb2, rdf_pb2

from ..fuzz.leaning import leaning_stream
from ..fuzz.statements import Terms, random_batches, random_options, random_patch_options
from .conftest import Kernel
from .oracle import Oracle, PatchOracle

OPTION_FIELDS = [field.name for field in rdf_pb2.RdfStreamOptions.DESCRIPTOR.fields]


@pytest.mark.parametrize("seed", range(0, 100, 10))
def test_the_oracle_reads_our_output(kernel: Kernel, seed: int) -> None:
    """Random statements and options, with restart points, from which the rest can be read."""
    rejected = points = 0
    for number in range(seed, seed + 10):
        rng = Random(f"output/{number}")
        options = random_options(rng)
        logical, name = rng.choice((0, options.physical_type.flat)), rng.choice(("", "é" * 100))
        options = replace(options, logical_type=logical, stream_name=name)
        settings = {"frame_rows": rng.choice((1, 7, 256)), "restart_every": rng.choice((1, 300))}
        encoder = kernel.Encoder(options, **settings)
        width = 3 if options.physical_type is PhysicalType.TRIPLES else 4
        terms, before = Terms(rng), None
        written: list[Any] = []
        frames: list[bytes] = []
        for _ in range(80):
            before = terms.statement(width, before)
            try:
                frames += encoder.add([before])
                written.append(tuple(before))
            except JellyError:
                # Not a term, not declared, or the small tables cannot hold its entries.
                rejected += 1
        frames += encoder.finish()
        oracle, decoder = Oracle(), kernel.Decoder(GenericFactory())
        for data in frames:
            rows = data.removeprefix(MARK)
            message = rdf_pb2.RdfStreamFrame.FromString(rows)
            assert message.SerializeToString() == rows
            frame = decoder.decode(data)
            assert frame.rows == len(message.rows)
            assert frame.statements == oracle.decode(data)
        assert list(map(tuple, kernel.statements(*frames))) == written
        assert decoder.options == encoder.options
        for field in OPTION_FIELDS:
            assert getattr(oracle.options, field) == getattr(decoder.options, field)
        for point in [at for at, data in enumerate(frames) if data.startswith(MARK)]:
            found = list(map(tuple, kernel.statements(*frames[point:])))
            assert found == written[len(written) - len(found) :]
            points += 1
    assert rejected
    assert points


@pytest.mark.parametrize("stream_type", PatchStreamType)
def test_the_oracle_reads_our_patches(kernel: Kernel, stream_type: PatchStreamType) -> None:
    """Random operations and options; another encoder continues the stream."""
    patches = 0
    for number in range(100):
        rng = Random(f"patches/{number}")
        options = replace(random_patch_options(rng), stream_type=stream_type)
        written: list[Any] = []
        frames: list[bytes] = []
        for continues in (False, True)[: 1 if stream_type is PatchStreamType.FLAT else 2]:
            settings = {"frame_rows": rng.choice((1, 5, 256)), "continues": continues}
            encoder = kernel.PatchEncoder(options, **settings)
            rows = [row for batch in random_batches(rng, options) for row in batch]
            for row in [*rows, COMMIT, END, END]:
                try:
                    frames += encoder.add([row])
                    written.append(row)
                except JellyError:
                    continue
            frames += encoder.finish()
        oracle, decoder = PatchOracle(), kernel.PatchDecoder(GenericFactory())
        seen = [row for data in frames for row in oracle.operations(data)]
        assert seen + [END] * (stream_type is PatchStreamType.FLAT) == written
        found = [row for data in frames for row in decoder.decode(data).operations]
        assert found + decoder.finish() == written
        assert decoder.options == encoder.options
        for data in frames:
            assert patch_pb2.RdfPatchFrame.FromString(data).SerializeToString() == data
        patches += written.count(END)
    assert patches >= 100


@pytest.mark.parametrize("seed", range(0, 2000, 100))
def test_the_codec_reads_other_output(kernel: Kernel, seed: int) -> None:
    """Unusual streams: any ids, any order of entries, terms that repeat or not."""
    read = 0
    for number in range(seed, seed + 100):
        decoder = kernel.Decoder(GenericFactory())
        oracle = Oracle()
        namespaces: list[Any] = []
        for data in leaning_stream(Random(f"oracle/{number}")):
            try:
                frame = decoder.decode(data)
            except JellyError:
                break
            namespaces += frame.namespaces
            assert frame.statements == oracle.decode(data)
            assert namespaces == oracle.namespaces
        else:
            read += 1
    assert read > 50
