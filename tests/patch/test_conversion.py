"""The options of streams that are made of text, whatever comes late in it."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import DEFAULT_GRAPH, Iri, PatchOptions, PatchStatementType, Quad, Triple
from jelly_plugins.codec import Operation
from jelly_plugins.patch import (
    END,
    Patch,
    PatchFormat,
    PatchReader,
    add,
    read_patches,
    write_patches,
    write_rows,
)
from jelly_plugins.patch.logs import PatchOptionChanges, convert
from jelly_plugins.patch.writer import LOOK_AHEAD, infer_options

MANY = 1500
PLAIN = "".join(f"A <urn:s:{i}> <urn:p> <urn:o> .\n" for i in range(MANY))
IN_A_GRAPH = "A <urn:s> <urn:p> <urn:o> <urn:g> .\n"
QUOTED = "A <urn:s> <urn:p> << <urn:s> <urn:p> <urn:o> >> .\n"


class Once(io.BytesIO):
    """A source that can be read once."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: Any) -> int:
        raise OSError


def as_stream(text: str) -> Once:
    return Once(text.encode())


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


def test_triples_as_quads_cost_nothing() -> None:
    quads = converted(PLAIN.encode())
    triples = converted(PLAIN.encode(), statement_type=PatchStatementType.TRIPLES)
    assert 0 <= len(quads) - len(triples) <= 4


def test_short_text_is_known() -> None:
    assert options_of(converted(as_stream("A <urn:s> <urn:p> <urn:o> ."))) == (
        PatchOptions(version=1)
    )
    assert options_of(converted(QUOTED.encode())).rdf_star


def test_patches_in_memory_are_known() -> None:
    statements = [Triple(Iri(f"urn:{i}"), Iri("urn:p"), Iri("urn:o")) for i in range(MANY)]
    triples = [Patch(additions(statements))]
    quads = [*triples, Patch([add(Quad(*statements[0], Iri("urn:g")))])]
    quoted = [*triples, Patch([add(Triple(*statements[0][:2], statements[1]))])]
    for patches, expected in (
        (triples, PatchOptions(statement_type=PatchStatementType.TRIPLES, version=1)),
        (quads, PatchOptions(version=1)),
        (
            quoted,
            PatchOptions(statement_type=PatchStatementType.TRIPLES, rdf_star=True, version=1),
        ),
    ):
        file = io.BytesIO()
        write_patches(patches, file)
        assert options_of(file.getvalue()) == expected
        # Of those that stream, no more than the first rows.
        file = io.BytesIO()
        write_patches(iter(patches), file)
        assert options_of(file.getvalue()) == PatchOptions(rdf_star=True, version=1)
        assert len(list(read_patches(file.getvalue()))) == len(patches)


def additions(statements: list[Triple]) -> list[Operation]:
    return [add(statement) for statement in statements]


def test_rows_that_come_late() -> None:
    triple = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
    rows = [add(triple)] * MANY + [add(Quad(*triple[:2], triple, Iri("urn:g"))), END]
    file = io.BytesIO()
    write_rows(iter(rows), file)
    found = rows_of(file.getvalue())
    assert found[0] == add(Quad(*triple, DEFAULT_GRAPH))
    assert found[-2:] == rows[-2:]
    assert infer_options(rows[:3], more=True) == PatchOptions(rdf_star=True)


def test_text_that_ends_in_headers_says_that_it_is_whole() -> None:
    headers = b"H id <urn:2> .\nH prev <urn:1> .\nZ .\n"
    for opening in (b"", b"H id <urn:1> .\nTX .\nA <urn:s> <urn:p> <urn:o> .\nTC .\nZ .\n"):
        text = io.BytesIO()
        convert([opening + headers], text, target_format=PatchFormat.RDF_PATCH)
        assert text.getvalue() == opening + headers
        with PatchReader(text.getvalue()) as reader:
            assert len(list(reader)) == 3 + 5 * bool(opening)
