"""Addresses, generated pages, and links to files outside of ``docs``, for MkDocs."""

from __future__ import annotations

import posixpath
import re
import tomllib
from pathlib import Path
from typing import Any

from command_page import sections
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]

#: Pages whose content is a file at the project's root.
FROM_ROOT = {"changes.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}

_LINK = re.compile(r"(\]\()([^()\s]+)(\))")


def on_config(config: Any) -> Any:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.site_url = project["urls"]["Documentation"]
    config.repo_url = project["urls"]["Repository"]
    config.repo_name = config.repo_url.removeprefix("https://github.com/")
    config.edit_uri = ""
    return config


def on_files(files: Any, *, config: Any) -> Any:
    for page, name in FROM_ROOT.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Link to pages by their place on the site, and to other files by their address."""
    uri = page.file.src_uri
    if uri == "commands.md":
        return f"{markdown}\n{sections()}"
    # The file in the project, to which its links are relative.
    here = FROM_ROOT.get(uri, f"docs/{uri}")

    def link(found: re.Match[str]) -> str:
        target, hash_, anchor = found[2].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
        for made, source in FROM_ROOT.items():
            if path == source:
                path = f"docs/{made}"
        if path.startswith("docs/") and files.get_file_from_path(path.removeprefix("docs/")):
            to = posixpath.relpath(path.removeprefix("docs/"), posixpath.dirname(uri) or ".")
        elif (ROOT / path).exists() and not path.startswith(".."):
            to = f"{config.repo_url}/blob/main/{path}"
        else:
            return found[0]  # MkDocs reports that it is missing.
        return f"{found[1]}{to}{hash_}{anchor}{found[3]}"

    return _outside_blocks(markdown, lambda text: _LINK.sub(link, text))


def _outside_blocks(markdown: str, change: Any) -> str:
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))
