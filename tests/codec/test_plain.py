"""Text that has only one possible reading, which the compiled kernel recognises."""

from __future__ import annotations

import pytest

from jelly_plugins.codec.text import lines

from ..fuzz.comparison import native

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"

PLAIN = (
    b"<urn:s> <urn:p> <urn:o> .\n",
    b"_:a <file:///p> _:b .\n",
    b"<http://a_b~c.example:80> <a:b?c#d/?%20> <x-y+z.1:> .\n",
    '<urn:ä> <urn:p> "ü \\" \\\\ \\n <x> . #" .\n'.encode(),
    b'<urn:s> <urn:p> "x"@en-GB .\n<urn:s> <urn:p> "1"^^<urn:d> .\n',
    b"",
)
NAMED = (
    b"<urn:s> <urn:p> <urn:o> <urn:g> .\n",
    b'_:a <urn:p> "x"@en-GB _:g .\n',
    b'<urn:s> <urn:p> "1"^^<urn:d> <urn:d> .\n',
)
OTHER = (
    b'<urn:s> <urn:p> <urn:o> "x" .\n',
    b"<urn:s> <urn:p> <urn:o> <urn:a b> .\n",
    b"<urn:s> <urn:p> <urn:o> <g> .\n",
    b"<urn:s> <urn:p> <urn:o>  <urn:g> .\n",
    b"<urn:s> <urn:p> <urn:o> <urn:g>.\n",
    b"<urn:s> <urn:p> <urn:o> <urn:g> <urn:h> .\n",
    b"<urn:s> <urn:p> <urn:o> . # comment\n",
    b"# comment\n",
    b"\n",
    b"<urn:s> <urn:p> <urn:o> .",
    b"<urn:s> <urn:p> <urn:o> . \n",
    b"<urn:s>  <urn:p> <urn:o> .\n",
    b"<urn:s> <urn:p> <urn:o>.\n",
    b"<urn:s> <urn:p> <urn:o> .\r\n",
    b"<urn:s> _:p <urn:o> .\n",
    b"<urn:s> <urn:p> <urn:o> .\n<urn:s> <urn:p> <urn:o> <urn:p> <urn:o> .\n",
    b"<urn:s> <urn:p> <urn:\\u0041> .\n",
    b"<urn:s> <urn:p> <urn:a b> .\n",
    b'<urn:s> <urn:p> "a\nb" .\n',
    b'<urn:s> <urn:p> "x"@en--ltr .\n',
    b'<urn:s> <urn:p> "x .\n',
    b'"x" <urn:p> <urn:o> .\n',
    b"<< <urn:s> <urn:p> <urn:o> >> <urn:p> <urn:o> .\n",
    # Possibly well-formed, but not certainly.
    *(
        f"<urn:s> <urn:p> {term} .\n".encode()
        for term in (
            *("<>", "<p>", "<1:p>", "<urn:%zz>", "<urn:%1>", "<http://[::1]/>", "<http://a@b/>"),
            *("<http://a:b/>", "<a:#b#c>", "<urn:\ue000>", "<urn:\x85>", "<urn:[>", "<urn:\ufdd0>"),
            *('"x"@a', '"x"@abcd', '"x"@en-a', '"x"@en-abc', '"x"@en-US-u', '"x"@1'),
            *('"x"^^<p>', '"x"^^<>', f'"x"^^<{RDF}langString>', f'"x"^^<{RDF}dirLangString>'),
        )
    ),
)


def plain_lines(text: bytes) -> tuple[int, int, dict[int, int]] | None:
    # Without the kernel no text is known to be plain.
    assert lines.plain_lines(text) is None
    found: tuple[int, int, dict[int, int]] | None = native().plain_lines(text)
    return found


@pytest.mark.parametrize("text", PLAIN)
def test_plain_lines(text: bytes) -> None:
    assert plain_lines(text) == (text.count(b"\n"), 0, {})


@pytest.mark.parametrize("text", NAMED)
def test_lines_that_name_a_graph(text: bytes) -> None:
    assert plain_lines(text) == (1, 1, {})
    assert plain_lines(PLAIN[0] + text + PLAIN[1] + text) == (4, 2, {})


@pytest.mark.parametrize("text", OTHER)
def test_other_lines(text: bytes) -> None:
    assert plain_lines(text) is None
    assert plain_lines(PLAIN[0] + text) is None


@pytest.mark.parametrize("text", [PLAIN[3], PLAIN[4], *NAMED])
def test_parts_of_lines_are_not_plain(text: bytes) -> None:
    for size in range(1, len(text)):
        if not text[:size].endswith(b" .\n"):
            assert plain_lines(text[:size]) is None


USUAL = (
    "<urn:s> <urn:p> <urn:o>",
    '<urn:s> <urn:p> ""',
    '<urn:s> <urn:p> "ü \\" <x> . "@en-GB',
    '<urn:s> <urn:p> "1"^^<urn:d>',
    f'<urn:s> <urn:p> "-17.5"^^<{XSD}decimal>',
    f'<urn:s> <urn:p> "1999-12-31T23:59:59.5Z"^^<{XSD}dateTime>',
    f'<urn:s> <urn:p> "{"x" * 300}"^^<{XSD}anyURI>',
)
UNUSUAL = (
    "_:s <urn:p> <urn:o>",
    "<urn:s> <urn:p> _:o",
    f'<urn:s> <urn:p> "017"^^<{XSD}integer>',
    f'<urn:s> <urn:p> "{"1" * 300}"^^<{XSD}integer>',
    f'<urn:s> <urn:p> ""^^<{XSD}boolean>',
    f'<urn:s> <urn:p> "1"^^<{XSD}int>',
)


def test_lines_that_a_store_may_change() -> None:
    whole = [*USUAL, *UNUSUAL, *USUAL]
    text = "".join(f"{line} .\n" for line in whole).encode()
    starts = [0, *(at + 1 for at, byte in enumerate(text) if byte == ord("\n"))]
    odd = {number: starts[number] for number, line in enumerate(whole) if line in UNUSUAL[2:]}
    assert plain_lines(text) == (len(whole), 0, odd)
