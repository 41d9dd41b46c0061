"""Values that are not text, such as None, are rejected with Python's own error."""

from __future__ import annotations

import pytest

from jelly_plugins.codec import DEFAULT_LIMITS, OperationKind, PatchEncoder, PatchOptions
from jelly_plugins.codec.text.ntriples import Dialect, LineParser

from ..fuzz.comparison import native


@pytest.mark.parametrize("wrong", [None, 7, ("a", "b")])
def test_values_that_are_not_text(wrong: object) -> None:
    parser = LineParser(Dialect.RDF_1_2, False, False, DEFAULT_LIMITS, quads=True)
    with pytest.raises((TypeError, AttributeError)):
        PatchEncoder(PatchOptions()).add_lines(OperationKind.ADD, wrong, parser)  # type: ignore[arg-type]
    with pytest.raises((TypeError, AttributeError)):
        native().PatchEncoder(PatchOptions()).add_patch([], b"", wrong, parser)
    with pytest.raises(TypeError):
        native().plain_lines(wrong)
