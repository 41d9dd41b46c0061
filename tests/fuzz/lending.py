"""Bytes that become unreadable after a call: code that reads them later crashes at once.

Code that keeps a pointer into an argument, without a reference, works while another object keeps
the bytes alive. Here none does. The bytes are at the end of separate pages, which become unreadable
when the last reference is gone. Reading through a stale pointer, or past the end, then causes a
SIGSEGV with a stack trace instead of a wrong character in a message.

This works on Linux with CPython with the GIL only; elsewhere a copy is lent.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from jelly_plugins.errors import JellyError

from .comparison import describe_error

#: Size of the address range, used in turn: large enough that a stale pointer does not meet bytes
#: lent later.
_ADDRESS_RANGE: Final = 1 << 28
#: References that belong to the lender: the bytes are never freed.
_LENDER_REFERENCES: Final = 1000
#: Size of a bytes object's header: reference count, type, size, hash.
_HEAD: Final = bytes.__basicsize__ - 1
_HASH: Final = _HEAD - 8
#: Size from which memory is returned to the system at once.
_LARGE: Final = 1 << 16


class _Lent(NamedTuple):
    address: int
    start: int
    size: int


class Lender:
    """Lends bytes and takes them back."""

    def __init__(self) -> None:
        #: Whether lent bytes become unreadable; otherwise they are a copy.
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
            self._base = libc.mmap(None, _ADDRESS_RANGE, 0, flags, -1, 0)

    def lend(self, data: bytes) -> bytes:
        """Return the same bytes, valid until :meth:`take_back`."""
        if not self.guarded:
            return bytes(bytearray(data))
        size = _HEAD + len(data) + 1
        # An unreadable page always separates two objects.
        pages = -size // mmap.PAGESIZE * -mmap.PAGESIZE
        if self._at + pages + mmap.PAGESIZE > _ADDRESS_RANGE:
            self._at = 0
        start = self._base + self._at
        self._at += pages + mmap.PAGESIZE
        if any(
            start < each.start + each.size and each.start < start + pages for each in self._lent
        ):
            raise AssertionError("bytes of long ago are still referred to")
        self._set(start, pages, mmap.PROT_READ | mmap.PROT_WRITE)
        address = start + (pages - size) // 8 * 8
        ctypes.memmove(address, id(data), size)
        ctypes.c_ssize_t.from_address(address).value = _LENDER_REFERENCES
        ctypes.c_ssize_t.from_address(address + _HASH).value = -1
        self._lent.append(_Lent(address, start, pages))
        made: bytes = ctypes.cast(address, ctypes.py_object).value
        return made

    def take_back(self) -> None:
        """Make lent bytes unreadable; those with references become so when the last one is gone."""
        held = []
        for lent in self._lent:
            if ctypes.c_ssize_t.from_address(lent.address).value > _LENDER_REFERENCES:
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
    """An error instead of a result."""

    error: tuple[Any, ...]


def lent(call: Callable[..., Any], *given: Any) -> Any:
    """Return the result of a call whose bytes arguments are lent, or its :class:`Rejection`.

    :param call: must have consumed its whole result when it returns.
    """
    try:
        return call(*(LENDER.lend(each) if type(each) is bytes else each for each in given))
    except JellyError as error:
        return Rejection(describe_error(error))
    finally:
        LENDER.take_back()
