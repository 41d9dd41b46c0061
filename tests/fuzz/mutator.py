"""Breaks streams at random, the same way for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from jelly_plugins.codec.common.wire import varint

#: Bytes that mean something: tags of rows and terms, ends of ranges of lengths.
_INTERESTING = bytes.fromhex("00 01 02 0a 10 12 1a 22 2a 32 4a 52 5a 62 7a 7f 80 82 ff")


def flip(data: bytearray, random: Random) -> None:
    """Flip a bit."""
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def overwrite(data: bytearray, random: Random) -> None:
    """Put another byte in a byte's place."""
    data[random.randrange(len(data))] = random.choice(_INTERESTING)


def nudge(data: bytearray, random: Random) -> None:
    """Make a byte a little more or less: it may be a length or an id."""
    position = random.randrange(len(data))
    data[position] = (data[position] + random.choice((-2, -1, 1, 2))) % 256


def insert(data: bytearray, random: Random) -> None:
    """Put some bytes between others."""
    position = random.randrange(len(data))
    data[position:position] = random.choice(
        (random.randbytes(random.randrange(1, 9)), bytes(random.choices(_INTERESTING, k=4)))
    )


def lengthen(data: bytearray, random: Random) -> None:
    """Put a number of any size in a byte's place."""
    position = random.randrange(len(data))
    number = random.getrandbits(random.choice((7, 8, 14, 21, 32, 33, 63, 64, 70)))
    data[position : position + 1] = varint(number)


def remove(data: bytearray, random: Random) -> None:
    """Take some bytes away."""
    start = random.randrange(len(data))
    del data[start : start + random.choice((1, 1, 2, 10, 100))]


def duplicate(data: bytearray, random: Random) -> None:
    """Say something twice."""
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
    """Take the end away."""
    del data[random.randrange(1, len(data) + 1) :]


CHANGES: tuple[Callable[[bytearray, Random], None], ...] = (
    *(flip, flip, overwrite, nudge, nudge, insert),
    *(lengthen, remove, duplicate, swap, truncate),
)


def mutate(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Break a stream in one or several places; now and then, splice it with one of the others."""
    broken = bytearray(data)
    if random.random() < 0.1:
        other = random.choice(others)
        broken[random.randrange(len(broken)) :] = other[random.randrange(len(other)) :]
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        if broken:
            random.choice(CHANGES)(broken, random)
    return bytes(broken)
