# Made by proto/regenerate.py from proto/rdf2.proto, which is under the Apache License 2.0.
# Do not edit.

from ._pool import define

define(
    globals(),
    b'\n\nrdf2.proto\x12!eu.ostrzyciel.jelly.core.proto.v1"<\n\x12RdfNameEn'
    b'tryPacked\x12\x0e\n\x02id\x18\x01 \x01(\rR\x02id\x12\x16\n\x06values\x18\x02 \x03(\tR\x06values">\n\x14RdfPref'
    b'ixEntryPacked\x12\x0e\n\x02id\x18\x01 \x01(\rR\x02id\x12\x16\n\x06values\x18\x02 \x03(\tR\x06values"@\n\x16Rdf'
    b'DatatypeEntryPacked\x12\x0e\n\x02id\x18\x01 \x01(\rR\x02id\x12\x16\n\x06values\x18\x02 \x03(\tR\x06valuesb'
    b'\x06proto3'
)
