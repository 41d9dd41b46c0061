"""After a rejection: the line numbers of subsequent errors, and calls that decoders reject."""

from __future__ import annotations

from typing import Any

import pytest

from jelly_plugins import StreamOptions, TextError, WireError
from jelly_plugins.codec.rdf.decoder import count_rows
from jelly_plugins.codec.text.transcoding import TextEncoder

from ..fuzz.comparison import native_of

PICKS = [lambda reference: reference, native_of]
LINE = b"<urn:s> <urn:p> <urn:o> .\n"


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines_after_a_rejected_chunk(pick: Any, end: bytes) -> None:
    line = LINE.replace(b"\n", end)
    encoder = pick(TextEncoder)(StreamOptions())
    encoder.feed(line * 2)
    with pytest.raises(TextError) as caught:
        encoder.feed(line + b"bad" + end + line * 3)
    assert caught.value.line == 4
    with pytest.raises(TextError) as caught:
        encoder.feed(line + b"bad" + end)
    assert caught.value.line == 9


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize("data", [b"\x0a\x00", b"\x0a\x02\x12\x00\x0a\x00"])
def test_rows_without_a_kind_cannot_be_counted(pick: Any, data: bytes) -> None:
    with pytest.raises(WireError, match="a row is empty"):
        pick(count_rows)(data)
