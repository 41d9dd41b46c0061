"""Run the corpus on both kernels, see README.md: short inputs that reach much of the kernel's code.

The first bytes of an input select the operation and its settings. The rest contains frames with
their lengths for readers; lines of text for writers, from which statements and columns are also
made.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from jelly_plugins.codec import (
    DEFAULT_LIMITS,
    Limits,
    Operation,
    OperationKind,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
    PhysicalType,
    StreamOptions,
)
from jelly_plugins.codec.patch.columns import PatchColumnDecoder
from jelly_plugins.codec.patch.decoder import PatchDecoder
from jelly_plugins.codec.patch.encoder import PatchEncoder
from jelly_plugins.codec.patch.operations import END
from jelly_plugins.codec.rdf.decoder import Decoder
from jelly_plugins.codec.rdf.encoder import Encoder
from jelly_plugins.codec.text.columns import ColumnDecoder, ColumnEncoder, Columns
from jelly_plugins.codec.text.ntriples import Dialect, LineParser, Notation
from jelly_plugins.codec.text.transcoding import TextDecoder, TextEncoder
from jelly_plugins.errors import JellyError
from jelly_plugins.oxigraph.rows import RowFactory

from . import readers, writers
from .comparison import Case, native
from .texts import column_of

CORPUS: Final = Path(__file__).parent / "corpus"

_LIMITS: Final = (
    *(DEFAULT_LIMITS, DEFAULT_LIMITS, DEFAULT_LIMITS),
    Limits(frame_rows=20, frame_repeats=2, nesting=2, string_bytes=200, frame_expansion=2000),
)
_NOTATIONS: Final = tuple(Notation)
_DIALECTS: Final = tuple(Dialect)


def _validated_by_rows(_limits: Limits) -> RowFactory:
    return RowFactory()


# Readers


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


def reader_case(data: bytes) -> Case:
    """Make a case for a reader."""
    kind, settings = (*data[:2], 0, 0)[:2]
    frames = split_frames(data[2:])
    limits = _LIMITS[settings & 3]
    notation = _NOTATIONS[(settings >> 2) % len(_NOTATIONS)]
    bounds: dict[str, Any] = {"batch_rows": 2} if settings & 0x80 else {}
    cases = (
        (readers.terms, Decoder, (frames, limits, readers.FACTORIES[0])),
        (readers.terms, Decoder, (frames, limits, readers.FACTORIES[settings >> 2 & 3])),
        (readers.text, TextDecoder, (frames, limits, None, notation)),
        (readers.text, TextDecoder, (frames, limits, readers.VALIDATORS[1], Notation.RDF_1_2)),
        (readers.text, TextDecoder, (frames, limits, readers.VALIDATORS[2], Notation.RDF_1_2)),
        (readers.columns, ColumnDecoder, (frames, {**bounds, "limits": limits})),
        (readers.operations, PatchDecoder, (frames, limits, readers.FACTORIES[0])),
        (readers.patch_columns, PatchColumnDecoder, (frames, limits, None, bounds)),
        (
            *(readers.patch_columns, PatchColumnDecoder),
            (frames, limits, _validated_by_rows, {**bounds, "notation": Notation.RDF_1_2}),
        ),
    )
    return Case(*cases[kind % len(cases)])


# Writers


def writer_case(data: bytes) -> Case:
    """Make a case for a writer."""
    kind, settings, cut = (*data[:3], 0, 0, 0)[:3]
    text = data[3:]
    sizes = ((8, 0, 0), (8, 1, 1), (9, 3, 2), (4000, 150, 32))[settings & 3]
    tables = dict(
        zip(
            ("max_name_table_size", "max_prefix_table_size", "max_datatype_table_size"),
            sizes,
            strict=True,
        )
    )
    declared = {"generalized_statements": bool(settings & 4), "rdf_star": bool(settings & 8)}
    limits = _LIMITS[settings >> 4 & 3]
    physical = PhysicalType(1 + (settings >> 6) % 3)
    options = StreamOptions(physical_type=physical, **declared, **tables)
    quads = physical is not PhysicalType.TRIPLES
    patch_options = PatchOptions(
        statement_type=PatchStatementType.QUADS if quads else PatchStatementType.TRIPLES,
        stream_type=PatchStreamType(1 + cut % 3),
        **declared,
        **tables,
    )
    parsing: dict[str, Any] = {
        "limits": limits,
        "dialect": _DIALECTS[cut % len(_DIALECTS)],
        "generalized": bool(cut & 4),
        "relative_iris": bool(cut & 8),
    }
    ending: dict[str, Any] = {"restart_every": 80} if cut & 16 else {}
    name = kind % 5
    if name == 0:
        size = (1, 7, 40, 4000)[cut >> 6]
        chunks = [text[start : start + size] for start in range(0, len(text), size)]
        return Case(writers.text, TextEncoder, (options, chunks, {**parsing, **ending}))
    if name == 1:
        kinds = (OperationKind.ADD, OperationKind.DELETE)
        lines = [
            (kinds[number % 2], line) for number, line in enumerate(_whole_lines(text, cut >> 6))
        ]
        given = (patch_options, lines, parsing, {"limits": limits})
        return Case(writers.lines, PatchEncoder, given)
    if name == 2:
        batches = [_columns(text, quads, cut >> 5 & 1)]
        return Case(writers.columns, ColumnEncoder, (options, batches, {**parsing, **ending}))
    statements = _statements(text, quads)
    batches = [statements[start : start + 3] for start in range(0, len(statements), 3)]
    if name == 3:
        steps: list[tuple[Any, ...]] = [("add", batch) for batch in batches]
        return Case(writers.statements, Encoder, (options, steps, {"limits": limits, **ending}))
    operations = [
        [*(Operation(OperationKind.ADD, each) for each in batch), END] for batch in batches
    ]
    return Case(writers.operations, PatchEncoder, (patch_options, operations, {"limits": limits}))


def _whole_lines(text: bytes, together: int) -> list[bytes]:
    lines = text.splitlines(keepends=True)
    step = together + 1
    return [b"".join(lines[start : start + step]) for start in range(0, len(lines), step)]


def _columns(text: bytes, quads: bool, skipped: int) -> Columns:
    """Convert lines to rows, split at tabs."""
    rows = [(line.split(b"\t") + [b""] * 4)[:4] for line in text.split(b"\n")]
    skipped = min(skipped, len(rows))
    made = [column_of([row[position] or None for row in rows], skipped) for position in range(4)]
    return Columns(
        rows=len(rows) - skipped,
        subject=made[0],
        predicate=made[1],
        object=made[2],
        graph=made[3] if quads else None,
    )


def _statements(text: bytes, quads: bool) -> list[Any]:
    """Parse the statements of lines, up to the first error."""
    parser = LineParser(Dialect.RDF_STAR, True, True, DEFAULT_LIMITS, quads=quads)
    found = []
    for line in text.splitlines(keepends=True):
        try:
            found += parser.statements(line)
        except JellyError:
            continue
    return found


CASES: Final = {"readers": reader_case, "writers": writer_case}


def inputs(which: str) -> list[Path]:
    return sorted((CORPUS / which).iterdir())


@pytest.mark.parametrize("which", CASES)
def test_both_kernels_agree_on_the_corpus(which: str) -> None:
    native()
    outcomes = []
    for path in inputs(which):
        try:
            outcomes.append(CASES[which](path.read_bytes()).compare())
        except AssertionError as error:
            raise AssertionError(f"{path.name}: {error}") from None
    # The corpus contains accepted and rejected inputs.
    assert any(error is None for _, error in outcomes)
    assert any(error is not None for _, error in outcomes)
