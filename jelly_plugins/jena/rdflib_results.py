"""rdflib's plugins for SPARQL results: ``Result.parse("x.srt", format="srt")`` and
``result.serialize(format="srt")``."""

from __future__ import annotations

from typing import IO, Any, BinaryIO, ClassVar, Final, cast

from rdflib.query import Result, ResultParser, ResultSerializer
from rdflib.term import Variable

from ..errors import TermError
from ..rdflib.terms import RdflibFactory, describe_node
from .names import JenaFormat
from .results import encode_results, read_results


class _JenaResultParser(ResultParser):
    format: ClassVar[JenaFormat]

    def parse(self, source: IO[Any], **kwargs: Any) -> Result:
        """Read results; blank nodes are new ones in each reading.

        :param kwargs: of no use.
        :raises JellyError: with source and row.
        """
        kwargs.clear()
        result = Result("SELECT")
        factory: Any = RdflibFactory(generalized=True)
        with read_results(cast(BinaryIO, source), format=self.format, factory=factory) as solutions:
            result.vars = [Variable(name) for name in solutions.variables]
            result.bindings = [
                {
                    name: term
                    for name, term in zip(result.vars, solution, strict=True)
                    if term is not None
                }
                for solution in solutions
            ]
        return result


class ThriftResultParser(_JenaResultParser):
    """Reads SPARQL results in RDF Thrift.

    >>> rows = bytes.fromhex("191c18017300" "00" "191c1c180475726e3a000000")
    >>> import io
    >>> Result.parse(io.BytesIO(rows), format="srt").bindings
    [{rdflib.term.Variable('s'): rdflib.term.URIRef('urn:')}]
    """

    format: ClassVar = JenaFormat.THRIFT


class ProtobufResultParser(_JenaResultParser):
    """Reads SPARQL results in RDF Protobuf."""

    format: ClassVar = JenaFormat.PROTOBUF


class _JenaResultSerializer(ResultSerializer):
    format: ClassVar[JenaFormat]

    def serialize(self, stream: IO[Any], encoding: str = "utf-8", **kwargs: Any) -> None:
        """Write results of SELECT.

        :param encoding: of no use: the format is binary.
        :param kwargs: of no use.
        :raises TermError: they are of another kind of query, or a term cannot be written.
        """
        del encoding
        kwargs.clear()
        if self.result.type != "SELECT":
            raise TermError(f"results of {self.result.type} have no place in this format")
        names = list(self.result.vars or ())
        solutions = ([solution.get(name) for name in names] for solution in self.result.bindings)
        for row in encode_results(
            [str(name) for name in names], solutions, self.format, describe=describe_node
        ):
            stream.write(row)


class ThriftResultSerializer(_JenaResultSerializer):
    """Writes SPARQL results in RDF Thrift."""

    format: ClassVar = JenaFormat.THRIFT


class ProtobufResultSerializer(_JenaResultSerializer):
    """Writes SPARQL results in RDF Protobuf."""

    format: ClassVar = JenaFormat.PROTOBUF


__all__: Final = [
    "ProtobufResultParser",
    "ProtobufResultSerializer",
    "ThriftResultParser",
    "ThriftResultSerializer",
]
