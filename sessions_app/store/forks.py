"""Where logs part: two that begin alike, and one that goes back and on again."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic

from django.db.models import F

from sessions_app.domain import rewinds
from sessions_app.domain.events import Body, Flag, Kind, Message, title_of
from sessions_app.domain.rewinds import Fork, Record
from sessions_app.formats import lineage
from sessions_app.models import Event, Session
from sessions_app.store import read

# Reading on would keep a person waiting; what was compared until then is told.
SECONDS = 1.0
LONGEST_LINE = 4 * 1024 * 1024
MESSAGES = (Kind.USER, Kind.ASSISTANT, Kind.SYSTEM, Kind.TOOL)
LARGEST_TREE = 32 * 1024 * 1024
BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """Two logs begin with the same messages."""

    shared: int
    # The first message that is not shared, in each; None where the log ends with what is shared.
    mine: int | None
    theirs: int | None
    # There was no time to compare further.
    is_cut: bool = False


def parting(mine: Session, other: Session) -> Parting:
    """Only messages are compared: a copy leaves out other lines, and changes ids and times."""
    end = monotonic() + SECONDS
    ours, theirs = _messages(mine), _messages(other)
    shared = 0
    while True:
        left, right = next(ours, None), next(theirs, None)
        if left is None or right is None or not _is_same(left[1], right[1]):
            return Parting(shared=shared, mine=_seq(left), theirs=_seq(right))
        shared += 1
        if monotonic() > end:
            return Parting(shared=shared, mine=left[0] + 1, theirs=right[0] + 1, is_cut=True)


def _seq(found: tuple[int, Body] | None) -> int | None:
    return None if found is None else found[0]


def _is_same(left: Body, right: Body) -> bool:
    try:
        return left == right
    except RecursionError:
        # Arguments nested deeper than they can be compared.
        return False


def _messages(session: Session) -> Iterator[tuple[int, Body]]:
    lo = 0
    while seqs := _message_seqs(session, lo):
        for line in read.whole(session, seqs, longest=LONGEST_LINE):
            if isinstance(line.reading.body, Message):
                yield line.seq, line.reading.body
        lo = seqs[-1] + 1


def _message_seqs(session: Session, lo: int) -> list[int]:
    rows = Event.objects.filter(session_id=session.id, seq__gte=lo, kind__in=MESSAGES)
    return list(rows.order_by("seq").values_list("seq", flat=True)[:BATCH])


# Inside one log -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewinds:
    # The format keeps a tree at all.
    is_tree: bool
    is_too_large: bool = False
    forks: tuple[Fork, ...] = ()
    # The first words of each branch, by the event it begins with.
    titles: dict[int, str] | None = None


def inside(session: Session) -> Rewinds:
    """Places where the conversation was taken up again from an earlier point."""
    if not lineage.has_tree(session.format):
        return Rewinds(is_tree=False)
    if session.raw_bytes > LARGEST_TREE:
        return Rewinds(is_tree=True, is_too_large=True)
    found = rewinds.forks(_records(session))
    firsts = sorted({branch.first for fork in found for branch in fork.branches})
    titles = {
        line.seq: title_of(line.reading.body)
        for line in read.whole(session, firsts, longest=LONGEST_LINE)
    }
    return Rewinds(is_tree=True, forks=tuple(found), titles=titles)


def _records(session: Session) -> Iterator[Record]:
    fmt = session.format
    any_start = not lineage.begins_with_prompt(fmt)
    prompts = _prompts(session)
    spoken = set(_spoken(session))
    for seq, line in enumerate(_lines(session)):
        ids = lineage.of(fmt, line)
        if ids is not None:
            is_start = any_start or seq in prompts
            yield Record(seq, *ids, is_message=seq in spoken, is_start=is_start)


def _prompts(session: Session) -> set[int]:
    rows = Event.objects.filter(session_id=session.id)
    prompts = rows.annotate(bit=F("flags").bitand(Flag.PROMPT.value)).filter(bit__gt=0)
    return set(prompts.values_list("seq", flat=True))


def _spoken(session: Session) -> Iterator[int]:
    rows = Event.objects.filter(session_id=session.id, kind__in=MESSAGES)
    yield from rows.values_list("seq", flat=True).iterator()


def _lines(session: Session) -> Iterator[bytes]:
    rest = b""
    for raw in read.stream(session):
        *whole, rest = (rest + raw).split(b"\n")
        yield from whole
    if rest:
        yield rest
