"""On a full disk the error names the file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from jelly_plugins.io.sinks import open_output


def test_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    with pytest.raises(OSError, match="No space left") as caught, open_output(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []


def test_errors_of_other_operations_stay_unchanged(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError) as caught, open_output(tmp_path / "x.jelly"):
        raise ConnectionResetError(errno.ECONNRESET, "elsewhere")
    assert caught.value.filename is None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_device() -> None:
    with pytest.raises(OSError, match="/dev/full"), open_output("/dev/full") as out:
        out.write(bytes(1 << 20))
