"""RDF Message Logs in every syntax: N-Triples, N-Quads, Turtle, TriG, NDJSON-LD, YAML-LD, RDF/XML
and Jelly.

:func:`read_messages` gives the messages of a log one by one, :func:`write_messages` writes them,
and :func:`convert_messages` does both. Existing parsers parse the statements; this package finds
where messages end.

>>> import io
>>> log = b'VERSION "1.2-messages" PREFIX ex: <urn:ex:> ex:a ex:p 1 . MESSAGE ex:b ex:p 2 .'
>>> messages = list(read_messages(log, format="turtle"))
>>> [message.quads[0].subject.value for message in messages]
['urn:ex:a', 'urn:ex:b']
>>> out = io.BytesIO()
>>> write_messages(messages, out, format="nq")
2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import lazy

if TYPE_CHECKING:
    from .formats import Dialect, LogFormat
    from .model import Message
    from .reader import LogReport, MessageReader, inspect_messages, read_messages
    from .text import (
        ConvertOptions,
        ConvertSettings,
        ReadOptions,
        ReadSettings,
        WriteOptions,
        WriteSettings,
    )
    from .writer import LogConversion, convert_messages, write_messages

__all__ = [
    "ConvertOptions",
    "ConvertSettings",
    "Dialect",
    "LogConversion",
    "LogFormat",
    "LogReport",
    "Message",
    "MessageReader",
    "ReadOptions",
    "ReadSettings",
    "WriteOptions",
    "WriteSettings",
    "convert_messages",
    "inspect_messages",
    "read_messages",
    "write_messages",
]

if not TYPE_CHECKING:
    modules = ("formats", "model", "reader", "writer", "text")
    __getattr__, __dir__ = lazy.attributes(__name__, __all__, modules)
