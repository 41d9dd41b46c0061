"""Credentials in settings, URLs and responses of object stores: no error shows them."""

from __future__ import annotations

import re

import pytest
from obstore.exceptions import GenericError

from jelly_plugins import JellyError
from jelly_plugins.spark.shards.bucket import Bucket, public_message
from jelly_plugins.spark.shards.storage import storage_at


@pytest.mark.parametrize(
    ("url", "option"),
    [
        ("s3://bucket/a@b", "region"),
        ("s3://b.u-c_k/x y/é", "region"),
        ("abfs://c@account.dfs.core.windows.net/x", "client_id"),
        ("az://$web", "account_name"),
    ],
)
def test_valid_urls(url: str, option: str) -> None:
    assert {Bucket(each, {option: "x"}).name for each in (url, f"{url}/")} == {url}


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


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "GET http://host/x?SECRET status code: 403 Forbidden: <?xml version='1.0'?>\n"
            "<Error><Code>NoSuchBucket</Code><Message>SECRET</Message></Error>",
            "GenericError, 403 Forbidden, NoSuchBucket",
        ),
        (
            "HEAD http://user:SECRET@host/x status code: 403 Forbidden: \nSECRET",
            "GenericError, 403 Forbidden",
        ),
        (
            "PUT https://user:SECRET@proxy/x: HTTP error: error sending request",
            "GenericError, no connection to the endpoint",
        ),
        ("SECRET", "GenericError"),
    ],
)
def test_a_message_of_the_client_is_not_shown(message: str, shown: str) -> None:
    assert public_message(GenericError(message)) == shown
