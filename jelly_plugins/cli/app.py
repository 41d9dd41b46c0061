"""The root of the command: subcommands, version and error handling.

A module of this package has commands, or a group of them as an app of its own. It is imported when
one of its commands is used, since most of what they need takes longer to import than to run.
"""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

import click
from click.exceptions import Exit, NoArgsIsHelpError

from .. import __version__
from ..errors import JellyError
from ..io.sinks import NO_ROOM
from ..lazy import has_kernel
from . import discard_output, exit_code
from .options import Parsed, command, limits, parse_limit

#: The module of each command or group, and the line that lists it.
_COMMANDS: Final = {
    "demo": ("demo", "Parse, load, query and dump a small real file, timed."),
    "convert": ("convert", "Convert between Jelly and other RDF formats."),
    "inspect": ("checks", "Show options, frames, rows by kind and sizes of a Jelly stream."),
    "validate": ("checks", "Check an RDF file, and compare it with other RDF files."),
    "load": ("store", "Load files of any format into an Oxigraph store on disk."),
    "dump": ("store", "Write an Oxigraph store, or one graph of it, in any format."),
    "query": ("store", "Query files or a store, and write the results."),
    "serve": ("service", "Serve topics by gRPC, and take published streams into a store."),
    "publish": ("service", "Publish a file to a server."),
    "subscribe": ("service", "Write the stream of a topic as Jelly."),
    "patch": ("patch", "Logs of changes: convert, apply, undo, check."),
    "spark": ("spark", "Sharded stores: many Oxigraph stores that act as one."),
}

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_PIPE_CLOSED: Final = 141


class JellyGroup(click.Group):
    """Commands that are made when they are used, and whose errors are one line on stderr."""

    def list_commands(self, _ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, _ctx: Any, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        if name not in self.commands:
            module = import_module(f".{_COMMANDS[name][0]}", __package__)
            function = getattr(module, name, None)
            self.commands[name] = command(function) if function else module.app
        return self.commands[name]

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _errors_in_one_line():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _errors_in_one_line():
            return super().invoke(ctx)


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except NoArgsIsHelpError as error:
        click.echo(error.format_message())
        raise Exit(EXIT_USAGE) from error
    except click.UsageError as error:
        see = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        _complain(f"{error.format_message().rstrip('.')}{see}")
        raise Exit(EXIT_USAGE) from error
    except JellyError as error:
        _complain(str(error))
        raise Exit(EXIT_FAILED) from error
    except KeyboardInterrupt as error:
        raise Exit(exit_code(error)) from error
    except BrokenPipeError as error:
        # The reader of the pipe has closed it.
        discard_output()
        raise Exit(EXIT_PIPE_CLOSED) from error
    except OSError as error:
        # Errors of other files already have their names.
        unnamed = "<stdout>" if error.errno in (*NO_ROOM, errno.EBADF) else ""
        name = error.filename or unnamed
        _complain(f"{name}{': ' if name else ''}{error.strerror or error}")
        try:
            sys.stdout.flush()
        except OSError:
            discard_output()
        raise Exit(EXIT_FAILED) from error


#: How an error names a limit in Python and as an option.
_LIMIT: Final = re.compile(r"\(Limits\.\w+, (--limit \w+=NUMBER)\)")

#: What errors suggest to users of Python, and the option for it.
_OPTIONS: Final = {
    "relative IRIs need a base": "--base",
    "set rdf_star": "--rdf-star",
    "check_blank_nodes=False": "--no-check-blank-nodes",
    "pass it with contexts=": "--context URL=FILE",
}


def _complain(message: str) -> None:
    # The names of arguments in Python are not for users of the command.
    message = _LIMIT.sub(r"(jelly \1 ...)", " ".join(message.split()))
    # Only convert has the option; other commands read what it writes.
    message = message.replace("(rdf_star, --rdf-star)", "(jelly convert --rdf-star)")
    if message.endswith("is text, not Jelly"):
        message += ": --from names its format"
    for suggestion, option in _OPTIONS.items():
        message = message.replace(suggestion, f"{suggestion} ({option})")
    print(f"jelly: {message}", file=sys.stderr)


@click.group(
    "jelly",
    cls=JellyGroup,
    invoke_without_command=True,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--version", is_flag=True, help="Print the version and the kernel that runs.")
@click.option(
    "--limit",
    multiple=True,
    type=Parsed("NAME=NUMBER", parse_limit),
    help="Override a limit on the input of the command that follows, such as nesting=3.",
)
@click.pass_context
def app(ctx: click.Context, version: bool, limit: tuple[tuple[str, int], ...]) -> None:
    """Read, write, check and load Jelly, the binary streaming RDF format."""
    ctx.obj = dict(limit)
    if limit:
        # An unknown one is wrong usage of any command.
        limits()
    if version:
        print(f"jelly {__version__}\nkernel: {'native' if has_kernel() else 'python'}")
    elif ctx.invoked_subcommand is None:
        raise NoArgsIsHelpError(ctx)
