"""IRIs and statements that recur in text."""

from __future__ import annotations

from typing import Any

import pytest

from jelly_plugins.codec import Encoder, Iri, Limits, StreamOptions
from jelly_plugins.codec.text import transcoding as text

native = pytest.importorskip("jelly_plugins.codec._native", reason="the kernel is not built")


@pytest.mark.parametrize("most", [0, 1, 10, 1000])
@pytest.mark.parametrize("frame_rows", [1, 60])
def test_lines_that_repeat_are_written_as_statements_are(most: int, frame_rows: int) -> None:
    settings: dict[str, Any] = {"frame_rows": frame_rows, "limits": Limits(frame_repeats=most)}
    rows = [(Iri("urn:s"), Iri("urn:p"), Iri(f"urn:{name}")) for name in "o" * 45 + "b" * 45 + "oo"]
    encoder = Encoder(StreamOptions(), **settings)
    expected = encoder.add(rows) + encoder.finish()
    data = b"".join(
        b"<%s> <%s> <%s> .\n" % tuple(iri.value.encode() for iri in row) for row in rows
    )
    for module in (native, text):
        encoder = module.TextEncoder(StreamOptions(), **settings)
        assert encoder.feed(data[:100]) + encoder.feed(data[100:]) + encoder.finish() == expected


def test_parsers_with_different_options() -> None:
    # An encoder may get lines of more than one parser.
    from jelly_plugins.codec.common.limits import DEFAULT_LIMITS
    from jelly_plugins.codec.text.ntriples import Dialect, LineParser
    from jelly_plugins.errors import TextError

    encoder = native.Encoder(StreamOptions())
    line = b"<relative> <urn:p> <urn:o> .\n"

    def parser(relative_iris: bool) -> LineParser:
        return LineParser(Dialect.RDF_STAR, False, relative_iris, DEFAULT_LIMITS, quads=False)

    for _ in range(3):
        encoder.add_text(line, parser(True))
        encoder.add_text(b"<urn:s> <urn:p> <urn:o> .\n", parser(True))
    with pytest.raises(TextError):
        encoder.add_text(line, parser(False))
