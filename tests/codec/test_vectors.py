"""The conformance vectors on both kernels, with the type and message of each error; manifests have
the positions. ``test_checklist`` and ``test_patch_checklist`` test rules without vectors.
"""

from __future__ import annotations

from fnmatch import fnmatch
from itertools import chain
from typing import Any, Final

import pytest

pytest.importorskip("rdflib")

from conformance.__main__ import VECTORS
from conformance.manifest import Case, read_suite
from jelly_plugins.codec import FrameSplitter, GenericFactory
from jelly_plugins.errors import (
    JellyError,
    LimitError,
    LookupTableError,
    OptionsError,
    OrderError,
    StatementError,
    TruncatedError,
    WireError,
)

from .conftest import Kernel, load_kernel

#: By the names of vectors, of which the first that matches counts: the error, and what its message
#: has a part of.
ERRORS: Final[dict[str, tuple[type[JellyError], str]]] = {
    "features/*_deep": (LimitError, "depth of quoted triples is 65"),
    "*/*undeclared*": (StatementError, "do not declare"),
    "features/*": (StatementError, "do not declare generalized_statements"),
    "framing/length_of_4_*": (LimitError, "frame_bytes"),
    "framing/bare_*": (WireError, "wire type 6|ends after its message"),
    "framing/*_cut_off": (TruncatedError, "ends inside a frame"),
    "framing/*": (WireError, "number|row is empty"),
    "*/two_*": (WireError, "two names|twice|two fields"),
    "graphs/*": (OrderError, "a row .* in a stream of physical type"),
    "logical_type/*": (OptionsError, "does not match physical type"),
    "lookups/*": (LookupTableError, "outside the declared table|table has size 0|was never set"),
    "metadata/*": (WireError, "metadata key is not valid UTF-8"),
    # The kind of a stream of empty frames is not known.
    "options/only_empty_*": (JellyError, "no options|field number 0"),
    "options/*": (OptionsError, "version|too small|differ|type . is not|no options|not start with"),
    "namespaces/undefined_name": (LookupTableError, "name entry 4 is used but was never set"),
    "namespaces/version_1": (OptionsError, "protocol version 2"),
    "namespaces/*": (StatementError, "IRI|in a stream of triples"),
    "repeats/*": (StatementError, "cannot repeat|but no .* before has one"),
    "*/datatype_0": (LookupTableError, "datatype 0 is not valid"),
    "terms/*": (StatementError, "language tag is empty"),
    "wire/*": (WireError, "."),
    # Of Jelly-Patch only
    "f*/mark": (OrderError, "PUNCTUATION .* in a stream of type"),
    "frame/*": (OrderError, "patch, ends inside a transaction"),
    "headers/*": (StatementError, "has no value"),
    "*/transaction_over_mark": (OrderError, "PUNCTUATION inside a transaction"),
    "*/transaction_open": (TruncatedError, "ends inside a transaction"),
    "punctuated/*": (TruncatedError, "in a stream of type PUNCTUATED"),
    "rows/*": (WireError, "empty|ends after"),
    "statements/*": (StatementError, "has a graph|repeat"),
    "transactions/*": (OrderError, "side a transaction.* in a stream of type"),
}
CASES: Final = [
    case
    for folder in ("from_jelly", "patch_from_jelly")
    for case in read_suite(VECTORS / folder)
    # Text is detected before there are frames.
    if not case.name.endswith("neg_text")
]


def decode(kernel: Kernel, case: Case) -> list[Any]:
    """Decode the frames of a case."""
    [source] = case.actions
    splitter = FrameSplitter()
    if case.name.startswith("patch"):
        decoder = kernel.PatchDecoder(GenericFactory(), strict=True)
    else:
        decoder = kernel.Decoder(GenericFactory())
    frames = chain(splitter.feed(source.read_bytes()), splitter.finish())
    return [*map(decoder.decode, frames), decoder.finish(), decoder.options]


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case.positive], ids=lambda case: case.name
)
def test_readers_reject(kernel: Kernel, case: Case) -> None:
    name = case.name.partition("/")[2].replace("neg_", "")
    error, words = next(found for each, found in ERRORS.items() if fnmatch(name, each))
    with pytest.raises(error, match=words) as caught:
        decode(kernel, case)
    if case.rejected_at is not None:
        assert (caught.value.frame, caught.value.row) == case.rejected_at


def test_readers_accept() -> None:
    """``tests/conformance`` compares the contents with those expected."""
    for case in CASES:
        if case.positive:
            expected = decode(load_kernel("python"), case)
            assert decode(load_kernel("native"), case) == expected, case.name
