"""Every type of this package in a public signature can be imported from a public module."""

from __future__ import annotations

import inspect
import pickle
import re
import typing
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final
from unittest.mock import MagicMock

import pytest

from jelly_plugins import errors

from .shared_data import ROOT

DOCS = ROOT / "docs"
MODULES: Final = {
    "jelly_plugins": "jelly_plugins",
    "jelly_plugins.arrow": "arrow",
    "jelly_plugins.codec": "codec",
    "jelly_plugins.grpc": "grpc",
    "jelly_plugins.grpc.aio": "grpc",
    "jelly_plugins.jena": "jena",
    "jelly_plugins.messages": "messages",
    "jelly_plugins.oxigraph": "oxigraph",
    "jelly_plugins.patch": "patch",
    "jelly_plugins.rdflib": "rdflib",
    "jelly_plugins.spark": "spark",
    "jelly_plugins.spark.shards": "spark",
    "jelly_plugins.sparql": "sparql",
}
#: Special methods that users call through syntax.
SYNTAX: Final = ("__call__", "__enter__", "__getitem__", "__iter__", "__next__")
#: Classes whose objects are made only by functions of this package.
MADE_BY_FUNCTIONS: Final = (
    "Commit",
    "FrameReader",
    "GraphRecorder",
    "MessageReader",
    "Recorder",
    "Subscription",
)
#: Classes whose objects users only pass on.
HANDED_ON: Final = ("Storage",)


def names_of(module: str) -> dict[str, Any]:
    try:
        loaded = import_module(module)
    except ImportError as error:
        pytest.skip(str(error))
    return {name: getattr(loaded, name) for name in loaded.__all__}


def public() -> set[int]:
    """Return the identities of all public objects."""
    found = set()
    for module in MODULES:
        try:
            loaded = import_module(module)
        except ImportError:
            continue
        found.update(id(getattr(loaded, name)) for name in loaded.__all__)
    return found


def functions_of(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield the functions whose signatures users see."""
    if inspect.isfunction(thing):
        yield name, thing
    if not inspect.isclass(thing) or not thing.__module__.startswith("jelly_plugins"):
        return
    if name in HANDED_ON:
        return
    for attribute, value in inspect.getmembers(thing):
        if attribute == "__init__" and name in MADE_BY_FUNCTIONS:
            continue
        if attribute.startswith("_") and attribute not in ("__init__", *SYNTAX):
            continue
        function = value.fget if isinstance(value, property) else value
        function = inspect.unwrap(getattr(function, "__func__", function))
        if inspect.isfunction(function) and function.__module__.startswith("jelly_plugins"):
            yield f"{name}.{attribute}", function


def types_in(annotation: Any) -> Iterator[type]:
    """Yield the classes of this package in an annotation."""
    for argument in typing.get_args(annotation):
        for each in argument if isinstance(argument, list) else [argument]:
            yield from types_in(each)
    found = typing.get_origin(annotation) or annotation
    if inspect.isclass(found) and found.__module__.startswith("jelly_plugins"):
        yield found


def hints_of(function: Any) -> dict[str, Any]:
    """Return a function's annotations, including names that its module imports only for type
    checkers.
    """
    names: dict[str, Any] = {}
    while True:
        try:
            return typing.get_type_hints(function, localns=names)
        except NameError as error:
            names[error.name] = MagicMock()


@pytest.mark.parametrize("module", MODULES)
def test_types_in_public_signatures_are_public(module: str) -> None:
    found = public()
    hidden = {
        f"{type_.__module__}.{type_.__qualname__} in {where}"
        for name, thing in names_of(module).items()
        for where, function in functions_of(name, thing)
        for annotation in hints_of(function).values()
        for type_ in types_in(annotation)
        if id(type_) not in found
    }
    assert "\n".join(sorted(hidden)) == ""


@pytest.mark.parametrize(("module", "page"), MODULES.items())
def test_a_page_describes_each_module(module: str, page: str) -> None:
    text = (DOCS / "api" / f"{page}.md").read_text(encoding="utf-8")
    assert re.search(rf"^(# |::: ){re.escape(module)}$", text, re.MULTILINE)


def test_errors_can_be_sent_to_another_process() -> None:
    kinds = [each for each in vars(errors).values() if isinstance(each, type)]
    kinds = [each for each in kinds if issubclass(each, errors.JellyError)]
    assert errors.ServiceError in kinds
    for kind in kinds:
        error = kind("a message").locate(source="x.jelly")
        copied = pickle.loads(pickle.dumps(error))
        assert (type(copied), str(copied), vars(copied)) == (kind, str(error), vars(error))
