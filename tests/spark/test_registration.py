"""Register formats in sessions that do not discover them, and only once: Spark warns of repeats."""

from __future__ import annotations

from typing import Any

import pytest

from jelly_plugins.spark import registration
from jelly_plugins.spark.datasource.sources import (
    JellyDataSource,
    JellyPatchDataSource,
    JellyStoreDataSource,
)

SOURCES = [JellyDataSource, JellyPatchDataSource, JellyStoreDataSource]

FUNCTIONS = ["from_jelly", "to_jelly", "from_jelly_patch", "to_jelly_patch"]


class Functions:
    """Likewise, of the session's functions."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def register(self, name: str, _: object) -> None:
        self._names.append(name)


class Session:
    """Records its calls."""

    def __init__(self, **conf: str) -> None:
        self.sources: list[type] = []
        self.functions: list[str] = []
        self.conf = conf

    @property
    def dataSource(self) -> Any:  # noqa: N802 (Spark's name)
        return self

    @property
    def udf(self) -> Any:
        return Functions(self.functions)

    def register(self, source: type) -> None:
        self.sources.append(source)


def test_a_new_session_finds_them() -> None:
    session: Any = Session()
    registration.register_in_new(session)
    registration.register(session)
    assert session.sources == []
    assert session.functions == FUNCTIONS


def test_a_new_session_cannot_find_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "find_spec", lambda _: None)
    session: Any = Session()
    registration.register_in_new(session)
    assert session.sources == SOURCES


def test_executors_get_files_of_python_from_a_new_session() -> None:
    session: Any = Session(**{"spark.submit.pyFiles": "package.zip"})
    registration.register_in_new(session)
    assert session.sources == SOURCES


def test_an_older_session_registers_once() -> None:
    session: Any = Session()
    registration.register(session)
    registration.register(session)
    assert session.sources == SOURCES
    assert session.functions == FUNCTIONS
