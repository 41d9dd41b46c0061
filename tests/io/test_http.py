"""Sources over HTTP."""

from __future__ import annotations

import base64
import gzip
import io
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import urlopen

import fsspec
import pyoxigraph
import pytest
import rdflib

from jelly_plugins import (
    Iri,
    JellyError,
    MissingExtraError,
    SourceError,
    Triple,
    TruncatedError,
    arrow,
    convert,
    jena,
    oxigraph,
    read,
)
from jelly_plugins.codec import delimit
from jelly_plugins.io.streams import encode
from jelly_plugins.messages import read_messages
from jelly_plugins.patch import PatchReader
from jelly_plugins.rdflib import NAMES, register

from ..conversions import written

TRIPLES = [Triple(Iri(f"urn:s{n}"), Iri("urn:p"), Iri("urn:o")) for n in range(5000)]


Answer = Callable[[BaseHTTPRequestHandler], object]


@contextmanager
def answering(
    answer: Answer, *, protocol: str = "HTTP/1.0", timeout: float | None = None
) -> Iterator[str]:
    """Run a server that answers each request in the same way; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None:
            pass

    Handler.protocol_version, Handler.timeout = protocol, timeout
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/x"
        finally:
            server.shutdown()
            thread.join()


def answer_of(
    status: int, *headers: tuple[str, str], body: bytes = b"", reason: str | None = None
) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status, reason)
        for name, value in headers:
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def test_a_protocol_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(*_: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec, "open", reject)
    with pytest.raises(MissingExtraError, match="Install s3fs"):
        list(read("s3://bucket/x.jelly"))


def serving_part(
    body: bytes, sent: int, *, chunked: bool = False, content_range: str | None = None
) -> AbstractContextManager[str]:
    """Run a server that announces a body and closes the connection after ``sent`` bytes of it.

    :param content_range: this header of a response with status 206.
    """
    headers = [] if content_range is None else [("Content-Range", content_range)]
    part = body[:sent]
    if chunked:
        headers.append(("Transfer-Encoding", "chunked"))
        part = b"%x\r\n%b\r\n" % (len(part), part)
        if sent == len(body):
            part += b"0\r\n\r\n"
    else:
        headers.append(("Content-Length", str(len(body))))
    answer = answer_of(200 if content_range is None else 206, *headers, body=part)
    if chunked:
        return answering(answer, protocol="HTTP/1.1", timeout=0.1)
    return answering(answer)


@contextmanager
def response_of(body: bytes, sent: int, *, chunked: bool = False) -> Iterator[HTTPResponse]:
    """The response of :func:`serving_part`."""
    with serving_part(body, sent, chunked=chunked) as url, urlopen(url) as response:
        yield response


def two_frames() -> tuple[bytes, int]:
    """Return a stream, and the end of its first frame."""
    frames = [delimit(frame) for frame in encode(TRIPLES[:100], frame_rows=50)]
    return b"".join(frames), len(frames[0])


def load_into_store(source: Any) -> None:
    store = pyoxigraph.Store()
    try:
        oxigraph.load(store, source)
    finally:
        assert len(store) in (0, 100)


JELLY = two_frames()
LINE = b"<urn:s> <urn:p> <urn:o> .\n"
_PART = b"TX .\nTC .\n"


def rows_of_jena(form: str) -> tuple[bytes, int]:
    one = written(jena.write, TRIPLES[:1], format=form)
    return 2 * one, len(one)


#: By name, the whole of a source, the end of its first part, and what reads it.
READERS: dict[str, tuple[tuple[bytes, int], Callable[[Any], object]]] = {
    "read": (JELLY, lambda source: list(read(source))),
    "load": (JELLY, load_into_store),
    "arrow": (JELLY, lambda source: arrow.read(source).read_all()),
    "messages": (JELLY, lambda source: list(read_messages(source, format="jelly"))),
    "convert": (
        JELLY,
        lambda source: convert(source, io.BytesIO(), target_format="nt", source_format="jelly"),
    ),
    "rdflib": (JELLY, lambda source: rdflib.Graph().parse(source, format="jelly-plugins")),
    "patches": ((2 * _PART, len(_PART)), lambda source: list(PatchReader(source))),
    "messages in text": (
        (2 * LINE, len(LINE)),
        lambda source: list(read_messages(source, format="nt")),
    ),
    "convert text": (
        (2 * LINE, len(LINE)),
        lambda source: convert(source, io.BytesIO(), source_format="nt", target_format="jelly"),
    ),
    **{
        f"jena {form}": (
            rows_of_jena(form),
            lambda source, form=form: list(jena.read(source, format=form)),
        )
        for form in ("rt", "rpb")
    },
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("chunked", [False, True])
def test_a_short_response_and_a_part_are_rejected(name: str, chunked: bool) -> None:
    """A server or a proxy may answer with a part that the client did not request."""
    (data, end), reader = READERS[name]
    with (
        response_of(data, end, chunked=chunked) as response,
        pytest.raises(TruncatedError, match="HTTP response"),
    ):
        reader(response)
    with response_of(data, len(data), chunked=chunked) as response:
        reader(response)
    content_range = f"bytes 0-{end - 1}/{len(data)}"
    with (
        serving_part(data[:end], end, chunked=chunked, content_range=content_range) as url,
        urlopen(url) as response,
        pytest.raises(TruncatedError, match="a part of the file"),
    ):
        reader(response)


@pytest.fixture
def registered() -> Iterator[None]:
    """Register ``format="jelly"`` for this package until the end of a test."""
    plugins = dict(rdflib.plugin._plugins)
    register()
    yield
    rdflib.plugin._plugins.clear()
    rdflib.plugin._plugins.update(plugins)


@pytest.mark.usefixtures("registered")
@pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")
@pytest.mark.parametrize("graph", [rdflib.Graph, rdflib.Dataset])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("chunked", [False, True])
def test_a_short_response_to_rdflib_itself(graph: Any, name: str, chunked: bool) -> None:
    data, end = JELLY
    with serving_part(data, end, chunked=chunked) as url:
        with pytest.raises(TruncatedError, match=r"HTTP response") as caught:
            graph().parse(url, format=name)
        assert caught.value.source == url
    with serving_part(data, len(data), chunked=chunked) as url:
        assert len(graph().parse(url, format=name)) == 100


@pytest.mark.parametrize(
    ("wrap", "pack"),
    [
        (lambda response: response, gzip.compress),
        (io.BufferedReader, bytes),
        (lambda response: gzip.GzipFile(fileobj=response), gzip.compress),
    ],
)
def test_a_short_response_of_whole_frames_or_members(
    wrap: Callable[[Any], Any], pack: Callable[[bytes], bytes]
) -> None:
    data, end = JELLY
    first = pack(data[:end])
    body = first + pack(data[end:])
    with (
        response_of(body, len(first)) as response,
        pytest.raises(TruncatedError, match=f"HTTP response.*{len(body) - len(first):,} bytes of"),
    ):
        list(read(wrap(response)))
    with response_of(body, len(body)) as response:
        assert list(read(wrap(response))) == TRIPLES[:100]


def opened_by(library: str | None, url: str) -> Any:
    """The response of another client, or the URL itself."""
    if library is None:
        return url
    client = pytest.importorskip(library)
    if library == "requests":
        return client.get(url, stream=True, timeout=60).raw
    return client.PoolManager().request(
        "GET", url, preload_content=False, enforce_content_length=False
    )


@pytest.mark.parametrize("library", [None, "urllib3", "requests"])
def test_a_url_and_responses_of_other_clients(library: str | None) -> None:
    data, end = JELLY
    error = SourceError if library == "requests" else TruncatedError
    with serving_part(data, end) as url, pytest.raises(error):
        list(read(opened_by(library, url)))
    with serving_part(data, len(data)) as url:
        assert list(read(opened_by(library, url))) == TRIPLES[:100]
    content_range = f"bytes 0-{end - 1}/{len(data)}"
    with (
        serving_part(data[:end], end, chunked=True, content_range=content_range) as url,
        pytest.raises(TruncatedError, match="a part of the file"),
    ):
        list(read(opened_by(library, url)))


@pytest.mark.parametrize(
    ("status", "reason", "message"),
    [
        (204, None, "answered 204"),
        (304, None, "answered 304"),
        (404, None, "answered 404 Not Found$"),
        (500, None, "answered 500"),
        (404, "", "answered 404 Not Found$"),
        (499, "", "answered 499$"),
    ],
)
def test_an_answer_without_a_file(status: int, reason: str | None, message: str) -> None:
    with (
        answering(answer_of(status, reason=reason)) as url,
        pytest.raises(SourceError, match=message) as caught,
    ):
        list(read(url))
    assert caught.value.source == url


def test_a_connection_that_is_reset() -> None:
    data, end = two_frames()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        answer_of(200, body=data[:end])(handler)
        handler.wfile.flush()
        # Closing a socket without lingering resets the connection.
        linger = struct.pack("ii", 1, 0)
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        for file in (handler.rfile, handler.wfile, handler.connection):
            file.close()

    with answering(answer) as url, pytest.raises(SourceError, match="reset"):
        list(read(url))


def test_user_and_password_go_to_the_first_server_only() -> None:
    seen: list[str | None] = []

    def final(handler: BaseHTTPRequestHandler) -> None:
        seen.append(handler.headers["Authorization"])
        answer_of(200, body=two_frames()[0])(handler)

    with answering(final) as target:

        def redirect(handler: BaseHTTPRequestHandler) -> None:
            seen.append(handler.headers["Authorization"])
            answer_of(302, ("Location", target))(handler)

        with answering(redirect) as url:
            assert len(list(read(url.replace("://", "://me:p%40ss@")))) == 100
    assert seen == ["Basic " + base64.b64encode(b"me:p@ss").decode(), None]


@pytest.mark.parametrize("target", ["ftp://127.0.0.1:1/x.jelly", "file:///etc/passwd", "data:,x"])
def test_redirects_to_other_protocols_are_rejected(target: str) -> None:
    with (
        answering(answer_of(302, ("Location", target))) as url,
        pytest.raises(SourceError, match=r"302|unknown url type"),
    ):
        list(read(url))


def test_an_endless_redirect_is_one_line() -> None:
    with (
        answering(answer_of(302, ("Location", "/x"))) as url,
        pytest.raises(SourceError, match=r"answered 302 .* infinite loop\.\Z"),
    ):
        list(read(url))


def test_encodings_that_are_not_read() -> None:
    body = zlib.compress(two_frames()[0])
    with (
        answering(answer_of(200, ("Content-Encoding", "deflate"), body=body)) as url,
        pytest.raises(SourceError, match="the encoding deflate"),
    ):
        list(read(url))


def test_urls_that_are_not_ascii() -> None:
    paths: list[str] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        paths.append(handler.path)
        answer_of(200, body=two_frames()[0])(handler)

    with answering(answer) as url:
        for path in ("é d%20(1).jelly?q=ü x&r=%C3%BC#é", "a%2Fb;c='d'+e[0]"):
            assert len(list(read(f"{url}/{path}"))) == 100
    assert paths == ["/x/%C3%A9%20d%20(1).jelly?q=%C3%BC%20x&r=%C3%BC", "/x/a%2Fb;c='d'+e[0]"]


def test_the_path_of_a_url_has_the_ending() -> None:
    with answering(answer_of(200, body=gzip.compress(LINE))) as url:
        for name in ("x.nt", "x.NT.gz?token=a.jelly", "x.nt#frag.ttl", "x.nt?a=b/c.d"):
            store = pyoxigraph.Store()
            oxigraph.load(store, f"{url}/{name}")
            assert len(store) == 1
            assert convert(f"{url}/{name}", io.BytesIO(), target_format="jelly").statements == 1


def test_errors_hide_passwords_of_urls() -> None:
    for password in ("secret", "sec:ret", "secret@secret"):
        with pytest.raises(SourceError) as failed:
            list(read(f"http://user:{password}@127.0.0.1:1/x.jelly?a=b@c"))
        assert str(failed.value).startswith("http://user:***@127.0.0.1:1/x.jelly?a=b@c: ")
        assert "ret" not in str(failed.value)
    with answering(answer_of(200, body=b"<urn:s> <urn:1> <urn:o> .\n")) as url:
        source = url.replace("://", "://user:secret@")
        with pytest.raises(JellyError, match="predicate") as caught:
            convert(source, io.BytesIO(), source_format="nt", target_format="rdf")
    assert "secret" not in str(caught.value)
    assert "user:***@" in str(caught.value)
