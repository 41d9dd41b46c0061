"""Broken Jelly-Patch streams give a result or a JellyError, and nothing else."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jelly_plugins.codec import (
    GenericFactory,
    Iri,
    Literal,
    Operation,
    PatchDecoder,
    PatchEncoder,
    PatchOptions,
    Quad,
    Triple,
    delimit,
)
from jelly_plugins.codec.patch.operations import (
    BEGIN,
    COMMIT,
    END,
    add,
    add_namespace,
    delete,
    delete_namespace,
    header,
)
from jelly_plugins.errors import JellyError, TruncatedError
from jelly_plugins.patch import PatchFormat, PatchReader

pytestmark = pytest.mark.usefixtures("patch_kernel")

S, P, G = Iri("http://x/s"), Iri("http://x/p"), Iri("http://x/g")
ROWS = [
    header("id", Iri("uuid:1")),
    BEGIN,
    add_namespace("ex", Iri("http://x/"), G),
    add(Quad(S, P, Literal("1", datatype="urn:d"), G)),
    delete(Quad(S, P, Triple(S, P, Literal("x", langtag="en")), G)),
    delete_namespace("ex", None, G),
    COMMIT,
    END,
]
OPTIONS = PatchOptions(rdf_star=True)


def stream() -> bytes:
    encoder = PatchEncoder(OPTIONS, frame_rows=4)
    return b"".join(map(delimit, [*encoder.add(ROWS), *encoder.finish()]))


def read(data: bytes) -> list[Operation] | None:
    """Read a source; return None if it is rejected."""
    try:
        with PatchReader(data, format=PatchFormat.JELLY_PATCH) as rows:
            return list(rows)
    except JellyError:
        return None


def test_truncated_at_every_byte() -> None:
    data = stream()
    assert read(data) == ROWS
    for length in range(len(data)):
        got: list[Operation] = []
        with pytest.raises(JellyError), PatchReader(data[:length]) as rows:
            got.extend(rows)
        # An incomplete patch has no END.
        assert END not in got


def test_each_byte_changed() -> None:
    data = stream()
    for at in range(len(data)):
        for bit in range(8):
            read(data[:at] + bytes((data[at] ^ 1 << bit,)) + data[at + 1 :])


@given(st.binary(max_size=60))
@example(b"")
def test_noise(data: bytes) -> None:
    read(data)
    with suppress(JellyError):
        PatchDecoder(GenericFactory()).decode(data)


def test_a_log_that_ends_in_a_patch_is_truncated() -> None:
    encoder = PatchEncoder(OPTIONS, frame_rows=4)
    frames = encoder.add(ROWS)
    with pytest.raises(TruncatedError, match="<bytes>: frame 1: the stream ends"):
        list(PatchReader(b"".join(map(delimit, frames[:2]))))
