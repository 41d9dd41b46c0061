"""Make commands from functions, and their options from settings classes.

A parameter of a command is ``Annotated`` with an :class:`Option` or an :class:`Argument`; its type
and its default are those of the option. One parameter may be a settings class of the library (a
frozen dataclass), with the fields that become options::

    def apply(
        log: LogArgument,
        settings: Annotated[ReplaySettings, Fields("until", "dry_run", "check_prev")],
    ) -> None: ...

The command has an option for each field, and the function gets the object. The name of an option,
its type and its default are those of the field. Its help is the first sentence after ``:ivar
NAME:`` in the docstring of the class; the rest is for Python. Fields that are not named stay out of
the command. ``limits`` is always filled in: see :func:`.console.limits_from`.

If the type of a field does not determine its option, pass it to :class:`Fields`::

    Fields("strict", contexts=FieldOption(settings.ContextFiles, settings.contexts_from))

A field that is ``Annotated`` with an :class:`Option`, as in classes of this package, needs nothing
else. A ValueError of the class is wrong usage; its message names the options instead of the fields.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import Enum
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

import click
from click.shell_completion import CompletionItem

from .console import EXIT_USAGE, WrongUsageError, limits_from
from .help import EXAMPLES

_HELP: Final = {"help_option_names": ["-h", "--help"]}

_FIELD: Final = re.compile(r":ivar (\w+):((?:.(?!\n\s*(?::|\n|$)))*.)", re.DOTALL)


class Option:
    """An option of a command.

    :param flags: its names, such as ``--output`` and ``-o``, or ``--x/--no-x``.
    :param min: of a number; ``max`` as well.
    :param parser: makes the value from the text; a ``click.BadParameter`` rejects it.
    :param choices: values that a shell offers.
    :param show_default: what to show as the default; False for none.
    """

    def __init__(
        self,
        *flags: str,
        help: str = "",  # noqa: A002
        metavar: str | None = None,
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
        parser: Callable[[str], Any] | None = None,
        choices: tuple[str, ...] = (),
        show_default: bool | str = True,
    ) -> None:
        self.flags = flags
        self.help = help
        self.metavar = metavar
        self.min = min
        self.max = max
        self.parser = parser
        self.choices = choices
        self.show_default = show_default


class Argument(Option):
    """An argument of a command. The parameters are those of an option, without flags."""


class FieldOption(NamedTuple):
    """The option of a field whose type does not determine it.

    :ivar annotation: a type, ``Annotated`` with an :class:`Option`.
    :ivar convert: makes the field's value from the option's.
    :ivar default: of the option.
    """

    annotation: Any
    convert: Callable[[Any], Any] = lambda value: value
    default: Any = None

    @property
    def flag(self) -> str:
        """The option's name; of a pair such as --x/--no-x whose default is True, the second."""
        marker = _marker_of(self.annotation)
        assert marker is not None
        flag = marker.flags[0]
        return flag.rpartition("/")[2] if self.default is True else flag


