from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from itertools import permutations

import pytest

from . import programs
from .shared_data import ROOT

IMPORTS = {
    "ours": "from jelly_plugins.proto import rdf_pb2, patch_pb2, grpc_pb2",
    "pyjelly's": "import pyjelly.jelly.rdf_pb2",
}
USE = (
    "from jelly_plugins.proto import rdf_pb2 as ours; import pyjelly.jelly.rdf_pb2 as theirs; "
    "data = ours.RdfStreamFrame(rows=[ours.RdfStreamRow(name=ours.RdfNameEntry(value='x'))])"
    ".SerializeToString(); print(theirs.RdfStreamFrame.FromString(data).rows[0].name.value)"
)


def run(code: str) -> str:
    done = programs.run(f"import warnings; warnings.simplefilter('error')\n{code}")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("order", list(permutations(IMPORTS)), ids=" before ".join)
def test_lives_beside_pyjelly(order: tuple[str, ...]) -> None:
    if find_spec("pyjelly") is None:
        pytest.skip("pyjelly is not installed")
    assert run("; ".join([*(IMPORTS[name] for name in order), USE])) == "x"


def test_only_the_service_needs_protobuf() -> None:
    """All packages except the two for protobuf can be imported without it."""
    code = """
import importlib, pkgutil, sys
sys.modules["google.protobuf"] = None
import jelly_plugins
names = [each.name for each in pkgutil.iter_modules(jelly_plugins.__path__, "jelly_plugins.")]
for name in names:
    if name not in ("jelly_plugins.grpc", "jelly_plugins.proto"):
        importlib.import_module(name)
print(len(names))
"""
    assert int(run(code)) > 10


def test_generated_modules_are_current() -> None:
    if find_spec("grpc_tools") is None:
        pytest.skip("grpcio-tools is not installed")
    done = subprocess.run(
        [sys.executable, "proto/regenerate.py", "--check"], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
