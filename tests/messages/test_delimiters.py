"""Delimiters of N-Triples, N-Quads, Turtle and TriG: where they are recognised, announcements,
errors, and the dialect of the early draft.
"""

from __future__ import annotations

from typing import Any

import pytest

from jelly_plugins import BlankNode, Iri, JellyError, LimitError, Limits, TextError
from jelly_plugins.messages import read_messages

from ..codec.input_kinds import Trickle
from .logs import DELIMITED, EARLY, outcome, read, sizes

V = 'VERSION "1.2-messages"\n'
S = "<urn:s> <urn:p> <urn:o> .\n"
TURTLE = ("ttl", "trig")
LINES = ("nt", "nq")


@pytest.mark.parametrize("format_", DELIMITED)
class TestAll:
    @pytest.mark.parametrize(
        ("log", "expected"),
        [
            (V + "MESSAGE\nMESSAGE\n" + S, [0, 0, 1]),
            (V + S + "MESSAGE\n\n# a comment\n\n", [1]),
            (V + "# MESSAGE\n\n", []),
            ("# nothing\n", []),
            (V + S + S + "MESSAGE\n" + S, [2, 1]),
            (S + V + "MESSAGE\n" + S, [1, 1]),
            (V + S + V + S, [2]),
            ('VERSION "1.2"\n' + S, [1]),
            (V + S + 'MESSAGE\nVERSION "1.2"\n' + S + "MESSAGE\n" + S, [1, 1, 1]),
            (V + '<urn:s> <urn:p> "MESSAGE" .\nMESSAGE\n' + S, [1, 1]),
            (V + '<urn:s> <urn:p> "x"@message .\nMESSAGE\n' + S, [1, 1]),
            (V + "<urn:MESSAGE> <urn:p> _:MESSAGE .\nMESSAGE\n" + S, [1, 1]),
            (V + '<urn:s> <urn:p> "\\" # MESSAGE \\\\" . # MESSAGE\nMESSAGE # MESSAGE\n', [1]),
            (V + S.strip() + " # MESSAGE\r\nMESSAGE\r\n" + S, [1, 1]),
            (V + '<urn:s> <urn:p> "\u2028MESSAGE\u2028" .\nMESSAGE\n', [1]),
            (V + S + "MESSAGE\nMESSAGE\nMESSAGE # c", [1, 0, 0]),
            (V + S + "# @message\n" + S + "MESSAGE\n" + S, [2, 1]),
            *(
                (f'VERSION "1.{each}-messages"\n{S}MESSAGE\n{S}', [1, 1])
                for each in ("1", "2-basic")
            ),
            ("", []),
        ],
    )
    def test_messages(self, format_: str, log: str, expected: list[int]) -> None:
        assert sizes(log, format_) == expected
        for step in (1, 17):
            assert sizes(Trickle(log.encode(), step), format_) == expected

    @pytest.mark.parametrize(
        ("log", "line", "words"),
        [
            (S + "MESSAGE\n", 2, "announce"),
            ('VERSION "1.2"\n' + S + "\nMESSAGE\n", 4, "announce"),
            ('\nVERSION "2.0-messages"\n', 2, "version"),
            ("VERSION 1.2-messages\n", 1, "version"),
            (V + S + "MESSAGES\n" + S, 3, ""),
            (V + S + "<urn:s> <urn:p> ", 3, ""),
            (V + S + '<urn:s> <urn:p> "x', 3, ""),
            (V + S + "MESSAGE\n<urn:s> <urn:p> <urn:o>\n", 4, ""),
            (V + S + "MESSAGE MESSAGE x\n" + S, 3, ""),
            (V + "\n\n<urn:s> <urn:p> <urn: o> .\n", 4, ""),
        ],
    )
    def test_errors_have_the_line(self, format_: str, log: str, line: int, words: str) -> None:
        with pytest.raises(TextError, match=words or None) as caught:
            sizes(log, format_)
        # A parser that expects the end of a statement may report the next line.
        assert caught.value.line in (line, line + 1)
        assert str(caught.value).startswith("<bytes>: line ")

    def test_messages_before_an_error_come_first(self, format_: str) -> None:
        for wrong in ("oops\n", "MESSAGES\n", '<urn:s> <urn:p> "\x00"x .\n', "<urn:s> <urn:p>"):
            log = (V + S + "MESSAGE\nMESSAGE\n" + S + "MESSAGE\n" + wrong + S).encode()
            found, error = outcome(log, format_)
            assert (list(map(len, found)), error) == ([1, 0, 1], "TextError")

    def test_bad_utf_8(self, format_: str) -> None:
        log = (V + S + "MESSAGE\n" + S).encode() + b'MESSAGE\n<urn:s> <urn:p> "\xff" .\n'
        found, error = outcome(log, format_)
        assert (list(map(len, found)), error) == ([1, 1], "TextError")

    def test_where_a_message_came_from(self, format_: str) -> None:
        log = V + "\n" + S + "MESSAGE\nMESSAGE\n# x\n" + S + S
        found = read(log, format_)
        assert [(each.index, each.line, each.source) for each in found] == [
            (0, 3, "<bytes>"),
            (1, 5, "<bytes>"),
            (2, 7, "<bytes>"),
        ]

    def test_blank_nodes_keep_their_labels(self, format_: str) -> None:
        log = V + "_:a <urn:p> _:b .\nMESSAGE\n_:a <urn:p> _:b .\n"
        first, second = read(log, format_)
        assert first == second
        assert first.quads[0].subject == BlankNode("a")

    def test_a_message_is_yielded_as_soon_as_its_delimiter_is_complete(self, format_: str) -> None:
        first = V + S + "MESSAGE\n"
        source = Trickle((first + S + "MESSAGE\n" + S).encode(), len(first))
        messages: Any = read_messages(source, format=format_)  # type: ignore[arg-type]
        assert len(next(messages)) == 1
        assert source.read(1)

    def test_a_message_is_bounded(self, format_: str) -> None:
        log = V + "".join(f"<urn:s> <urn:p> <urn:{n}> .\n" for n in range(20))
        with pytest.raises(LimitError, match="frame_rows"):
            sizes(log, format_, limits=Limits(frame_rows=10))
        assert sizes(log, format_, limits=Limits(frame_rows=20)) == [20]

    def test_a_statement_is_bounded(self, format_: str) -> None:
        log = V + '<urn:s> <urn:p> "' + "x" * 200_000
        with pytest.raises(LimitError, match="frame_bytes"):
            sizes(log, format_, limits=Limits(frame_bytes=100_000))


