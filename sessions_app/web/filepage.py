"""One file of a session: what it held at an event, each act on it, what all of them come to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import assert_never
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from django.views.decorators.http import require_safe

from sessions_app.domain import fileindex as pure
from sessions_app.domain import linediff
from sessions_app.domain.errors import NotFound
from sessions_app.domain.filehistory import Difference, Step, difference
from sessions_app.domain.fileindex import Entry, Histories, Index
from sessions_app.domain.files import (
    Change,
    Deed,
    Erased,
    Outcome,
    Patched,
    Shown,
    relative,
)
from sessions_app.domain.linediff import Diff
from sessions_app.domain.texts import Absent, Known, Partly, State, text_of
from sessions_app.models import Session
from sessions_app.store import fileindex, files, sessions
from sessions_app.store.files import Look
from sessions_app.templatetags.diffs import MOST_HTML, Listing, fitting, listing
from sessions_app.web import respond
from sessions_app.web.access import person, signed_in
from sessions_app.web.query import number

# A page that is not ready after this long says how far it has come.
SECONDS = 1.5
ACTS = 10
PIECE_FRAME = 300
MOST_ON_SLIDER = 2_000
# What the parts of a page may take, so that all of it stays below 200 KB.
MOST_COPIED = 16 * 1024
MOST_ROWS = 60
ACT_ROOM = 5_000
MOST_NET_ROWS = 160
NET_ROOM = 32_000
MOST_DIFFS = 20
ALL_ROWS = 4_000

DEEDS = {
    Deed.READ: "Read",
    Deed.WRITE: "Written",
    Deed.EDIT: "Edited",
    Deed.DELETE: "Deleted",
    Deed.RENAME: "Renamed",
}


def query(**values: object) -> str:
    return f"?{urlencode({key: value for key, value in values.items() if value not in ('', None)})}"


def name_of(found: Session, path: str) -> str:
    return pure.name_of(path, found.uid.bytes)


def event_url(found: Session, seq: int) -> str:
    return f"{reverse('sessions:session', args=[found.uid])}?seq={seq}#e{seq}"


def subject(found: Session) -> dict[str, object]:
    return {"session": sessions.shown(found, now=timezone.now())}


def progress(found: Session, index: Index) -> dict[str, object]:
    whole = fileindex.whole(found)
    return {
        "looked_at": index.upto,
        "whole": whole,
        "is_whole": index.upto >= whole,
        "is_cut": index.is_cut,
        "unread": index.unread,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One file of a session that was asked for."""

    session: Session
    acts: Histories
    path: int
    cwd: str
    name: str

    @property
    def entries(self) -> list[Entry]:
        return list(self.acts.of(self.path))

    def steps(self, lo: int, hi: int) -> list[Step]:
        return files.steps(self.session, self.acts, Look(path=self.path, lo=lo, hi=hi))

    def url(self, **more: object) -> str:
        return query(file=self.name, **more)


def _place(request: HttpRequest, found: Session, index: Index) -> Place:
    wanted = request.GET.get("file", "")
    path = next((n for n, each in enumerate(index.paths) if name_of(found, each) == wanted), None)
    if path is None:
        raise NotFound("This session touched no such file, or it was not yet found.")
    cwd = sessions.facts_of(found).cwd
    return Place(session=found, acts=index.histories(), path=path, cwd=cwd, name=wanted)


def page(request: HttpRequest, found: Session, index: Index) -> HttpResponse:
    place = _place(request, found, index)
    context = {**subject(found), **_state(request, place)}
    if respond.is_fragment(request):
        return render(request, "sessions/_file_state.html", context)
    context |= {**progress(found, index), **_acts(request, place), **_net(request, place)}
    return render(request, "sessions/file.html", context)


def _file_facts(place: Place) -> dict[str, object]:
    path = place.acts.paths[place.path]
    return {
        "path": path,
        "name": relative(path, place.cwd),
        "file_name": place.name,
        "here": place.url(),
    }


# Its state at an event


