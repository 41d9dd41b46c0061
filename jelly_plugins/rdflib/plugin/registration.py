"""Making rdflib know the formats: file endings, and who serves ``format="jelly"``.

Entry points name the plugins, so that they need no import. File endings do need one: rdflib looks
them up in a dictionary, before any plugin, and offers no way to fill it but from running code.
"""

from __future__ import annotations

import warnings
from typing import Any, Final

import rdflib.plugin
import rdflib.util
from rdflib.parser import Parser
from rdflib.serializer import Serializer

#: The plugin name that only this package uses.
OWN_NAME: Final = "jelly-plugins"

#: All names that the plugins have; the first two are also claimed by other packages.
NAMES: Final = ("jelly", "application/x-jelly-rdf", OWN_NAME)


def register() -> None:
    """Serve ``format="jelly"`` and ``application/x-jelly-rdf`` in this process, whatever other
    packages are installed and in whatever order they are imported.

    Without it, of several packages with the same plugin name rdflib takes the one it finds last;
    ``format="jelly-plugins"`` is always this one.
    """
    for name in NAMES:
        rdflib.plugin.register(name, Parser, "jelly_plugins.rdflib.plugin.parser", "JellyParser")
        rdflib.plugin.register(
            name, Serializer, "jelly_plugins.rdflib.plugin.serializer", "JellySerializer"
        )


def register_suffixes() -> None:
    """Make ``Graph.parse`` detect Jelly by file name: ``.jelly``, also compressed; and RDF
    Thrift and RDF Protobuf.

    rdflib sees the last suffix only, so that ``.gz``, ``.bz2`` and ``.zst`` mean Jelly from now on;
    it reads no other format compressed. Suffixes registered for other formats stay; one
    that means Jelly, by a name that other packages claim too, means Jelly as these plugins read it.
    """
    endings = rdflib.util.SUFFIX_FORMAT_MAP
    if endings.get("jelly") in NAMES:
        del endings["jelly"]
    for format_, names in {
        OWN_NAME: ("jelly",),
        "rdf-thrift": ("rt", "trdf"),
        "rdf-protobuf": ("rpb", "pbrdf"),
    }.items():
        for name in names:
            endings.setdefault(name, format_)
    for compressed in ("gz", "bz2", "zst"):
        endings.setdefault(compressed, OWN_NAME)


def warn_of_others() -> None:
    """Warn once if another package's plugin handles ``format="jelly"`` in rdflib, and say how to
    change that.

    That is the case where both packages are installed and rdflib has found the other's entry points
    last. Explicit registrations are not changed.
    """
    plugins: dict[Any, Any] = rdflib.plugin._plugins
    for name in NAMES:
        for kind in (Parser, Serializer):
            found = plugins.get((name, kind))
            entry_point = getattr(found, "ep", None)
            if entry_point is not None and not entry_point.value.startswith("jelly_plugins."):
                plugins[name, kind] = _OthersPlugin(found)


class _OthersPlugin(rdflib.plugin.Plugin[Any]):
    """A plugin of another package, under a name that is ours, too; it says so when it is used."""

    warned = False

    def __init__(self, plugin: Any) -> None:
        super().__init__(plugin.name, plugin.kind, "", "")
        self._plugin = plugin

    def getClass(self) -> Any:  # noqa: N802
        if not _OthersPlugin.warned:
            _OthersPlugin.warned = True
            warnings.warn(
                f'format="{self.name}" is handled by {self._plugin.ep.value.partition(".")[0]}, '
                "which is also installed: call jelly_plugins.rdflib.register() to use "
                f'jelly-plugins, or use format="{OWN_NAME}"',
                # The caller of Graph.parse or Graph.serialize, which call rdflib.plugin.get.
                stacklevel=4,
            )
        return self._plugin.getClass()