@pytest.mark.parametrize("format_", LINES)
class TestLines:
    @pytest.mark.parametrize(
        "log",
        [
            V + S.strip() + " MESSAGE\n",
            V + "MESSAGE " + S,
            V + "message\n",
            "version '1.2-messages'\n",
            '@version "1.2-messages" .\n',
            V + "@message .\n",
            V + "MESSAGE .\n",
            V.strip() + " MESSAGE\n",
        ],
    )
    def test_errors(self, format_: str, log: str) -> None:
        with pytest.raises(TextError, match="line"):
            sizes(log, format_)

    def test_carriage_returns_end_lines(self, format_: str) -> None:
        log = (V + S + "MESSAGE\n" + S).replace("\n", "\r")
        assert sizes(log, format_) == [1, 1]


@pytest.mark.parametrize("format_", TURTLE)
class TestTurtle:
    @pytest.mark.parametrize(
        ("log", "expected"),
        [
            (V + "PREFIX e: <urn:e> e:a.MESSAGE e:p e:o.MESSAGE . MESSAGE e:s e:p e:o.", [1, 1]),
            (V + "PREFIX MESSAGE: <urn:m> MESSAGE:s MESSAGE:p MESSAGE: . MESSAGE", [1]),
            (V + "PREFIX f: <urn:e> f:s f:p 1.f:s f:p 2.0, .5, -1e3, 1.5E-7 . MESSAGE", [5]),
            (V + "PREFIX e: <urn:e> e:s e:p e:a\\.MESSAGE, e:\\~b . MESSAGE", [2]),
            (V + "PREFIX e: <urn:e> e:s e:p e:%20MESSAGE, e:x:MESSAGE . message", [1 + 1]),
            (V + "<a:s> <a:p> '''\nMESSAGE\n''', '\"', \"'\", '''''' . MESSAGE", [4]),
            (V + '<a:s> <a:p> """a""b"\\"\n@message .\n\\\\""" . @message.', [1]),
            (V + '<a:s> <a:p> "x"@en-message , "y"^^<a:MESSAGE> . MESSAGE', [2]),
            (V + "<a:s> <a:p> [ <a:q> ( 1 [ ] ) ; <a:r> 2 ] .MESSAGE <a:s> <a:p> 1.", [7, 1]),
            (V + "[ <a:p> 1 ] . MESSAGE [] <a:p> 1 .", [1, 1]),
            (V + "<a:s> <a:p> <#MESSAGE> . MESSAGE", [1]),
            (V + "<a:s> <a:p> true.MESSAGE <a:s> <a:p> false .MESSAGE", None),
            (V + "<a:s> <a:p> true .MESSAGE <a:s> <a:p> false .MESSAGE", [1, 1]),
            (V + "<a:s> <a:p> <<( <a:s> <a:p> ( ) )>> . MESSAGE", None),
            (V + "<a:s> <a:p> <<( <a:s> <a:p> 1 )>> . MESSAGE <a:s> <a:p> 1 .", [1, 1]),
            (V + "<< <a:s> <a:p> 1 >> <a:p> 1 {| <a:q> 2 |} . MESSAGE <a:s> <a:p> 1 .", [4, 1]),
            (V + "<a:s> <a:p> 1 ~ <a:r> {| <a:q> 2 |} . MESSAGE", [3]),
            (V + "<a:s> a <a:o> ; ; . MESSAGE", [1]),
            ("@version '1.2-messages'. <a:s> <a:p> 1 . @message\n # x\n . <a:s> <a:p> 2 .", [1, 1]),
            ("version # x\n '1.2-messages' <a:s> <a:p> 1 . Message <a:s> <a:p> 2 .", [1, 1]),
            (V + "PREFIX # x <y>\n e: # z\n <urn:e> MESSAGE e:s e:p e:o .", [0, 1]),
            (V + "@prefix e: <urn:e> . MESSAGE @base <urn:b> . e:s e:p e:o .", [0, 1]),
            (V + "PREFIX : <urn:e> :s :p :o . MESSAGE\n:s :p :o .", [1, 1]),
        ],
    )
    def test_messages(self, format_: str, log: str, expected: list[int] | None) -> None:
        if expected is None:
            with pytest.raises(JellyError):
                sizes(log, format_, base="http://example.org/")
        else:
            assert sizes(log, format_, base="http://example.org/") == expected

    @pytest.mark.parametrize(
        ("log", "words"),
        [
            (V + "<a:s> <a:p> [ MESSAGE ] .", "inside a statement"),
            (V + "<a:s> <a:p> 1 ; MESSAGE", "inside a statement"),
            (V + "<a:s> <a:p> ( 1 MESSAGE 2 ) .", "inside a statement"),
            (V + "@prefix e: MESSAGE <a:e> .", "inside a statement"),
            (V + "@message", "'.'"),
            (V + "@message <a:s> <a:p> 1 .", "'.'"),
            (V + "@messages .", ""),
            (V + "@MESSAGE .", ""),
            (V + "MESSAGE .", ""),
            ("@version '1.2-messages' <a:s> <a:p> 1 .", "dot"),
            ('VERSION """1.2-messages"""', "string"),
            ("VERSION '1.3-messages'", "1.3-messages"),
            (V + "<a:s> <a:p> " + "<<( <a:s> <a:p> " * 80 + "1" + ")>>" * 80 + ".", "nesting"),
            (V + "<a:s> <a:p> " + "<<( <a:s> <a:p> " * 80_000, "nested"),
            (V + "<a:s> <a:p> " + "[ <a:p> " * 80_000, "nested"),
            (V + "<<" * 80_000, "nested"),
            (V + "<a:s> <a:p> " + "(" * 80_000, "nested"),
        ],
    )
    def test_errors(self, format_: str, log: str, words: str) -> None:
        with pytest.raises(JellyError, match=words or None):
            sizes(log, format_)

    def test_prefixes_and_the_base_persist_until_they_are_set_again(self, format_: str) -> None:
        log = V + (
            "BASE <http://a/> PREFIX e: <http://e/> <s> e:p e:o . MESSAGE <s> e:p e:o . MESSAGE "
            "BASE <http://b/> PREFIX e: <http://f/> <s> e:p e:o . MESSAGE <s> e:p e:o ."
        )
        found = [(str(m.quads[0].subject), str(m.quads[0].object)) for m in read(log, format_)]
        assert [f"{s}{o}" for s, o in found] == [
            f"{Iri(s)}{Iri(o)}"
            for s, o in (("http://a/s", "http://e/o"),) * 2 + (("http://b/s", "http://f/o"),) * 2
        ]

    def test_a_base_direction_is_rejected(self, format_: str) -> None:
        log = V + "\n<a:s> <a:p> 1 .\nMESSAGE\n\n<a:s> <a:p> 'x'@en--ltr ."
        with pytest.raises(TextError, match="base direction") as caught:
            sizes(log, format_)
        assert caught.value.line == 6


