# Made by proto/regenerate.py from proto/sparql.proto, which is under the Apache License 2.0.
# Do not edit.

from . import rdf_pb2 as rdf_pb2
from . import rdf2_pb2 as rdf2_pb2
from ._pool import define

define(
    globals(),
    b'\n\x0csparql.proto\x12(eu.ostrzyciel.jelly.core.proto.v1.sparql\x1a\trd'
    b'f.proto\x1a\nrdf2.proto"\xea\x01\n\x14SparqlResultsOptions\x12\x1f\n\x0bstream_name\x18'
    b'\x01 \x01(\tR\nstreamName\x12-\n\x13max_name_table_size\x18\t \x01(\rR\x10maxNameTable'
    b'Size\x121\n\x15max_prefix_table_size\x18\n \x01(\rR\x12maxPrefixTableSize\x125\n\x17m'
    b'ax_datatype_table_size\x18\x0b \x01(\rR\x14maxDatatypeTableSize\x12\x18\n\x07versio'
    b'n\x18\x0f \x01(\rR\x07version"G\n\x0eSparqlVariable\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12!\n\x0cco'
    b'lumn_index\x18\x02 \x01(\rR\x0bcolumnIndex"\'\n\x0fSparqlAskResult\x12\x14\n\x05value\x18\x01 '
    b'\x01(\x08R\x05value"\xb6\x01\n\nSparqlTerm\x12=\n\x03iri\x18\x01 \x01(\x0b2).eu.ostrzyciel.jelly'
    b'.core.proto.v1.RdfIriH\x00R\x03iri\x12\x16\n\x05bnode\x18\x02 \x01(\tH\x00R\x05bnode\x12I\n\x07lite'
    b'ral\x18\x03 \x01(\x0b2-.eu.ostrzyciel.jelly.core.proto.v1.RdfLiteralH\x00R\x07'
    b'literalB\x06\n\x04term"e\n\x0fSparqlIriColumn\x12\x19\n\x08name_ids\x18\x01 \x03(\rR\x07nameId'
    b's\x12\x18\n\x07layouts\x18\x02 \x03(\rR\x07layouts\x12\x1d\n\nprefix_ids\x18\x03 \x03(\rR\tprefixIds"E'
    b'\n\x11SparqlBnodeColumn\x12\x16\n\x06values\x18\x01 \x03(\tR\x06values\x12\x18\n\x07layouts\x18\x02 \x03(\r'
    b'R\x07layouts"\xb1\x01\n\x13SparqlLiteralColumn\x12E\n\x06values\x18\x01 \x03(\x0b2-.eu.ostrz'
    b'yciel.jelly.core.proto.v1.RdfLiteralR\x06values\x12\x18\n\x07layouts\x18\x02 \x03('
    b'\rR\x07layouts\x12\x1d\n\nlex_values\x18\x03 \x03(\tR\tlexValues\x12\x1a\n\x08datatype\x18\x04 \x01(\rR'
    b'\x08datatype"z\n\x10SparqlPolyColumn\x12L\n\x06values\x18\x01 \x03(\x0b24.eu.ostrzycie'
    b'l.jelly.core.proto.v1.sparql.SparqlTermR\x06values\x12\x18\n\x07layouts\x18\x02'
    b' \x03(\rR\x07layouts"\xe2\x08\n\x12SparqlResultsFrame\x12X\n\x07options\x18\x01 \x01(\x0b2>.eu.o'
    b'strzyciel.jelly.core.proto.v1.sparql.SparqlResultsOptionsR\x07o'
    b'ptions\x12V\n\tvariables\x18\x02 \x03(\x0b28.eu.ostrzyciel.jelly.core.proto.v'
    b'1.sparql.SparqlVariableR\tvariables\x12\x1b\n\trow_count\x18\x03 \x01(\rR\x08rowCo'
    b'unt\x12K\n\x05names\x18\x04 \x03(\x0b25.eu.ostrzyciel.jelly.core.proto.v1.RdfNa'
    b'meEntryPackedR\x05names\x12S\n\x08prefixes\x18\x05 \x03(\x0b27.eu.ostrzyciel.jelly'
    b'.core.proto.v1.RdfPrefixEntryPackedR\x08prefixes\x12W\n\tdatatypes\x18\x06'
    b' \x03(\x0b29.eu.ostrzyciel.jelly.core.proto.v1.RdfDatatypeEntryPac'
    b'kedR\tdatatypes\x12Z\n\x0biri_columns\x18\x07 \x03(\x0b29.eu.ostrzyciel.jelly.co'
    b're.proto.v1.sparql.SparqlIriColumnR\niriColumns\x12`\n\rbnode_colu'
    b'mns\x18\x08 \x03(\x0b2;.eu.ostrzyciel.jelly.core.proto.v1.sparql.SparqlB'
    b'nodeColumnR\x0cbnodeColumns\x12f\n\x0fliteral_columns\x18\t \x03(\x0b2=.eu.ostrz'
    b'yciel.jelly.core.proto.v1.sparql.SparqlLiteralColumnR\x0elitera'
    b'lColumns\x12]\n\x0cpoly_columns\x18\n \x03(\x0b2:.eu.ostrzyciel.jelly.core.pr'
    b'oto.v1.sparql.SparqlPolyColumnR\x0bpolyColumns\x12X\n\nask_result\x18\x0b '
    b'\x01(\x0b29.eu.ostrzyciel.jelly.core.proto.v1.sparql.SparqlAskResu'
    b'ltR\taskResult\x12f\n\x08metadata\x18\x0f \x03(\x0b2J.eu.ostrzyciel.jelly.core.p'
    b'roto.v1.sparql.SparqlResultsFrame.MetadataEntryR\x08metadata\x1a;\n'
    b'\rMetadataEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05value\x18\x02 \x01(\x0cR\x05value:\x028\x01b\x06'
    b'proto3'
)
