"""Operations and headers of classes whose methods do not say what is in them."""

from __future__ import annotations

import io
from typing import Any

import pytest

from jelly_plugins import Iri, JellyError, StatementError
from jelly_plugins.codec import Operation, OperationKind
from jelly_plugins.patch import BEGIN, COMMIT, Patch, PatchFormat, add, diff, write_patches
from jelly_plugins.patch.text_rows import PatchTextWriter
from jelly_plugins.patch.thrift_rows import PatchRowWriter

S = Iri("urn:s")


class Long(tuple[Any, ...]):
    """Says that it has more items than the memory."""

    __slots__ = ()

    def __len__(self) -> int:
        return 1 << 40


class Longer(list[Any]):
    """Says that it has more items than there are numbers."""

    def __len__(self) -> int:
        return 1 << 100


class FourLong(tuple[Any, ...]):
    """Says that it has four items."""

    __slots__ = ()

    def __len__(self) -> int:
        return 4


CLASSES = [Long, Longer, FourLong]


@pytest.mark.parametrize("made", CLASSES)
@pytest.mark.parametrize("width", [2, 3, 5])
def test_the_terms_of_a_statement_are_its_items(made: Any, width: int) -> None:
    given = made([S] * width)
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


@pytest.mark.parametrize("made", CLASSES)
def test_a_header_has_two_parts(made: Any) -> None:
    assert Patch([], [made(["id", S])]).id == S
    for parts in ([], ["id"], ["id", S, S]):
        given = made(parts)
        with pytest.raises(StatementError, match=f"a header of {len(parts)} terms"):
            Patch([], [given])
        for writer in (PatchTextWriter(), PatchRowWriter()):
            with pytest.raises(StatementError, match=f"a header of {len(parts)} terms"):
                list(writer.write([(OperationKind.HEADER, given)]))


@pytest.mark.parametrize("made", CLASSES)
def test_a_namespace_has_three_parts(made: Any) -> None:
    for writer in (PatchTextWriter(), PatchRowWriter()):
        with pytest.raises(StatementError, match="a namespace of 2 terms"):
            writer.row(Operation(OperationKind.ADD_NAMESPACE, made(["p", S])))


@pytest.mark.parametrize("made", CLASSES)
def test_a_length_reserves_no_memory(made: Any) -> None:
    assert Patch(made([BEGIN, COMMIT])).operations == [BEGIN, COMMIT]
