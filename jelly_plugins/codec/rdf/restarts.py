"""Restart points: frames of a stream that do not depend on anything before them.

Jelly's lookups and repeats carry over from frame to frame, so that a file can only be read from its
start. A restart point repeats the options and the lookup entries that it needs, and refers to no
term of the frames before: a reader may begin there, with the number of the frame, and reads the
same statements. To a reader that comes from the start it is a frame like any other.

It is marked in the frame's metadata, under the key :data:`KEY`, with an empty value; the entry
precedes the frame's rows, so that a search need not skip those. The encoder writes
restart points on request (``restart_every``, ``restart()``). The first frame of a stream is one
without a mark.

What does not come back after a restart point: namespace declarations before it.

Reference: Jelly-RDF specification, sections "Stream options" (repeated options) and "Prefix, name,
and datatype lookups" (entries that are set again).
"""

from __future__ import annotations

from typing import Final

from ..common.wire import bytes_field, string_field

#: Key of the mark in a frame's metadata.
KEY: Final = "jelly-plugins:restart"
#: What a restart point opens with.
MARK: Final = bytes_field(15, string_field(1, KEY))
