"""Text that can be read in one way only."""

from __future__ import annotations

import pytest

from jelly_plugins.codec import are_plain
from jelly_plugins.codec.text.plain import are_plain as reference

PLAIN = (
    b"<urn:s> <urn:p> <urn:o> .\n",
    b"_:a <p> _:b .\n",
    '<urn:ä> <urn:p> "ü \\" \\\\ \\n <x> . #" .\n'.encode(),
    b'<urn:s> <urn:p> "x"@en-GB .\n<urn:s> <urn:p> "1"^^<urn:d> .\n',
    b"",
)
OTHER = (
    b"<urn:s> <urn:p> <urn:o> <urn:g> .\n",
    b"<urn:s> <urn:p> <urn:o> . # comment\n",
    b"# comment\n",
    b"\n",
    b"<urn:s> <urn:p> <urn:o> .",
    b"<urn:s> <urn:p> <urn:o> . \n",
    b"<urn:s>  <urn:p> <urn:o> .\n",
    b"<urn:s> <urn:p> <urn:o>.\n",
    b"<urn:s> <urn:p> <urn:o> .\r\n",
    b"<urn:s> _:p <urn:o> .\n",
    b"<urn:s> <urn:p> <urn:o> .\n<urn:s> <urn:p> <urn:o> <urn:p> <urn:o> .\n",
    b"<urn:s> <urn:p> <urn:\\u0041> .\n",
    b"<urn:s> <urn:p> <urn:a b> .\n",
    b'<urn:s> <urn:p> "a\nb" .\n',
    b'<urn:s> <urn:p> "x"@en--ltr .\n',
    b'<urn:s> <urn:p> "x .\n',
    b'"x" <urn:p> <urn:o> .\n',
    b"<< <urn:s> <urn:p> <urn:o> >> <urn:p> <urn:o> .\n",
)


@pytest.mark.parametrize("text", PLAIN)
def test_plain_lines(text: bytes) -> None:
    assert are_plain(text)
    assert reference(text)


@pytest.mark.parametrize("text", OTHER)
def test_other_lines(text: bytes) -> None:
    assert not are_plain(text)
    assert not reference(text)
    assert not are_plain(PLAIN[0] + text)
    assert not reference(PLAIN[0] + text)


@pytest.mark.parametrize("text", [PLAIN[2], PLAIN[3]])
def test_no_part_of_a_line_is_plain(text: bytes) -> None:
    for size in range(1, len(text)):
        if not text[:size].endswith(b" .\n"):
            assert not are_plain(text[:size])
            assert not reference(text[:size])
