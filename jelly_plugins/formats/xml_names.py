"""Names and characters of XML, as parts of regular expressions.

Reference: XML 1.0, productions 2 to 5; Namespaces in XML 1.0, production 4.
"""

from __future__ import annotations

import re
from typing import Final

from ..codec.text.lines import LABEL_PART, NAME_START

#: What a name may have, inside brackets.
NAME_PART: Final = LABEL_PART + "."
#: A name without a colon.
NAME: Final = rf"[{NAME_START}][{NAME_PART}]*+"
#: A character that XML does not have.
NO_CHARACTER: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
