"""Reading logs in Turtle and TriG.

pyoxigraph parses the statements, in one go, so that prefixes and the base persist; where messages
end it is told by markers, which ``turtle_splitter`` puts there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from ..codec import Limits
from ..codec.limits import over
from ..errors import JellyError
from ..formats import GenericTerms, PieceFile, pyoxigraph_module
from ..sources import Input
from .formats import LogFormat, Syntax
from .model import Message
from .parsing import located, text_error, unreadable
from .turtle_splitter import TurtleSplitter


def read_turtle(
    source: Input, syntax: Syntax, *, base: str | None, limits: Limits
) -> Iterator[Message]:
    """The messages of a log in Turtle or TriG.

    :raises JellyError: with the line.
    """
    pyoxigraph = pyoxigraph_module()
    formats = pyoxigraph.RdfFormat
    marker = pyoxigraph.NamedNode(uuid4().urn)
    splitter = TurtleSplitter(syntax, f" {marker} {marker} {marker} . ".encode(), limits)
    make = GenericTerms(limits).statement
    quads: list[Any] = []
    index = 0
    try:
        parser = pyoxigraph.parse(
            PieceFile(splitter.split(source.pieces())),
            format=formats.TRIG if syntax.format is LogFormat.TRIG else formats.TURTLE,
            base_iri=base,
        )
        for quad in parser:
            terms = tuple(quad)
            if terms[1] == marker:
                yield Message(quads, index, source.name, splitter.ended.popleft())
                index += 1
                quads = []
                continue
            quads.append(make(terms))
            if len(quads) > limits.frame_rows:
                what = "the number of statements of a message"
                raise over(limits, "frame_rows", len(quads), what)
    except SyntaxError as error:
        found: JellyError = text_error(error)
        failed = splitter.failed
        if failed is not None and _line(failed) <= _line(found):
            found = failed
        raise located(found, source) from None
    except JellyError as error:
        raise located(error, source) from None
    except (OSError, ValueError) as error:
        raise located(unreadable(error), source) from error
    if splitter.failed is not None:
        raise located(splitter.failed, source)
    if splitter.ended:
        yield Message(quads, index, source.name, splitter.ended.popleft())


def _line(error: JellyError) -> int:
    return getattr(error, "line", None) or 0


