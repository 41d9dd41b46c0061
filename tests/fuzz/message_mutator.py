"""Mutates inputs of coverage-guided fuzzing and keeps their form: messages with correct lengths,
and lines of terms. libFuzzer itself performs mutations that ignore lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from jelly_plugins.codec.common.wire import varint

from .leaning import leaning_log, leaning_stream
from .texts import random_text

#: A field: its tag on the wire, and its value: a number, bytes, or the fields of another message.
Field = list[Any]

_DEEPEST: Final = 6
_NUMBERS: Final = (0, 1, 2, 3, 7, 8, 9, 127, 128, 4096, 1 << 31, 1 << 32, 1 << 63)
_STRINGS: Final = (
    *(b"", b"x", b"urn:a", b"http://a/b#c", b"a b", "é😀".encode(), b"\xff", b"\xed\xa0\x80"),
    *(b"y" * 150, b"z" * 1100, b'"\\\n', b"en", b"http://www.w3.org/2001/XMLSchema#integer"),
)
_TOKENS: Final = (
    *(b"<urn:a>", b"<http://a/b>", b"<rel>", b"_:b", b"_:b.", b'"x"', b'"x"@en', b'"x"@en--ltr'),
    *(b'"1"^^<http://www.w3.org/2001/XMLSchema#double>', b'"x"^^bad', b'"\\u00e9\\n"', b"<<"),
    *(b">>", b"<<(", b")>>", b".", b"#c", "<http://é/>".encode(), b'"\xff"', b"<a b>", b'"'),
)
#: Number of bytes before the frames, and before the text.
_READER_HEAD: Final = 2
_WRITER_HEAD: Final = 3


def split_frames(data: bytes) -> list[bytes]:
    """Split frames with their lengths before them, in one byte, or in two after a byte of 255."""
    frames = []
    while data:
        size, head = data[0], 1
        if size == 255:
            size, head = int.from_bytes(data[1:3], "little"), 3
        frames.append(data[head : head + size])
        data = data[head + size :]
    return frames


def joined(frames: list[bytes]) -> bytes:
    """Join frames with their lengths, as in inputs."""
    return b"".join(
        bytes((len(frame),)) + frame
        if len(frame) < 255
        else b"\xff" + min(len(frame), 65535).to_bytes(2, "little") + frame[:65535]
        for frame in frames
    )


def parse(data: bytes, depth: int = 0) -> list[Field] | None:
    """Parse the fields of a message, or return None. Strings may parse as messages, too."""
    fields: list[Field] = []
    pos = 0
    while pos < len(data):
        tag, pos = _number(data, pos)
        if tag is None or not 0 < tag >> 3 < 32:
            return None
        value: Any
        if tag & 7 == 0:
            value, pos = _number(data, pos)
            if value is None:
                return None
        elif tag & 7 == 2:
            size, pos = _number(data, pos)
            if size is None or size > len(data) - pos:
                return None
            value = data[pos : pos + size]
            pos += size
            if depth < _DEEPEST and value:
                value = parse(value, depth + 1) or value
        else:
            return None
        fields.append([tag, value])
    return fields


def _number(data: bytes, pos: int) -> tuple[int | None, int]:
    number = shift = 0
    while pos < len(data) and shift < 64:
        byte = data[pos]
        pos += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, pos
    return None, pos


def serialize(fields: list[Field]) -> bytes:
    """Serialize fields to a message."""
    parts = []
    for tag, value in fields:
        parts.append(varint(tag))
        if isinstance(value, int):
            parts.append(varint(value & (1 << 64) - 1))
        else:
            body = value if isinstance(value, bytes) else serialize(value)
            parts += (varint(len(body)), body)
    return b"".join(parts)


def _change(fields: list[Field], rng: Random) -> None:
    """Change a field of a message, or of a message inside it."""
    while True:
        at = rng.randrange(len(fields))
        value = fields[at][1]
        if not isinstance(value, list) or rng.random() < 0.3:
            break
        fields = value
    kind = rng.randrange(6)
    if kind == 0 and isinstance(value, int):
        fields[at][1] = rng.choice((value + 1, max(0, value - 1), rng.choice(_NUMBERS)))
    elif kind == 0:
        fields[at][1] = rng.choice(_STRINGS)
    elif kind == 1:
        del fields[at]
    elif kind == 2:
        fields.insert(rng.randrange(len(fields) + 1), fields[at])
    elif kind == 3:
        fields.append(fields.pop(at))
    elif kind == 4:
        # Put the same value in another field.
        number = rng.randrange(1, 17)
        fields[at] = [number << 3 | fields[at][0] & 7, value]
    elif isinstance(value, bytes):
        fields[at][1] = value + rng.choice(_STRINGS)
    else:
        fields[at], fields[0] = fields[0], fields[at]


def mutate_frames(data: bytes, longest: int, seed: int) -> bytes:
    """Change frames, or insert some of another stream."""
    rng = Random(seed)
    head = bytearray((data + bytes(_READER_HEAD))[:_READER_HEAD])
    frames = split_frames(data[_READER_HEAD:])
    if rng.random() < 0.1:
        head[rng.randrange(_READER_HEAD)] = rng.randrange(256)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not frames or rng.random() < 0.1:
            other = rng.choice((leaning_stream, leaning_log))(rng)
            frames = rng.choice((frames + other, other + frames, other))
            continue
        at = rng.randrange(len(frames))
        fields = parse(frames[at])
        kind = rng.randrange(8)
        if kind == 0:
            frames.append(frames[at])
        elif kind == 1 and fields:
            # Split a frame in two.
            cut = rng.randrange(len(fields) + 1)
            frames[at : at + 1] = [serialize(fields[:cut]), serialize(fields[cut:])]
        elif kind == 2:
            frames[at : at + 2] = [b"".join(frames[at : at + 2])]
        elif fields:
            _change(fields, rng)
            frames[at] = serialize(fields)
        else:
            frames[at] = frames[at] + rng.choice(frames)
    return (bytes(head) + joined(frames))[:longest]


def mutate_lines(data: bytes, longest: int, seed: int) -> bytes:
    """Change terms of lines, or insert other lines."""
    rng = Random(seed)
    head = bytearray((data + bytes(_WRITER_HEAD))[:_WRITER_HEAD])
    lines = data[_WRITER_HEAD:].split(b"\n")
    separator = b"\t" if head[0] % 5 == 2 else b" "
    if rng.random() < 0.1:
        head[rng.randrange(_WRITER_HEAD)] = rng.randrange(256)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(lines))
        words = lines[at].split(separator)
        word = rng.randrange(len(words))
        kind = rng.randrange(7)
        if kind == 0:
            lines[at:at] = b"".join(random_text(rng, 3)).replace(b" ", separator).split(b"\n")
        elif kind == 1:
            lines.insert(rng.randrange(len(lines) + 1), lines[at])
        elif kind == 2:
            del words[word]
        elif kind == 3:
            words.insert(rng.randrange(len(words) + 1), words[word])
        elif kind == 4:
            # Use a term of another line.
            words[word] = rng.choice(rng.choice(lines).split(separator))
        else:
            words[word] = rng.choice(_TOKENS)
        if kind > 1:
            lines[at] = separator.join(words)
    return (bytes(head) + b"\n".join(lines))[:longest]


MUTATORS: Final[dict[str, Callable[[bytes, int, int], bytes]]] = {
    "readers": mutate_frames,
    "writers": mutate_lines,
}
