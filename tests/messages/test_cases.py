"""The cases that every reader of message logs must pass, in each syntax that they name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jelly_plugins import JellyError

from ..shared_data import SHARED, shared
from .logs import Dripping, sizes


def cases() -> list[Any]:
    path = SHARED / "data/messages/cases.json"
    if not path.exists():
        return []
    return [
        pytest.param(case, format_, id=f"{case['name']}-{format_}")
        for case in json.loads(path.read_text())
        for format_ in case["format"]
    ]


def test_there_are_cases() -> None:
    assert shared("data/messages/cases.json")
    assert len(cases()) > 80


@pytest.mark.parametrize(("case", "format_"), cases())
def test_case(case: dict[str, Any], format_: str) -> None:
    announced = case.get("announced", False)
    media_types = {
        "nt": "application/n-triples",
        "nq": "application/n-quads",
        "ttl": "text/turtle",
        "trig": "application/trig",
    }
    media_type = media_types[format_] + ("; version=1.2-messages" if announced else "")
    for name, announce in ((format_, announced), (media_type, False)):
        if case["expect"] == "error":
            with pytest.raises(JellyError, match=r"^<bytes>: line \d+"):
                sizes(case["input"], name, announced=announce)
        else:
            assert sizes(case["input"], name, announced=announce) == case["expect"]


@pytest.mark.parametrize(("case", "format_"), cases())
@pytest.mark.parametrize("step", [1, 3, 17])
def test_case_in_small_chunks(case: dict[str, Any], format_: str, step: int) -> None:
    source: Any = Dripping(case["input"].encode(), step)
    announced = case.get("announced", False)
    if case["expect"] == "error":
        with pytest.raises(JellyError):
            _sizes(source, format_, announced)
    else:
        assert _sizes(source, format_, announced) == case["expect"]


def _sizes(source: Any, format_: str, announced: bool) -> list[int]:
    from jelly_plugins.messages import read_messages

    return list(map(len, read_messages(source, format=format_, announced=announced)))
