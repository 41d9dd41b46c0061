"""Sources over HTTP."""

from __future__ import annotations

import base64
import gzip
import io
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import fsspec
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
    write,
)
from jelly_plugins.codec import delimit
from jelly_plugins.io.streams import encode
from jelly_plugins.messages import read_messages
from jelly_plugins.patch import PatchReader
from jelly_plugins.rdflib import register

TRIPLES = [Triple(Iri(f"urn:s{n}"), Iri("urn:p"), Iri("urn:o")) for n in range(5000)]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """Run a server for ``x.jelly.gz``; yield its address."""
    write(TRIPLES, tmp_path / "x.jelly.gz")
    handler = partial(Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_file_by_http(served: str) -> None:
    assert list(read(f"{served}/x.jelly.gz")) == TRIPLES
    with pytest.raises(SourceError, match=r"absent\.jelly: .*404 File not found"):
        list(read(f"{served}/absent.jelly"))


def test_a_protocol_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(*_: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec, "open", reject)
    with pytest.raises(MissingExtraError, match="Install s3fs"):
        list(read("s3://bucket/x.jelly"))


@contextmanager
def serving_part(
    body: bytes, sent: int, *, chunked: bool = False, content_range: str | None = None
) -> Iterator[str]:
    """Run a server that announces a body and closes the connection after ``sent`` bytes of it.

    :param content_range: this header of a response with status 206; an empty value for no header.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if content_range is None else 206)
            if content_range:
                self.send_header("Content-Range", content_range)
            part = body[:sent]
            if chunked:
                self.send_header("Transfer-Encoding", "chunked")
                part = b"%x\r\n%b\r\n" % (len(part), part)
                if sent == len(body):
                    part += b"0\r\n\r\n"
            else:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_: object) -> None:
            pass

    Handler.protocol_version = "HTTP/1.1" if chunked else "HTTP/1.0"
    if chunked:
        Handler.timeout = 0.1
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/x"
        finally:
            server.shutdown()
            thread.join()


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
    import pyoxigraph

    store = pyoxigraph.Store()
    try:
        oxigraph.load(store, source)
    finally:
        assert len(store) in (0, 100)


JELLY_READERS: dict[str, Callable[[Any], object]] = {
    "read": lambda source: list(read(source)),
    "load": load_into_store,
    "arrow": lambda source: arrow.read(source).read_all(),
    "messages": lambda source: list(read_messages(source, format="jelly")),
    "convert": lambda source: convert(
        source, io.BytesIO(), target_format="nt", source_format="jelly"
    ),
    "rdflib": lambda source: rdflib.Graph().parse(source, format="jelly-plugins"),
}


@pytest.mark.parametrize("name", JELLY_READERS)
@pytest.mark.parametrize("chunked", [False, True])
def test_a_short_response_is_rejected(name: str, chunked: bool) -> None:
    data, end = two_frames()
    with (
        response_of(data, end, chunked=chunked) as response,
        pytest.raises(TruncatedError, match="HTTP response"),
    ):
        JELLY_READERS[name](response)
    with response_of(data, len(data), chunked=chunked) as response:
        JELLY_READERS[name](response)


@pytest.mark.parametrize("length", ["{0}, {1}", "{1}"])
def test_two_lengths_are_rejected(length: str) -> None:
    data, end = two_frames()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(end))
            self.send_header("Content-Length", length.format(end, len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/x"
            with urlopen(url) as response:
                for source in (url, response):
                    with pytest.raises(SourceError, match="more than one Content-Length"):
                        list(read(source))
        finally:
            server.shutdown()
            thread.join()


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
@pytest.mark.parametrize("name", ["jelly", "application/x-jelly-rdf", "jelly-plugins"])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_short_response_to_rdflib_itself(graph: Any, name: str, chunked: bool) -> None:
    data, end = two_frames()
    with serving_part(data, end, chunked=chunked) as url:
        with pytest.raises(TruncatedError, match=r"HTTP response") as caught:
            graph().parse(url, format=name)
        assert caught.value.source == url
    with serving_part(data, len(data), chunked=chunked) as url:
        assert len(graph().parse(url, format=name)) == 100


def test_a_part_to_rdflib_itself() -> None:
    data, end = two_frames()
    with serving_part(data[:end], end, content_range=f"bytes 0-{end - 1}/{len(data)}") as url:
        with pytest.raises(TruncatedError, match="a part of the file") as caught:
            rdflib.Graph().parse(url, format="jelly-plugins")
        assert caught.value.source == url


@pytest.mark.parametrize("name", JELLY_READERS)
@pytest.mark.parametrize("chunked", [False, True])
def test_a_part_is_rejected(name: str, chunked: bool) -> None:
    """A server or a proxy may answer with a part that the client did not request."""
    data, end = two_frames()
    size = len(data)
    for part, content_range in (
        (data[:end], f"bytes 0-{end - 1}/{size}"),
        (data[:end], f"bytes 0-{end - 1}/*"),
        (data[:end], "bytes 0-x/y"),
        (data, f"bytes {end}-{size - 1}/{size}"),
        (data, ""),
    ):
        given = re.escape(content_range or "none")
        with (
            serving_part(part, len(part), chunked=chunked, content_range=content_range) as url,
            urlopen(url) as response,
            pytest.raises(TruncatedError, match=rf"a part of the file \(Content-Range: {given}\)"),
        ):
            JELLY_READERS[name](response)
    with (
        serving_part(data, size, content_range=f"bytes 0-{size - 1}/{size}") as url,
        urlopen(url) as response,
    ):
        JELLY_READERS[name](response)


@pytest.mark.parametrize(
    "wrap",
    [
        io.BufferedReader,
        lambda response: gzip.GzipFile(fileobj=response),
    ],
)
def test_a_short_response_in_another_file_object(wrap: Callable[[Any], Any]) -> None:
    data, end = two_frames()
    if wrap is not io.BufferedReader:
        first = gzip.compress(data[:end])
        data, end = first + gzip.compress(data[end:]), len(first)
    with response_of(data, end) as response, pytest.raises(TruncatedError, match="HTTP response"):
        list(read(wrap(response)))
    with response_of(data, len(data)) as response:
        assert list(read(wrap(response))) == TRIPLES[:100]


def test_a_short_response_of_whole_gzip_members() -> None:
    data, end = two_frames()
    first = gzip.compress(data[:end])
    body = first + gzip.compress(data[end:])
    with response_of(body, len(first)) as response, pytest.raises(TruncatedError, match="HTTP"):
        list(read(response))


def test_a_response_of_which_the_caller_has_read_the_start() -> None:
    data, _ = two_frames()
    with response_of(b"head" + data, 4 + len(data)) as response:
        assert response.read(4) == b"head"
        assert list(read(response)) == TRIPLES[:100]


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        (b"TX .\nTC .\nTX .\nTC .\n", lambda source: list(PatchReader(source))),
        (
            b"<urn:s> <urn:p> <urn:o> .\n" * 2,
            lambda source: list(read_messages(source, format="nt")),
        ),
        (
            b"<urn:s> <urn:p> <urn:o> .\n" * 2,
            lambda source: convert(source, io.BytesIO(), source_format="nt", target_format="jelly"),
        ),
    ],
)
def test_a_short_response_of_text(text: bytes, reader: Callable[[Any], object]) -> None:
    with (
        response_of(text, len(text) // 2) as response,
        pytest.raises(TruncatedError, match=f"{len(text) // 2} bytes of"),
    ):
        reader(response)


@pytest.mark.parametrize("format_", list(jena.JenaFormat)[:2])
def test_a_short_response_of_jena(format_: jena.JenaFormat) -> None:
    out = io.BytesIO()
    jena.write(TRIPLES[:1], out, format=format_)
    with (
        response_of(out.getvalue() * 2, len(out.getvalue())) as response,
        pytest.raises(TruncatedError, match="HTTP response"),
    ):
        list(jena.read(response, format=format_))


@pytest.mark.parametrize("library", ["urllib3", "requests"])
def test_a_short_response_of_another_client(library: str) -> None:
    client = pytest.importorskip(library)
    data, end = two_frames()
    with serving_part(data, end) as url:
        if library == "urllib3":
            response = client.PoolManager().request(
                "GET", url, preload_content=False, enforce_content_length=False
            )
        else:
            response = client.get(url, stream=True, timeout=60).raw
        with pytest.raises(SourceError if library == "requests" else TruncatedError):
            list(read(response))


@pytest.mark.parametrize("library", ["urllib3", "requests"])
def test_a_part_of_another_client(library: str) -> None:
    client = pytest.importorskip(library)
    data, end = two_frames()
    content_range = f"bytes 0-{end - 1}/{len(data)}"
    with serving_part(data[:end], end, chunked=True, content_range=content_range) as url:
        if library == "urllib3":
            response = client.PoolManager().request("GET", url, preload_content=False)
        else:
            response = client.get(url, stream=True, timeout=60).raw
        with pytest.raises(TruncatedError, match="a part of the file"):
            list(read(response))


def test_a_short_response_to_a_url() -> None:
    data, end = two_frames()
    with serving_part(data, end) as url, pytest.raises(TruncatedError, match="HTTP response"):
        list(read(url))
    with serving_part(data, len(data)) as url:
        assert list(read(url)) == TRIPLES[:100]


def test_a_part_to_a_url() -> None:
    data, end = two_frames()
    content_range = f"bytes 0-{end - 1}/{len(data)}"
    with (
        serving_part(data[:end], end, content_range=content_range) as url,
        pytest.raises(TruncatedError, match="a part of the file"),
    ):
        list(read(url))


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], object]) -> Iterator[str]:
    """Run a server that answers each request in the same way; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/x"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("status", [204, 304, 404, 500])
def test_an_answer_without_a_file(status: int) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.end_headers()

    with answering(answer) as url, pytest.raises(SourceError, match=f"answered {status}"):
        list(read(url))


@pytest.mark.parametrize(
    ("status", "message"), [(404, "answered 404 Not Found$"), (499, "answered 499$")]
)
def test_an_answer_without_a_reason_phrase(status: int, message: str) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status, "")
        handler.end_headers()

    with answering(answer) as url, pytest.raises(SourceError, match=message):
        list(read(url))


