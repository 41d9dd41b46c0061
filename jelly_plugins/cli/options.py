"""Generate the options of commands from settings classes.

A command has one parameter for a settings class of the library (a frozen dataclass), with the
fields that become options::

    def apply(
        log: LogArgument,
        settings: Annotated[ReplaySettings, Fields("until", "dry_run", "check_prev")],
    ) -> None: ...

:func:`expanded` replaces it by an option for each field, and the command gets the object. The name
of an option, its type and its default are those of the field. Its help is the first sentence after
``:ivar NAME:`` in the docstring of the class; the rest is for Python. Fields that are not named
stay out of the command. ``limits`` is always filled in: see :func:`.settings.limits_from`.

If the type of a field does not determine its option, pass the option to :class:`Fields`::

    Fields("strict", contexts=Option(settings.ContextFiles, settings.contexts_from))

A field that is ``Annotated`` with a ``typer.Option``, as in classes of this package, needs nothing
else. :func:`.help.finished` expands each command, also those of groups: a module of commands only
declares the parameter. A ValueError of the class is wrong usage; its message names the options
instead of the fields.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from enum import Enum, StrEnum
from functools import partial, wraps
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import typer
from typer.models import OptionInfo

from .console import WrongUsageError

_FIELD: Final = re.compile(r":ivar (\w+):((?:.(?!\n\s*(?::|\n|$)))*.)", re.DOTALL)


def _unchanged(value: Any) -> Any:
    return value


class Option(NamedTuple):
    """The option of a field whose type does not determine it.

    :ivar annotation: a type, ``Annotated`` with a ``typer.Option``.
    :ivar convert: makes the field's value from the option's.
    :ivar default: of the option.
    """

    annotation: Any
    convert: Callable[[Any], Any] = _unchanged
    default: Any = None

    @property
    def flag(self) -> str:
        """The option's name; of a pair such as --x/--no-x whose default is True, the second."""
        [info] = [each for each in self.annotation.__metadata__ if isinstance(each, OptionInfo)]
        flag = str(info.default)
        return flag.rpartition("/")[2] if self.default is True else flag


class Fields:
    """The fields of a settings class that become options; without arguments, all fields.

    :param names: fields whose type determines the option.
    :param options: the options of other fields.
    """

    def __init__(self, *names: str, **options: Option) -> None:
        self._options: dict[str, Option | None] = {**dict.fromkeys(names), **options}

    def of(self, settings: type) -> dict[str, Option]:
        """The options of a class by the names of its fields.

        :raises TypeError: the class has no such field.
        """
        known = {each.name: each for each in fields(settings)}
        if unknown := self._options.keys() - known:
            raise TypeError(f"{settings.__name__} has no field {min(unknown)}")
        hints = get_type_hints(settings, include_extras=True)
        texts = field_texts(settings)
        return {
            name: given or _generated(known[name], hints[name], texts.get(name, ""))
            for name, given in (self._options or dict.fromkeys(known)).items()
        }

    def given(self, settings: Any) -> dict[str, str]:
        """The flags of the fields that differ from their defaults."""
        usual = type(settings)()
        return {
            name: option.flag
            for name, option in self.of(type(settings)).items()
            if getattr(settings, name) != getattr(usual, name)
        }


def field_texts(settings: type) -> dict[str, str]:
    """The first sentence about each field in the docstring of a class.

    >>> from jelly_plugins.formats.settings import ConversionSettings
    >>> field_texts(ConversionSettings)["concatenated"]
    'Treat options at the start of a frame of Jelly as a new stream, as after cat.'
    """
    texts = {}
    for name, text in _FIELD.findall(settings.__doc__ or ""):
        first = re.split(r"(?<=\.)\s|[:;]\s", " ".join(text.split()).replace("``", ""))[0]
        texts[name] = f"{first[:1].upper()}{first[1:].rstrip('.')}."
    return texts


def _generated(field: Field[Any], annotation: Any, text: str) -> Option:
    """The option of a field."""
    default = None if field.default is MISSING else field.default
    if any(isinstance(each, OptionInfo) for each in getattr(annotation, "__metadata__", ())):
        return Option(annotation, default=default)
    flag = f"--{field.name.replace('_', '-')}"
    kind: Any = annotation
    if get_origin(annotation) in (Union, UnionType):
        kind = next(each for each in get_args(annotation) if each is not NoneType)
    convert: Callable[[Any], Any] = _unchanged
    if kind is bool and default is True:
        flag = f"{flag}/--no-{flag[2:]}"
    elif get_origin(kind) is Literal:
        kind = _choices(field.name, {value: value for value in get_args(kind)})
        convert = _value
        default = None if default is None else kind(default)
    elif isinstance(kind, type) and issubclass(kind, Enum) and not issubclass(kind, str):
        convert = partial(_member, kind)
        kind = _choices(field.name, {m.name: m.name.lower().replace("_", "-") for m in kind})
        default = None if default is None else kind[default.name]
    option = typer.Option(flag, help=text, show_default=default is not None)
    return Option(Annotated[kind if default is not None else kind | None, option], convert, default)


def _choices(name: str, values: dict[str, str]) -> Any:
    made: Any = StrEnum
    return made(name, values)


def _value(choice: StrEnum | None) -> str | None:
    return None if choice is None else choice.value


def _member(members: type[Enum], choice: StrEnum | None) -> Enum | None:
    return None if choice is None else members[choice.name]


def expanded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Replace the settings of a command by options, for typer."""
    hints = get_type_hints(function, include_extras=True)
    parameters: dict[str, inspect.Parameter] = {}
    expanding: dict[str, tuple[type, dict[str, Option]]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        found = [e for e in getattr(hints[name], "__metadata__", ()) if isinstance(e, Fields)]
        if not found:
            parameters[name] = parameter.replace(
                annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY
            )
            continue
        settings = hints[name].__origin__
        options = found[0].of(settings)
        expanding[name] = settings, options
        for field, option in options.items():
            assert field not in parameters, f"{field} is declared twice"
            parameters[field] = inspect.Parameter(
                field,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=option.annotation,
                default=option.default,
            )

    @wraps(function)
    def command(**given: Any) -> Any:
        for name, (settings, options) in expanding.items():
            given[name] = _made(settings, options, {field: given.pop(field) for field in options})
        return function(**given)

    del command.__wrapped__
    command.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {name: each.annotation for name, each in parameters.items()}
    return command


def _made(settings: type, options: dict[str, Option], given: dict[str, Any]) -> Any:
    """Create an object of a settings class from the values of options.

    :raises WrongUsageError: the class rejects a value.
    """
    from .settings import limits_from

    values = {name: option.convert(given[name]) for name, option in options.items()}
    values = {name: value for name, value in values.items() if value is not None}
    usual: Any = {each.name: each.default for each in fields(settings)}
    if "limits" in usual:
        values.setdefault("limits", limits_from(usual["limits"]))
    try:
        return settings(**values)
    except ValueError as error:
        names = re.compile(rf"\b({'|'.join(options)})\b")
        message = names.sub(lambda found: options[found[0]].flag, str(error))
        raise WrongUsageError(message) from error
