"""Cases that every reader of message logs must pass, in each of their syntaxes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jelly_plugins import JellyError
from jelly_plugins.messages import read_messages

from ..codec.input_kinds import Trickle
from ..shared_data import SHARED, shared


def cases() -> list[Any]:
    path = SHARED / "data/messages/cases.json"
    if not path.exists():
        return []
    return [
        pytest.param(case, format_, id=f"{case['name']}-{format_}")
        for case in json.loads(path.read_text())
        for format_ in case["format"]
    ]


def test_cases_exist() -> None:
    assert shared("data/messages/cases.json")
    assert len(cases()) > 80


MEDIA_TYPES = {
    "nt": "application/n-triples",
    "nq": "application/n-quads",
    "ttl": "text/turtle",
    "trig": "application/trig",
}


def names(case: dict[str, Any], format_: str) -> list[str]:
    """Return the names of a case's syntax; a log without its own version needs a media type."""
    if case.get("announced"):
        return [f"{MEDIA_TYPES[format_]}; version=1.2-messages"]
    return [format_, MEDIA_TYPES[format_]]


@pytest.mark.parametrize("step", [None, 1, 3, 17])
@pytest.mark.parametrize(("case", "format_"), cases())
def test_case(case: dict[str, Any], format_: str, step: int | None) -> None:
    data = case["input"].encode()
    for name in names(case, format_):
        messages = read_messages(Trickle(data, step) if step else data, format=name)  # type: ignore[arg-type]
        if case["expect"] == "error":
            with pytest.raises(JellyError, match=r": line \d+"):
                list(messages)
        else:
            assert list(map(len, messages)) == case["expect"]
