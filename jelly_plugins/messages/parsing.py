"""What pyoxigraph's parsers say is wrong, in errors of ours; and documents parsed by them."""

from __future__ import annotations

import re
from typing import Any, Final

from ..codec import Quad
from ..errors import JellyError, SourceError, TextError
from ..formats import GenericTerms, pyoxigraph_module
from ..sources import Input

#: What pyoxigraph's messages say of the place, which errors have besides.
_PLACE: Final = re.compile(
    r"^Parser error at [^:]*: |(?: (?:at|on|in) line \d+(?: column \d+)?)?(?: \(line \d+\))?$"
)


def text_error(error: SyntaxError, *, first_line: int = 1) -> TextError:
    """The error for what a parser refuses.

    :param first_line: of the text that it was given, in the log.
    """
    message = _PLACE.sub("", error.msg or "") or "malformed"
    line = first_line + (error.lineno or 1) - 1
    return TextError(message, line=line)


def parse_document(
    data: bytes, format_: Any, base: str | None, make: GenericTerms, line: int
) -> list[Quad]:
    """The quads of a document.

    :param line: of its start, in the log.
    :raises TextError: it is malformed.
    """
    try:
        parser = pyoxigraph_module().parse(data, format=format_, base_iri=base)
        return [make.statement(tuple(quad)) for quad in parser]  # type: ignore[misc]
    except SyntaxError as error:
        raise text_error(error, first_line=line) from None
    except JellyError:
        raise
    except (OSError, ValueError) as error:
        raise TextError(str(error), line=line) from error


def located(error: JellyError, source: Input) -> JellyError:
    """An error that names its source."""
    return error.locate(source=source.name)


def unreadable(error: Exception) -> JellyError:
    """The error for what a parser cannot take."""
    return SourceError(str(error))