def test_a_connection_that_is_reset() -> None:
    data, end = two_frames()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(data[:end])
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
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(two_frames()[0])

    with answering(final) as target:

        def redirect(handler: BaseHTTPRequestHandler) -> None:
            seen.append(handler.headers["Authorization"])
            handler.send_response(302)
            handler.send_header("Location", target)
            handler.end_headers()

        with answering(redirect) as url:
            assert len(list(read(url.replace("://", "://me:p%40ss@")))) == 100
    assert seen == ["Basic " + base64.b64encode(b"me:p@ss").decode(), None]


@pytest.mark.parametrize("target", ["ftp://127.0.0.1:1/x.jelly", "file:///etc/passwd", "data:,x"])
def test_redirects_to_other_protocols_are_rejected(target: str) -> None:
    def redirect(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", target)
        handler.end_headers()

    with answering(redirect) as url, pytest.raises(SourceError, match=r"302|unknown url type"):
        list(read(url))


def test_errors_hide_passwords_of_urls() -> None:
    with pytest.raises(SourceError) as caught:
        list(read("http://user:secret@127.0.0.1:1/x.jelly"))
    assert "secret" not in str(caught.value)
    assert "http://user:***@127.0.0.1:1/x.jelly" in str(caught.value)


def test_errors_of_conversions_hide_passwords_of_urls() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b"<urn:s> <urn:1> <urn:o> .\n")

    with answering(answer) as url:
        source = url.replace("://", "://user:secret@")
        with pytest.raises(JellyError, match="predicate") as caught:
            convert(source, io.BytesIO(), source_format="nt", target_format="rdf")
    assert "secret" not in str(caught.value)
    assert "user:***@" in str(caught.value)
