"""The command's root: its commands, its version, and how errors end.

A module of this package holds one command, or a group of them as an app of its own, and is named
here.
"""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from ..errors import JellyError
from ..io.sinks import NO_ROOM
from . import (
    convert,
    demo,
    discard_output,
    inspect,
    patch,
    query,
    service,
    spark,
    store,
    validate,
    version_text,
)
from .console import WrongUsageError
from .help import add_examples
from .settings import EXIT_USAGE, help_without_command
from .signals import exit_code

EXIT_FAILED: Final = 1
EXIT_PIPE_CLOSED: Final = 141

# What the parser of the command line raises. Typer exports one kind of it, and its parents are
# those of Click or of Typer's own copy of Click, as its version has it.
_UsageError: Any = typer.BadParameter.__mro__[1]


class JellyGroup(TyperGroup):
    """Commands whose errors are one line on stderr."""

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
    except _UsageError as error:
        command = error.ctx.command_path if error.ctx else "jelly"
        # Typer has some of its messages from a library that opens them so.
        message = error.format_message().replace("Value error, ", "").rstrip(".")
        _complain(f"{message} (see {command} --help)")
        raise typer.Exit(EXIT_USAGE) from error
    except WrongUsageError as error:
        _complain(str(error))
        raise typer.Exit(EXIT_USAGE) from error
    except JellyError as error:
        _complain(str(error))
        raise typer.Exit(EXIT_FAILED) from error
    except KeyboardInterrupt as error:
        raise typer.Exit(exit_code(error)) from error
    except BrokenPipeError as error:
        # The reader of the pipe has closed it.
        discard_output()
        raise typer.Exit(EXIT_PIPE_CLOSED) from error
    except OSError as error:
        # Whatever is written elsewhere is named where it is opened.
        unnamed = "<stdout>" if error.errno in (*NO_ROOM, errno.EBADF) else ""
        name = error.filename or unnamed
        _complain(f"{name}{': ' if name else ''}{error.strerror or error}")
        try:
            sys.stdout.flush()
        except OSError:
            discard_output()
        raise typer.Exit(EXIT_FAILED) from error


#: How an error names a limit in Python, before the option for it.
_IN_PYTHON: Final = re.compile(r"\(Limits\.\w+, (?=--limit )")

#: What errors suggest to users of Python, and the option for it.
_OPTIONS: Final = {
    "relative IRIs need a base": "--base",
    "set rdf_star": "--rdf-star",
    "check_blank_nodes=False": "--no-check-blank-nodes",
    "pass it with contexts=": "--context URL=FILE",
}


def _complain(message: str) -> None:
    # The names of arguments in Python are not for users of the command.
    message = _IN_PYTHON.sub("(", " ".join(message.split()))
    for suggestion, option in _OPTIONS.items():
        message = message.replace(suggestion, f"{suggestion} ({option})")
    print(f"jelly: {message}", file=sys.stderr)


app = typer.Typer(
    cls=JellyGroup,
    name="jelly",
    help="Read, write, check and load Jelly, the binary streaming RDF format.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and the kernel that runs.")
    ] = False,
) -> None:
    if version:
        print(version_text())
        raise typer.Exit
    help_without_command(ctx)


app.command()(demo.demo)
app.command()(convert.convert)
app.command()(inspect.inspect)
app.command()(validate.validate)
app.command()(store.load)
app.command()(store.dump)
app.command()(query.query)
app.command()(service.serve)
app.command()(service.publish)
app.command()(service.subscribe)
app.add_typer(patch.app, name="patch")
app.add_typer(spark.app, name="spark")
add_examples(app)
