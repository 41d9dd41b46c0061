"""Commands from functions, and options from the fields of settings classes.

A parameter before the ``*`` of a function is an argument of its command, one after it an option::

    def apply(
        log: str,
        *,
        store: str,
        replaying: Annotated[ReplaySettings, "until", "dry_run"],
    ) -> None:
        \"""Apply a log to a store.

        $ jelly patch apply change.jellyp --store data.store

        :param log: Jelly-Patch or RDF Patch text.
        \"""

Name, type, default and help of an option are those of the parameter; what several commands share is
in :data:`SHARED`. A parameter that is a settings class has an option for each of the fields that
its annotation names, with the first sentence after ``:ivar NAME:`` as help; the function gets the
object. A class of this package has an option for every field, without names in the annotation.
Lines of the docstring that begin with ``$`` are examples.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import Enum, StrEnum
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import click
from click import UsageError
from click.core import ParameterSource

from ..io.sources import FORMAT_NAMES, Format, did_you_mean, format_named

if TYPE_CHECKING:
    from ..codec import Limits

#: How groups and commands are made.
HELP: Final = {"help_option_names": ["-h", "--help"]}


class Parsed(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Text that a function turns into a value; its ValueError is wrong usage."""

    def __init__(self, name: str, parse: Callable[[str], Any] = str) -> None:
        self.name = name
        self._parse = parse

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        return self.name

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            # A default has its type already.
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, param) from error


class _Choice(click.Choice):  # type: ignore[type-arg,unused-ignore]
    """One of several values; a member of an enumeration is written ``like-this``."""

    def normalize_choice(self, choice: object, ctx: Any) -> str:  # noqa: ARG002
        named = choice.name if isinstance(choice, Enum) and not isinstance(choice, str) else choice
        return str(named).lower().replace("_", "-")


class FormatType(_Choice):
    """A format by any of its names.

    :param kinds: the kinds of formats, and what finds one by a name; of a name that several have,
        the first counts.
    """

    def __init__(self, kinds: dict[type[StrEnum], Callable[[str], str]]) -> None:
        super().__init__(dict.fromkeys(str(each) for kind in kinds for each in kind))
        self._kinds = kinds

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        message = ""
        for kind, named in self._kinds.items():
            try:
                return kind(named(value))
            except ValueError as error:
                message = str(error)
        if len(self._kinds) > 1:
            hint = did_you_mean(value.lower(), [*FORMAT_NAMES, *self.choices])
            message = f"{value!r} is not one of the formats {', '.join(self.choices)}{hint}"
        raise click.BadParameter(message, ctx, param)


def parse_frames(text: str) -> Any:
    """A range of frames, as jelly-cli has them.

    >>> parse_frames("5..10"), parse_frames("..=3"), parse_frames("7")
    (Frames(first=5, last=9), Frames(first=0, last=3), Frames(first=7, last=7))
    """
    from ..formats.settings import Frames

    found = re.fullmatch(r"(?P<only>\d+)|(?P<first>\d*)\.\.(?P<last>=\d+|\d*)", text, re.ASCII)
    if found is None:
        raise ValueError(f"{text!r} is not a range such as 5, 5..10, 5..=10, 5.. or ..10")
    if found["only"]:
        return Frames(int(found["only"]), int(found["only"]))
    last = found["last"]
    first = int(found["first"] or 0)
    end = int(last[1:]) if last.startswith("=") else int(last) - 1 if last else None
    if end is not None and end < first:
        raise ValueError(f"{text!r} has no frames")
    return Frames(first, end)


def parse_size(text: str) -> int:
    """A number of bytes, at least one.

    >>> parse_size("64M")
    67108864
    """
    found = re.fullmatch(r"(\d+)([KMG]?)", text, re.ASCII | re.IGNORECASE)
    if found is None or not int(found[1]):
        raise ValueError(f"{text!r} is not a size such as 500K, 64M or 1G")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2].upper()]


def parse_prefix(text: str) -> tuple[str, str]:
    """The name and the IRI of a prefix."""
    name, equals, iri = text.partition("=")
    if not equals or ":" not in iri:
        raise ValueError(f"{text} is not NAME=IRI")
    return name.removesuffix(":"), iri


def parse_context(text: str) -> tuple[str, Any]:
    """The IRI of a JSON-LD context, and the context in a file."""
    iri, equals, name = text.rpartition("=")
    if not equals:
        raise ValueError(f"{text} is not URL=FILE")
    with open(name, "rb") as file:
        try:
            return iri, json.load(file)
        except ValueError as error:
            raise ValueError(f"{text}: {error}") from error


Iri: TypeAlias = Annotated[str, Parsed("IRI")]
File: TypeAlias = Annotated[str, Parsed("FILE")]
Folder: TypeAlias = Annotated[str, Parsed("DIR")]
Size: TypeAlias = Annotated[int, Parsed("SIZE", parse_size)]
Seconds: TypeAlias = Annotated[float, click.FloatRange(min=0)]
Positive: TypeAlias = Annotated[int, click.IntRange(min=1)]
RdfFormat: TypeAlias = Annotated[Format, FormatType({Format: format_named})]


