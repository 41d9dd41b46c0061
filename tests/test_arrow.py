from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import JellyError, Literal, PhysicalType, StreamOptions, Triple
from jelly_plugins import read as read_statements
from jelly_plugins.codec.text.ntriples import term_text
from jelly_plugins.errors import StatementError, TextError, TruncatedError
from jelly_plugins.io.streams import write_bytes

from .codec.test_columns import ROWS, P, S

pyarrow = pytest.importorskip("pyarrow")
arrow = pytest.importorskip("jelly_plugins.arrow")

TRIPLES = [Triple(S, P, Literal(str(number))) for number in range(100)]
STAR = StreamOptions(physical_type=PhysicalType.QUADS, rdf_star=True)


def table(rows: list[tuple[Any, ...]], **types: Any) -> Any:
    names = arrow.QUADS.names[: len(rows[0])]
    return pyarrow.table(
        {
            name: pyarrow.array(
                [term_text(row[at]) or None for row in rows], types.get(name, pyarrow.string())
            )
            for at, name in enumerate(names)
        }
    )


def test_a_stream_is_a_table() -> None:
    with arrow.read(write_bytes(TRIPLES), batch_rows=7) as reader:
        assert reader.schema == arrow.TRIPLES
        found = reader.read_all()
    found.validate(full=True)
    assert found.equals(table(TRIPLES).cast(arrow.TRIPLES))


def test_graphs_are_a_column() -> None:
    found = arrow.read(write_bytes(ROWS, options=STAR)).read_all()
    found.validate(full=True)
    assert found.equals(table(ROWS).cast(arrow.QUADS))
    assert found.column("graph").null_count == 2


@pytest.mark.parametrize("name", ["table.jelly", "table.jelly.gz"])
def test_there_and_back(tmp_path: Path, name: str) -> None:
    data = table(ROWS[2:]).slice(0, 2)
    assert arrow.write(data, tmp_path / name, options=STAR) == 2
    assert arrow.read(tmp_path / name).read_all().equals(data.cast(arrow.QUADS))
    assert list(read_statements(tmp_path / name)) == ROWS[2:]


@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.large_string(),
        pyarrow.string_view(),
        pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
    ],
)
def test_strings_of_any_layout(kind: Any) -> None:
    out = io.BytesIO()
    assert arrow.write(table(TRIPLES, object=kind), out) == 100
    assert list(read_statements(out.getvalue())) == TRIPLES


def test_what_is_taken() -> None:
    whole = table(TRIPLES)
    batches = whole.to_batches(max_chunksize=9)
    sliced = [batch.slice(2, 5) for batch in whole.to_batches()]
    for given, expected in (
        (whole, TRIPLES),
        (iter(batches), TRIPLES),
        (batches[0], TRIPLES[:9]),
        (pyarrow.RecordBatchReader.from_batches(whole.schema, batches), TRIPLES),
        (sliced, TRIPLES[2:7]),
        ([], []),
    ):
        out = io.BytesIO()
        assert arrow.write(given, out) == len(expected)
        assert list(read_statements(out.getvalue())) == expected


def test_what_is_not_a_table_of_statements(tmp_path: Path) -> None:
    path = tmp_path / "out.jelly"
    with pytest.raises(StatementError, match="there is no column object"):
        arrow.write(table(TRIPLES).drop_columns(["object"]), path)
    numbers = pyarrow.table({"subject": [1], "predicate": [[2]], "object": [3]})
    with pytest.raises(JellyError, match="predicate is not of strings"):
        arrow.write(numbers, path)
    bad = table([*TRIPLES, (S, Literal("p"), S)])
    with pytest.raises(TextError) as caught:
        arrow.write(bad.to_batches(max_chunksize=30), path)
    assert caught.value.row == 100
    assert not path.exists()


def test_errors_name_the_source(tmp_path: Path) -> None:
    path = tmp_path / "cut.jelly"
    path.write_bytes(write_bytes(TRIPLES, frame_rows=20)[:-5])
    with pytest.raises(TruncatedError, match=r"cut.jelly: frame \d+: the input ends inside"):
        arrow.read(path).read_all()
    with pytest.raises(JellyError, match="there are only zeros"):
        arrow.read(bytes(5))


def test_other_libraries_take_it() -> None:
    pandas = pytest.importorskip("pandas")
    frame = arrow.read(write_bytes(TRIPLES)).read_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 100


def test_without_pyarrow_the_error_says_what_to_install() -> None:
    program = (
        "import sys\n"
        "sys.modules['pyarrow'] = None\n"
        "try:\n"
        "    import jelly_plugins.arrow\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    run = [sys.executable, "-c", program]
    found = subprocess.run(run, capture_output=True, text=True, check=True)
    assert "pip install 'jelly-plugins[arrow]'" in found.stdout