class TestTriG:
    @pytest.mark.parametrize(
        ("log", "expected"),
        [
            (V + "<a:g> { <a:s> <a:p> 1 . <a:s> <a:p> 2 }MESSAGE GRAPH <a:g> {} MESSAGE", [2, 0]),
            (V + "<a:g> { } MESSAGE { <a:s> <a:p> 1 } MESSAGE", [0, 1]),
            (V + "<a:g> { <a:s> <a:p> '}' , [ <a:q> 2 ] . } <a:s> <a:p> 1 . MESSAGE", [4]),
            (V + "GRAPH _:g { <a:s> <a:p> <<( <a:s> <a:p> 1 )>> {| <a:q> 2 |} . }", [3]),
            (V + "<a:g> {}", []),
        ],
    )
    def test_blocks(self, log: str, expected: list[int]) -> None:
        assert sizes(log, "trig") == expected

    @pytest.mark.parametrize("inside", ["MESSAGE", "<a:s> <a:p> 1 . MESSAGE", "@message ."])
    def test_a_delimiter_in_a_block(self, inside: str) -> None:
        with pytest.raises(TextError) as caught:
            sizes(f"{V}<a:g> {{\n{inside}\n}}", "trig")
        assert caught.value.line == 3


# The dialect of the early draft: delimiters are comments


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


#: White space of ECMAScript, in which the draft's pattern is written.
SPACES = "\t\v\f \xa0\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


@pytest.mark.parametrize("format_", DELIMITED)
@pytest.mark.parametrize("space", [*SPACES, "\u200b", "\x1c", "\x85", "\u180e", "\u2060"])
def test_white_space_before_a_delimiter(format_: str, space: str) -> None:
    expected = [1, 2] if space in SPACES else [3]
    assert sizes(f"{S}#{space} {space}@message\n{S}{S}", format_, dialect=EARLY) == expected
