"""The compiled kernel has the interface of the reference modules."""

from typing import Final

from .patch.columns import PatchColumnDecoder as PatchColumnDecoder
from .patch.decoder import PatchDecoder as PatchDecoder
from .patch.encoder import PatchEncoder as PatchEncoder
from .rdf.decoder import Decoder as Decoder
from .rdf.decoder import count_rows as count_rows
from .rdf.encoder import Encoder as Encoder
from .text.columns import ColumnDecoder as ColumnDecoder
from .text.columns import ColumnEncoder as ColumnEncoder
from .text.lines import plain_lines as plain_lines
from .text.lines import usual_lines as usual_lines
from .text.transcoding import TextDecoder as TextDecoder
from .text.transcoding import TextEncoder as TextEncoder

#: Whether the kernel was built with ``JELLY_POISON=1``, for finding memory errors.
poisoned: Final[bool]
