"""``jelly serve``, ``jelly publish`` and ``jelly subscribe``."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from jelly_plugins import Iri, LogicalType, StreamOptions, Triple, read, write
from jelly_plugins.cli import finished
from jelly_plugins.grpc import Broadcast, serve

from .command import (
    QUADS,
    TRIPLES,
    assert_failed,
    end,
    jelly,
    jelly_process,
    quads_file,
    started,
    triples_file,
    wait_until,
)


@contextmanager
def serving(*arguments: str | Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server in a process of its own, and its address."""
    with started("serve", "--port", "0", *arguments) as process:
        assert process.stdout is not None
        said = process.stdout.readline().decode()
        assert said.startswith("serving on "), said
        yield said.split()[-1], process


def test_a_store_is_served(tmp_path: Path) -> None:
    store = tmp_path / "store"
    file = triples_file(tmp_path, "file.jelly")
    with serving("--store", store, "--topic", "all", "--topic", f"file={file}") as (to, process):
        done = jelly("publish", quads_file(tmp_path), "--to", to)
        assert (done.code, done.out, done.err) == (0, b"", "")
        out = tmp_path / "out.jelly"
        assert jelly("subscribe", "all", "--from", to, "-o", out).code == 0
        assert len(list(read(out))) == len(QUADS)
        done = jelly("subscribe", "file", "--from", to)
        assert list(read(done.out)) == TRIPLES
        assert_failed(jelly("subscribe", "other", "--from", to), 1, "NOT_FOUND", to)
        assert end(process, signal.SIGTERM).code == 0
    assert jelly("dump", "--store", store).code == 0


def test_live_topics_declare_quoted_triples_on_request(tmp_path: Path) -> None:
    quoted = Triple(Iri("urn:s"), Iri("urn:p"), TRIPLES[0])
    file = tmp_path / "quoted.jelly"
    write([quoted], file, options=StreamOptions(rdf_star=True))
    with serving("--live", "now") as (to, _):
        done = jelly("publish", file, "--topic", "now", "--to", to)
        assert_failed(done, 1, "rdf_star")
    with serving("--live", "now", "--rdf-star") as (to, _):
        assert jelly("publish", file, "--topic", "now", "--to", to).code == 0
    assert_failed(jelly("serve", "--topic", f"a={file}", "--rdf-star"), 2, "--live")


def test_other_formats_are_published(tmp_path: Path) -> None:
    text = tmp_path / "x.nt"
    text.write_text('<urn:s> <urn:p> "o" .\n')
    with serving("--store", tmp_path / "store", "--topic", "all") as (to, process):
        assert jelly("publish", text, "--to", to).code == 0
        assert jelly("publish", "-", "--from", "turtle", "--to", to, stdin=b"<urn:a> a <urn:b> .")
        assert len(list(read(jelly("subscribe", "all", "--from", to).out))) == 2
        text.write_text("<urn:s> <urn:p> no .\n")
        assert_failed(jelly("publish", text, "--to", to), 1, str(text))
        assert_failed(jelly("publish", tmp_path / "none.jelly", "--to", to), 1, "No such file")
        assert end(process, signal.SIGINT).code == 0


def test_a_live_topic(tmp_path: Path) -> None:
    triples = triples_file(tmp_path)
    with (
        serving("--live", "now") as (to, server),
        started("subscribe", "now", "--from", to) as subscriber,
    ):
        assert subscriber.stdout is not None
        opening = subscriber.stdout.read(1)
        assert jelly("publish", triples, "--to", to, "--topic", "now").code == 0
        quads = jelly("publish", quads_file(tmp_path, "q.jelly"), "--to", to, "--topic", "now")
        assert_failed(quads, 1, "INVALID_ARGUMENT", "TRIPLES")
        assert_failed(jelly("publish", triples, "--to", to), 1, "INVALID_ARGUMENT")
        server.send_signal(signal.SIGTERM)
        rest = subscriber.stdout.read()
        # The stream has no end, and says so.
        assert subscriber.wait() == 1
    found = list(read(opening + rest))
    # Blank nodes are others than those of the next stream.
    assert found[:4] == TRIPLES[:4]
    assert len(found) == len(TRIPLES)


def test_tokens_are_in_files_or_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    with serving("--topic", f"t={triples_file(tmp_path)}", "--token-file", token) as (to, _):
        assert_failed(jelly("subscribe", "t", "--from", to), 1, "UNAUTHENTICATED")
        monkeypatch.setenv("JELLY_TOKEN", "secret")
        assert jelly("subscribe", "t", "--from", to).code == 0


