"""Streams for decoders, as lists of frames: made here, real ones, and the results of cutting,
flipping and splicing these at random.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from typing import Final

from jelly_plugins.codec import (
    DEFAULT_LIMITS,
    FrameSplitter,
    Limits,
)
from jelly_plugins.codec.common.wire import varint
from jelly_plugins.codec.patch.encoder import PatchEncoder
from jelly_plugins.codec.rdf.encoder import Encoder
from jelly_plugins.errors import JellyError

from ..shared_data import ROOT, SHARED
from .leaning import leaning_log, leaning_stream
from .statements import (
    random_batches,
    random_options,
    random_patch_options,
    random_restarts,
    random_steps,
)

_TIGHT: Final = (
    Limits(frame_rows=20),
    Limits(frame_repeats=1),
    Limits(string_bytes=12),
    Limits(frame_expansion=200),
    Limits(lookup_characters=100),
    Limits(nesting=1),
    Limits(nesting=0, frame_bytes=300),
)


#: Number of different made streams.
_MADE: Final = 5000


def limits_for(rng: random.Random) -> Limits:
    return rng.choice(_TIGHT) if rng.random() < 0.2 else DEFAULT_LIMITS


def made_stream(rng: random.Random) -> list[bytes]:
    """Make a valid stream."""
    options = replace(random_options(rng), version=0)
    settings = random_restarts(rng)
    encoder = Encoder(options, namespaces=True, frame_rows=rng.choice((5, 20)), **settings)
    frames: list[bytes] = []
    for name, *arguments in random_steps(rng, options):
        try:
            made = getattr(encoder, name)(*arguments)
        except JellyError:
            continue
        if name in ("add", "restart"):
            frames += made
        elif name == "flush":
            frames.append(made)
    return frames + encoder.finish()


@cache
def made_stream_of(number: int) -> list[bytes]:
    """Return one of the made streams; making one takes longer than reading it."""
    return made_stream(random.Random(f"made/{number}"))


def split(data: bytes) -> list[bytes]:
    splitter = FrameSplitter()
    return [*splitter.feed(data), *splitter.finish()]


@cache
def real_streams() -> list[list[bytes]]:
    """Return the streams of our vectors and, if available, of the official suite."""
    streams = []
    folders = (ROOT / "conformance/vectors", SHARED / "conformance/jelly-rdf")
    for path in sorted(path for folder in folders for path in folder.glob("**/*.jelly")):
        if path.stat().st_size < 20_000:
            try:
                streams.append(split(path.read_bytes()))
            except JellyError:
                # Some files of the suites do not even consist of frames.
                continue
    return streams


#: Bytes that are often special.
_BYTES: Final = (0, 1, 2, 8, 10, 16, 18, 26, 0x7F, 0x80, 0xFF)


def _repeat(rng: random.Random, data: bytearray, at: int) -> None:
    start = rng.randrange(len(data) + 1)
    data[at:at] = data[start : start + rng.randrange(60)]


def _flip(rng: random.Random, data: bytearray, at: int) -> None:
    if at < len(data):
        data[at] ^= 1 << rng.randrange(8)


def _put(rng: random.Random, data: bytearray, at: int) -> None:
    data[at : at + 1] = bytes((rng.choice((*_BYTES, rng.randrange(256))),))


def _put_number(rng: random.Random, data: bytearray, at: int) -> None:
    data[at : at + 1] = varint(rng.getrandbits(rng.choice((7, 14, 32, 33, 64, 70))))


def _insert(rng: random.Random, data: bytearray, at: int) -> None:
    data[at:at] = rng.randbytes(rng.choice((1, 2, 5)))


def _remove(rng: random.Random, data: bytearray, at: int) -> None:
    del data[at : at + rng.choice((1, 2, 5, 8))]


def _cut(_: random.Random, data: bytearray, at: int) -> None:
    del data[at:]


#: What damages bytes at a place.
DAMAGES: Final = (_flip, _put, _put_number, _insert, _remove, _repeat, _cut)
#: How often a stream is damaged.
_TIMES: Final = (0, 1, 1, 1, 2, 4)


def damaged(rng: random.Random, data: bytes, times: int | None = None) -> bytes:
    """Damage bytes in one place usually, in several, or not at all."""
    made = bytearray(data)
    for _ in range(rng.choice(_TIMES) if times is None else times):
        rng.choice(DAMAGES)(rng, made, rng.randrange(len(made) + 1))
    return bytes(made)


def mutate(rng: random.Random, frames: list[bytes], other: list[bytes]) -> list[bytes]:
    """Damage frames of a stream, or splice them with those of another one."""
    frames = list(frames)
    for _ in range(rng.choice(_TIMES)):
        if not frames:
            break
        at = rng.randrange(len(frames))
        frame = frames[at]
        pos = rng.randrange(len(frame) + 1)
        kind = rng.randrange(9)
        if kind == 0:
            frames[at : at + 1] = [frame[:pos], frame[pos:]]
        elif kind == 1 and other:
            frames.insert(at, rng.choice(other))
        elif kind == 2 and other:
            chunk = rng.choice(other)
            start = rng.randrange(len(chunk) + 1)
            frames[at] = frame[:pos] + chunk[start : start + rng.randrange(1, 80)] + frame[pos:]
        else:
            frames[at] = damaged(rng, frame, 1)
    return frames


def damaged_stream(rng: random.Random) -> list[bytes]:
    def pick() -> list[bytes]:
        if rng.random() < 0.5:
            return made_stream_of(rng.randrange(_MADE))
        return rng.choice(real_streams())

    return mutate(rng, pick(), pick())


def made_log(rng: random.Random) -> list[bytes]:
    """Make a valid log, which is occasionally truncated."""
    options = random_patch_options(rng)
    encoder = PatchEncoder(options, frame_rows=rng.choice((5, 20)))
    frames: list[bytes] = []
    for batch in random_batches(rng, options):
        for operation in batch:
            try:
                frames += encoder.add([operation])
            except JellyError:
                continue
    try:
        return frames + encoder.finish()
    except JellyError:
        return frames


def damaged_log(rng: random.Random) -> list[bytes]:
    return mutate(rng, made_log(rng), made_log(rng))


def leaning(rng: random.Random) -> list[bytes]:
    """Make a stream of Jelly-RDF whose frames depend on earlier ones, sometimes damaged."""
    frames = leaning_stream(rng)
    return mutate(rng, frames, leaning_stream(rng)) if rng.random() < 0.2 else frames


def leaning_in_log(rng: random.Random) -> list[bytes]:
    """Make such a stream of Jelly-Patch."""
    frames = leaning_log(rng)
    return mutate(rng, frames, leaning_log(rng)) if rng.random() < 0.2 else frames
