"""Editors: pyright checks a user's program, and its language server completes keywords."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import pytest

from . import user_program
from .shared_data import ROOT

# With its wheel, which needs node, no network is needed.
pytestmark = [
    pytest.mark.skipif(find_spec("pyright") is None, reason="pyright is not installed"),
    pytest.mark.skipif(shutil.which("node") is None, reason="pyright would have to fetch node"),
]

IMPORTS = "from jelly_plugins import convert, grpc, messages, oxigraph, rdflib, spark, write"
#: Calls of public functions with settings, and keywords that an editor has to offer there.
CALLS = [
    ("oxigraph.replay(store, 'x.jellyp', ", ["check_prev", "dry_run", "until"]),
    ("rdflib.replay(graph, 'x.jellyp', ", ["check_prev", "dry_run", "until"]),
    ("oxigraph.record(store, 'x.jellyp', ", ["name", "limits"]),
    ("oxigraph.load(store, 'x.ttl', ", ["base", "atomic", "limits", "graph"]),
    ("rdflib.load(graph, 'x.ttl', ", ["base", "atomic", "limits", "generalized"]),
    ("convert('x.ttl', 'x.jelly', ", ["base", "frame_rows", "blank_nodes"]),
    ("write([], 'x.jelly', ", ["options", "frame_rows", "restart_every", "limits"]),
    ("messages.read_messages('x.nt', ", ["format", "base", "contexts"]),
    ("messages.convert_messages('x.nt', 'x.jelly', ", ["source_format", "base", "options"]),
    ("spark.apply_patches(None, 'x.jellyp', 'root', ", ["shards", "check_prev", "limits"]),
    ("grpc.serve(service, ", ["token", "tls", "bounds"]),
    ("grpc.publish('x', 'h:1', ", ["token", "topic", "timeout"]),
    ("grpc.subscribe('x', 'h:1', ", ["token", "backend", "timeout"]),
    ("grpc.aio.subscribe('x', 'h:1', ", ["token", "backend", "timeout"]),
    ("grpc.Client('h:1').subscribe('x', ", ["backend", "options"]),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project that uses this checkout and its environment."""
    paths = [str(ROOT), *filter(os.path.isabs, sys.path), *site.getsitepackages()]
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": paths}))
    return tmp_path


def test_pyright_finds_no_error_in_a_users_program(folder: Path) -> None:
    shutil.copy(str(user_program.__file__), folder)
    command = [sys.executable, "-m", "pyright"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_keywords_are_completed(folder: Path) -> None:
    with language_server(folder) as ask:
        for call, keywords in CALLS:
            text = f"{IMPORTS}\n{call}"
            missing = set(keywords) - completions(ask, folder / "program.py", text)
            assert not missing, call


def completions(ask: Any, path: Path, text: str) -> set[str]:
    """The keywords that are offered at the end of a program."""
    document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
    ask("textDocument/didOpen", {"textDocument": document})
    lines = text.split("\n")
    found = ask(
        "textDocument/completion",
        {
            "textDocument": {"uri": path.as_uri()},
            "position": {"line": len(lines) - 1, "character": len(lines[-1])},
        },
        wait=True,
    )
    ask("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
    labels = [item["label"] for item in found["items"]]
    return {label[:-1] for label in labels if label.endswith("=")}


@contextmanager
def language_server(folder: Path) -> Iterator[Any]:
    """A language server for a folder: a function that sends a message, and with ``wait`` gives the
    result."""
    with subprocess.Popen(
        [sys.executable, "-m", "pyright.langserver", "--stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        source, target = server.stdout, server.stdin

        def ask(method: str, parameters: Any, *, wait: bool = False) -> Any:
            message = {"jsonrpc": "2.0", "method": method, "params": parameters}
            send(target, {**message, "id": 1} if wait else message)
            while wait:
                answer = receive(source)
                if "method" not in answer:
                    return answer["result"]
                if "id" in answer:
                    # A request of the server, such as for settings: there are none.
                    send(target, {"jsonrpc": "2.0", "id": answer["id"], "result": None})
            return None

        capabilities = {"textDocument": {"completion": {}}}
        workspace = {"uri": folder.as_uri(), "name": "project"}
        parameters = {"workspaceFolders": [workspace], "capabilities": capabilities}
        ask("initialize", {**parameters, "processId": None, "rootUri": None}, wait=True)
        ask("initialized", {})
        yield ask
        ask("shutdown", None, wait=True)
        ask("exit", None)


def send(target: IO[bytes], message: Any) -> None:
    data = json.dumps(message).encode()
    target.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
    target.flush()


def receive(source: IO[bytes]) -> Any:
    length = 0
    while line := source.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    assert length, "the language server has ended"
    return json.loads(source.read(length))
