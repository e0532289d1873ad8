"""Lines of a log one after the other → acts on files, each with the events it stands in.

No format of its own. Calls are brought together with their answers by id; where a log gives none,
the next answer without an id belongs to the oldest call without one.
"""

from collections.abc import Iterator

from sessions_app.domain.events import Body, Message, ToolCall, ToolResult
from sessions_app.domain.files import Deal
from sessions_app.formats import file_tools
from sessions_app.formats.file_tools import NOTHING

MOST_WAITING = 2_000
MOST_SEEN = 200_000


class Reader:
    """Takes lines in order; a line may come again if nothing it asked for was answered yet."""

    def __init__(self, fmt: str, cwd: str) -> None:
        self._fmt = fmt
        self._cwd = cwd
        self._waiting: dict[str, tuple[int, ToolCall]] = {}
        self._answered: set[str] = set()

    def line(self, seq: int, body: Body, raw: bytes) -> Iterator[Deal]:
        if not isinstance(body, Message):
            return
        for no, part in enumerate(body.parts):
            if isinstance(part, ToolCall):
                self._called(seq, no, part)
            elif isinstance(part, ToolResult):
                yield from self._told(seq, part, raw)

    def open(self) -> Iterator[Deal]:
        """What was asked for and not answered so far."""
        for asked, call in self._waiting.values():
            for act in file_tools.acts(self._fmt, call, None, NOTHING, self._cwd):
                yield Deal(act=act, asked=asked, answered=None, tool=call.name)

    def _called(self, seq: int, no: int, call: ToolCall) -> None:
        if file_tools.plain_name(call.name) not in file_tools.TOOLS:
            return
        key = call.call_id or f"\0{seq} {no}"
        # Copied lines and messages written anew name the same call again.
        if key not in self._answered:
            self._waiting.setdefault(key, (seq, call))
            if len(self._waiting) > MOST_WAITING:
                del self._waiting[next(iter(self._waiting))]

    def _told(self, seq: int, result: ToolResult, raw: bytes) -> Iterator[Deal]:
        key = result.call_id or next((key for key in self._waiting if key[0] == "\0"), "")
        found = self._waiting.pop(key, None)
        if found is None:
            return
        if len(self._answered) < MOST_SEEN:
            self._answered.add(key)
        asked, call = found
        beside = file_tools.beside(self._fmt, raw)
        for act in file_tools.acts(self._fmt, call, result, beside, self._cwd):
            yield Deal(act=act, asked=asked, answered=seq, tool=call.name)
