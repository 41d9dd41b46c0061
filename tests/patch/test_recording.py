"""Appending to a log: complete patches stay, a truncated end goes."""

from __future__ import annotations

import gzip
import io
import os
import re
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import ChainError, JellyError, OptionsError, SourceError
from jelly_plugins.codec import (
    FrameSplitter,
    Iri,
    Literal,
    PatchOptions,
    PatchStreamType,
    Quad,
    describe,
)
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, Operation, add, delete
from jelly_plugins.patch import Patch, check, read_patches, recording, redo, undo, write_patches
from jelly_plugins.patch.recording import LogWriter, RecordSettings

S, P, O = (Iri(f"urn:{letter}") for letter in "spo")  # noqa: E741
TEXT = b"H id <urn:1> .\nTX .\nA <urn:s> <urn:p> <urn:o> .\nTC .\n"


@pytest.fixture(params=["jellyp", "rdfp"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"log.{request.param}"


def writer(path: Path, **settings: Any) -> LogWriter:
    return LogWriter(path, RecordSettings(**settings), describe=describe)


def rows(number: int) -> list[Operation]:
    """Operations with terms of their own and terms that others have too."""
    return [
        add(Quad(S, P, Literal(f"{number}", datatype=f"urn:d{number % 3}"), Iri(f"urn:g{number}"))),
        delete(Quad(S, P, Iri(f"http://example.org/{number % 2}/{number}"), S)),
    ]


def contents(path: Path) -> list[list[Operation]]:
    """The operations of each patch; ids are checked on the way."""
    found = []
    previous = None
    for patch in read_patches(path):
        assert patch.prev == previous
        previous = patch.id
        found.append([row for row in patch.operations if row.value is not None])
    return found


def test_a_log_that_is_cut_at_any_byte(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    class Watched(io.FileIO):
        def truncate(self, size: int | None = None, /) -> int:
            assert size is not None
            sizes.append(size)
            return super().truncate(size)

    monkeypatch.setattr(recording, "FileIO", Watched)
    ends = []
    with writer(path) as log:
        for number in range(3):
            log.append(rows(number))
            ends.append(log.place.size)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        if path.suffix == ".rdfp" and 0 < size < first:
            # It could be any other file; the start of the options of Jelly-Patch could not.
            with pytest.raises(JellyError, match="log"):
                writer(path)
            assert path.read_bytes() == whole[:size]
            continue
        sizes.clear()
        with writer(path) as log:
            patches = log.patches
            log.append(rows(7))
        assert contents(path) == [*(rows(number) for number in range(patches)), rows(7)]
        # Followers find what they have applied.
        assert patches >= sum(end <= size for end in ends)
        assert min(sizes, default=size) >= max((end for end in ends if end <= size), default=0)


@pytest.mark.parametrize("form", ["rdfp", PatchStreamType.FRAME, PatchStreamType.PUNCTUATED])
def test_a_log_of_other_software_that_is_cut_anywhere(tmp_path: Path, form: Any) -> None:
    """It has several transactions a patch, and few rows a frame."""
    path = tmp_path / ("log.rdfp" if form == "rdfp" else "log.jellyp")
    patches = []
    for number in range(1, 4):
        chained = [("id", Iri(f"urn:{number}")), ("prev", Iri(f"urn:{number - 1}"))]
        transactions = [BEGIN, *rows(number), COMMIT, BEGIN, *rows(number + 3), COMMIT]
        patches.append(Patch(transactions, chained[: 1 if number == 1 else 2]))
    options = None if form == "rdfp" else PatchOptions(stream_type=form)
    write_patches(patches, path, options=options, frame_rows=2)
    whole = path.read_bytes()
    expected = [row for patch in patches for row in patch.operations]
    first = whole.index(b"\n") + 1 if form == "rdfp" else 1 + whole[0]
    for size in range(1, len(whole), 7):
        path.write_bytes(whole[:size])
        if size < first:
            # Nothing shows yet that it is a log.
            with pytest.raises(JellyError, match=f"^{re.escape(str(path))}: "):
                writer(path)
            assert path.read_bytes() == whole[:size]
            continue
        with writer(path) as log:
            log.append([])
        assert check(path), size
        *kept, _ = read_patches(path)
        found = [row for patch in kept for row in patch.operations]
        assert found == expected[: len(found)], size


def test_ids_of_others(path: Path) -> None:
    for value in (b"<urn:x>", b'"a \\" > b"@en', b"_:b", b"1"):
        write_patches(read_patches(b"H id " + value + b" .\nTX .\nTC .\n"), path)
        with writer(path) as log:
            log.append(rows(1))
        first, second = read_patches(path)
        assert second.prev == first.id
        assert first.id is not None


def test_a_log_that_nothing_can_follow(path: Path, tmp_path: Path) -> None:
    write_patches(read_patches(b"TX .\nTC .\n"), path)
    before = path.read_bytes()
    with pytest.raises(ChainError, match="without an id"):
        writer(path)
    assert path.read_bytes() == before
    flat = tmp_path / "flat.jellyp"
    options = PatchOptions(stream_type=PatchStreamType.FLAT)
    write_patches(read_patches(b"H id <urn:x> .\nTX .\nTC .\n"), flat, options=options)
    with pytest.raises(OptionsError, match="FLAT"):
        writer(flat)
    with pytest.raises(OptionsError, match="FLAT"):
        writer(tmp_path / "new.jellyp", options=options)
    assert not (tmp_path / "new.jellyp").exists()
    with pytest.raises(SourceError, match="compressed"):
        writer(tmp_path / "log.jellyp.gz")
    assert not (tmp_path / "log.jellyp.gz").exists()
    with pytest.raises(SourceError):
        writer(tmp_path)


@pytest.mark.parametrize("ending", ["", ".jellyp", ".rdfp"])
@pytest.mark.parametrize(
    "other",
    [
        *(b"H", b"\x13", b"hi", b"7!", b"\xdd\x70\xef" * 30, b"A note", b"\x89PNG\r\n\x1a\n" * 9),
        *(b"# A note\n", b"# A note\n<", b"# A note\nH id <urn:1> .\nTX .\n", b"H id <urn:uuid:1"),
        *(TEXT + b"note", b"TX .\nTC .\nA <ur", bytes(9)),
        *(gzip.compress(TEXT, mtime=0), gzip.compress(TEXT + b"TX .\n", mtime=0)),
    ],
)
@pytest.mark.parametrize("open_log", [writer, undo, redo])
def test_what_begins_no_log_is_kept(
    other: bytes, ending: str, open_log: Any, tmp_path: Path
) -> None:
    path = tmp_path / f"notes{ending}"
    path.write_bytes(other)
    with pytest.raises(JellyError, match=f"^{re.escape(str(path))}: "):
        open_log(path)
    assert path.read_bytes() == other


@pytest.mark.parametrize("form", ["frame", "trp"])
def test_a_log_in_a_form_that_nothing_can_be_appended_to(tmp_path: Path, form: str) -> None:
    path = tmp_path / "log.jellyp"
    file = io.BytesIO()
    patches = read_patches(b"H id <urn:1> .\nTX .\nA <urn:s> <urn:p> <urn:o> .\nTC .\n")
    write_patches(patches, file, format="trp" if form == "trp" else "jellyp")
    data = file.getvalue()
    if form == "frame":
        [data] = FrameSplitter().feed(data)
    path.write_bytes(data)
    with pytest.raises(SourceError):
        writer(path)
    assert path.read_bytes() == data


def test_an_error_in_the_middle_of_a_text_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "log.rdfp"
    patch = "H id <urn:1> .\nTX .\nA <urn:s> <urn:p> <urn:o> .\nTC .\n"
    path.write_text(text := patch + "nonsense .\n" + patch + "# no line end")
    with pytest.raises(JellyError, match="line 5"):
        writer(path)
    assert path.read_text() == text


def test_options_of_a_log_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.jellyp"
    options = PatchOptions.small(stream_type=PatchStreamType.FRAME)
    with writer(path, options=options) as log:
        log.append(rows(1))
    with writer(path) as log:
        for number in range(2, 200):
            log.append(rows(number))
    assert contents(path) == [rows(number) for number in range(1, 200)]


def deleted(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.with_suffix(".other").write_bytes(data)
    path.with_suffix(".other").rename(path)


def truncated(path: Path) -> None:
    os.truncate(path, 10)


def written_to(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"# more")


@pytest.mark.parametrize("change", [deleted, replaced, truncated, written_to])
@pytest.mark.parametrize(("patches", "sync"), [(1, False), (100, False), (1, True)])
def test_a_log_that_is_gone_is_noticed(path: Path, change: Any, patches: int, sync: bool) -> None:
    """Before each hundredth patch and when it is closed, or before each patch."""
    log = writer(path, sync=sync)
    for _ in range(patches):
        log.append(rows(1))
    change(path)
    gone = r"the log is .*something else has changed it"
    for _ in range(2) if patches == 100 or sync else ():
        with pytest.raises(SourceError, match=gone):
            log.append(rows(2))
    with pytest.raises(SourceError, match=gone):
        log.close()
    assert log.patches == patches


def test_a_log_is_found_after_a_change_of_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with writer(Path(path.name)) as log:
        log.append(rows(1))
        monkeypatch.chdir("/")
    assert len(contents(path)) == 1