def _state(request: HttpRequest, place: Place) -> dict[str, object]:
    entries = place.entries
    last = entries[-1].seq
    seq = number(request, "seq", last)
    behind = sum(entry.seq <= seq for entry in entries)
    steps = place.steps(behind - 1, behind) if behind else []
    state = steps[-1].after if steps else None
    seqs = sorted({entry.seq for entry in entries})
    return {
        **_file_facts(place),
        "seq": seq,
        "last_event": max(place.session.events - 1, 0),
        "state": _state_view(state, place.acts.paths[place.path]),
        "act_number": behind,
        "act_count": len(entries),
        "seqs": " ".join(map(str, seqs)) if 1 < len(seqs) <= MOST_ON_SLIDER else "",
        "slider": sum(each <= seq for each in seqs) - 1,
        "slider_end": len(seqs) - 1,
        "previous": max((each for each in seqs if each < seq), default=None),
        "next": min((each for each in seqs if each > seq), default=None),
        "event_url": event_url(place.session, seq),
        "copied": _copied(state),
        "download": reverse("sessions:file_text", args=[place.session.uid]) + place.url(seq=seq),
    }


def _copied(state: State | None) -> str | None:
    text = text_of(state) if isinstance(state, Known) else None
    return text if text is not None and len(escape(text)) <= MOST_COPIED else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceView:
    first: int | None
    last: int | None
    listing: Listing


@dataclass(frozen=True, slots=True, kw_only=True)
class StateView:
    word: str
    why: str = ""
    lines: int = 0
    size: int = 0
    pieces: tuple[PieceView, ...] = ()


def _state_view(state: State | None, path: str) -> StateView:
    match state:
        case None:
            return StateView(word="untouched")
        case Absent():
            return StateView(word="absent")
        case Known():
            piece = PieceView(first=1, last=None, listing=listing(state.text, path, 1))
            lines, size = (
                linediff.count_lines(state.text),
                len(state.text.encode("utf-8", "replace")),
            )
            return StateView(word="known", lines=lines, size=size, pieces=(piece,))
        case Partly():
            pieces = tuple(_pieces(state, path))
            return StateView(word="partly" if pieces else "unknown", why=state.why, pieces=pieces)
        case _:
            assert_never(state)


def _pieces(state: Partly, path: str) -> Iterator[PieceView]:
    """As many as there is room for, the first in any case."""
    room = MOST_HTML
    for piece in state.pieces:
        if room <= 0:
            return
        shown = listing(piece.text, path, piece.first, room=room)
        room -= len(shown.html) + PIECE_FRAME
        yield PieceView(first=piece.first, last=piece.last, listing=shown)


# Its acts


@dataclass(frozen=True, slots=True, kw_only=True)
class ActView:
    number: int
    word: str
    tool: str
    seq: int
    url: str
    state_url: str
    is_failed: bool
    is_open: bool
    is_surprise: bool
    is_half: bool
    # What else there is to say of it: the lines that were read, the other name.
    more: str
    diffs: tuple[Diff, ...]
    added: int
    removed: int | None
    all_url: str
    most: int


def _acts(request: HttpRequest, place: Place) -> dict[str, object]:
    total = len(place.entries)
    start = min(number(request, "act"), max(total - 1, 0)) // ACTS * ACTS
    steps = place.steps(start, min(start + ACTS, total))
    whole = number(request, "all", 10**9)
    return {
        "acts": [_act(place, start + n, step, whole) for n, step in enumerate(steps)],
        "acts_from": start + 1,
        "acts_to": start + len(steps),
        "acts_total": total,
        "acts_before": f"{place.url(act=start - ACTS)}#acts" if start >= ACTS else None,
        "acts_after": f"{place.url(act=start + ACTS)}#acts" if start + ACTS < total else None,
    }


