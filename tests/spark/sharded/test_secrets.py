"""Credentials in settings and URLs of object stores: no error shows them."""

from __future__ import annotations

import pytest

from jelly_plugins import JellyError
from jelly_plugins.spark.sharded.storage.objects.connecting import root_url, said_by


@pytest.mark.parametrize(
    "url",
    [
        "s3://user:secret@bucket/x",
        "s3://user:sec/ret@bucket/x",
        "https://user:sec/ret@host/x?a=secret",
        "abfs://container:sec/ret@account/x",
        "s3://user:s@e/cret@bucket",
    ],
)
def test_a_url_with_a_password_is_rejected_without_showing_it(url: str) -> None:
    with pytest.raises(JellyError, match="cannot have a user or a password") as caught:
        root_url(url)
    for part in ("user", "sec", "ret", "container"):
        assert part not in str(caught.value.source)


@pytest.mark.parametrize("url", ["s3://bucket/a@b", "abfs://container@account/x"])
def test_other_urls_stay(url: str) -> None:
    assert root_url(url) == url


@pytest.mark.parametrize("password", ["PASSWORD", "PASS/WORD", "PASS@WORD", "PASS%2FWORD"])
@pytest.mark.parametrize("setting", ["endpoint", "proxy_url", "aws_secret_access_key"])
def test_settings_are_not_shown(setting: str, password: str) -> None:
    url = f"http://user:{password}@host/x"
    for shown in (f"no answer from {url}", f"wrong password {password}", f"{url!r}"):
        assert "PASS" not in said_by(OSError(shown), {setting: url})
        assert "WORD" not in said_by(OSError(shown), {setting: url})
