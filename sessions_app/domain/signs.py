"""What the bytes of a raw line must show for the line to be worth reading.

A line that shows all signs may still hold no hit. One that does not holds none, unless it writes
letters in an unusual way.
"""

import re
from dataclasses import dataclass

# Places of the rarest word that are looked at one by one.
FEW = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """All in small letters."""

    # Each must be there.
    alone: tuple[bytes, ...] = ()
    # One of each must be there.
    one_of: tuple[tuple[bytes, ...], ...] = ()
    phrases: tuple[re.Pattern[bytes], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.alone or self.one_of)

    @property
    def is_wide(self) -> bool:
        """Some are outside ASCII, where a letter can be written in many ways."""
        needles = (*self.alone, *(one for each in self.one_of for one in each))
        return not all(one.isascii() for one in needles)

    def may_stand_in(self, low: bytes) -> bool:
        """All of them somewhere in a whole chunk; in which of its lines is still to be seen. Where
        only a few lines can have a phrase, looking at those is quicker than looking at all."""
        if any(low.find(each) < 0 for each in self.alone):
            return False
        if not self.phrases or low.count(max(self.alone, key=len, default=b"")) <= FEW:
            return True
        return all(each.search(low) for each in self.phrases)

    def stand_in(self, low: bytes, start: int, end: int) -> bool:
        return (
            all(low.find(each, start, end) >= 0 for each in self.alone)
            and all(any(low.find(one, start, end) >= 0 for one in each) for each in self.one_of)
            and all(each.search(low, start, end) for each in self.phrases)
        )
