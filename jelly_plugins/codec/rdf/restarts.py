"""Restart points: frames of a stream that do not depend on earlier frames.

Jelly's lookups and repeats carry over from frame to frame, so that a file can only be read from its
start. A restart point repeats the options and the lookup entries that it needs, and does not refer
to terms of earlier frames. A reader that knows the frame's number may begin there and reads the
same statements. For a reader that begins at the start of the stream it is a frame like any other.

The key :data:`KEY` in the frame's metadata, with an empty value, marks it. The entry precedes the
frame's rows, so that a search need not skip them. The encoder writes restart points on request
(``restart_every``, ``restart()``). The first frame of a stream is a restart point without this key.

A restart point does not repeat earlier namespace declarations.

Reference: Jelly-RDF specification, sections "Stream options" (repeated options) and "Prefix, name,
and datatype lookups" (entries that are set again).
"""

from __future__ import annotations

from typing import Final

from ..common.wire import bytes_field, string_field

#: Key in the metadata of restart points.
KEY: Final = "jelly-plugins:restart"
#: First bytes of a restart point.
MARK: Final = bytes_field(15, string_field(1, KEY))
