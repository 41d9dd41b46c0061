"""TLS, mutual TLS and tokens."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from jelly_plugins import SourceError
from jelly_plugins.grpc import (
    Bounds,
    Client,
    ClientTls,
    ServerTls,
    Topics,
    protocol,
    publish,
    serve,
    subscribe,
)
from jelly_plugins.grpc.security import check_token

from .support import PATIENCE, Fixed, Kept, code_of, frames_of, numbered, rejected


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a certificate authority and certificates for a server and a client."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    for name in ("ca", "other"):
        openssl(
            *("req", "-x509", *new_key, "-keyout", f"{name}.key", "-out", f"{name}.pem"),
            *("-days", "2", "-subj", f"/CN={name}"),
        )
    (folder / "san").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for name, signer in (("server", "ca"), ("client", "ca"), ("stranger", "other")):
        openssl(
            *("req", *new_key, "-keyout", f"{name}.key", "-out", f"{name}.csr"),
            *("-subj", f"/CN={name}"),
        )
        openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", f"{signer}.pem"),
            *("-CAkey", f"{signer}.key", "-CAcreateserial", "-out", f"{name}.pem"),
            *("-days", "2", "-extfile", "san"),
        )
    return folder


def served(**settings: Any) -> Any:
    return serve(Topics({"t": Fixed(frames_of(numbered(3)))}, sink=Kept()), **settings)


def works(address: str, **settings: Any) -> None:
    """Check that both methods work."""
    with Client(address, **settings) as client:
        client.publish(numbered(3), timeout=30)
        assert len(list(client.subscribe("t", timeout=30))) == 1


def fails(address: str, status: str, **settings: Any) -> None:
    """Check that both methods are rejected."""
    with Client(address, **settings) as client:
        with rejected(status):
            client.publish(numbered(3), timeout=30)
        with rejected(status):
            list(client.subscribe("t", timeout=30))


def test_tls(certificates: Path) -> None:
    tls = ServerTls(certificate=certificates / "server.pem", key=certificates / "server.key")
    with served(tls=tls) as server:
        works(server.address, tls=ClientTls(ca=certificates / "ca.pem"))
        works(server.address, tls=ClientTls(ca=(certificates / "ca.pem").read_bytes()))
        fails(server.address, "UNAVAILABLE", tls=ClientTls(ca=certificates / "other.pem"))
        fails(server.address, "UNAVAILABLE")
    with served() as server:
        fails(server.address, "UNAVAILABLE", tls=ClientTls(ca=certificates / "ca.pem"))


def test_mutual_tls(certificates: Path) -> None:
    ca = certificates / "ca.pem"
    tls = ServerTls(
        certificate=certificates / "server.pem", key=certificates / "server.key", client_ca=ca
    )

    def shown(name: str) -> ClientTls:
        return ClientTls(
            ca=ca, certificate=certificates / f"{name}.pem", key=certificates / f"{name}.key"
        )

    with served(tls=tls) as server:
        works(server.address, tls=shown("client"))
        fails(server.address, "UNAVAILABLE", tls=shown("stranger"))
        fails(server.address, "UNAVAILABLE", tls=ClientTls(ca=ca))


def test_missing_files() -> None:
    with pytest.raises(SourceError, match="No such file") as caught:
        Client("localhost:1", tls=ClientTls(ca="/no/such.pem"))
    assert caught.value.source == "/no/such.pem"
    with pytest.raises(SourceError):
        served(tls=ServerTls(certificate="/no/such.pem", key="/no/such.key"))
    with pytest.raises(SourceError, match="its certificate or key is invalid"):
        served(tls=ServerTls(certificate=b"junk", key=b"junk"))


def test_a_token(certificates: Path) -> None:
    with served(token="secret") as server:
        works(server.address, token="secret")
        publish(numbered(3), server.address, topic="t", token="secret")
        with subscribe("t", server.address, token="secret", timeout=30) as stream:
            assert len(list(stream)) == 1
        for token in (None, "secre", "secret1", "x", "Secret"):
            fails(server.address, "UNAUTHENTICATED", token=token)
    tls = ServerTls(certificate=certificates / "server.pem", key=certificates / "server.key")
    with served(token="secret", tls=tls) as server:
        works(server.address, token="secret", tls=ClientTls(ca=certificates / "ca.pem"))


@pytest.mark.parametrize(
    "metadata",
    [
        [("authorization", "secret")],
        [("authorization", "bearer secret")],
        [("authorization", "Bearer secret"), ("authorization", "Bearer secret")],
        [("authorization", "Bearer other"), ("authorization", "Bearer secret")],
        [("authorization-bin", b"Bearer secret")],
        [("authorization", "")],
    ],
)
def test_a_token_that_is_not_sent_correctly(metadata: Any) -> None:
    with served(token="secret") as server, grpc.insecure_channel(server.address) as channel:
        for path in (
            protocol.PUBLISH,
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        ):
            call: Any = channel.stream_unary(path)
            code = code_of(lambda call=call: call(iter(()), metadata=metadata))
            assert code == "UNAUTHENTICATED"


def test_the_health_check_needs_no_token() -> None:
    with served(token="secret") as server, grpc.insecure_channel(server.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        assert stub.Check(health_pb2.HealthCheckRequest()).status == 1


@pytest.mark.parametrize("token", ["", " x", "x\n", "é"])
def test_invalid_tokens(token: str) -> None:
    with pytest.raises(ValueError, match="a token must be"):
        check_token(token)


@pytest.mark.parametrize("one", ["certificate", "key"])
def test_a_client_has_both_certificate_and_key(one: str) -> None:
    with pytest.raises(ValueError, match="must be given together"):
        ClientTls(**{one: b"-----BEGIN"})  # type: ignore[arg-type]


def test_silent_health_checks_do_not_block_others() -> None:
    bounds = Bounds(streams=4)
    asked = threading.Event()

    def silent() -> Iterator[bytes]:
        asked.wait()
        yield b""

    topics = {"some": Fixed(frames_of(numbered(2)))}
    with (
        serve(topics, token="secret", bounds=bounds) as server,
        grpc.insecure_channel(server.address) as channel,
        Client(server.address, token="secret") as client,
    ):
        for method in ("Check", "Watch"):
            ask: Any = channel.stream_unary(f"/grpc.health.v1.Health/{method}")
            calls = [ask.future(silent()) for _ in range(20)]
            ended = threading.Semaphore(0)
            for call in calls:
                call.add_done_callback(lambda _, ended=ended: ended.release())
            for _ in range(16):
                assert ended.acquire(timeout=PATIENCE)
            with client.subscribe("some") as stream:
                assert list(stream.statements()) == numbered(2)
            for call in calls:
                call.cancel()
        asked.set()
