"""pyoxigraph's parsers: what guards them, their statements in batches, and their errors.

Turtle and JSON are scanned before the parser gets them, see ``scans``. Only this module chooses the
form of the scans, compiled or not.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ..codec import native
from ..codec.common.limits import DEFAULT_LIMITS, Limits
from ..codec.text.lines import shorten
from ..errors import JellyError, LimitError, SourceError, TextError
from ..io.sources import CHUNK
from ..lazy import library

if TYPE_CHECKING:
    from .scans import JsonScan, TurtleScan
else:
    try:
        if not native:
            raise ModuleNotFoundError("the Python codec runs")
        from ._scans import JsonScan, TurtleScan
    except ModuleNotFoundError:
        from .scans import JsonScan, TurtleScan

#: Levels that text may have: JSON-LD and RDF/XML take time that grows with the square of the depth.
DEPTH: Final = 1 << 10

#: Bytes that the statements held at once may come to, if they are as long as those before.
_BATCH_BYTES: Final = 1 << 20

#: The position in pyoxigraph's messages, which our errors have separately.
_PLACE: Final = re.compile(
    r"^Parser error at [^:]*: |(?: (?:at|on|in) line \d+(?: column \d+)?)?(?: \(line \d+\))?$"
)
_RELATIVE: Final = re.compile(
    r"\A(?:error while parsing IRI '.*': )?No scheme found in an absolute IRI\Z", re.DOTALL
)
#: Characters of pyoxigraph's message that an error has.
_MESSAGE: Final = 400
#: What to add to the error of a relative IRI without a base.
NEED_BASE: Final = ": relative IRIs need a base"
#: An absolute IRI.
SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*+:")
#: What pyoxigraph says of a remote context.
_NO_CONTEXT: Final = "No LoadDocumentCallback has been set to load remote contexts"

#: What pyoxigraph reports the start of: an IRI or a language tag.
_REPORTED: Final = re.compile(r"<([^>]*+)>|([A-Za-z0-9\-]++)")

#: Base IRI of a JSON-LD document without one. pyoxigraph leaves out statements with relative IRIs,
#: as JSON-LD requires. Under this base they are included, and are rejected here.
NO_BASE: Final = "x-jelly-plugins-no-base://x/"
NO_BASE_SCHEME: Final = NO_BASE.partition("/")[0]

#: IRIs in N-Quads; strings are skipped.
_IRI: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|<([^>]*+)>')

#: What pyoxigraph raises while it reads.
PARSER_ERRORS: Final = (SyntaxError, MemoryError, OSError, ValueError)


# Guards


def too_deep() -> LimitError:
    """The error of text that is nested too deep."""
    return LimitError(f"the text is nested more than {DEPTH} deep")


def with_bounded_turtle(
    chunks: Iterable[bytes], base: str | None, scan: TurtleScan | None = None
) -> Iterator[bytes]:
    """Chunks of Turtle or TriG, each of which comes out once it was scanned; before an error, the
    text up to it.

    Within a long string they double, since the parser reads it from its start with each of them.

    :param scan: scans the text, and was made for the same base.
    """
    scan = scan or turtle_scan(base)
    #: Bytes that were yielded since a chunk that did not end in a string.
    waiting = 0
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        try:
            within = scan.scan(chunk)
        except LimitError:
            # The statements before it.
            parts.append(chunk[: max(0, scan.at)])
            if any(parts):
                yield b"".join(parts)
            raise
        parts.append(chunk)
        size += len(chunk)
        if within and size < waiting:
            continue
        waiting = waiting + size if within else 0
        yield parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        size = 0
    if parts:
        yield b"".join(parts)


def turtle_scan(base: str | None) -> TurtleScan:
    """A scan of Turtle or TriG with a base IRI."""
    return TurtleScan(DEPTH, len((base or "").encode(errors="replace")))


def with_bounded_json(chunks: Iterable[bytes], limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """Chunks of JSON, each of which comes out once it was scanned.

    :param limits: ``frame_rows`` bounds the values of each object at the top of the document or of
        an array there: pyoxigraph holds all of them.
    """
    scan = JsonScan(DEPTH, limits)
    for chunk in chunks:
        scan.scan(chunk)
        yield chunk
    scan.scan(b" ")


def check_json(document: bytes, limits: Limits = DEFAULT_LIMITS) -> None:
    """Check a document of JSON, see :func:`with_bounded_json`."""
    deque(with_bounded_json((document,), limits), maxlen=0)


# Statements


def pyoxigraph_module() -> Any:
    """The pyoxigraph library."""
    return library("pyoxigraph", "this format", "oxigraph")


def parser_of(data: Any, format_: Any, base: str | None) -> Any:
    """pyoxigraph's parser of a text."""
    try:
        return pyoxigraph_module().parse(data, format=format_, base_iri=base)
    except PARSER_ERRORS as error:
        raise parser_error(error) from None


