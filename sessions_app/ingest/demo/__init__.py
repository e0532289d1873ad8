"""The demo workspace: three weeks of a small fictional team, written for this project.

`files(now)` gives logs of several agents and what they left behind, oldest first. Nothing is read,
nothing is drawn but from seeds, and `now` only moves the dates: the same now gives the same bytes.
A path that comes again is a later version of the same artefact.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from sessions_app.ingest.demo import notes
from sessions_app.ingest.demo.notes import Kind
from sessions_app.ingest.demo.shapes import chat, claude_code, codex, pi
from sessions_app.ingest.demo.stories import STORIES
from sessions_app.ingest.demo.story import Clock, Story

__all__ = ["DemoFile", "Kind", "files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoFile:
    path: str
    machine: str
    agent: str
    project: str
    kind: Kind
    written_at: datetime
    data: bytes


Pen = Callable[[Story, Clock], Iterator[bytes]]

_PENS: dict[str, tuple[Callable[[Story], str], Pen]] = {
    "chat": (chat.path, chat.write),
    "claude-code": (claude_code.path, claude_code.write),
    "codex": (codex.path, codex.write),
    "pi": (pi.path, pi.write),
}


def files(now: datetime) -> Iterator[DemoFile]:
    now = now.astimezone(UTC)
    made = [*_sessions(now), *_notes(now)]
    yield from sorted(made, key=lambda file: file.written_at)


def _sessions(now: datetime) -> Iterator[DemoFile]:
    for story in STORIES:
        place, write = _PENS[story.agent]
        clock = story.clock(now)
        lines = list(write(story, clock))
        if story.cut:
            lines[-1] = lines[-1][: len(lines[-1]) // 2]
        yield _file(story, "log", place(story), b"".join(lines), clock.now)
        for kind, path, text in notes.of_session(story):
            place_of = f"src/{story.project.name}/{path}"
            yield _file(story, kind, place_of, text.encode(), clock.now)


def _file(story: Story, kind: Kind, path: str, data: bytes, written_at: datetime) -> DemoFile:
    return DemoFile(
        path=path,
        machine=story.person.machine,
        agent=story.agent,
        project=story.project.name,
        kind=kind,
        written_at=written_at,
        data=data,
    )


def _notes(now: datetime) -> Iterator[DemoFile]:
    for note in notes.NOTES:
        yield DemoFile(
            path=f"src/{note.project.name}/{note.path}",
            machine=note.person.machine,
            agent="chat",
            project=note.project.name,
            kind=note.kind,
            written_at=note.written_at(now),
            data=note.dated(now).encode(),
        )
