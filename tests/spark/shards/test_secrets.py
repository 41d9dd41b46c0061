"""Credentials in settings and URLs of object stores: no error shows them."""

from __future__ import annotations

import re

import pytest

from jelly_plugins import JellyError
from jelly_plugins.spark.shards.connecting import public_message, root_url
from jelly_plugins.spark.shards.storage import storage_at


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
    with pytest.raises(JellyError, match="must not have a user or a password") as caught:
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
        assert "PASS" not in public_message(OSError(shown), {setting: url})
        assert "WORD" not in public_message(OSError(shown), {setting: url})


#: Characters that a URL may have escaped, and that users forget to.
ODD = "/ @ : ? # % & = + \" ' < > \\ [ ] \t \n é".replace(" ", "")


@pytest.mark.parametrize("odd", [*ODD, " ", "//", "@@", ":@", "?@"])
@pytest.mark.parametrize("scheme", ["s3", "gs", "az", "abfs", "https", "hdfs", "wasbs", "S3A"])
@pytest.mark.parametrize("user", ["user:", ""])
def test_no_secret_of_a_url_is_shown(scheme: str, odd: str, user: str) -> None:
    """Whatever characters it has, and whether there can be a root."""
    secret = f"SEC{odd}RET"
    for url in (f"{scheme}://{user}{secret}@bucket/x", f"{scheme}://bucket/x?{user}{secret}"):
        shown = ""
        try:
            shown = f"{storage_at(url, {})!r} {storage_at(url, {}).name}"
        except JellyError as error:
            shown = f"{error} {error!r}"
        if not user and "?" not in url and (scheme == "abfs" or "/" in odd):
            # That is a container's name, or a bucket's and a folder's.
            continue
        assert not re.search("SEC|RET", shown), shown


@pytest.mark.parametrize("code", ["SignatureDoesNotMatch", "NoSuchBucket"])
def test_the_code_of_the_object_store_is_shown(code: str) -> None:
    """And nothing of the answer but that, in which there may be anything."""
    answer = f'<?xml version="1.0"?>\n<Error><Code>{code}</Code><Message>PASSWORD</Message></Error>'
    shown = public_message(
        OSError(f"GET http://host/x?a=b status code: 403 Forbidden: {answer}"), {}
    )
    assert shown == f"GET http://host/x?(hidden) status code: 403 Forbidden ({code})"
