"""Short forms of a session: its prompts one below the other, a range of it as text."""

from dataclasses import dataclass
from datetime import datetime

from sessions_app.domain import excerpt as excerpts
from sessions_app.domain.events import title_of
from sessions_app.models import Session
from sessions_app.store import read, sift
from sessions_app.web.transcript.desk import entry_of

PAGE = 24
# Prompts before the place one reads at, so that the outline shows where one comes from.
BEFORE = 4
MOST_EVENTS = 500
MOST_TEXT = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptView:
    seq: int
    number: int
    opening: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlineView:
    prompts: tuple[PromptView, ...]
    # Where the pages before and after begin.
    before: int | None
    after: int | None


def first(session: Session, seq: int) -> int:
    """From which event on an outline begins, for somebody who reads at this one."""
    return sift.prompts_before(session, at=seq + 1, size=BEFORE) if seq else 0


def page(session: Session, at: int) -> OutlineView:
    """Opens only the chunks that hold these prompts."""
    found = sift.prompts(session, at=at, size=PAGE + 1)
    shown = found[:PAGE]
    lines = {line.seq: line for line in read.some(session, [prompt.seq for prompt in shown])}
    prompts = tuple(
        PromptView(
            seq=prompt.seq,
            number=prompt.number,
            opening=title_of(lines[prompt.seq].reading.body) or "A prompt without words",
            at=lines[prompt.seq].at,
        )
        for prompt in shown
        if prompt.seq in lines
    )
    is_first = not shown or shown[0].number == 1
    return OutlineView(
        prompts=prompts,
        before=None if is_first else sift.prompts_before(session, at=shown[0].seq, size=PAGE),
        after=found[PAGE].seq if len(found) > PAGE else None,
    )


def excerpt(session: Session, lo: int, hi: int) -> str:
    """Events lo ≤ seq < hi as Markdown, as far as one can paste."""
    end = min(hi, lo + MOST_EVENTS)
    pieces: list[str] = []
    size = 0
    for start in range(lo, end, sift.SECTION):
        lines = read.window(session, start, min(end, start + sift.SECTION))
        pieces.append(excerpts.markdown(map(entry_of, lines)))
        size += len(pieces[-1])
        if size > MOST_TEXT:
            break
    cut = "" if end >= min(hi, session.events) else f"\n(Cut after {MOST_EVENTS} events.)\n"
    return "\n".join(pieces)[:MOST_TEXT] + cut