class Batch(deque[Any]):
    """The statements of a parser that are held at once, and the number of all that it has given.

    Its reader looks at the number when the parser asks for more text, so that no function has to be
    called for each statement.
    """

    def __init__(self) -> None:
        super().__init__()
        self._before = 0

    @property
    def total(self) -> int:
        """Number of statements so far."""
        return self._before + len(self)

    def clear(self) -> None:
        """Remove the statements that are held."""
        self._before += len(self)
        super().clear()


def parsed(
    parser: Iterable[Any],
    *,
    batch: int,
    first_line: int | None = None,
    ends_batch: Callable[[Any], bool] | None = None,
    held: Batch | None = None,
) -> Iterator[bytes]:
    """What pyoxigraph parses, as lines of N-Quads in chunks.

    :param batch: number of statements that may be held at once.
    :param first_line: of the text that is parsed, where that is a part of a source.
    :param ends_batch: called for each statement: whether to yield the text so far after it.
    """
    pyoxigraph = pyoxigraph_module()
    nquads = pyoxigraph.RdfFormat.N_QUADS
    held = Batch() if held is None else held
    statements = iter(parser)
    # The first statement shows how long they are.
    size = 1
    failed: JellyError | None = None
    while failed is None:
        held.clear()
        try:
            if ends_batch is None:
                held.extend(islice(statements, size))
            else:
                for statement in islice(statements, size):
                    held.append(statement)
                    if ends_batch(statement):
                        break
        except PARSER_ERRORS as error:
            failed = parser_error(error, first_line=first_line)
        if not held:
            break
        lines = pyoxigraph.serialize(held, format=nquads)
        yield lines
        # Where statements are long, the next ones are fewer.
        size = max(1, min(batch, _BATCH_BYTES * len(held) // len(lines)))
    if failed is not None:
        raise failed


def gathered(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks joined as they arrive; an empty one means that the next may take a while.

    The text before an error is yielded before it.
    """
    waiting: list[bytes] = []
    size = 0
    failed: JellyError | None = None
    try:
        for chunk in chunks:
            if chunk:
                waiting.append(chunk)
                size += len(chunk)
            if waiting and (not chunk or size >= CHUNK):
                yield b"".join(waiting)
                waiting.clear()
                size = 0
    except JellyError as error:
        failed = error
    if waiting:
        yield b"".join(waiting)
    if failed is not None:
        raise failed


# Errors


def resolved(reference: str, base: str | None, what: str) -> str:
    """An IRI, resolved by pyoxigraph if it is relative and there is a base."""
    if SCHEME.match(reference) or not base:
        return reference
    module = pyoxigraph_module()
    # A backslash would begin an escape.
    text = f"<{reference}> <urn:p> <urn:o> .".replace("\\", " ")
    try:
        (quad,) = module.parse(text, format=module.RdfFormat.TURTLE, base_iri=base)
    except (SyntaxError, ValueError) as error:
        raise TextError(
            f"the {what} {shorten(reference)!r} cannot be resolved against {shorten(base)!r}"
        ) from error
    absolute: str = quad.subject.value
    return absolute


def parser_error(error: BaseException, *, first_line: int | None = None) -> JellyError:
    """What pyoxigraph raises while it reads, as an error of this package.

    :param first_line: of the text that it was given, where that is a part of a source.
    """
    if isinstance(error, JellyError):
        return error
    if isinstance(error, SyntaxError):
        if first_line is not None:
            return TextError(_message_of(error), line=first_line + (error.lineno or 1) - 1)
        return TextError(_message_of(error), line=error.lineno, column=error.offset)
    if isinstance(error, MemoryError):
        return LimitError(f"a term is too long: {error}")
    return SourceError(str(error))


def _message_of(error: SyntaxError) -> str:
    """pyoxigraph's message for malformed text, without the position."""
    message = _PLACE.sub("", error.msg or "") or "malformed"
    if message == _NO_CONTEXT:
        return "a remote context, which is never fetched: pass it with contexts="
    if _RELATIVE.search(message):
        return message + NEED_BASE
    # It may have a token of megabytes.
    return shorten(message, _MESSAGE)


def rejection(error: SyntaxError, text: bytes) -> str:
    """Why pyoxigraph rejects a chunk of N-Quads whose lines are valid, with the term."""
    line = text.split(b"\n")[(error.lineno or 1) - 1].decode()
    found = _REPORTED.match(line, (error.offset or 1) - 1)
    term = "" if found is None else f"Oxigraph rejects {(found[1] or found[2])!r}: "
    return f"{term}{_message_of(error)}"


def check_base(lines: bytes) -> None:
    """Check N-Quads of a JSON-LD document that was parsed with :data:`NO_BASE`."""
    opening = NO_BASE_SCHEME.encode()
    if b"<" + opening not in lines:
        return
    for iri in _IRI.findall(lines):
        if iri.startswith(opening):
            reference = iri.decode().removeprefix(NO_BASE).removeprefix(NO_BASE_SCHEME)
            raise TextError(f"the IRI <{reference}> is relative{NEED_BASE}")
