"""What lines say about their session, as rows: usage, tool calls, ties; and what is in force.

Touched for every line, so a line that says nothing new leaves at once.
"""

import re
import struct
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from sessions_app.domain import events, prices
from sessions_app.domain.events import (
    Body,
    Flag,
    Message,
    Notes,
    Scope,
    Tie,
    TieKind,
    ToolCall,
    ToolResult,
    Unreadable,
    Usage,
)
from sessions_app.store.facts import Facts
from sessions_app.store.sources import Fingerprints
from sessions_app.store.standing import Standing
from sessions_app.vault.terms import Blinder

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(2000, 1, 1)
_CALL = struct.Struct(">hiqiiihiqiiibib")
_CALL_WITHOUT_ID = struct.Struct(">hiqiiihiiiibib")
# So many letters and digits in a row are drawn by lot, or tell a moment.
_UNIQUE = re.compile(r"(?=[A-Za-z]*\d)[0-9A-Za-z]{12}|[0-9A-Za-z]{16}\Z")
_USAGE_HEAD = struct.Struct(">hiqiiihiq")
_COUNTERS = struct.Struct(">iqiqiqiqiqiq")
_NULL = struct.pack(">i", -1)
_MOST = 2**53
_LARGEST = 2**63 - 1
_LONGEST_MODEL = 80
_LONGEST_PROVIDER = 40
_SELF, _SUBAGENT_OF, _FORK_OF = TieKind.SELF, TieKind.SUBAGENT_OF, TieKind.FORK_OF
_CORPUS, _TURN, _WHOLE = Scope.CORPUS, Scope.TURN, Scope.WHOLE
_MODEL_CHANGE = Flag.MODEL_CHANGE.value
_SIDECHAIN = Flag.SIDECHAIN.value
_ECHO = Flag.ECHO.value
_NO_NOTES = Notes()
# A word to the program: it names a session only where nothing else does.
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]{0,40}")
# What programs write where they know no id: it would tie together what has nothing in common.
_PLACEHOLDERS = frozenset(
    {
        *("unknown", "default", "none", "null", "nil", "undefined", "nan", "n/a", "na", "empty"),
        *("session", "conversation", "thread", "chat", "main", "test", "local", "anonymous"),
        *("id", "user", "agent", "session-id", "session_id", "your-session-id", "true", "false"),
    }
)
_LONGEST_PLACEHOLDER = 20
_DESCRIPTION = ".meta.json"
# A folder that is one task: two documents of what was said, and facts beside them.
_TASK = re.compile(
    r"(.*/tasks/[^/]+)/(?:(ui_messages|api_conversation_history)|task_metadata|history_item)\.json"
)
# Ids of sessions share a room whatever they tie; ids of records and folders have their own.
_ROOM = {
    TieKind.RECORD: b"record",
    TieKind.FOLDER: b"folder",
    TieKind.BELOW_FOLDER: b"folder",
    # By these usage is found.
    TieKind.PART_TOLD: b"usage",
    TieKind.WHOLE_TOLD: b"usage",
}


class _Answer(NamedTuple):
    """What the lines of a batch told so far of one answer of a provider."""

    seq: int
    no: int
    at: datetime | None
    model: str
    provider: str
    counters: tuple[int, ...]
    reported: int | None

    def grown(self, counters: tuple[int, ...], reported: int | None) -> "_Answer":
        largest = tuple(map(max, self.counters, counters))
        told = max(self.reported or 0, reported or 0) if reported is not None else self.reported
        # Spelled out: `_replace` takes four times as long.
        return _Answer(self.seq, self.no, self.at, self.model, self.provider, largest, told)


