"""What ``jelly --version`` prints."""

from __future__ import annotations

from .. import __version__


def version_text() -> str:
    """The version, and the kernel that runs, in a line each."""
    from ..codec import native

    return f"jelly {__version__}\nkernel: {'native' if native else 'python'}"
