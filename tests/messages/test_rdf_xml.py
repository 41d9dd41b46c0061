"""RDF/XML: a sequence of documents."""

from __future__ import annotations

import pytest

from jelly_plugins import BlankNode, Iri, LimitError, Limits, Literal, TextError, Triple

from .logs import EX, RDF, read, sizes, written

OPEN = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="urn:e:">'
CLOSE = "</rdf:RDF>"
ONE = f'{OPEN}<rdf:Description rdf:about="urn:s"><e:p>x</e:p></rdf:Description>{CLOSE}'
EMPTY = f'<rdf:RDF xmlns:rdf="{RDF}"/>'
DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", []),
        ("\n", []),
        (f"{EMPTY}\n \n{EMPTY}\n", [0, 0]),
        (f"{DECLARATION}{ONE}\n{DECLARATION} {EMPTY}\r\n{ONE}", [1, 0, 1]),
        (f"<!-- <rdf:RDF> -->{ONE}<!-- - x -->\n", [1]),
        (f"<?x </rdf:RDF>?>{ONE}\n", [1]),
        (ONE.replace(">x<", "><![CDATA[</rdf:RDF>]] ]]><!-- </rdf:RDF> --><"), [1]),
        (f'<!DOCTYPE rdf:RDF [<!ENTITY e "urn:e">]>{ONE}\n{ONE}', [1, 1]),
        ('<!DOCTYPE x [<!ENTITY e "y">]>' + ONE.replace(">x<", ">&e;<"), [1]),
        (f"\ufeff{ONE}\n", [1]),
    ],
)
def test_documents(log: str, expected: list[int]) -> None:
    assert sizes(log, "rdf") == expected


@pytest.mark.parametrize(
    "wrong",
    [
        OPEN,
        f"{ONE}{ONE}",
        "x" + ONE,
        ONE + "x",
        "</rdf:RDF>",
        f"{OPEN}<e:p></rdf:RDF>",
        ONE.replace("<e:p>", "<f:p>"),
        f"{OPEN}<rdf:Description rdf:about='rel'/>{CLOSE}",
        f"<!DOCTYPE x [<!ENTITY % e 'y'>]>{ONE}",
        f"<!DOCTYPE x [<!ENTITY e SYSTEM '/etc/hostname'>]>{ONE}",
        "<!-- x -->",
        DECLARATION,
    ],
)
def test_errors_have_the_line(wrong: str) -> None:
    with pytest.raises(TextError) as caught:
        sizes(f"{ONE}\n\n{wrong}\n", "rdf")
    assert caught.value.line == 3


def test_a_document_is_a_line() -> None:
    with pytest.raises(TextError, match=r"line 1.* is truncated; each line of a log is a document"):
        sizes(ONE.replace("><", ">\n<"), "rdf")


@pytest.mark.parametrize(
    ("document", "limits", "words"),
    [
        (OPEN + "<e:p/>" * 60_000, Limits(frame_bytes=100_000), "frame_bytes"),
        (OPEN + "<e:p>" * 60_000, Limits(), "message 1: .*nested"),
        (ONE.replace("</e:p>", "</e:p><e:p>y</e:p>"), Limits(frame_rows=1), "frame_rows"),
    ],
)
def test_a_document_is_bounded(document: str, limits: Limits, words: str) -> None:
    with pytest.raises(LimitError, match=words):
        sizes(f"{ONE}\n{document}", "rdf", limits=limits)


def test_names_and_labels_round_trip() -> None:
    labels = ["0", "a b", "label-30", "label-", "a", "x:y", ""]
    predicates = [EX + "x#1a", EX + "é", "urn:p", RDF + "_1", "urn:-.x-1"]
    messages = [
        [Triple(BlankNode(each), Iri(EX + "p"), BlankNode(each)) for each in labels],
        [Triple(BlankNode("0"), Iri(EX + "p"), Literal("> _:label-30 ."))],
        [Triple(Iri("urn:s"), Iri(each), Literal(" \r\n\t<&>\"' ")) for each in predicates],
    ]
    log = written(messages, "rdf", namespaces={"e": EX, "rdf": "urn:not", "xmlx": "urn:"})
    assert log.count(b"\n") == len(messages)
    found = read(log, "rdf")
    assert [list(message) for message in found] == [
        list(message) for message in read(written(messages, "nq"), "nq")
    ]
    assert list(map(len, read(written(found, "rdf"), "rdf"))) == list(map(len, messages))


def test_each_document_has_its_encoding() -> None:
    document = ONE.replace(">x<", ">é<!-- a -->x<")
    log = b"".join(
        f'<?xml version="1.0" encoding="{encoding}"?>{document}\n'.encode(encoding)
        for encoding in ("utf-8", "iso-8859-1", "latin1", "utf-8")
    )
    found = [quad.object for message in read(log, "rdf") for quad in message.quads]
    assert found == [Literal("éx")] * 4