class Notebook:
    """Takes the notes of lines in order."""

    def __init__(
        self, *, session_id: int, uid: UUID, facts: Facts, marks: Fingerprints, blinder: Blinder
    ) -> None:
        self.facts = facts
        self._standing = Standing(facts)
        self._session_id = session_id
        self._uid = str(uid)
        self._marks = marks
        self._blinder = blinder
        # Answers of this batch by their key, each with the largest of its counters so far.
        self._answers: dict[str, _Answer] = {}
        self._calls: list[bytes] = []
        # Most calls of a batch have their results in it.
        self._call_keys: dict[str, int] = {}
        self._ties: set[tuple[int, int]] = set()
        # A log names the same ids line by line: each is hashed once in a batch.
        self._tied: set[Tie] = set()
        self._last = _NO_NOTES

    def begin(self) -> None:
        """What the place of the source says, before its first line."""
        for tie in _ties_of_place(self.facts):
            self._tie(tie)

    def flags(self, notes: Notes | None) -> int:
        """Flags of a line, those that follow from what was in force before it included."""
        if notes is None:
            return 0
        facts = self.facts
        if notes.model and facts.model and notes.model != facts.model:
            return notes.flags | _MODEL_CHANGE
        return notes.flags

    def line(
        self, body: Body, notes: Notes | None, flags: int, at: datetime | None, seq: int
    ) -> None:
        if type(body) is Message:
            self._message(body, flags, seq)
            if not self.facts.has_spoken:
                is_subagent = self.facts.is_subagent or bool(flags & _SIDECHAIN)
                self.facts = replace(self.facts, has_spoken=True, is_subagent=is_subagent)
            self._standing.message(body, flags, is_subagent=self.facts.is_subagent)
        elif flags:
            self._standing.other(flags, is_readable=type(body) is not Unreadable)
        # Formats hand out the same notes for lines that say the same.
        if notes is not None and notes is not self._last:
            self._last = notes
            self._told(self._as_own(notes) if notes.is_header else notes, at, seq)

    def _told(self, notes: Notes, at: datetime | None, seq: int) -> None:
        if not self._says_nothing_new(notes):
            self._in_force(notes)
        for tie in notes.ties:
            if tie not in self._tied:
                self._tie(tie)
        for no, usage in enumerate(notes.usage):
            self._used(usage, at, seq, no)

    def title(self, prompt: Body) -> None:
        """The first prompt names a session that nothing else names; a subagent has what it was
        told in its first line."""
        facts = self.facts
        if facts.title and facts.title_rank >= 0:
            return
        title = events.title_of(prompt)
        rank = -1 if _COMMAND.fullmatch(title) else 0
        if not facts.title or rank == 0:
            self.facts = replace(facts, title=title or facts.title, title_rank=rank)

    def take(self) -> tuple[bytes, bytes, list[tuple[int, int]]]:
        """Usage rows, call rows and ties since the last time."""
        usage = b"".join(self._usage_row(key, each) for key, each in self._answers.items())
        out = usage, b"".join(self._calls), sorted(self._ties)
        self._answers, self._calls, self._ties = {}, [], set()
        self._tied.clear()
        self._call_keys.clear()
        return out

    def known(self) -> Facts:
        """Everything known after the lines so far."""
        return self._standing.put_into(self.facts)

    def restore(self, known: Facts) -> None:
        """Forget what an incomplete line said: it will be read again."""
        self.facts = known
        self._standing = Standing(known)
        self._last = _NO_NOTES

    # One line --------------------------------------------------------------------------------

    def _as_own(self, header: Notes) -> Notes:
        """What a header says of this session: one of another session says where this comes from."""
        named = next((tie.id for tie in header.ties if tie.kind is _SELF), "")
        if _says_nothing(named) or self.facts.native in ("", named):
            return header
        return Notes(ties=(Tie(TieKind.FORK_OF, named),))

    def _says_nothing_new(self, notes: Notes) -> bool:
        facts = self.facts
        return bool(
            facts.native
            and facts.has_spoken
            and notes.model in ("", facts.model)
            and notes.branch in ("", facts.branch)
            and notes.version in ("", facts.version)
            and notes.turn in ("", facts.turn)
            and not notes.title
            and (facts.cwd or not notes.cwd)
        )

    def _in_force(self, notes: Notes) -> None:
        facts = self.facts
        changed: dict[str, object] = {}
        rank = notes.title_rank
        is_own = rank != events.TITLE_OF_WHAT_WAS_SAID or facts.has_spoken
        if notes.title and is_own and rank >= facts.title_rank and notes.title != facts.title:
            changed.update(title=events.short(notes.title), title_rank=rank)
        if notes.cwd and not facts.cwd:
            changed["cwd"] = notes.cwd
        for name in ("branch", "version", "model", "turn"):
            value = getattr(notes, name)
            if value and value != getattr(facts, name):
                changed[name] = value
        if notes.branch:
            self._standing.branch(notes.branch)
        if notes.model:
            self._standing.model(notes.model)
        changed.update(self._kin(notes))
        if changed:
            self.facts = replace(facts, **changed)  # type: ignore[arg-type]

    def _kin(self, notes: Notes) -> dict[str, object]:
        """Its own id, and whether it is a subagent: both are settled by the first lines."""
        facts = self.facts
        out: dict[str, object] = {}
        for tie in notes.ties:
            if tie.kind is _SUBAGENT_OF and not facts.has_spoken:
                out["is_subagent"] = True
            elif tie.kind is _SELF and not facts.native and not _says_nothing(tie.id):
                out.setdefault("native", tie.id)
        return out

    def _tie(self, tie: Tie) -> None:
        self._tied.add(tie)
        if _says_nothing(tie.id):
            return
        if tie.kind is _FORK_OF:
            self._standing.fork()
        room = _ROOM.get(tie.kind, b"session")
        self._ties.add((int(tie.kind), self._marks.of_id(room, tie.id)))

    def _message(self, body: Message, flags: int, seq: int) -> None:
        no = 0
        for part in body.parts:
            kind = type(part)
            if kind is ToolCall or kind is ToolResult:
                self._call(part, flags, seq, no)  # type: ignore[arg-type]
                no += 1

    def _call(self, part: ToolCall | ToolResult, flags: int, seq: int, no: int) -> None:
        place = (7, 8, self._session_id, 4, seq, 2, min(no, 32767))
        is_result = type(part) is ToolResult
        if part.call_id:
            key = self._call_keys.get(part.call_id) or self._call_key(part.call_id)
            tool = 0 if is_result else self._tool(part.name)  # type: ignore[union-attr]
            is_error = is_result and part.is_error  # type: ignore[union-attr]
            self._calls.append(_CALL.pack(*place, 8, key, 4, tool, 1, is_result, 1, is_error))
        elif not is_result and not flags & _ECHO:
            tool = self._tool(part.name)  # type: ignore[union-attr]
            self._calls.append(_CALL_WITHOUT_ID.pack(*place, -1, 4, tool, 1, False, 1, False))

    def _call_key(self, call_id: str) -> int:
        """Counters and names of tools come again in every session: such an id means a call only
        among the lines of its own."""
        name = call_id if _UNIQUE.search(call_id) else f"{self._uid} {call_id}"
        key = self._call_keys[call_id] = self._marks.of_id(b"call", name)
        return key

    def _tool(self, name: str) -> int:
        if not name:
            return 0
        return self._blinder.number_of_facet("tool", name.casefold())

    def _used(self, usage: Usage, at: datetime | None, seq: int, no: int) -> None:
        """One answer is told by several lines: it becomes one row, at the first of them."""
        key = self._usage_key(usage, seq, no)
        counters = _counters(usage)
        known = self._answers.get(key)
        if known is None:
            model = usage.model or self.facts.model
            self._standing.model(model[:_LONGEST_MODEL])
            # What stands for a whole is told by its sign.
            no = ~no if usage.scope is _WHOLE else no
            answer = _Answer(seq, no, at, model, usage.provider, counters, usage.reported)
            self._answers[key] = answer
        elif counters != known.counters or usage.reported != known.reported:
            self._answers[key] = known.grown(counters, usage.reported)

    def _usage_row(self, key: str, answer: "_Answer") -> bytes:
        model, provider = answer.model[:_LONGEST_MODEL], answer.provider[:_LONGEST_PROVIDER]
        tokens_in, tokens_out, cache_read, cache_write, cache_write_1h, reasoning = answer.counters
        price = _price(model, provider, answer.at, answer.counters)
        number = self._marks.of_id(b"usage", key)
        place = (8, self._session_id, 4, answer.seq, 2, _number(answer.no), 8, number)
        # One expression: steps in between would cost as much again.
        return (
            _USAGE_HEAD.pack(16, *place)
            + _moment(answer.at)
            + _text(model)
            + _text(provider)
            + _COUNTERS.pack(
                8, tokens_in, 8, tokens_out, 8, cache_read, 8, cache_write, 8, cache_write_1h,
                8, reasoning,
            )
            + (_NULL if price is None else _bigint(price.picodollars))
            + _bigint(answer.reported)
            + (_NULL if price is None else _day(price.priced_on))
        )  # fmt: skip

    def _usage_key(self, usage: Usage, seq: int, no: int) -> str:
        if not usage.key:
            return f"{self._uid} {seq} {no}"
        if usage.scope is _CORPUS or usage.scope is _WHOLE:
            return usage.key
        if usage.scope is _TURN and self.facts.turn:
            return f"{self._turn_of(usage.key)} {usage.key}"
        return f"{self.facts.native or self._place()} {usage.key}"

    def _place(self) -> str:
        """What a file that is written anew says of an answer, it said before. The bare name of a
        file that was sent says nothing."""
        facts = self.facts
        return f"{facts.machine}\0{facts.path}" if "/" in facts.path else self._uid

    def _turn_of(self, answer: str) -> str:
        """A turn that is broken off at once tells the last answer of the one before again."""
        if answer != self.facts.answer:
            self.facts = replace(self.facts, answer=answer, answer_turn=self.facts.turn)
        return self.facts.answer_turn


