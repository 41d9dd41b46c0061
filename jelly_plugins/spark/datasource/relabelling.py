"""Labels of blank nodes that identify their file. Does not import Spark."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

#: Literals and IRIs, which may contain any text, and the start of a blank node.
_PARTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*>|_:', re.DOTALL)

#: Number of hexadecimal digits of a file's digest.
_DIGITS: Final = 16


class Relabelling:
    """Gives the blank nodes of one file labels that no other file has.

    :param path: path of the file.

    >>> relabel = Relabelling("a.jelly")
    >>> relabel.column(pa.array(["_:b", '"_:b"', None])).to_pylist()
    ['_:f0c07f1ba14d9654bb', '"_:b"', None]
    """

    def __init__(self, path: str) -> None:
        digest = hashlib.sha256(path.encode()).hexdigest()
        self._opening: Final = f"_:f{digest[:_DIGITS]}"

    def column(self, terms: pa.Array) -> pa.Array:
        """Return a column of terms, as text of N-Triples, with new labels."""
        encoded = terms if pa.types.is_dictionary(terms.type) else terms.dictionary_encode()
        found = encoded.dictionary
        nodes = pc.starts_with(found, "_:")
        quoted = pc.starts_with(found, "<<")
        labels = pc.utf8_slice_codeunits(found, 2)
        joined = pc.binary_join_element_wise(self._opening, labels, "")
        changed = pc.if_else(nodes, joined, found)
        inner = [self._quoted(text) for text in found.filter(quoted).to_pylist()]
        changed = pc.replace_with_mask(changed, quoted, pa.array(inner, changed.type))
        return changed.take(encoded.indices)

    def _quoted(self, text: str) -> str:
        return _PARTS.sub(self._part, text)

    def _part(self, found: re.Match[str]) -> Any:
        return self._opening if found[0] == "_:" else found[0]
