"""The page of the ``jelly`` command, generated from the help texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jelly_plugins.cli.app import app
from jelly_plugins.cli.options import examples


def sections() -> str:
    """What the page has after the text of ``docs/commands.md``, in Markdown."""
    return "\n".join(_sections(app, None, "jelly"))


def _sections(command: Any, parent: Any, name: str) -> Iterator[str]:
    context = command.context_class(
        command, info_name=name.rpartition(" ")[2], parent=parent, help_option_names=["--help"]
    )
    children = getattr(command, "commands", {})
    if parent is not None or not children:
        yield f"## {name}\n"
    yield f"{_code_words(command.help or '')}\n"
    if children:
        for child in children:
            yield from _sections(children[child], context, f"{name} {child}")
        return
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