def _number(no: int) -> int:
    return max(min(no, 32767), -32768)


def _counters(usage: Usage) -> tuple[int, ...]:
    told = (
        usage.input, usage.output, usage.cache_read,
        usage.cache_write, usage.cache_write_1h, usage.reasoning,
    )  # fmt: skip
    if min(told) >= 0 and max(told) <= _MOST:
        return told
    return tuple(min(max(number, 0), _MOST) for number in told)


def _price(
    model: str, provider: str, at: datetime | None, counters: tuple[int, ...]
) -> prices.Price | None:
    tokens_in, tokens_out, cache_read, cache_write, cache_write_1h, _ = counters
    return prices.cost(
        model,
        provider,
        at,
        input=tokens_in,
        output=tokens_out,
        cache_read=cache_read,
        cache_write=cache_write,
        cache_write_1h=cache_write_1h,
    )


def _says_nothing(named: str) -> bool:
    """Also an id of which no bit is set, or all are."""
    if not named.strip("0- :") or not named.strip("fF- "):
        return True
    return len(named) <= _LONGEST_PLACEHOLDER and named.strip().casefold() in _PLACEHOLDERS


def _ties_of_place(facts: Facts) -> list[Tie]:
    """A subagent's file lies below the folder named like its session's file."""
    stem = facts.path.removesuffix(".zst").removesuffix(".jsonl")
    ties = [Tie(TieKind.FOLDER, f"{facts.machine}\0{stem}")]
    for inner in ("/subagents/", "/tool-results/"):
        above, found, _ = facts.path.partition(inner)
        if found:
            ties.append(Tie(TieKind.BELOW_FOLDER, f"{facts.machine}\0{above}"))
    if facts.path.endswith(_DESCRIPTION):
        beside = facts.path.removesuffix(_DESCRIPTION)
        ties.append(Tie(TieKind.BELOW_FOLDER, f"{facts.machine}\0{beside}"))
    return ties + _ties_of_task(facts)


def _ties_of_task(facts: Facts) -> list[Tie]:
    found = _TASK.fullmatch(facts.path)
    if not found:
        return []
    task = f"{facts.machine}\0{found[1]}"
    if found[2]:
        return [Tie(TieKind.FOLDER, task), Tie(TieKind.SELF, task)]
    return [Tie(TieKind.BELOW_FOLDER, task)]


@lru_cache(maxsize=1024)
def _text(text: str) -> bytes:
    # Postgres refuses NUL and lone surrogates; a hostile name loses them.
    raw = text.replace("\0", "").encode("utf-8", "replace")
    return len(raw).to_bytes(4, "big") + raw


def _bigint(value: int | None) -> bytes:
    return _NULL if value is None else struct.pack(">iq", 8, min(value, _LARGEST))


@lru_cache(maxsize=8)
def _day(day: date) -> bytes:
    return struct.pack(">ii", 4, (day - _FIRST_DAY).days)


def _moment(at: datetime | None) -> bytes:
    return _NULL if at is None else struct.pack(">iq", 8, micros(at))


def micros(at: datetime) -> int:
    """As Postgres counts them."""
    since = at - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
