"""Values that are not text, such as None, are rejected; the compiled kernel raises a TypeError and
does not crash.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jelly_plugins.codec import (
    DEFAULT_LIMITS,
    Encoder,
    OperationKind,
    PatchEncoder,
    PatchOptions,
    PhysicalType,
    StreamOptions,
    native,
    plain_lines,
)
from jelly_plugins.codec.text.ntriples import Dialect, LineParser

PARSER = LineParser(Dialect.RDF_1_2, False, False, DEFAULT_LIMITS, quads=True)
CALLS: list[Callable[[Any], object]] = [
    plain_lines,
    lambda wrong: Encoder(StreamOptions(PhysicalType.QUADS)).add_lines(wrong, PARSER),
    lambda wrong: PatchEncoder(PatchOptions()).add_lines(OperationKind.ADD, wrong, PARSER),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("wrong", [None, 7, ("a", "b")])
def test_values_that_are_not_text(call: Callable[[Any], object], wrong: object) -> None:
    # Python's own error.
    with pytest.raises(TypeError if native else (TypeError, AttributeError)):
        call(wrong)
