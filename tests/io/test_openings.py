"""The first bytes of sources: byte order marks, and bytes that are not Jelly."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from jelly_plugins import OptionsError, convert, read
from jelly_plugins.formats.table import read_statements
from jelly_plugins.io.names import Format
from jelly_plugins.sparql import ResultsReader

MARK = b"\xef\xbb\xbf"
LINE = b"<urn:s> <urn:p> <urn:o> .\n"


@pytest.mark.parametrize("format_", [Format.N_TRIPLES, Format.N_QUADS, Format.TURTLE, Format.TRIG])
def test_a_byte_order_mark_is_not_part_of_text(format_: Format) -> None:
    plain, marked = io.BytesIO(), io.BytesIO()
    for text, out in ((LINE, plain), (MARK + LINE, marked)):
        assert len(list(read_statements(text, format_))) == 1
        convert(text, out, source_format=format_, target_format="jelly")
    assert plain.getvalue() == marked.getvalue()
    rows = io.BytesIO()
    convert(MARK + LINE, rows, source_format=format_, target_format="rt")
    assert rows.getvalue()


@pytest.mark.parametrize("size", [1, 3, 5000])
def test_zeros_are_not_called_empty(size: int, tmp_path: Path) -> None:
    (tmp_path / "x.jelly").write_bytes(bytes(size))
    for source in (bytes(size), tmp_path / "x.jelly"):
        with pytest.raises(OptionsError, match=r"this is not Jelly.* there are only zeros"):
            list(read(source))
        with pytest.raises(OptionsError, match=r"not Jelly-SPARQL.* there are only zeros"):
            ResultsReader(source, format="jellys")
