"""The syntaxes of message logs: names, file endings, media types with their parameters.

Reference: RDF Messages, section "Serializing and parsing RDF Message Logs".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ..errors import shown
from ..io import sources


class LogFormat(StrEnum):
    """A syntax of message logs; its value is a short name, which is also its usual file ending."""

    JELLY = "jelly"
    N_TRIPLES = "nt"
    N_QUADS = "nq"
    TURTLE = "ttl"
    TRIG = "trig"
    NDJSON_LD = "ndjsonld"
    YAML_LD = "yamlld"
    RDF_XML = "rdf"

    @property
    def has_graphs(self) -> bool:
        """Whether the syntax can name graphs."""
        return self not in (LogFormat.N_TRIPLES, LogFormat.TURTLE, LogFormat.RDF_XML)

    @property
    def has_delimiters(self) -> bool:
        """Whether messages are separated by delimiters, in a log that announces itself."""
        return self in (
            LogFormat.N_TRIPLES,
            LogFormat.N_QUADS,
            LogFormat.TURTLE,
            LogFormat.TRIG,
        )


class Dialect(StrEnum):
    """What a delimiter is, in the syntaxes that have delimiters."""

    #: The directive ``MESSAGE`` (or ``@message .``), announced by a version label.
    CURRENT = "current"
    #: A comment that opens with ``@message``, as the early draft has it.
    COMMENT_2025 = "2025-comment"


#: Version labels that announce a message log.
MESSAGE_LABELS: Final = ("1.1-messages", "1.2-messages", "1.2-basic-messages")
#: Version labels that do not announce one.
_PLAIN_LABELS: Final = ("1.1", "1.2", "1.2-basic")
#: The label that is written.
WRITTEN_LABEL: Final = "1.2-messages"

#: What announces a log.
HEADER: Final = f'VERSION "{WRITTEN_LABEL}"\n'.encode()
#: What ends a message.
DELIMITER: Final = b"MESSAGE\n"
#: The delimiter of the early draft.
COMMENT: Final = b"# @message\n"
#: Opens the text of a comment that is a delimiter of the early draft, whose pattern is
#: ``^\\s*@message``: all white space of ECMAScript, in UTF-8, but for what ends a line here.
EARLY_OPENING: Final = (
    rb"(?:[ \t\v\f]|\xc2\xa0|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
    rb"|\xef\xbb\xbf)*+@message"
)
UNANNOUNCED: Final = (
    f'a delimiter in what does not announce itself as a message log: VERSION "{WRITTEN_LABEL}" or '
    f"the media type's parameter version={WRITTEN_LABEL} is missing"
)

#: The parameter by which the early draft announces a log.
_EARLY_PARAMETER: Final = ("messages", "rdfm")

#: Names, endings and media types besides those that the formats of ``io`` have.
_NAMES: Final = {
    "ndjsonld": LogFormat.NDJSON_LD,
    "jsonl": LogFormat.NDJSON_LD,
    "ndjson": LogFormat.NDJSON_LD,
    "application/x-ld+ndjson": LogFormat.NDJSON_LD,
    "yamlld": LogFormat.YAML_LD,
    "yaml": LogFormat.YAML_LD,
    "yml": LogFormat.YAML_LD,
    "application/rdfm+yaml": LogFormat.YAML_LD,
    "application/ld+yaml": LogFormat.YAML_LD,
    "application/rdfm+xml": LogFormat.RDF_XML,
}


@dataclass(frozen=True, slots=True)
class Syntax:
    """A syntax, and what is known of a log before its first byte is read.

    :ivar announced: whether it is known to be a message log, so that delimiters need no
        announcement of their own.
    """

    format: LogFormat
    announced: bool = False
    dialect: Dialect = Dialect.CURRENT


def label_announces(label: str) -> bool:
    """Whether a version label, which must be a known one, announces a message log."""
    if label in MESSAGE_LABELS:
        return True
    if label in _PLAIN_LABELS:
        return False
    known = ", ".join((*_PLAIN_LABELS, *MESSAGE_LABELS))
    raise ValueError(f"the version {label!r} is not known, these are: {known}")


def syntax_named(name: str, dialect: str | None = None) -> Syntax:
    """The syntax of a name: a file ending, a title or a media type with its parameters.

    :param dialect: the requested dialect; a media type's parameters may set it too.
    :raises ValueError: the syntax, version or dialect is unknown, or two of them contradict.
    """
    essence, _, rest = name.partition(";")
    format_ = _format_named(essence.strip())
    asked = None if dialect is None else Dialect(dialect)
    announced = asked is Dialect.COMMENT_2025
    for text in rest.split(";") if rest.strip() else ():
        parameter, mark, value = (each.strip() for each in text.lower().partition("="))
        value = value.removeprefix('"').removesuffix('"')
        if not (parameter and mark and value):
            raise ValueError(f"{name!r} is not a media type")
        if (parameter, value) == _EARLY_PARAMETER and format_.has_delimiters:
            if asked is Dialect.CURRENT:
                raise ValueError(f"{name!r} is in the dialect {Dialect.COMMENT_2025}")
            asked = Dialect.COMMENT_2025
            announced = True
        elif parameter == "version" and label_announces(value):
            if asked is Dialect.COMMENT_2025:
                raise ValueError(f"{name!r} is not in the dialect {Dialect.COMMENT_2025}")
            announced = True
    return Syntax(format_, announced, asked or Dialect.CURRENT)


def _format_named(name: str) -> LogFormat:
    lower = name.lower()
    found = _NAMES.get(lower) or _NAMES.get(lower.removeprefix(".").replace("-", ""))
    try:
        return found or LogFormat(sources.format_named(name))
    except ValueError:
        raise ValueError(
            f"{shown(name)} is not one of the syntaxes {', '.join(LogFormat)}, nor a media type of "
            "one"
        ) from None


def format_of(named: object) -> LogFormat | None:
    """The syntax that a path or the name of an open file ends in, compressed or not; None if
    unknown."""
    try:
        return _format_named(sources.ending_of(named))
    except ValueError:
        return None
