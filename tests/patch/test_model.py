"""The patch, in memory and as a stream."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import ChainError, Iri, JellyError, Literal, StatementError, Triple
from jelly_plugins.codec import Operation, OperationKind
from jelly_plugins.errors import LimitError, TruncatedError
from jelly_plugins.patch import (
    ABORT,
    BEGIN,
    COMMIT,
    END,
    Header,
    Patch,
    PatchFormat,
    add,
    compact,
    delete,
    diff,
    group,
    header,
    invert,
    read_patches,
    write_patches,
)
from jelly_plugins.patch.text_rows import PatchTextWriter
from jelly_plugins.patch.thrift_rows import PatchRowWriter

S, P = Iri("urn:s"), Iri("urn:p")
ONE = add(Triple(S, P, Literal("1")))
TWO = delete(Triple(S, P, Literal("2")))


def test_headers() -> None:
    patch = Patch([], [("id", S), ("label", Literal("x")), ("id", P)])
    assert (patch.id, patch.prev, patch.header("label")) == (S, None, Literal("x"))
    assert patch.headers[2] == Header("id", P)


def test_a_patch_in_memory_can_be_read_again_and_again() -> None:
    patch = Patch([BEGIN, ONE, COMMIT], [("id", S)])
    assert list(patch) == list(patch) == patch.operations == [BEGIN, ONE, COMMIT]
    assert list(patch.rows()) == [header("id", S), BEGIN, ONE, COMMIT]
    assert patch == Patch(iter([BEGIN, ONE, COMMIT]), [("id", S)])
    assert patch != Patch([BEGIN, ONE, ABORT], [("id", S)])
    assert patch != Patch([BEGIN, ONE, COMMIT])
    assert patch != "patch"


def test_a_patch_of_an_iterator_streams_once() -> None:
    patch = Patch(each for each in [ONE, TWO])
    assert list(patch) == [ONE, TWO]
    for read in (lambda: list(patch), lambda: patch.operations, lambda: list(patch.rows())):
        with pytest.raises(RuntimeError, match="already streamed"):
            read()


def test_headers_of_a_stream() -> None:
    """What is known at the start comes at the start, others where they are."""
    rows = [ONE, header("late", S), TWO]
    patch = Patch(iter(rows), [("id", S)])
    assert list(patch.rows()) == [header("id", S), *rows]
    assert patch.header("late") == S
    patch = Patch(iter(rows), [("id", S)])
    assert patch.operations == list(patch) == [ONE, TWO]
    assert patch.headers == [("id", S), ("late", S)]
    assert list(patch.rows()) == [header("id", S), header("late", S), ONE, TWO]


def test_group_streams() -> None:
    read: list[Operation] = []

    def rows() -> Iterator[Operation]:
        for row in [header("id", S), ONE, TWO, ONE, END, header("id", P), END, END, ONE, END]:
            read.append(row)
            yield row

    patches = group(rows())
    first = next(patches)
    assert len(read) == 2
    operations = iter(first)
    assert next(operations) == ONE
    assert len(read) == 2
    assert next(operations) == TWO
    second = next(patches)
    assert (second.id, second.operations) == (P, [])
    # The first was left in its middle.
    with pytest.raises(RuntimeError, match="moved to the next"):
        next(operations)
    third, fourth = patches
    assert (third.operations, third.id, fourth.operations) == ([], None, [ONE])


def test_group_keeps_what_was_not_read() -> None:
    patches = list(group([header("id", S), ONE, header("late", P), END, TWO, END]))
    assert [patch.operations for patch in patches] == [[ONE], [TWO]]
    assert patches[0].headers == [("id", S), ("late", P)]


@pytest.mark.parametrize("rows", [[ONE], [header("id", S)], [END, ONE, TWO]])
def test_group_rejects_what_has_no_end(rows: list[Operation]) -> None:
    with pytest.raises(TruncatedError, match="end inside a patch"):
        list(group(rows))


def test_a_patch_with_too_many_headers() -> None:
    for rows in ([header("k", S)] * 65_537, [BEGIN, *[header("k", S)] * 65_537]):
        with pytest.raises(LimitError, match="more than 65536 headers"):
            next(iter(group([*rows, END]))).read_all()
    assert len(next(iter(group([*[header("k", S)] * 65_536, END]))).headers) == 65_536


def test_one_patch_is_not_several(tmp_path: Path) -> None:
    patch = diff([], [Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])
    with pytest.raises(TypeError, match=r"for one patch, give \[patch\]"):
        write_patches(patch, tmp_path / "x.jellyp")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"for one patch, give \[patch\]"):
        compact(patch)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_no_patch(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"patches are needed, not 'x\.jellyp'; read_patches"):
        write_patches("x.jellyp", tmp_path / "y.jellyp")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"patches are needed, not 'x\.jellyp'; read_patches"):
        compact("x.jellyp")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a Patch is needed, not 'x\.jellyp'"):
        invert("x.jellyp")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("width", [2, 3, 5])
def test_a_statement_has_three_terms_or_four(width: int) -> None:
    given: Any = (S,) * width
    writers = (PatchTextWriter, PatchRowWriter)
    calls = [lambda each=each: each().row(Operation(OperationKind.ADD, given)) for each in writers]
    calls += [lambda: diff([given], []), lambda: diff([given], [], blank_nodes="canonicalize")]
    calls += [
        lambda format_=format_: write_patches(
            [Patch([BEGIN, add(given), COMMIT])], io.BytesIO(), format=format_
        )
        for format_ in PatchFormat
    ]
    for call in calls:
        if width == 3:
            call()
        else:
            with pytest.raises(JellyError, match=f"a statement of {width} terms"):
                call()


def test_a_header_has_two_parts() -> None:
    for given in ((), ("id",), ("id", S, S)):
        parts: Any = given
        with pytest.raises(StatementError, match=f"a header of {len(given)} terms"):
            Patch([], [parts])
        for writer in (PatchTextWriter(), PatchRowWriter()):
            with pytest.raises(StatementError, match=f"a header of {len(given)} terms"):
                list(writer.write([(OperationKind.HEADER, parts)]))


def test_a_namespace_has_three_parts() -> None:
    parts: Any = ("p", S)
    for writer in (PatchTextWriter(), PatchRowWriter()):
        with pytest.raises(StatementError, match="a namespace of 2 terms"):
            writer.row(Operation(OperationKind.ADD_NAMESPACE, parts))


@pytest.mark.parametrize("form", ["rdfp", "jellyp", "trp"])
@pytest.mark.parametrize("count", [1, 5000])
def test_a_patch_outlives_its_iterator(tmp_path: Path, form: str, count: int) -> None:
    path = tmp_path / f"log.{form}"
    operations = [add(Triple(Iri(f"urn:{number}"), S, S)) for number in range(count)]
    write_patches([Patch(operations, [("id", S)])] * 2, path)
    assert len(next(read_patches(path)).operations) == count
    patches = read_patches(path)
    next(patches)
    rows = iter(next(patches))
    del patches
    assert sum(1 for _ in rows) == count


def test_logs_that_are_out_of_order() -> None:
    first = b"H id <urn:1> .\nTX .\nTC .\n"
    second = b"H id <urn:2> .\nH prev <urn:1> .\nTX .\nTC .\n"
    with pytest.raises(ChainError, match=r"^<bytes>: patch <urn:1>: the first .* follows it"):
        compact(read_patches(second + first))
    assert compact(read_patches(first + second)).id == Iri("urn:2")
    with pytest.raises(ChainError, match="patch <urn:1>: the first patch of the log follows it"):
        compact([Patch([], [("id", Iri("urn:1")), ("prev", Iri("urn:1"))])])