class _Shared(NamedTuple):
    """What the options of a name have, wherever the parameter does not say it; flags are instead of
    the name with hyphens, and the kind instead of the annotation."""

    help: str = ""
    flags: tuple[str, ...] = ()
    kind: Any = None


_LOG: Final = "Jelly-Patch or RDF Patch text, compressed or not; - for stdin."

#: By the name of a parameter or field.
SHARED: Final = {
    "base": _Shared("Base IRI for relative IRIs.", kind=Iri | None),
    "contexts": _Shared(
        "Local file for a remote context of JSON-LD. None is fetched.",
        ("--context",),
        Annotated[dict[str, Any], Parsed("URL=FILE", parse_context)],
    ),
    "force": _Shared("Replace the output if it exists.", ("--force", "-f")),
    "from_": _Shared("Format of the source; by default from its name, or jelly."),
    "generalized_statements": _Shared(
        "Accept and declare generalized statements.", ("--generalized",)
    ),
    "generalized": _Shared("Accept generalized statements in text."),
    "json": _Shared("Print JSON."),
    "log": _Shared(_LOG, kind=Annotated[str, Parsed("LOG")]),
    "logs": _Shared(f"{_LOG} In their order.", kind=list[Annotated[str, Parsed("LOG")]]),
    "output": _Shared("Where to write; - for stdout.", ("--output", "-o"), Parsed("DST")),
    "prefix": _Shared(
        "Prefix to declare in the output.",
        kind=Annotated[dict[str, str], Parsed("NAME=IRI", parse_prefix)],
    ),
    "rdf_star": _Shared("Declare quoted triples."),
    "restart_every": _Shared(kind=Size),
    "root": _Shared("Folder of the sharded store, or URL of one in a bucket."),
    "source": _Shared("File, compressed or not; - for stdin.", kind=Annotated[str, Parsed("SRC")]),
    "sources": _Shared(
        "Files in any format, compressed or not; - for stdin.",
        kind=list[Annotated[str, Parsed("SRC")]],
    ),
    "storage_option": _Shared(
        "A setting of the bucket, such as endpoint=URL. Pass credentials in the environment."
    ),
    "store": _Shared("Folder of the Oxigraph store.", kind=Folder),
    "strict": _Shared("Reject known deviations from the specification."),
    "take_frames": _Shared(
        "Frames of Jelly to convert, from 0: 5, 5..10 (not 10), 5..=10, 5.. or ..10.",
        kind=Annotated[Any, Parsed("A..B", parse_frames)],
    ),
    "token_file": _Shared(
        "File with the clients' token; JELLY_TOKEN in the environment also sets it."
    ),
    "tls": _Shared("Use TLS, with a server certificate of a trusted authority."),
    "tls_cert": _Shared("Certificate to present (PEM)."),
    "tls_key": _Shared("Private key of the certificate (PEM)."),
    "to": _Shared("Format to write; by default from the output's name."),
}


def parse_limit(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not number.isdecimal():
        raise ValueError(f"{text} is not NAME=NUMBER")
    return name, int(number)


def limits(usual: Limits | None = None) -> Limits:
    """The limits that ``jelly --limit …`` sets, and the others as usual or by default."""
    from ..codec import DEFAULT_LIMITS

    usual = usual or DEFAULT_LIMITS
    given = click.get_current_context().find_root().obj or {}
    known = [field.name for field in fields(usual)]
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known) or f": there are {', '.join(sorted(known))}"
            raise UsageError(f"--limit: unknown limit {name!r}{hint}")
    try:
        return replace(usual, **given)
    except ValueError as error:
        raise UsageError(f"--limit: {error}") from error


def reject_others(what: str, *allowed: str) -> None:
    """Reject options of the command line that do not go with its input.

    :param allowed: names of the parameters that do.
    """
    params = click.get_current_context().command.params
    reject_options(what, *(name for each in params if (name := str(each.name)) not in allowed))


def reject_options(what: str, *rejected: str) -> None:
    """Reject options of the command line by the names of their parameters."""
    context = click.get_current_context()
    for each in context.command.params:
        name = str(each.name)
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name in rejected:
            raise UsageError(f"{_flag(each, context.params[name])} does not apply to {what}")


def _flag(param: click.Parameter, value: Any) -> str:
    """How an option was written; of ``--x/--no-x`` the one that has the value."""
    return (param.secondary_opts if value is False else param.opts)[0]


def documented(documentation: str | None) -> dict[str, str]:
    """What a docstring says about each parameter or field."""
    found = re.split(r"^:(?:param|ivar) (\w+): ", inspect.cleandoc(documentation or ""), flags=re.M)
    texts = {}
    for name, text in zip(found[1::2], found[2::2], strict=True):
        words = " ".join(re.split(r"\n(?=:|\n)", text)[0].replace("``", "").split())
        texts[name] = f"{words[:1].upper()}{words[1:]}"
    return texts


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s|[:;]\s", text)[0].rstrip(".") + "."


