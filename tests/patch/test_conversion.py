"""The options of streams that are made of text, whatever comes late in it."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import Iri, Literal, PatchOptions, PatchStatementType, Quad, Triple
from jelly_plugins.codec import Operation
from jelly_plugins.patch import (
    BEGIN,
    COMMIT,
    Patch,
    PatchFormat,
    PatchReader,
    add,
    add_namespace,
    delete,
    header,
    read_patches,
    write_patches,
)
from jelly_plugins.patch.logs import PatchOptionChanges, convert
from jelly_plugins.patch.writer import LOOK_AHEAD

from ..codec.input_kinds import Trickle

MANY = 1500
PLAIN = "".join(f"A <urn:s:{i}> <urn:p> <urn:o> .\n" for i in range(MANY))
IN_A_GRAPH = "A <urn:s> <urn:p> <urn:o> <urn:g> .\n"
QUOTED = "A <urn:s> <urn:p> << <urn:s> <urn:p> <urn:o> >> .\n"


def as_stream(text: str) -> Trickle:
    return Trickle(text.encode(), 1 << 16)


def converted(source: Any, **changes: Any) -> bytes:
    file = io.BytesIO()
    convert(
        [source],
        file,
        target_format=PatchFormat.JELLY_PATCH,
        changes=PatchOptionChanges(**changes),
    )
    return file.getvalue()


def options_of(data: bytes) -> PatchOptions:
    with PatchReader(data) as rows:
        for _ in rows:
            pass
        assert rows.options is not None
        return rows.options


def rows_of(source: Any) -> list[Operation]:
    with PatchReader(source) as rows:
        return list(rows)


@pytest.mark.parametrize("kind", [str.encode, as_stream])
@pytest.mark.parametrize("late", ["", IN_A_GRAPH, QUOTED, IN_A_GRAPH + QUOTED])
def test_what_comes_late(kind: Callable[[str], Any], late: str) -> None:
    assert MANY > LOOK_AHEAD
    text = PLAIN + late
    data = converted(kind(text))
    assert rows_of(data) == rows_of(text.encode())
    options = options_of(data)
    assert options.statement_type is PatchStatementType.QUADS
    assert options.rdf_star


def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.rdfp"
    os.mkfifo(pipe)
    # A second look would wait for a second writer.
    writer = threading.Thread(target=lambda: pipe.write_text(PLAIN))
    writer.start()
    data = converted(pipe)
    writer.join()
    assert options_of(data).rdf_star


def test_short_text_is_known() -> None:
    assert options_of(converted(as_stream("A <urn:s> <urn:p> <urn:o> ."))) == (
        PatchOptions(version=1)
    )
    assert options_of(converted(QUOTED.encode())).rdf_star


SPO = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
IN_G = Quad(*SPO, Iri("urn:g"))
TRIPLES = {"statement_type": PatchStatementType.TRIPLES}
STAR = {"rdf_star": True}
GENERALIZED = {"generalized_statements": True}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([header("id", SPO.subject), add(SPO)], TRIPLES),
        ([add_namespace("x", SPO.subject)], TRIPLES),
        ([add_namespace("x", SPO.subject, IN_G.graph)], {}),
        *((rows, {}) for rows in ([], [BEGIN, COMMIT], [add(SPO), add(IN_G)])),
        ([delete(Triple(*SPO[:2], SPO))], TRIPLES | STAR),
        ([header("x", SPO)], STAR),
        ([add(Triple(Literal("s"), *SPO[1:]))], TRIPLES | GENERALIZED),
        ([add(Triple(SPO.subject, SPO, SPO.object))], TRIPLES | GENERALIZED | STAR),
        (
            [add(Triple(*SPO[:2], Triple(SPO.subject, Literal("p"), SPO.object)))],
            TRIPLES | GENERALIZED | STAR,
        ),
        ([add(Quad(*SPO, Literal("g")))], GENERALIZED),
        # They are all looked at.
        ([*[add(SPO)] * MANY, add(IN_G)], {}),
        ([*[add(SPO)] * MANY, add(Triple(*SPO[:2], SPO))], TRIPLES | STAR),
    ],
)
def test_patches_in_memory_are_known(rows: list[Any], expected: dict[str, Any]) -> None:
    file = io.BytesIO()
    write_patches([Patch(rows)], file)
    assert options_of(file.getvalue()) == PatchOptions(**expected, version=1)
    # Of those that stream, no more than the first rows.
    file = io.BytesIO()
    write_patches(iter([Patch(rows)]), file)
    found = options_of(file.getvalue())
    assert found == PatchOptions(**(STAR if len(rows) > MANY else expected), version=1)
    assert len(list(read_patches(file.getvalue()))) == 1