def test_another_address_is_noted(tmp_path: Path) -> None:
    file = triples_file(tmp_path)
    with serving("--topic", f"t={file}", "--host", "0.0.0.0") as (to, process):
        port = to.rpartition(":")[2]
        assert jelly("subscribe", "t", "--from", f"127.0.0.1:{port}").code == 0
        said = end(process, signal.SIGTERM).err
        assert "without TLS and a token" in said
        assert said.count("\n") == 1


def test_errors_are_one_line(tmp_path: Path) -> None:
    file = triples_file(tmp_path)
    assert_failed(jelly("subscribe", "t", "--from", "127.0.0.1:1"), 1, "UNAVAILABLE")
    done = jelly("serve", "--live", "t", "--tls-cert", tmp_path / "x", "--tls-key", tmp_path / "x")
    assert_failed(done, 1, "No such file")
    assert_failed(jelly("serve", "--topic", f"t={tmp_path / 'none'}"), 1, "No such file")
    broken = tmp_path / "broken.jelly"
    broken.write_bytes(file.read_bytes()[:-1])
    with serve({}) as server:
        assert_failed(jelly("publish", broken, "--to", server.address), 1, "inside a frame")
        # Without what the tests set, gRPC's library prints nothing beside it either.
        usual = "import os; del os.environ['GRPC_VERBOSITY']"
        done = jelly_process("serve", "--live", "t", "--port", str(server.port), first=usual)
        assert_failed(done, 1, "cannot be listened on")
        assert jelly_process("publish", file, "--to", server.address).code == 1


def test_invalid_text_is_rejected(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_bytes(b"\xff\xfe")
    found = jelly("serve", "--live", "t", "--token-file", token)
    assert (found.code, "printable ASCII" in found.err) == (2, True)
    found = jelly("subscribe", "\udcff", "--from", "127.0.0.1:1")
    assert (found.code, "surrogate" in found.err) == (1, True)


@pytest.mark.parametrize(
    ("reason", "name"),
    [("SIGINT", "out.jelly"), ("SIGTERM", "out.jelly.gz"), ("server", "out.jelly")],
)
def test_what_came_of_a_stream_that_is_interrupted_is_kept(
    reason: str, name: str, tmp_path: Path
) -> None:
    out = tmp_path / name
    out.write_bytes(b"before")
    live = Broadcast(StreamOptions(logical_type=LogicalType.FLAT_TRIPLES))
    with (
        serve({"live": live}) as server,
        started("subscribe", "live", "--from", server.address, "-o", out, "-f") as subscriber,
    ):
        wait_until(lambda: live.subscribers > 0)
        live.send(TRIPLES[:2])
        live.send(TRIPLES[2:4])
        if reason == "server":
            server.stop(60)
        else:
            wait_until(lambda: any(each.stat().st_size for each in others_than(out)))
            subscriber.send_signal(getattr(signal, reason))
        done = end(subscriber)
    assert done.code == {"SIGINT": 130, "SIGTERM": 143}.get(reason, 1)
    found = re.search(rf"{out} has the (\d) complete frames? received", done.err)
    assert found is not None, done
    # The first one has no statements.
    assert list(read(out)) == TRIPLES[: 2 * int(found[1]) - 2]
    assert reason != "server" or found[1] == "3"
    assert not others_than(out)


def test_a_signal_ends_work_that_has_just_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    submit = ThreadPoolExecutor.submit

    def interrupted(*arguments: Any) -> None:
        submit(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    stopped = Event()
    found = []
    with pytest.raises(KeyboardInterrupt):
        finished(lambda: found.append(stopped.wait(60)), stopped.set)
    assert found == [True]


def test_a_stream_without_an_end_has_a_timeout() -> None:
    live = Broadcast(StreamOptions(logical_type=LogicalType.FLAT_TRIPLES))
    with serve({"live": live}) as server:
        done = jelly("subscribe", "live", "--from", server.address, "--timeout", "0.1")
    assert (done.code, "DEADLINE_EXCEEDED" in done.err) == (1, True)


def test_nothing_is_kept_of_a_stream_without_frames(tmp_path: Path) -> None:
    out = tmp_path / "out.jelly"
    with serve({}) as server:
        assert_failed(jelly("subscribe", "t", "--from", server.address, "-o", out), 1, "NOT_FOUND")
    assert not list(tmp_path.iterdir())


def others_than(file: Path) -> list[Path]:
    """The other files in the folder of a file."""
    return [each for each in file.parent.iterdir() if each != file]
