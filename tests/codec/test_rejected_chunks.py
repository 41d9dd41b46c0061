"""The line numbers of errors after a rejection."""

from __future__ import annotations

from typing import Any

import pytest

from jelly_plugins import StreamOptions, TextError
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
