"""Damages streams at random; the same seed gives the same result."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from jelly_plugins.codec.common.wire import varint

#: Bytes with a meaning: tags of rows and terms, limits of ranges of lengths.
_INTERESTING = bytes.fromhex("00 01 02 0a 10 12 1a 22 2a 32 4a 52 5a 62 7a 7f 80 82 ff")


def flip(data: bytearray, random: Random) -> None:
    """Flip a bit."""
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def overwrite(data: bytearray, random: Random) -> None:
    """Replace a byte."""
    data[random.randrange(len(data))] = random.choice(_INTERESTING)


def nudge(data: bytearray, random: Random) -> None:
    """Increase or decrease a byte a little: it may be a length or an id."""
    position = random.randrange(len(data))
    data[position] = (data[position] + random.choice((-2, -1, 1, 2))) % 256


def insert(data: bytearray, random: Random) -> None:
    """Insert some bytes."""
    position = random.randrange(len(data))
    data[position:position] = random.choice(
        (random.randbytes(random.randrange(1, 9)), bytes(random.choices(_INTERESTING, k=4)))
    )


def lengthen(data: bytearray, random: Random) -> None:
    """Replace a byte with a number of any size."""
    position = random.randrange(len(data))
    number = random.getrandbits(random.choice((7, 8, 14, 21, 32, 33, 63, 64, 70)))
    data[position : position + 1] = varint(number)


def remove(data: bytearray, random: Random) -> None:
    """Remove some bytes."""
    start = random.randrange(len(data))
    del data[start : start + random.choice((1, 1, 2, 10, 100))]


def duplicate(data: bytearray, random: Random) -> None:
    """Repeat some bytes."""
    start = random.randrange(len(data))
    chunk = data[start : start + random.choice((2, 10, 100, 1000))]
    position = random.choice((start, random.randrange(len(data))))
    data[position:position] = chunk * random.choice((1, 1, 1, 50))


def swap(data: bytearray, random: Random) -> None:
    """Move a chunk to another place."""
    start = random.randrange(len(data))
    chunk = data[start : start + random.randrange(1, 200)]
    del data[start : start + len(chunk)]
    position = random.randrange(len(data) + 1)
    data[position:position] = chunk


def truncate(data: bytearray, random: Random) -> None:
    """Remove the end."""
    del data[random.randrange(1, len(data) + 1) :]


CHANGES: tuple[Callable[[bytearray, Random], None], ...] = (
    *(flip, flip, overwrite, nudge, nudge, insert),
    *(lengthen, remove, duplicate, swap, truncate),
)


def mutate(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Damage a stream in one or several places; occasionally splice it with one of the others."""
    broken = bytearray(data)
    if random.random() < 0.1:
        other = random.choice(others)
        broken[random.randrange(len(broken)) :] = other[random.randrange(len(other)) :]
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        if broken:
            random.choice(CHANGES)(broken, random)
    return bytes(broken)
