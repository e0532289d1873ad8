"""What is inside an event, part by part."""

from collections.abc import Iterator
from typing import assert_never

from sessions_app import renderings
from sessions_app.domain import ansi, hostile, toolcalls
from sessions_app.domain.events import (
    Flag,
    Message,
    Picture,
    Record,
    Thinking,
    ToolCall,
    ToolResult,
    Unreadable,
    texts,
)
from sessions_app.domain.transcript import is_work
from sessions_app.formats import pictures
from sessions_app.renderings import plain
from sessions_app.renderings.shape import Chip, PartView, Remark, Shot, Tool
from sessions_app.store.read import Line
from sessions_app.web.transcript.desk import Density, Desk, entry_of
from sessions_app.web.transcript.faces import (
    LONGEST_GIST,
    chips,
    is_short_text,
    result_gist,
)

COUNTED = 12_000


def parts(line: Line, desk: Desk) -> Iterator[PartView]:
    body = line.reading.body
    match body:
        case Message():
            yield from _of_message(line, body, desk)
        case Record():
            yield from plain.record(dict(body.fields), desk.pen)
        case Unreadable():
            text = line.raw[: desk.pen.part * 4].decode("utf-8", "replace")
            reason = "" if line.flags & Flag.INCOMPLETE else body.reason
            yield from plain.unread(reason, text, desk.pen)
            if line.is_cut and line.flags & Flag.PICTURE:
                yield _far_picture(line, desk)
        case _:
            assert_never(body)


def _far_picture(line: Line, desk: Desk) -> Remark:
    url = f"{desk.base}picture?seq={line.seq}&no=0"
    return Remark(icon="image", text="This line holds a picture.", url=url, link="Show it")


def _of_message(line: Line, body: Message, desk: Desk) -> Iterator[PartView]:
    is_folded = is_work(entry_of(line))
    work = [part for part in body.parts if isinstance(part, ToolCall | ToolResult)]
    is_pair = [isinstance(part, ToolCall) for part in work] == [True, False]
    # One call, one result or one of each: the line of the event speaks of it.
    is_alone = is_folded and (len(work) == 1 or is_pair)
    # Nothing but thoughts: then the event itself is folded.
    is_thought = is_folded and not work
    shots = _shots(line, desk) if line.flags & Flag.PICTURE else []
    left = list(shots)
    for part in body.parts:
        if isinstance(part, ToolCall | ToolResult):
            yield from _of_tool(part, is_alone, desk)
        elif isinstance(part, Thinking) and not is_thought:
            yield from _of_thinking(part, body, desk)
        elif isinstance(part, Picture) and left:
            yield left.pop(0)
        elif not isinstance(part, Picture) or not shots:
            yield from renderings.of_part(part, body.role, desk.pen)
    yield from left


def _shots(line: Line, desk: Desk) -> list[Shot]:
    return [
        Shot(
            url=f"{desk.base}picture?seq={line.seq}&no={no}",
            alt=f"Picture {no + 1} of event {line.seq}, {found.width} × {found.height} pixels",
            width=found.width,
            height=found.height,
        )
        for no, found in enumerate(pictures.found(line.raw))
    ]


def _of_thinking(part: Thinking, body: Message, desk: Desk) -> Iterator[PartView]:
    """A thought among words or calls is folded, too."""
    inside = tuple(renderings.of_part(part, body.role, desk.pen))
    if inside:
        gist = toolcalls.one_line(part.text, LONGEST_GIST)
        opened = desk.is_whole or desk.density is Density.COMFORTABLE
        yield Tool(icon="brain", name="Thinking", gist=gist, parts=inside, is_open=opened)


def _of_tool(part: ToolCall | ToolResult, is_alone: bool, desk: Desk) -> Iterator[PartView]:
    if isinstance(part, ToolCall):
        told = toolcalls.meaning(part)
        inside = renderings.of_call(part, told, desk.pen)
        icon, name, gist = renderings.icon(told), renderings.name(part), toolcalls.gist(part, told)
        told_beside: tuple[Chip, ...] = ()
        is_open = desk.density is Density.COMFORTABLE
    else:
        call = desk.calls.get(part.call_id)
        inside = renderings.of_result(part, call.told if call else None, desk.pen)
        icon, name = ("circle-x", "Failed") if part.is_error else ("arrow-right", "Result")
        gist, told_beside = result_gist(part), tuple(chips(part, ""))
        is_open = part.is_error or is_short_text(part.text)
    if is_alone:
        yield from inside
    else:
        opened = is_open or desk.is_whole
        yield Tool(
            icon=icon, name=name, gist=gist, chips=told_beside, parts=tuple(inside), is_open=opened
        )


def hidden(line: Line) -> int:
    """Hidden characters in the words of an event; colours of a terminal are shown as colours."""
    body = line.reading.body
    if isinstance(body, Unreadable):
        return hostile.count(line.raw[:COUNTED].decode("utf-8", "replace"))
    told = ansi.uncoloured("\n".join(text[:COUNTED] for text in texts(body)[:200]))
    return hostile.count(told)
