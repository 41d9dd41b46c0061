"""The two forms of the codec of rows, with helpers to read and write whole streams."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from jelly_plugins import Triple
from jelly_plugins.codec import DEFAULT_GRAPH, DEFAULT_LIMITS, Limits
from jelly_plugins.codec.text.ntriples import parse_nquads, statement_text
from jelly_plugins.jena.names import JenaFormat
from jelly_plugins.jena.streams import batches

from . import peers

#: Modules of the uncompiled and of the compiled form.
KERNELS = {"python": "jelly_plugins.jena.rows", "native": "jelly_plugins.jena._rows"}


class Kernel(NamedTuple):
    """One form of the codec."""

    name: str
    StatementReader: Any
    RowWriter: Any

    def read(self, data: bytes, form: JenaFormat, **settings: Any) -> list[Any]:
        """Return all statements of rows, see :meth:`text`."""
        text = self.text(data, form, **settings)
        quads: Any = parse_nquads(text, relative_iris=True, base_directions=True)
        return [Triple(*quad[:3]) if quad[3] is DEFAULT_GRAPH else quad for quad in quads]

    def text(
        self,
        data: bytes,
        form: JenaFormat,
        *,
        size: int | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> bytes:
        """Return all lines of rows, read in chunks of ``size`` bytes."""
        reader = self.StatementReader(form, limits=limits)
        return b"".join(batches(chunks(data, size), reader.read_text, reader.end))

    def lines(self, text: bytes, form: JenaFormat, **settings: Any) -> bytes:
        """Return the rows of lines."""
        written: bytes = self.RowWriter(form, **settings).add_lines(text)
        return written

    def write(self, statements: Any, form: JenaFormat, **settings: Any) -> bytes:
        """Return the rows of statements."""
        return self.lines(lines_of(statements), form, **settings)


def lines_of(statements: Any) -> bytes:
    """Return the lines of statements, with base directions."""
    return b"".join(f"{statement_text(each, directions=True)}\n".encode() for each in statements)


def load_kernel(name: str) -> Kernel:
    """Return a form by name."""
    module = import_module(KERNELS[name])
    return Kernel(name, module.StatementReader, module.RowWriter)


def chunks(data: bytes, size: int | None) -> list[bytes]:
    """Split bytes into chunks of a size; None for a single chunk."""
    size = size or len(data) or 1
    return [data[at : at + size] for at in range(0, len(data), size)]


def rows(form: JenaFormat, *values: Any) -> bytes:
    """Write rows of a stream with other implementations of the encodings."""
    return peers.encoded(form, *(("RDF_StreamRow", value) for value in values))


def result_rows(form: JenaFormat, names: list[str], *solutions: list[Any]) -> bytes:
    """Write rows of results with other implementations of the encodings."""
    variables = {"vars": [{"name": name} for name in names]}
    rows = [("RDF_DataTuple", {"row": solution}) for solution in solutions]
    return peers.encoded(form, ("RDF_VarTuple", variables), *rows)
