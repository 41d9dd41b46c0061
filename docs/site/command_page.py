"""The page of the ``jelly`` command, generated from the help texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from click import Command, Context

from jelly_plugins.cli.app import app
from jelly_plugins.cli.options import commands, examples


def sections() -> str:
    """What the page has after the text of ``docs/commands.md``, in Markdown."""
    parts = [f"{_code_words(app.help or '')}\n"]
    for name, command in commands(app).items():
        parts += _section(command, f"jelly {name}")
    return "\n".join(parts)


def _section(command: Command, name: str) -> Iterator[str]:
    context = Context(command, info_name=name, help_option_names=["--help"])
    yield f"## {name}\n"
    yield f"{_code_words(command.help or '')}\n"
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    yield f"```text\n{usage}\n```\n"
    yield "Examples:\n\n```sh\n" + "\n".join(examples(command)) + "\n```\n"
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is None or "--help" in param.opts:
            continue
        declared, said = record
        yield f"`{declared}`\n:   {_code_words(_plain(said))}\n"


def _plain(text: str) -> str:
    return re.sub(r" {2,}", " ", text)


def _code_words(text: str) -> str:
    """Help text in Markdown: options as code, and text that would be markup unchanged."""
    text = re.sub(r"([<>*_\[\]|])", r"\\\1", text).replace("\\<", "&lt;").replace("\\>", "&gt;")
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]*[a-z])", r"`\1`", text)
