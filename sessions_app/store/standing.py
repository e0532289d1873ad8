"""How a log stands at its end, and the names and marks it has shown so far.

Told of every line, so it holds plain attributes; between two batches the facts hold them.
"""

from dataclasses import replace

from sessions_app.domain.events import Flag, Message, Role, Thinking, ToolCall, ToolResult
from sessions_app.domain.lifecycle import Ending
from sessions_app.store.facts import Facts

# A hostile log may name any number of tools, models or branches, and leave calls open for ever.
MOST_NAMES = 100
MOST_OPEN = 32

# As plain names: to look a member up by its class takes ten times as long.
_ASSISTANT, _TOOL = Role.ASSISTANT, Role.TOOL
_ASKED, _ANSWERED, _CALLING = Ending.ASKED, Ending.ANSWERED, Ending.CALLING
_PROMPT = Flag.PROMPT.value
_ERROR = Flag.ERROR.value
_SIDECHAIN = Flag.SIDECHAIN.value
_INTERRUPTED = Flag.INTERRUPTED.value
_INCOMPLETE = Flag.INCOMPLETE.value
# Says nothing about how the session goes on.
_BESIDE = (Flag.ECHO | Flag.COMPACTION).value


class Standing:
    __slots__ = ("_branches", "_ending", "_is_forked", "_models", "_open", "_seen", "_tools")

    def __init__(self, facts: Facts) -> None:
        self._ending = Ending(facts.ending)
        self._open = dict.fromkeys(facts.open_calls)
        self._seen = facts.seen
        self._is_forked = facts.is_forked
        self._tools = set(facts.tools)
        self._models = set(facts.models)
        self._branches = set(facts.branches)

    def put_into(self, facts: Facts) -> Facts:
        return replace(
            facts,
            ending=self._ending.value,
            open_calls=tuple(self._open),
            seen=self._seen,
            is_forked=self._is_forked,
            tools=tuple(sorted(self._tools)),
            models=tuple(sorted(self._models)),
            branches=tuple(sorted(self._branches)),
        )

    # Names and marks ---------------------------------------------------------------------------

    def tool(self, name: str) -> None:
        if name not in self._tools:
            _learn(self._tools, name)

    def model(self, name: str) -> None:
        if name not in self._models:
            _learn(self._models, name)

    def branch(self, name: str) -> None:
        if name not in self._branches:
            _learn(self._branches, name)

    def fork(self) -> None:
        self._is_forked = True

    # How it stands -----------------------------------------------------------------------------

    def other(self, flags: int, *, is_readable: bool) -> None:
        """What is no message. A last line without its end that can be read says what it says."""
        self._seen |= flags
        if flags & _INCOMPLETE and not is_readable:
            self._ending = Ending.CUT
        elif flags & _BESIDE:
            return
        elif flags & _INTERRUPTED:
            self._stop(Ending.INTERRUPTED)
        elif flags & _ERROR:
            self._ending = Ending.FAILED

    def message(self, body: Message, flags: int, *, is_subagent: bool) -> None:
        self._seen |= flags
        if body.name and body.role is _TOOL:
            self.tool(body.name)
        if flags & _BESIDE or (flags & _SIDECHAIN and not is_subagent):
            for part in body.parts:
                if type(part) is ToolCall:
                    self.tool(part.name)
            return
        if flags & _INTERRUPTED:
            self._stop(Ending.INTERRUPTED)
        elif flags & _PROMPT:
            self._stop(_ASKED)
        else:
            self._go_on(body, flags)

    def _stop(self, ending: Ending) -> None:
        """Calls that were open will not be answered any more."""
        self._open.clear()
        self._ending = ending

    def _go_on(self, body: Message, flags: int) -> None:
        has_call = has_result = has_words = False
        for part in body.parts:
            kind = type(part)
            if kind is ToolCall:
                has_call = True
                self._call(part)  # type: ignore[arg-type]
            elif kind is ToolResult:
                has_result = True
                self._open.pop(part.call_id, None)  # type: ignore[union-attr]
            elif kind is not Thinking:
                has_words = True
        if flags & _ERROR:
            self._ending = Ending.FAILED
        elif body.role is _ASSISTANT and not has_result:
            self._said(has_call=has_call, has_words=has_words)
        elif not has_call:
            # What a person ran themselves (a call, too) asks for no answer.
            self._answered(has_result or body.role is _TOOL)

    def _answered(self, is_result: bool) -> None:
        if is_result:
            self._ending = _CALLING if self._open else _ASKED

    def _said(self, *, has_call: bool, has_words: bool) -> None:
        if has_call:
            self._ending = _CALLING
        elif has_words:
            self._stop(_ANSWERED)
        elif not self._open:
            # It thinks: the answer is still to come.
            self._ending = _ASKED

    def _call(self, call: ToolCall) -> None:
        self.tool(call.name)
        if call.call_id and len(self._open) < MOST_OPEN:
            self._open[call.call_id] = None


def _learn(names: set[str], name: str) -> None:
    if name and len(names) < MOST_NAMES:
        names.add(name)
