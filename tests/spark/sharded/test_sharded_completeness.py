"""Rows of patch files that are whole, and those that are not. No Spark session."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import xxhash

from jelly_plugins.errors import JellyError, TruncatedError
from jelly_plugins.spark.datasource.batches import read_partition
from jelly_plugins.spark.datasource.operations import OPERATIONS
from jelly_plugins.spark.datasource.schema import arrow_schema, patch_schema
from jelly_plugins.spark.datasource.settings import ReadSettings
from jelly_plugins.spark.datasource.splits import FileSplit, numbered
from jelly_plugins.spark.sharded.completeness import Segment, Segments, check_complete
from jelly_plugins.spark.sharded.errors import IncompleteLogError

from .logs import Writer, log_file


def read(*splits: FileSplit, **options: str) -> pa.Table:
    """The rows of files, as the reader gives them."""
    settings = ReadSettings.of(options)
    schema = arrow_schema(patch_schema(settings))
    batches = read_partition(splits, settings, schema, OPERATIONS.read)
    return pa.Table.from_batches(batches, schema=schema)


def together(*names: str, **options: str) -> pa.Table:
    """The rows of files that are read together."""
    splits = numbered([[(FileSplit(name), 0)] for name in names])
    return read(*(split for split, _ in splits), **options)


@pytest.fixture
def files(tmp_path: Path) -> pa.Table:
    writer = Writer(seed=31)
    names = [log_file(tmp_path / f"{n}.jellyp", [writer.patch(), writer.patch()]) for n in range(3)]
    return together(*names)


def check(*partitions: pa.Table, batch: int = 7, continues: bool = False) -> None:
    segments: list[Segment] = []
    for table in partitions:
        found = Segments()
        for rows in table.to_batches(max_chunksize=batch):
            sources = [xxhash.xxh32_intdigest(each.encode()) for each in rows["source"].to_pylist()]
            found.add(pa.array(sources), rows["order"], rows["mark"])
        # As the driver gets them.
        segments += [Segment.of(json.loads(json.dumps(each))) for each in found]
    check_complete(segments, continues=continues)


def take(table: pa.Table, rows: Sequence[int]) -> pa.Table:
    return table.take(pa.array(rows, pa.int64()))


def test_rows_as_they_were_read_are_whole(files: pa.Table) -> None:
    length = len(files)
    check(files)
    check(files, batch=length)
    for cut in range(0, length, 5):
        check(files.slice(0, cut), files.slice(cut, 3), files.slice(cut + 3))


def test_files_that_lack_as_a_whole_are_found(files: pa.Table) -> None:
    names = [Path(name).name for name in files["source"].unique().to_pylist()]
    assert names == ["0.jellyp", "1.jellyp", "2.jellyp"]
    for kept, reason in (
        ("12", "1.jellyp: file 1 of 3 is missing before it"),
        ("2", "2.jellyp: files 1 to 2 of 3 are missing before it"),
        ("02", "2.jellyp: file 2 of 3 is missing before it"),
        ("01", "1.jellyp: file 3 of 3 is missing after it"),
        ("0", "0.jellyp: files 2 to 3 of 3 are missing after it"),
        ("", "the DataFrame has no rows"),
    ):
        rows = files.filter(pc.match_substring_regex(files["source"], rf"[{kept}-]\.jellyp$"))
        for continues in (False, True):
            with pytest.raises(IncompleteLogError, match=re.escape(reason)):
                check(rows, continues=continues)


def test_a_file_without_rows_is_distinguished_from_one_that_lacks(tmp_path: Path) -> None:
    contents = ["", "H id <urn:1> . Z .\n", "TX . A <urn:s> <urn:p> 1 . TC .\n", "H a 1 . Z .", ""]
    names = []
    for number, content in enumerate(contents):
        path = tmp_path / f"{number}.rdfp"
        path.write_text(content)
        names.append(str(path))
    rows = together(*names)
    assert rows["kind"].to_pylist() == [None, None, "TX", "A", "TC", None, None]
    assert rows["source"].unique().to_pylist() == names
    check(rows)
    check(rows, batch=1)
    check(*(rows.slice(place, 1) for place in range(len(rows))))
    for name in names:
        with pytest.raises(IncompleteLogError, match="of 5 is missing"):
            check(rows.filter(pc.not_equal(rows["source"], name)))
    with_headers = together(*names, headers="true")
    assert with_headers["kind"].to_pylist().count(None) == 2
    check(with_headers)


def test_a_batch_of_a_stream_without_files_is_distinguished_from_one_that_was_filtered() -> None:
    schema = arrow_schema(patch_schema(ReadSettings()))
    rows = pa.Table.from_batches(OPERATIONS.read_none(schema), schema)
    check(rows, continues=True)
    with pytest.raises(IncompleteLogError, match="has no rows"):
        check(rows.slice(1), continues=True)


@pytest.mark.parametrize("headers", ["H id <urn:2> .\n", "H id <urn:2> .\nH prev <urn:1> .\n"])
def test_a_file_that_is_truncated_after_headers_is_an_error(tmp_path: Path, headers: str) -> None:
    path = tmp_path / "log.rdfp"
    for before in ("", "H id <urn:1> .\nTX .\nTC .\n"):
        path.write_text(before + headers)
        with pytest.raises(TruncatedError, match=r"log\.rdfp.* after the headers of a patch"):
            together(str(path))
        path.write_text(before + headers + "Z .\n")
        check(together(str(path)))


def test_rows_that_are_missing_doubled_or_moved_are_found(files: pa.Table) -> None:
    everything = range(len(files))
    random_ = random.Random(5)
    for row in random_.sample(everything, 40):
        without = take(files, [each for each in everything if each != row])
        twice = take(files, [*range(row + 1), *range(row, len(files))])
        for table in (without, twice):
            for cut in (0, row, len(table)):
                with pytest.raises(IncompleteLogError):
                    check(table.slice(0, cut), table.slice(cut))
    for _ in range(40):
        one, other = sorted(random_.sample(everything, 2))
        moved = [*everything]
        moved[one], moved[other] = moved[other], moved[one]
        with pytest.raises(IncompleteLogError):
            check(take(files, moved))
        with pytest.raises(IncompleteLogError):
            check(files.slice(other), files.slice(0, other))
    with pytest.raises(IncompleteLogError, match="sort it by source and order again"):
        check(take(files, random_.sample(everything, len(files))))


def test_files_in_another_order_or_twice_are_rejected(files: pa.Table) -> None:
    with pytest.raises(IncompleteLogError, match="or in another DataFrame"):
        check(files, files)
    for limit in (1, 10, len(files) - 1):
        with pytest.raises(IncompleteLogError, match="last row is missing"):
            check(files.slice(0, limit))


def test_names_that_say_no_order_are_rejected(tmp_path: Path) -> None:
    names = [log_file(tmp_path / f"{n}.jellyp", [Writer().patch()]) for n in ("01", "1", "2")]
    check(together(*names[1:]))
    with pytest.raises(IncompleteLogError, match="differ only in leading zeros"):
        check(together(*names))
    # A stream has its files in the order in which they were written.
    check(together(*names), continues=True)


def test_what_is_corrupt_is_not_whole(tmp_path: Path) -> None:
    name = log_file(tmp_path / "0.rdfp", [Writer().patch()])
    whole = Path(name).read_bytes()
    Path(name).write_bytes(whole + b"A nonsense .\n")
    options = {"mode": "PERMISSIVE", "badRecordsPath": str(tmp_path / "bad")}
    with pytest.raises(IncompleteLogError, match="last row is missing"):
        check(read(FileSplit(name), **options))
    Path(name).write_bytes(whole)
    with pytest.raises(IncompleteLogError, match="mode FAILFAST to apply them"):
        check(read(FileSplit(name), **options))
    assert issubclass(IncompleteLogError, JellyError)
