"""Bytes that are gone once a call is over: whoever looks at them later dies on the spot.

Code that keeps a pointer into what it was given, and not a reference, works as long as somebody
else keeps the bytes. Here nobody does. They lie in pages of their own, up against the end of them,
and once nothing refers to them any more these pages cannot be read: a stale pointer, and one that
runs past the end, is a SIGSEGV with a stack, and not a wrong letter in a message.

Only where the kernel of the system and of Python are as known here (Linux, CPython with its lock);
elsewhere what is lent is a plain copy.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from jelly_plugins.errors import JellyError

from .comparison import describe_error

#: Bytes of addresses, used in turn: as many as keep a stale pointer off what was lent since.
_ROOM: Final = 1 << 28
#: References that belong to the lender: the bytes are never freed.
_OURS: Final = 1000
#: Bytes of a bytes object before its contents: count of references, type, size, hash.
_HEAD: Final = bytes.__basicsize__ - 1
_HASH: Final = _HEAD - 8
#: Bytes from which on memory is given back to the system at once.
_LARGE: Final = 1 << 16


class _Lent(NamedTuple):
    address: int
    start: int
    size: int


class Lender:
    """Lends bytes, and takes them back."""

    def __init__(self) -> None:
        #: Whether what was lent cannot be read later; it is a plain copy otherwise.
        self.guarded = (
            sys.platform == "linux"
            and sys.implementation.name == "cpython"
            and getattr(sys, "_is_gil_enabled", lambda: True)()
        )
        self._lent: list[_Lent] = []
        self._at = self._base = 0
        if self.guarded:
            libc = ctypes.CDLL(None, use_errno=True)
            self._protect = libc.mprotect
            self._advise = libc.madvise
            for function in (self._protect, self._advise):
                function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
            libc.mmap.restype = ctypes.c_void_p
            libc.mmap.argtypes = (
                *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int),
                *(ctypes.c_int, ctypes.c_int, ctypes.c_long),
            )
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
            self._base = libc.mmap(None, _ROOM, 0, flags, -1, 0)

    def lend(self, data: bytes) -> bytes:
        """The same bytes, until :meth:`take_back`."""
        if not self.guarded:
            return bytes(bytearray(data))
        size = _HEAD + len(data) + 1
        # At least a page between two is never read.
        room = -size // mmap.PAGESIZE * -mmap.PAGESIZE
        if self._at + room + mmap.PAGESIZE > _ROOM:
            self._at = 0
        start = self._base + self._at
        self._at += room + mmap.PAGESIZE
        if any(start < each.start + each.size and each.start < start + room for each in self._lent):
            raise AssertionError("bytes of long ago are still referred to")
        self._set(start, room, mmap.PROT_READ | mmap.PROT_WRITE)
        address = start + (room - size) // 8 * 8
        ctypes.memmove(address, id(data), size)
        ctypes.c_ssize_t.from_address(address).value = _OURS
        ctypes.c_ssize_t.from_address(address + _HASH).value = -1
        self._lent.append(_Lent(address, start, room))
        made: bytes = ctypes.cast(address, ctypes.py_object).value
        return made

    def take_back(self) -> None:
        """Put what was lent out of reach; what is still referred to, when it no longer is."""
        held = []
        for lent in self._lent:
            if ctypes.c_ssize_t.from_address(lent.address).value > _OURS:
                held.append(lent)
                continue
            if lent.size >= _LARGE:
                self._advise(lent.start, lent.size, 4)  # MADV_DONTNEED
            self._set(lent.start, lent.size, 0)
        self._lent = held

    def _set(self, start: int, size: int, protection: int) -> None:
        if self._protect(start, size, protection):
            raise OSError(ctypes.get_errno(), "the memory cannot be protected")


LENDER: Final = Lender()


class Rejection(NamedTuple):
    """An error in the place of a result."""

    error: tuple[Any, ...]


def lent(call: Callable[..., Any], *given: Any) -> Any:
    """What a call makes of what is given, of which bytes are lent; or its :class:`Rejection`.

    :param call: takes all of its result before it returns.
    """
    try:
        return call(*(LENDER.lend(each) if type(each) is bytes else each for each in given))
    except JellyError as error:
        return Rejection(describe_error(error))
    finally:
        LENDER.take_back()
