"""One event as the transcript shows it: its line, and what is inside."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from sessions_app.domain import hostile
from sessions_app.domain.events import Flag, Message, Notes, TieKind
from sessions_app.domain.transcript import Entry, is_quiet, is_work
from sessions_app.formats.side_files import named_in
from sessions_app.renderings.shape import Chip, Diff, PartView, Shot, Steps
from sessions_app.store.read import Line
from sessions_app.store.threads import Started
from sessions_app.web.transcript import faces, insides
from sessions_app.web.transcript.desk import Density, Desk, entry_of
from sessions_app.web.transcript.faces import Face

MOST_PAIRS = 20
SHORT_DIFF = 40
MOST_HIDDEN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PairView:
    """The other half of a call, or the whole of an output; without an address it is missing."""

    label: str
    url: str = ""
    seq: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventView:
    seq: int
    # Its id on the page.
    anchor: str
    base: str
    at: datetime | None
    role: str
    icon: str
    label: str
    gist: str
    chips: tuple[Chip, ...]
    model: str
    is_error: bool
    is_incomplete: bool
    # What the line says and the page cannot show, as a sentence.
    loss: str
    size: int
    parts: tuple[PartView, ...]
    hidden_count: int
    position: int
    marks: tuple[str, ...]
    pairs: tuple[PairView, ...]
    agents: tuple[Started, ...]
    is_folded: bool
    is_open: bool
    # Its inside is fetched when somebody wants to see it.
    is_lazy: bool
    # Not all of it is shown.
    is_cut: bool
    is_result: bool
    # It answers the call right above it.
    is_joined: bool
    is_thought: bool
    # Of a subagent inside the session.
    is_side: bool


def event(line: Line, desk: Desk) -> EventView:
    entry = entry_of(line)
    face = faces.face(line, entry, desk)
    is_folded = is_work(entry) or is_quiet(entry) or faces.is_long_system(entry)
    is_wanted = desk.is_whole or desk.target == line.seq
    is_lazy = is_folded and not is_wanted and (is_quiet(entry) or desk.pen.is_sparing)
    desk.pen.is_cut = line.is_cut
    parts = () if is_lazy else tuple(insides.parts(line, desk))
    return EventView(
        seq=line.seq,
        anchor=f"{desk.prefix}e{line.seq}",
        base=desk.base,
        at=line.at,
        role=face.role,
        icon=face.icon,
        label=face.label,
        gist=_brief(face.gist),
        chips=face.chips,
        model=_model(line, desk),
        is_error=bool(line.flags & Flag.ERROR),
        is_incomplete=bool(line.flags & Flag.INCOMPLETE),
        loss="" if is_lazy else line.loss,
        size=line.length,
        parts=parts,
        hidden_count=0 if is_lazy else insides.hidden(line),
        position=line.seq + 1,
        marks=tuple(_marks(line.flags, desk)),
        pairs=(*_pairs(line, desk), *_outputs(line, desk)),
        agents=tuple(_agents(line.reading.notes, desk)),
        is_folded=is_folded,
        is_open=is_wanted or _is_open(entry, face, parts, desk.density),
        is_lazy=is_lazy,
        is_cut=desk.pen.is_cut,
        is_result=face.is_result,
        is_joined=face.is_joined,
        is_thought=face.icon == "brain",
        is_side=bool(line.flags & Flag.SIDECHAIN),
    )


def _model(line: Line, desk: Desk) -> str:
    """Named where it is another one than before."""
    body = line.reading.body
    model = body.model if isinstance(body, Message) else ""
    if not model or model == desk.model:
        return ""
    desk.model = model
    return model


def _brief(gist: str) -> str:
    """Each hidden character is shown as a word: a line full of them would be none."""
    return gist if hostile.count(gist) <= MOST_HIDDEN else f"{gist[:MOST_HIDDEN]}…"


def _marks(flags: Flag, desk: Desk) -> Iterator[str]:
    """A subagent is named where it begins."""
    is_side = bool(flags & Flag.SIDECHAIN)
    if is_side and not desk.is_side:
        yield "Subagent"
    desk.is_side = is_side
    if flags & Flag.ECHO:
        yield "Repeated"


def _pairs(line: Line, desk: Desk) -> Iterator[PairView]:
    """Halves that stand right below each other need no link."""
    for each in desk.pairs.get(line.seq, [])[:MOST_PAIRS]:
        if each.other == line.seq or (line.seq in desk.joined and each.other in desk.joined):
            continue
        if each.other is None:
            yield PairView(label=f"No {'call' if each.is_result else 'result'}")
        else:
            name = "Call" if each.is_result else "Result"
            url = f"{desk.base}./?seq={each.other}#e{each.other}"
            yield PairView(label=f"{name} {each.other}", url=url, seq=each.other)


def _outputs(line: Line, desk: Desk) -> Iterator[PairView]:
    for name in named_in(line.raw):
        if name in desk.outputs:
            url = reverse("sessions:session", args=[desk.outputs[name]])
            yield PairView(label="Whole output", url=url)


def _agents(notes: Notes | None, desk: Desk) -> Iterator[Started]:
    for tie in notes.ties if notes else ():
        if tie.kind is TieKind.STARTED and tie.id in desk.started:
            yield desk.started[tie.id]


def _is_open(entry: Entry, face: Face, parts: tuple[PartView, ...], density: Density) -> bool:
    if not parts or is_quiet(entry) or density is Density.SKIM:
        return False
    if density is Density.COMFORTABLE:
        return face.role == "tool"
    if entry.flags & Flag.ERROR:
        return True
    if density is Density.COMPACT:
        return False
    return face.is_short or any(_is_glance(part) for part in parts)


def _is_glance(part: PartView) -> bool:
    if isinstance(part, Diff):
        return part.lines <= SHORT_DIFF
    return isinstance(part, Steps | Shot)
