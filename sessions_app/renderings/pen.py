"""Writes hostile text out as markup, as long as there is room: a page has only so many bytes, and
colour costs time."""

from collections.abc import Callable

from django.utils.safestring import SafeString

from sessions_app.templatetags import rendering, terminal
from sessions_app.templatetags.show import visible

# Even where no room is left, this much of a text is shown.
LEAST = 240
# Markup may be this many times as long as its text before the text is cut further.
SWELLING = 2
# What one text may take of a section, and of a page of its own.
PART = 3_000
PROSE = 8_000
WHOLE = 60_000
ROOM = 64_000
# The last of the room is for what was said: work can be asked for.
RESERVE = 24_000
COLOUR = 24_000


class Pen:
    def __init__(
        self, *, part: int = PART, prose: int = PROSE, room: int = ROOM, colour: int = COLOUR
    ) -> None:
        self.part, self.prose = part, prose
        self.room, self.colour = room, colour
        # Something was left out since this was last taken back.
        self.is_cut = False

    @property
    def is_sparing(self) -> bool:
        return self.room <= RESERVE

    def text(self, text: str) -> SafeString:
        return self._write(text, visible, self.part)

    def prose_text(self, text: str) -> SafeString:
        return self._write(text, visible, self.prose)

    def markdown(self, text: str) -> SafeString:
        return self._write(text, rendering.markdown, self.prose)

    def terminal(self, text: str) -> SafeString:
        return self._write(text, terminal.terminal, self.part)

    def code(self, text: str, language: str) -> SafeString:
        """In colour while there is some left."""
        shown = text[: self._most(self.part)]
        if not language or len(shown) > self.colour:
            return self.text(text)
        self.colour -= len(shown)
        return self._write(text, lambda cut: rendering.code(cut, language), self.part)

    def takes(self, number: int) -> None:
        """What was written by other hands counts too."""
        self.room -= number

    def _most(self, most: int) -> int:
        return max(LEAST, min(most, self.room))

    def _write(self, text: str, make: Callable[[str], SafeString], most: int) -> SafeString:
        allowed = self._most(most)
        shown = text[:allowed]
        made = make(shown)
        if len(made) > allowed * SWELLING:
            shown = shown[: max(LEAST // 4, len(shown) * allowed // len(made))]
            made = make(shown)
        self.takes(len(made))
        self.is_cut |= len(shown) < len(text)
        return made


def generous() -> Pen:
    """For a page that shows one event."""
    return Pen(part=WHOLE, prose=WHOLE, room=130_000, colour=WHOLE)
