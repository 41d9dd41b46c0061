"""RDF/XML: a sequence of documents."""

from __future__ import annotations

import pytest

from jelly_plugins import BlankNode, Iri, LimitError, Limits, Literal, TermError, TextError, Triple

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


def test_entities_that_grow_are_rejected() -> None:
    entities = '<!ENTITY a0 "aaaaaaaaaa">' + "".join(
        f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)
    )
    with pytest.raises(LimitError, match="entity"):
        sizes(f"<!DOCTYPE x [{entities}]>" + ONE.replace(">x<", ">&a9;<"), "rdf")
    many = ONE.replace(">x<", f">{'&a;' * 100_000}<")
    with pytest.raises(TextError, match=r"expand|amplification"):
        sizes(f'<!DOCTYPE x [<!ENTITY a "{"a" * 1000}">]>{many}', "rdf")


def test_a_document_is_bounded() -> None:
    with pytest.raises(LimitError, match="frame_bytes"):
        sizes(OPEN + "<e:p/>" * 60_000, "rdf", limits=Limits(frame_bytes=100_000))


def test_the_depth_of_elements_is_limited() -> None:
    with pytest.raises(LimitError, match=r"message 1: .*nested"):
        sizes(f"{ONE}\n{OPEN}{'<e:p>' * 60_000}{'</e:p>' * 60_000}{CLOSE}", "rdf")


def test_a_message_is_bounded() -> None:
    with pytest.raises(LimitError, match="frame_rows"):
        sizes(
            ONE.replace("<e:p>x</e:p>", "<e:p>x</e:p><e:p>y</e:p>"),
            "rdf",
            limits=Limits(frame_rows=1),
        )


@pytest.mark.parametrize(
    ("triple", "words"),
    [
        (Triple(Iri("urn:s"), Iri(EX), Iri("urn:o")), "predicate"),
        (Triple(Iri("urn:s"), Iri(EX + "1"), Iri("urn:o")), "predicate"),
        (Triple(Iri("urn:s"), Iri(RDF + "li"), Iri("urn:o")), "predicate"),
        (Triple(Iri("urn:s"), Iri(RDF + "Description"), Iri("urn:o")), "predicate"),
        (Triple(Iri("urn:s"), Iri(EX + "p"), Literal("\x00")), r"U\+0000"),
        (Triple(Iri("urn:s"), Iri(EX + "p"), Literal("\ufffe")), r"U\+FFFE"),
        (Triple(Iri("s"), Iri(EX + "p"), Iri("urn:o")), "IRI"),
        (Triple(Iri("urn:s t"), Iri(EX + "p"), Iri("urn:o")), "IRI"),
    ],
)
def test_statements_that_cannot_be_written_are_rejected(triple: Triple, words: str) -> None:
    with pytest.raises(TermError, match=rf"^message 1: .*{words}"):
        written([[], [triple]], "rdf")


def test_names() -> None:
    triples = [
        Triple(BlankNode(label), Iri(predicate), Literal(" \r\n\t<&>\"' "))
        for label, predicate in (
            ("b1", EX + "x#1a"),
            ("0", EX + "é"),
            ("a:b", "urn:p"),
            ("label-30", RDF + "_1"),
            ("", "urn:-.x-1"),
        )
    ]
    data = written([triples], "rdf", namespaces={"e": EX, "rdf": "urn:not", "xmlx": "urn:"})
    assert data.count(b"\n") == 1
    assert [quad[1:3] for quad in read(data, "rdf")[0]] == [triple[1:] for triple in triples]
    assert len({quad.subject for quad in read(data, "rdf")[0]}) == len(triples)


def test_labels_that_are_not_names_round_trip() -> None:
    labels = ["0", "a b", "label-30", "label-", "a", "x:y", ""]
    messages = [
        [Triple(BlankNode(each), Iri(EX + "p"), BlankNode(each)) for each in labels],
        [Triple(BlankNode("0"), Iri(EX + "p"), Literal("> _:label-30 ."))],
    ]
    log = written(messages, "rdf")
    assert [list(message) for message in read(log, "rdf")] == [
        list(message) for message in read(written(messages, "nq"), "nq")
    ]
    assert written(read(log, "rdf"), "rdf") == log


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-8"])
def test_encodings(encoding: str) -> None:
    one = f'<?xml version="1.0" encoding="{encoding}"?>{ONE.replace(">x<", ">é<!-- a -->x<")}\n'
    assert [
        [quad.object for quad in message.quads]
        for message in read((one * 2).encode(encoding), "rdf")
    ] == [
        [Literal("éx")],
        [Literal("éx")],
    ]


def test_a_document_in_another_encoding_than_the_one_before() -> None:
    latin = ONE.replace(">x<", ">é<")
    log = f"{latin}\n".encode() + f'<?xml version="1.0" encoding="latin1"?>{latin}\n'.encode(
        "latin-1"
    )
    assert [quad.object for message in read(log, "rdf") for quad in message.quads] == [
        Literal("é"),
        Literal("é"),
    ]
