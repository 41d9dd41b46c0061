"""Links and anchors of documents in a checkout, as code hosts render them."""

from __future__ import annotations

import re
from pathlib import Path

from . import blocks

_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
#: Names that a page of the Python reference documents; their anchors exist only on the built site.
_DOCUMENTED = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def links(document: str) -> list[str]:
    """Return the targets of links and images, except in code blocks."""
    return _LINK.findall(blocks.without_blocks(document))


def anchors(document: str) -> set[str]:
    """Return the anchors of headings."""
    found = set()
    for heading in _HEADING.findall(blocks.without_blocks(document)):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w\s-]", "", text.lower()).strip().replace(" ", "-"))
    return found


def broken(page: Path) -> list[str]:
    """Return the relative links of a document whose file or anchor does not exist."""
    document = page.read_text(encoding="utf-8")
    found = []
    for link in links(document):
        if re.match(r"https?:|mailto:", link):
            continue
        target, _, anchor = link.partition("#")
        file = page.parent / target if target else page
        if not file.exists() or (anchor and not _has_anchor(file, anchor)):
            found.append(link)
    return found


def _has_anchor(file: Path, anchor: str) -> bool:
    text = file.read_text(encoding="utf-8")
    documented = _DOCUMENTED.findall(text)
    return anchor in anchors(text) or any(
        anchor == name or anchor.startswith(f"{name}.") for name in documented
    )
