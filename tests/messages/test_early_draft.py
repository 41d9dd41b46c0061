"""The dialect of the early draft: delimiters are comments."""

from __future__ import annotations

import pytest

from jelly_plugins import JellyError, TextError

from .logs import DELIMITED, EARLY, LOGS, quad_sets, read, sizes, written

S = "<urn:s> <urn:p> <urn:o> .\n"

#: Section 1.4 of the draft.
ARCHIVE = """
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX ex: <https://example.org/>

# a message defining the context
ex:Stream1 a ex:Dataset ;
    rdfs:comment "A log of messages that appeared on a stream" .

# @message a next message is an observation in the stream
ex:Observation1 a sosa:Observation ;
    sosa:resultTime "2026-01-01T00:00:00Z"^^xsd:dateTime ;
    sosa:hasSimpleResult "..." .

# @message an empty message

# @message another observation
ex:Observation2 a sosa:Observation ;
    sosa:resultTime "2026-01-01T00:10:00Z"^^xsd:dateTime ;
    sosa:hasSimpleResult "..." .
"""

#: Section 2.2 of the draft, with a context that needs no other document.
HAIRDRYERS = (
    '{"@context": {"@vocab": "http://schema.org/"}, "@type": "Product", '
    '"name": "Hairdryer DRY 2000", "color": "red"}\n'
    '{"@context": {"@vocab": "http://schema.org/"}, "@type": "Product", '
    '"name": "27-inch 4K Monitor 2700P", "color": "black"}\n'
)

#: Section 2.3, likewise.
HAIRDRYERS_YAML = """\
"@context": https://schema.org/
"@type": Product
name: Hairdryer DRY 2000
color: red
---
"@context": https://schema.org/
"@type": Product
name: 27-inch 4K Monitor 2700P
color: black
"""

#: Section 2.4.
_DOCUMENT = (
    '<?xml version="1.0" encoding="utf-8"?> <rdf:RDF '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:schema="http://schema.org/">'
    '<rdf:Description rdf:nodeID="b3"><rdf:type rdf:resource="http://schema.org/Product"/>'
    "<schema:name>{}</schema:name><schema:color>{}</schema:color></rdf:Description></rdf:RDF>\n"
)
HAIRDRYERS_XML = _DOCUMENT.format("Hairdryer DRY 2000", "red") + _DOCUMENT.format(
    "27-inch 4K Monitor 2700P", "black"
)


@pytest.mark.parametrize("format_", ["ttl", "trig"])
def test_the_drafts_archive(format_: str) -> None:
    assert sizes(ARCHIVE, format_, dialect=EARLY) == [2, 3, 0, 3]
    media_type = {"ttl": "text/turtle", "trig": "application/trig"}[format_]
    assert sizes(ARCHIVE, f"{media_type}; version=1.2; messages=rdfm") == [2, 3, 0, 3]
    # Readers that do not support messages read it as one document.
    assert sizes(ARCHIVE, format_) == [8]


def test_the_drafts_json_ld() -> None:
    assert sizes(HAIRDRYERS, "ndjsonld", dialect=EARLY) == [3, 3]
    assert sizes(HAIRDRYERS, "application/x-ld+ndjson") == [3, 3]


def test_the_drafts_yaml_ld() -> None:
    contexts = {"https://schema.org/": {"@context": {"@vocab": "http://schema.org/"}}}
    assert sizes(HAIRDRYERS_YAML, "application/rdfm+yaml", contexts=contexts) == [3, 3]


def test_the_drafts_rdf_xml() -> None:
    messages = read(HAIRDRYERS_XML, "application/rdfm+xml")
    assert list(map(len, messages)) == [3, 3]
    assert [message.line for message in messages] == [1, 2]


def test_in_the_early_draft_each_line_of_json_is_a_message() -> None:
    log = '{"@context": {"@vocab": "urn:"}}\n{"@id": "urn:s", "p": 1}\n'
    assert sizes(log, "ndjsonld") == [1]
    assert sizes(log, "ndjsonld", dialect=EARLY) == [0, 0]


@pytest.mark.parametrize("format_", DELIMITED)
@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (S + "# @message\n" + S, [1, 1]),
        ("# @message\n" + S, [1]),
        ("# x\n# @message\n" + S + "#@message\n", [1]),
        ("# @message\n# @message\n" + S, [0, 1]),
        (S + "# @message\n# @messages too\n#\t @message\n", [1, 0, 0]),
        (S + "# an @message\n## @message\n" + S, [2]),
        (S.strip() + " # @message\n" + S, [1, 1]),
        ('<urn:s> <urn:p> "# @message" .\n' + S, [2]),
        ("<urn:s> <urn:p#> <urn:#@message> .\n" + S, [2]),
        ('<urn:s> <urn:p> "\\"# @message" . # x # @message\n', [1]),
        ("", []),
        ("# @message", []),
        ("# @message\n# @message", [0]),
        ('VERSION "1.2"\n' + S + "# @message", [1]),
    ],
)
def test_comments_delimit(format_: str, log: str, expected: list[int]) -> None:
    assert sizes(log, format_, dialect=EARLY) == expected


@pytest.mark.parametrize("format_", DELIMITED)
def test_current_delimiters_are_not_recognised(format_: str) -> None:
    with pytest.raises(TextError, match="comments"):
        sizes('VERSION "1.2-messages"\n' + S + "MESSAGE\n", format_, dialect=EARLY)


@pytest.mark.parametrize("format_", ["ttl", "trig"])
def test_a_delimiter_inside_a_statement(format_: str) -> None:
    with pytest.raises(TextError, match="inside") as caught:
        sizes("<urn:s> <urn:p> 1 ;\n# x\n# @message\n <urn:q> 2 .\n", format_, dialect=EARLY)
    assert caught.value.line == 3
    with pytest.raises(JellyError, match="inside a graph block"):
        sizes("<urn:g> {\n# @message\n}", "trig", dialect=EARLY)


@pytest.mark.parametrize("format_", DELIMITED)
@pytest.mark.parametrize("log", LOGS, ids=range(len(LOGS)))
def test_written_and_read(format_: str, log: list[list[tuple[object, ...]]]) -> None:
    data = written(log, format_, dialect=EARLY)
    assert b"MESSAGE\n" not in data.replace(b"\\nMESSAGE", b"")
    assert quad_sets(read(data, format_, dialect=EARLY)) == quad_sets(
        read(written(log, "nq"), "nq")
    )


#: White space of ECMAScript, in which the draft's pattern is written.
SPACES = "\t\v\f \xa0\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


@pytest.mark.parametrize("format_", ["nt", "nq", "ttl", "trig"])
@pytest.mark.parametrize("space", SPACES)
def test_any_white_space_may_precede_a_delimiter(format_: str, space: str) -> None:
    assert sizes(f"{S}#{space} {space}@message\n{S}{S}", format_, dialect=EARLY) == [1, 2]


@pytest.mark.parametrize("format_", ["nt", "nq", "ttl", "trig"])
@pytest.mark.parametrize("other", ["\u200b", "\x1c", "\x85", "\u180e", "\u2060"])
def test_other_characters_may_not_precede_a_delimiter(format_: str, other: str) -> None:
    assert sizes(f"{S}#{other}@message\n{S}", format_, dialect=EARLY) == [2]
