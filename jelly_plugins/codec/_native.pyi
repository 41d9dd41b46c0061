"""The compiled kernel has the interface of its reference."""

from typing import Final

from .columns import ColumnDecoder as ColumnDecoder
from .columns import ColumnEncoder as ColumnEncoder
from .decoder import Decoder as Decoder
from .encoder import Encoder as Encoder
from .patch_columns import PatchColumnDecoder as PatchColumnDecoder
from .patch_decoder import PatchDecoder as PatchDecoder
from .patch_encoder import PatchEncoder as PatchEncoder
from .text import TextDecoder as TextDecoder
from .text import TextEncoder as TextEncoder

#: Whether it was built with ``JELLY_POISON=1``, which is for finding errors of memory.
poisoned: Final[bool]
