"""Lines of the record as the transcript shows them: labelled, cut to a readable size, made safe."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from django.urls import reverse
from django.utils.safestring import SafeString

from sessions_app.domain import hostile
from sessions_app.domain.events import (
    Data,
    Flag,
    Message,
    Part,
    Picture,
    Record,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unreadable,
    gist_of,
)
from sessions_app.formats import json_lines
from sessions_app.models import Session
from sessions_app.store.read import Line
from sessions_app.templatetags.rendering import code, markdown
from sessions_app.templatetags.show import human_bytes

SECTION = 200
# What one part shows before "show all": enough to judge it, little enough to keep a page light.
SHOWN = 12_000
ROW_PIXELS = 96

LABELS = {
    Role.USER: "User",
    Role.ASSISTANT: "Assistant",
    Role.SYSTEM: "System",
    Role.TOOL: "Tool result",
}
# Arguments that tell most about a call, in the order they are looked for.
TELLING = ("command", "file_path", "path", "pattern", "query", "url", "description", "prompt")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartView:
    kind: str
    title: str = ""
    text: str = ""
    html: SafeString | str = ""
    truncated: bool = False
    full_url: str = ""
    is_folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EventView:
    seq: int
    at: datetime | None
    role: str
    label: str
    model: str
    tool: str
    is_error: bool
    is_incomplete: bool
    size: int
    parts: tuple[PartView, ...]
    hidden_count: int
    raw_url: str
    permalink: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    lo: int
    count: int
    estimate: int
    url: str
    events: list[EventView] | None


def sections(session: Session, inlined: dict[int, list[EventView]]) -> list[Section]:
    """The whole session as empty sections, of which a few are already filled."""
    return [
        Section(
            lo=lo,
            count=min(SECTION, session.events - lo),
            estimate=min(SECTION, session.events - lo) * ROW_PIXELS,
            # Relative to the session's page: 500 of these must not weigh more than the text.
            url=f"events?lo={lo}",
            events=inlined.get(lo),
        )
        for lo in range(0, session.events, SECTION)
    ]


def events(session: Session, lines: list[Line]) -> list[EventView]:
    return [event(session, line) for line in lines]


def event(session: Session, line: Line) -> EventView:
    raw_url = f"{reverse('sessions:raw', args=[session.uid])}?seq={line.seq}"
    parts = tuple(_parts(line, raw_url))
    body = line.reading.body
    return EventView(
        seq=line.seq,
        at=line.at,
        role=_role(line),
        label=_label(line),
        model=body.model if isinstance(body, Message) else "",
        tool=gist_of(body).tool,
        is_error=bool(line.flags & Flag.ERROR),
        is_incomplete=bool(line.flags & Flag.INCOMPLETE),
        size=line.length,
        parts=parts,
        hidden_count=sum(hostile.count(part.text) for part in parts),
        raw_url=raw_url,
        permalink=f"{reverse('sessions:session', args=[session.uid])}?seq={line.seq}#e{line.seq}",
        position=line.seq + 1,
    )


def _role(line: Line) -> str:
    body = line.reading.body
    if isinstance(body, Message):
        only_results = body.parts and all(isinstance(p, ToolResult | Picture) for p in body.parts)
        return "tool" if body.role is Role.USER and only_results else body.role.value
    return "record" if isinstance(body, Record) else "unreadable"


def _label(line: Line) -> str:
    body = line.reading.body
    match body:
        case Message():
            return "Tool result" if _role(line) == "tool" else LABELS[body.role]
        case Record():
            return body.label
        case Unreadable():
            return "Unreadable line" if not line.is_cut else "Long line"
        case _:
            assert_never(body)


def _parts(line: Line, raw_url: str) -> Iterator[PartView]:
    body = line.reading.body
    match body:
        case Message():
            for part in body.parts:
                yield _part(part, body.role, raw_url)
        case Record():
            text = json_lines.text(dict(body.fields))
            yield _cut("json", text, raw_url, title=_record_title(body), is_folded=True)
        case Unreadable():
            yield PartView(kind="bytes", text=body.reason)
            text = line.raw[: SHOWN * 2].decode("utf-8", "replace")
            yield _cut("code", text, raw_url, whole=len(line.raw) == line.length)
        case _:
            assert_never(body)


def _part(part: Part, role: Role, raw_url: str) -> PartView:
    match part:
        case Text():
            kind = "markdown" if role is Role.ASSISTANT else "text"
            return _cut(kind, part.text, raw_url)
        case Thinking():
            return _cut("thinking", part.text, raw_url)
        case ToolCall():
            text = _pretty(part.arguments)
            return _cut("tool_call", text, raw_url, title=_call_title(part))
        case ToolResult():
            title = "Error" if part.is_error else "Result"
            return _cut("tool_result", part.text, raw_url, title=title)
        case Picture():
            size = f", {human_bytes(part.size)}" if part.size else ""
            return PartView(kind="image_note", text=f"{part.media_type or 'image'}{size}")
        case Data():
            return _cut("json", _pretty(part.value), raw_url, title=part.label, is_folded=True)
        case _:
            assert_never(part)


def _pretty(value: object) -> str:
    return value if isinstance(value, str) else json_lines.text(value)


def _call_title(call: ToolCall) -> str:
    """The name and the one argument that says what the call was about."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    found = (arguments.get(key) for key in TELLING)
    telling = next((value for value in found if isinstance(value, str) and value), "")
    first = " ".join(telling[:400].split())
    return f"{call.name} {first[:160]}".strip() or "Tool call"


def _record_title(record: Record) -> str:
    """The fields a record has, so that a folded one still says something."""
    names = [name for name in record.fields if name not in record.quiet and name != "type"]
    return ", ".join(names)[:160] or "fields"


def _cut(
    kind: str,
    text: str,
    raw_url: str,
    *,
    title: str = "",
    whole: bool = True,
    is_folded: bool = False,
) -> PartView:
    shown = text[:SHOWN]
    return PartView(
        kind=kind,
        title=title,
        text=shown,
        html=_html(kind, shown),
        truncated=len(text) > SHOWN or not whole,
        full_url=raw_url,
        is_folded=is_folded,
    )


def _html(kind: str, text: str) -> SafeString | str:
    if kind == "markdown":
        return markdown(text)
    return code(text, "json") if kind in ("json", "tool_call") else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HexRow:
    offset: str
    hex: str
    ascii: str


def hex_rows(raw: bytes) -> list[HexRow]:
    return [
        HexRow(
            offset=f"{at:08x}",
            hex=raw[at : at + 16].hex(" "),
            ascii="".join(chr(b) if 32 <= b < 127 else "·" for b in raw[at : at + 16]),
        )
        for at in range(0, len(raw), 16)
    ]