def _act(place: Place, n: int, step: Step, whole: int) -> ActView:
    act, deal = step.deal.act, step.deal
    changed = difference(step)
    rows = sum(map(_rows, changed.diffs))
    fits = fitting(changed.diffs, most=MOST_ROWS, room=ACT_ROOM)
    is_cut = rows > fits and whole != n
    return ActView(
        number=n + 1,
        word=DEEDS[act.deed],
        tool=deal.tool,
        seq=deal.asked,
        url=event_url(place.session, deal.asked),
        state_url=f"{place.url(seq=deal.seq)}#state",
        is_failed=act.outcome is Outcome.FAILED,
        is_open=act.outcome is Outcome.OPEN,
        is_surprise=step.is_surprise,
        is_half=changed.is_half,
        more=_more(step.deal.act.change, place.cwd),
        diffs=changed.diffs[:MOST_DIFFS] if whole == n else _first(changed.diffs, fits),
        added=changed.added,
        removed=changed.removed,
        all_url=f"{place.url(act=n, all=n)}#act{n + 1}" if is_cut else "",
        most=ALL_ROWS if whole == n else fits,
    )


def _first(diffs: Sequence[Diff], rows: int) -> tuple[Diff, ...]:
    """Those that begin before so many rows are shown."""
    before = accumulate(map(_rows, diffs), initial=0)
    return tuple(each for each, above in zip(diffs, before, strict=False) if above < rows)[
        :MOST_DIFFS
    ]


def _more(change: Change, cwd: str) -> str:
    if isinstance(change, Erased) and change.target:
        return f"to {relative(change.target, cwd)}"
    if isinstance(change, Patched) and change.source:
        return f"from {relative(change.source, cwd)}"
    if isinstance(change, Shown) and change.text is not None:
        last = change.first + change.text.count("\n")
        return "whole" if change.is_whole else f"lines {change.first:,} to {last:,}"
    return ""


# What all of them come to


def _net(request: HttpRequest, place: Place) -> dict[str, object]:
    entries = place.entries
    done = [n for n, e in enumerate(entries) if e.is_change and e.outcome is Outcome.DONE]
    if not done:
        return {"net": None, "has_changes": any(entry.is_change for entry in entries)}
    first = place.steps(done[0], done[0] + 1)
    last = place.steps(len(entries) - 1, len(entries))
    before, after = first[0].before, last[-1].after
    old, new = text_of(before), text_of(after)
    known = old is not None and new is not None
    diff = linediff.between(old or "", new or "") if known else None
    fits = fitting([diff] if diff else [], most=MOST_NET_ROWS, room=NET_ROOM)
    return {
        "has_changes": True,
        "net": Difference(diffs=(diff,)) if diff else None,
        "net_diff": diff,
        "net_why": _net_why(before, after, entries[done[0]].seq),
        "was_absent": isinstance(before, Absent),
        "is_absent": isinstance(after, Absent),
        "surprises": sum(entry.is_surprise for entry in entries[done[0] :]),
        "net_most": ALL_ROWS if request.GET.get("net") else fits,
        "net_all": f"{place.url(net=1)}#net" if diff and _rows(diff) > fits else "",
    }


def _rows(diff: Diff) -> int:
    return sum(len(hunk.rows) for hunk in diff.hunks)


def _net_why(before: State, after: State, seq: int) -> str:
    if isinstance(before, Partly):
        return f"What the file held before event {seq} is not known."
    return after.why if isinstance(after, Partly) else ""


# As a file ----------------------------------------------------------------------------------------


@require_safe
@signed_in
def text(request: HttpRequest, uid: UUID) -> HttpResponse:
    """The text a file had at an event, where it is known. Never shown by the browser itself."""
    found = sessions.session_for(person(request), uid)
    if not request.GET.get("file"):
        return redirect("sessions:files", uid)
    place = _place(request, found, fileindex.of(found, seconds=SECONDS))
    seq = number(request, "seq", max(found.events - 1, 0))
    state = files.state_at(found, place.acts, place.path, seq)
    if not isinstance(state, Known):
        raise NotFound(f"What this file held at event {seq} is not known exactly.")
    return HttpResponse(
        state.text.encode("utf-8", "replace"),
        content_type="text/plain; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="file-{place.name}-at-{seq}.txt"',
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "default-src 'none'; sandbox",
        },
    )
