"""Convert inputs of coverage-guided fuzzing to cases, see README.md.

The first bytes of an input select the operation and its settings. The rest contains frames with
their lengths for readers; lines of text for writers, from which statements and columns are also
made.
``coverage.c`` runs inputs on the compiled kernel, and tests/fuzz/test_corpus.py on both.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

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
from .comparison import Case
from .leaning import leaning_log, leaning_stream
from .lending import LENDER
from .message_mutator import MUTATORS, joined, split_frames
from .streams import damaged_log, damaged_stream
from .texts import column_of, random_text

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


# The interface to coverage.c


def start(which: str) -> tuple[Callable[[bytes], None], Callable[[bytes, int, int], bytes]]:
    """Return the function that runs an input, and the one that mutates it."""
    warnings.simplefilter("ignore")
    # Sanitizers detect errors better in ordinary bytes.
    LENDER.guarded = False
    case_of = CASES[which]

    def run_input(data: bytes) -> None:
        case_of(data).run()

    return run_input, MUTATORS[which]


def seeds(which: str) -> list[bytes]:
    """Return the initial inputs."""
    make, count = {"readers": (_reader_seed, 900), "writers": (_writer_seed, 600)}[which]
    made = (make(random.Random(f"seed/{number}"), number) for number in range(count))
    return [data for data in made if len(data) < 4000]


def _reader_seed(rng: random.Random, number: int) -> bytes:
    kind = number % 9
    made = (leaning_stream, damaged_stream) if kind < 6 else (leaning_log, damaged_log)
    frames = made[number % 5 == 0](rng)
    return bytes((kind, rng.randrange(256))) + joined(frames)


def _writer_seed(rng: random.Random, number: int) -> bytes:
    head = bytes((number % 5, rng.randrange(256), rng.randrange(256)))
    text = b"".join(random_text(rng, 3 + (head[1] >> 6) % 3 % 2))
    return head + (text.replace(b" ", b"\t") if number % 5 == 2 else text)


def main() -> None:
    """Write the initial inputs into a folder: ``python -m tests.fuzz.targets readers FOLDER``."""
    which, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds(which)):
        (folder / f"{number:04}").write_bytes(data)


if __name__ == "__main__":
    main()
