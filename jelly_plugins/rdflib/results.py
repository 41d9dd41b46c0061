"""rdflib's plugins for SPARQL results: ``Result.parse(file, format="jelly-sparql")`` and
``result.serialize(format="jelly-sparql")``; the same for Jena's ``srt`` and ``srp``."""

from __future__ import annotations

from typing import IO, Any, BinaryIO, ClassVar, cast

from rdflib.query import Result, ResultParser, ResultSerializer
from rdflib.term import Variable

from ..errors import TermError
from ..sparql import ResultsFormat, read_results, write_boolean, write_results
from .terms import RdflibFactory, describe_node


class _ResultParser(ResultParser):
    format: ClassVar[ResultsFormat]

    def parse(self, source: IO[Any], **kwargs: Any) -> Result:  # noqa: ARG002
        """Read results; blank nodes are new ones in each reading."""
        factory: Any = RdflibFactory(generalized=True)
        with read_results(cast(BinaryIO, source), format=self.format, factory=factory) as found:
            if found.boolean is not None:
                result = Result("ASK")
                result.askAnswer = found.boolean
                return result
            result = Result("SELECT")
            names = result.vars = [Variable(name) for name in found.variables]
            result.bindings = [
                {name: term for name, term in zip(names, solution, strict=True) if term is not None}
                for solution in found
            ]
        return result


class JellyResultParser(_ResultParser):
    format: ClassVar = ResultsFormat.JELLY


class ThriftResultParser(_ResultParser):
    format: ClassVar = ResultsFormat.THRIFT


class ProtobufResultParser(_ResultParser):
    format: ClassVar = ResultsFormat.PROTOBUF


class _ResultSerializer(ResultSerializer):
    format: ClassVar[ResultsFormat]

    def serialize(self, stream: IO[Any], encoding: str = "utf-8", **kwargs: Any) -> None:  # noqa: ARG002
        """Write results of SELECT or, in Jelly-SPARQL, of ASK."""
        if self.result.type == "ASK":
            write_boolean(bool(self.result.askAnswer), stream, format=self.format)
            return
        if self.result.type != "SELECT":
            raise TermError(f"this format cannot express results of type {self.result.type}")
        names = list(self.result.vars or ())
        solutions = ([*map(each.get, names)] for each in self.result.bindings)
        write_results(
            [*map(str, names)], solutions, stream, format=self.format, describe=describe_node
        )


class JellyResultSerializer(_ResultSerializer):
    format: ClassVar = ResultsFormat.JELLY


class ThriftResultSerializer(_ResultSerializer):
    format: ClassVar = ResultsFormat.THRIFT


class ProtobufResultSerializer(_ResultSerializer):
    format: ClassVar = ResultsFormat.PROTOBUF