def _type(annotation: Any) -> tuple[Any, Any]:
    """The type of one value, for click, and what several are gathered in: list, dict or None."""
    origin = get_origin(annotation)
    if origin is Annotated:
        kind, several = _type(annotation.__origin__)
        types = [each for each in annotation.__metadata__ if isinstance(each, click.ParamType)]
        return (types[0] if types else kind), several
    if origin in (Union, UnionType):
        return _type(next(each for each in get_args(annotation) if each is not NoneType))
    if origin in (list, dict):
        return _type(get_args(annotation)[-1])[0], origin
    if origin is Literal:
        return _Choice(get_args(annotation)), None
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _Choice(annotation), None
    return annotation, None


def _parameter(
    name: str, annotation: Any, default: Any, text: str, *, argument: bool = False
) -> click.Parameter:
    """The parameter of a command; required if ``default`` is ``inspect.Parameter.empty``."""
    shared = SHARED.get(name, _Shared())
    kind, several = _type(shared.kind or annotation)
    required = default is inspect.Parameter.empty
    settings: dict[str, Any] = {"required": required, "help": text or shared.help}
    if several:
        settings["callback"] = lambda _context, _param, values: several(values)
    elif not required:
        # Click shows and converts the name of a member.
        named = isinstance(default, Enum)
        settings["default"] = kind.normalize_choice(default, None) if named else default
    if argument:
        return click.Argument([name], type=kind, nargs=-1 if several else 1, **settings)
    flag = f"--{name.strip('_').replace('_', '-')}"
    if kind is bool:
        settings["is_flag"] = True
        if default is True:
            flag = f"{flag}/--no-{flag[2:]}"
        else:
            settings["flag_value"] = True
    else:
        settings |= {"type": kind, "multiple": bool(several)}
    return click.Option([*(shared.flags or [flag]), name], show_default=True, **settings)


def command(function: Callable[..., Any]) -> click.Command:
    """The command of a function."""
    hints = get_type_hints(function, include_extras=True)
    documentation = inspect.getdoc(function) or ""
    texts = documented(documentation)
    head = re.split(r"^:\w+ ", documentation, maxsplit=1, flags=re.M)[0]
    examples = re.findall(r"^\$ (.*)$", head, re.M)
    params: list[click.Parameter] = []
    settings: dict[str, tuple[type, list[str]]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        kind = getattr(hint, "__origin__", hint)
        if not is_dataclass(kind):
            argument = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            text = texts.get(name, "")
            params.append(_parameter(name, hint, parameter.default, text, argument=argument))
            continue
        assert isinstance(kind, type)
        of_fields = get_type_hints(kind, include_extras=True)
        usual = {each.name: each.default for each in fields(kind)}
        settings[name] = kind, list(getattr(hint, "__metadata__", usual))
        said = documented(kind.__doc__)
        for field in settings[name][1]:
            default = None if usual[field] is MISSING else usual[field]
            text = _first_sentence(said[field]) if field in said else ""
            shared = SHARED[field].help if field in SHARED else ""
            # The library's words are for Python.
            of_package = kind.__module__.startswith(f"{__package__}.")
            text = texts.get(field) or (text or shared if of_package else shared or text)
            params.append(_parameter(field, of_fields[field], default, text))

    def callback(**given: Any) -> None:
        for name, (kind, names) in settings.items():
            given[name] = _made(kind, {each: given.pop(each) for each in names})
        function(**given)

    return click.Command(
        function.__name__,
        callback=callback,
        params=params,
        help=re.sub(r"^\$ .*\n?", "", head, flags=re.M).strip(),
        epilog="\n  ".join(["\b\nExamples:", *examples]),
        context_settings=HELP,
    )


def examples(made: click.Command) -> list[str]:
    """The examples at the end of the help of a command."""
    return [each.strip() for each in (made.epilog or "").splitlines()[2:]]


def commands(group: click.Group) -> dict[str, click.Command]:
    """The commands of a group and its subgroups, by their full names."""
    found: dict[str, click.Command] = {}
    for name in group.list_commands(click.Context(group)):
        each = group.get_command(click.Context(group), name)
        assert each is not None
        if isinstance(each, click.Group):
            found |= {f"{name} {sub}": made for sub, made in commands(each).items()}
        else:
            found[name] = each
    return found


def _made(kind: Any, values: dict[str, Any]) -> Any:
    """An object of a settings class; errors name options instead of fields."""
    usual: dict[str, Any] = {each.name: each.default for each in fields(kind)}
    values = {name: value for name, value in values.items() if value not in (None, {}, [])}
    if "limits" in usual:
        values["limits"] = limits(usual["limits"])
    flags = {str(each.name): each.opts[0] for each in click.get_current_context().command.params}
    try:
        return kind(**values)
    except ValueError as error:
        names = re.compile(rf"\b({'|'.join(flags)})\b")
        raise UsageError(names.sub(lambda found: flags[found[0]], str(error))) from error


class Group(click.Group):
    """Several commands under one name."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, help=text, no_args_is_help=True, context_settings=HELP)

    def register(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Add the command of a function."""
        self.add_command(command(function))
        return function