class Fields:
    """The fields of a settings class that become options; without arguments, all fields.

    :param names: fields whose type determines the option.
    :param options: the options of other fields.
    """

    def __init__(self, *names: str, **options: FieldOption) -> None:
        self._options: dict[str, FieldOption | None] = {**dict.fromkeys(names), **options}

    def of(self, settings: type) -> dict[str, FieldOption]:
        """The options of a class by the names of its fields.

        :raises TypeError: the class has no such field.
        """
        known = {each.name: each.default for each in fields(settings)}
        if unknown := self._options.keys() - known:
            raise TypeError(f"{settings.__name__} has no field {min(unknown)}")
        hints = get_type_hints(settings, include_extras=True)
        texts = field_texts(settings)

        def generated(name: str) -> FieldOption:
            default = None if known[name] is MISSING else known[name]
            annotation: Any = hints[name]
            if _marker_of(annotation) is None:
                flag = f"--{name.replace('_', '-')}"
                if default is True:
                    flag = f"{flag}/--no-{flag[2:]}"
                annotation = Annotated[annotation, Option(flag, help=texts.get(name, ""))]
            return FieldOption(annotation, default=default)

        return {
            name: given or generated(name)
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


def _marker_of(annotation: Any) -> Option | None:
    found = [e for e in getattr(annotation, "__metadata__", ()) if isinstance(e, Option)]
    return found[0] if found else None


class _Value(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A value that a function makes from text, or one of several by name."""

    def __init__(self, convert: Callable[[str], Any], choices: tuple[str, ...]) -> None:
        self.name = f"[{'|'.join(choices)}]" if choices else "text"
        self._convert = convert
        self._choices = choices

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        return self.name

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ARG002
        # A default may already have its type.
        return self._convert(value) if isinstance(value, str) else value

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        found = [each for each in self._choices if each.startswith(incomplete.lower())]
        return [CompletionItem(each) for each in found]


def _value_of(kind: Any, marker: Option) -> Any:
    """The type of a parameter, for click."""
    if marker.parser is not None:
        return _Value(marker.parser, marker.choices)
    members: Mapping[str, Any] = {}
    if get_origin(kind) is Literal:
        members = {value: value for value in get_args(kind)}
    elif issubclass(kind, str) and issubclass(kind, Enum):
        members = {each.value: each for each in kind}
    elif issubclass(kind, Enum):
        members = {each.name.lower().replace("_", "-"): each for each in kind}
    if members:

        def member(name: str) -> Any:
            if name not in members:
                raise click.BadParameter(f"{name!r} is not one of {', '.join(members)}")
            return members[name]

        return _Value(member, tuple(members))
    if marker.min is not None or marker.max is not None:
        ranges: Any = click.IntRange if kind is int else click.FloatRange
        return ranges(marker.min, marker.max)
    return {int: click.INT, float: click.FLOAT, bool: click.BOOL}.get(kind, click.STRING)


def _parameter(name: str, annotation: Any, default: Any) -> click.Parameter:
    """The parameter of a command.

    :param default: ``inspect.Parameter.empty`` if it is required.
    """
    marker = _marker_of(annotation)
    assert marker is not None, f"{name} is neither an option nor an argument"
    kind = annotation.__origin__
    if get_origin(kind) in (Union, UnionType):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    several = get_origin(kind) is list
    if several:
        [kind] = get_args(kind)
    required = default is inspect.Parameter.empty
    settings: dict[str, Any] = {"required": required, "metavar": marker.metavar}
    if not (required or several):
        settings["default"] = default
    if isinstance(marker, Argument):
        settings["type"] = _value_of(kind, marker)
        if several:
            settings |= {"nargs": -1, "metavar": f"{marker.metavar}..."}
            if not required:
                settings["metavar"] = f"[{marker.metavar}]..."
        return _HelpedArgument([name], marker.help, **settings)
    settings |= {"help": marker.help, "show_default": marker.show_default}
    if kind is bool:
        settings["is_flag"] = True
        if "/" not in marker.flags[0]:
            settings["flag_value"] = True
    else:
        settings |= {"type": _value_of(kind, marker), "multiple": several}
    return click.Option([*marker.flags, name], **settings)


class _HelpedArgument(click.Argument):
    """An argument with a help text."""

    def __init__(self, names: list[str], text: str, **settings: Any) -> None:
        super().__init__(names, **settings)
        self.text = text

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        note = "  [required]" if self.required else ""
        return self.make_metavar(ctx), f"{self.text}{note}"


class Command(click.Command):
    """A command whose help lists its arguments, and ends with examples."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        arguments = [each for each in self.params if isinstance(each, _HelpedArgument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([each.get_help_record(ctx) for each in arguments])
        options = [
            record
            for each in self.get_params(ctx)
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx))
        ]
        with formatter.section("Options"):
            formatter.write_dl(options)

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.epilog:
            formatter.write("\nExamples:\n")
            for line in self.epilog.splitlines():
                formatter.write(f"  {line}\n")


def made(function: Callable[..., Any], examples: tuple[str, ...] = ()) -> Command:
    """The command of a function."""
    hints = get_type_hints(function, include_extras=True)
    params: list[click.Parameter] = []
    expanding: dict[str, tuple[type, dict[str, FieldOption]]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        found = [e for e in getattr(hints[name], "__metadata__", ()) if isinstance(e, Fields)]
        if not found:
            params.append(_parameter(name, hints[name], parameter.default))
            continue
        settings = hints[name].__origin__
        options = found[0].of(settings)
        expanding[name] = settings, options
        params += [
            _parameter(field, option.annotation, option.default)
            for field, option in options.items()
        ]
    names = [str(each.name) for each in params]
    assert len(names) == len(set(names)), f"an option is declared twice: {names}"
    several = {str(each.name) for each in params if each.nargs == -1 or each.multiple}

    def callback(**given: Any) -> None:
        for name in several:
            given[name] = list(given[name]) or None
        for name, (settings, options) in expanding.items():
            values = {field: given.pop(field) for field in options}
            given[name] = _settings(settings, options, values)
        function(**given)

    return Command(
        function.__name__,
        callback=callback,
        params=params,
        help=inspect.getdoc(function),
        epilog="\n".join(examples),
        context_settings=_HELP,
    )


def _settings(settings: type, options: dict[str, FieldOption], given: dict[str, Any]) -> Any:
    """Create an object of a settings class from the values of options.

    :raises WrongUsageError: the class rejects a value.
    """

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


class Group(click.Group):
    """Several commands under one name."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(
            name,
            help=text,
            invoke_without_command=True,
            callback=help_without_command,
            context_settings=_HELP,
        )

    def register(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Add the command of a function."""
        self.add_command(made(function, EXAMPLES.get(f"{self.name} {function.__name__}", ())))
        return function


@click.pass_context
def help_without_command(ctx: click.Context) -> None:
    """The callback of a group: without a command, print the help and exit with code 2."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit(EXIT_USAGE)
