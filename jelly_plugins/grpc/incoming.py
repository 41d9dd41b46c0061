"""What a client is sent: frames as bytes, checked and decoded."""

from __future__ import annotations

from typing import Any, Final

from ..backends import BlankNodes, get_backend
from ..codec import Decoder, Frame, Limits, StreamOptions, TermFactory
from ..errors import JellyError
from ..io.streams import GENERIC
from .frames import Opening
from .negotiation import check_answer


def factory_of(backend: str | None, blank_nodes: BlankNodes) -> TermFactory[Any]:
    """Makes the terms of a backend, or generic ones.

    :raises MissingExtraError: the library is not installed.
    :raises KeyError: there is no such backend.
    """
    return GENERIC if backend is None else get_backend(backend).factory(blank_nodes=blank_nodes)


class AnswerDecoder:
    """Decodes the frames of an answer, and sees to it that it is what was asked for.

    :param name: how errors call the stream.
    """

    def __init__(
        self,
        factory: TermFactory[Any],
        asked: StreamOptions | None,
        *,
        name: str,
        limits: Limits,
    ) -> None:
        self._check = AnswerCheck(asked, name=name, limits=limits)
        self._decoder: Final = Decoder(factory, limits=limits)
        self._name = name

    @property
    def options(self) -> StreamOptions | None:
        """The stream's options; None before they have come."""
        return self._decoder.options

    def take(self, data: bytes) -> Frame:
        """The next frame.

        :raises JellyError: it is malformed, or not what was asked for.
        """
        self._check.take(data)
        try:
            frame: Frame = self._decoder.decode(data)
        except JellyError as error:
            error.locate(source=self._name)
            raise
        return frame

    def finish(self) -> None:
        """Say that the stream has ended.

        :raises JellyError: it is not whole.
        """
        try:
            self._decoder.finish()
        except JellyError as error:
            error.locate(source=self._name)
            raise


class AnswerCheck:
    """Looks at the options of an answer, and at nothing else."""

    def __init__(self, asked: StreamOptions | None, *, name: str, limits: Limits) -> None:
        self._asked = asked
        self._name = name
        self._opening: Final = Opening(limits)
        self.options: StreamOptions | None = None

    def take(self, data: bytes) -> None:
        """Look at the next frame.

        :raises JellyError: the stream is not what was asked for, or does not begin with options.
        """
        if self.options is None:
            try:
                self.options = self._opening.look(data)
                if self.options is not None:
                    check_answer(self._asked, self.options)
            except JellyError as error:
                error.locate(source=self._name)
                raise


class Answer:
    """The state of a stream that comes, blocking or not.

    :param call: of gRPC's.
    :param name: how errors call the stream.
    """

    def __init__(
        self, call: Any, decoder: AnswerDecoder, check: AnswerCheck, name: str, limits: Limits
    ) -> None:
        self._call = call
        self._decoder = decoder
        self._check = check
        self._limits = limits
        self._closed = False
        #: Whether it was closed before its end had come.
        self.is_cut = False
        self._peeked: list[Frame] = []
        #: How errors call the stream.
        self.name = name
