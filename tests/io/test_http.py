"""Sources by HTTP, which the extra ``remote`` brings the libraries for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fsspec
import pytest

from jelly_plugins import Iri, MissingExtraError, SourceError, Triple, read, write

TRIPLES = [Triple(Iri(f"urn:s{n}"), Iri("urn:p"), Iri("urn:o")) for n in range(5000)]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a server of ``x.jelly.gz``."""
    write(TRIPLES, tmp_path / "x.jelly.gz")
    handler = partial(Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_file_by_http(served: str) -> None:
    pytest.importorskip("aiohttp")
    assert list(read(f"{served}/x.jelly.gz")) == TRIPLES
    with pytest.raises(SourceError, match="absent"):
        list(read(f"{served}/absent.jelly"))


def test_a_protocol_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ImportError('HTTPFileSystem requires "requests" and "aiohttp" to be installed')

    monkeypatch.setattr(fsspec, "open", refuse)
    with pytest.raises(MissingExtraError, match=r"aiohttp.*pip install 'jelly-plugins\[remote\]'"):
        list(read("http://127.0.0.1/x.jelly"))
