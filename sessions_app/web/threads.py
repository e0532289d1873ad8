"""The thread of a session: the tree around it, where copies part, branches inside the log."""

from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from sessions_app.domain.errors import NotFound
from sessions_app.domain.kinship import Bond, Place
from sessions_app.models import Session
from sessions_app.store import forks, kin, sessions
from sessions_app.store.forks import Rewinds
from sessions_app.store.kin import Member, Thread
from sessions_app.store.threads import Evidence
from sessions_app.templatetags.show import plural
from sessions_app.templatetags.thread_picture import Spot
from sessions_app.web import respond
from sessions_app.web.access import person, signed_in
from sessions_app.web.filepage import event_url

# Above this the log is searched for branches only when somebody asks.
SEARCHED_AT_ONCE = 8 * 1024 * 1024
MOST_BESIDE = 5
# Copies begin alike; other kinds of children have a beginning of their own.
COPIES = {"fork", "copy", "continuation", "same id"}


@require_safe
@signed_in
def thread(request: HttpRequest, uid: UUID) -> HttpResponse:
    found = sessions.session_for(person(request), uid)
    if respond.is_fragment(request):
        return _fragment(request, found)
    now = timezone.now()
    walked = kin.around(found, now=now)
    nodes = _nodes(found, walked)
    context = {
        "session": sessions.shown(found, now=now),
        "nodes": nodes,
        "spots": [_spot(node) for node in nodes],
        "is_cut": walked.is_cut,
        "most": kin.MOST_SESSIONS,
        "count": len(nodes),
        **_inside(found, is_asked="branches" in request.GET),
        **_asked_parting(request, found),
    }
    return render(request, "sessions/thread.html", context)


def _fragment(request: HttpRequest, found: Session) -> HttpResponse:
    if "branches" in request.GET:
        context = {"session": sessions.shown(found, now=timezone.now()), **_inside(found, True)}
        return render(request, "sessions/_branches.html", context)
    return render(request, "sessions/_parting.html", _asked_parting(request, found))


# The tree -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideView:
    text: str
    title: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A session as the tree shows it; `closes` lists the levels that end behind it."""

    place: Place
    member: Member
    url: str
    level: int
    is_current: bool
    link: str
    # Where to ask at which event the two part; empty if they have nothing in common.
    parting_url: str
    beside: tuple[BesideView, ...]
    closes: range


def _nodes(found: Session, walked: Thread) -> list[Node]:
    places = walked.places
    depths = [place.depth for place in places[1:]] + [0]
    return [_node(found, walked, place, after) for place, after in zip(places, depths, strict=True)]


def _node(found: Session, walked: Thread, place: Place, after: int) -> Node:
    member = walked.members[place.member]
    return Node(
        place=place,
        member=member,
        url=reverse("sessions:session", args=[member.uid]),
        level=place.depth + 1,
        is_current=member.uid == found.uid,
        link=_words(place.bond) if place.bond else "",
        parting_url=_parting_url(walked, place.bond) if place.bond else "",
        beside=_beside(walked, place),
        closes=range(max(0, place.depth - after)),
    )


def _words(bond: Bond) -> str:
    ids = f", {bond.weight:,} ids" if bond.weight > 1 else ""
    return f"{bond.kind} by {bond.evidence}{ids}"


def _parting_url(walked: Thread, bond: Bond) -> str:
    if bond.kind not in COPIES:
        return ""
    child, parent = walked.members[bond.child], walked.members[bond.parent]
    return f"{reverse('sessions:thread', args=[child.uid])}?with={parent.uid}"


def _beside(walked: Thread, place: Place) -> tuple[BesideView, ...]:
    """Copies of copies all share the same records, and files the same folders: that they do is no
    news. What an id says and the tree does not is."""
    told = [bond for bond in place.beside if bond.evidence == Evidence.EXPLICIT_ID.value]
    return tuple(
        BesideView(
            text=_words(bond),
            title=walked.members[bond.parent].title,
            url=reverse("sessions:session", args=[walked.members[bond.parent].uid]),
        )
        for bond in told[:MOST_BESIDE]
        if bond.kind != "same id"
    )


def _spot(node: Node) -> Spot:
    member, place = node.member, node.place
    turns = plural(member.prompts, "turn,turns") if member.prompts else ""
    return Spot(
        title=member.title,
        note=" · ".join(filter(None, [node.link, member.agent, _when(member, place), turns])),
        url=node.url,
        part=member.part,
        column=place.column,
        kind=place.bond.kind if place.bond else "",
        parent_row=place.parent_row,
        is_current=node.is_current,
        has_errors=bool(member.errors),
    )


def _when(member: Member, place: Place) -> str:
    """A copy begins with the times of what it copied: only its end is its own."""
    is_copy = place.bond is not None and place.bond.kind in COPIES
    at = member.last_at if is_copy else member.started_at
    return f"{'until ' if is_copy else ''}{at:%Y-%m-%d %H:%M}" if at else ""


# Where two logs part ------------------------------------------------------------------------------


def _asked_parting(request: HttpRequest, found: Session) -> dict[str, object]:
    wanted = request.GET.get("with", "")
    if not wanted:
        return {}
    try:
        other = sessions.session_for(person(request), UUID(wanted))
    except ValueError:
        raise NotFound("That is not the id of a session.") from None
    told = forks.parting(found, other)
    return {
        "parting": told,
        "parting_with": other.uid,
        "mine": found.uid,
        "mine_url": "" if told.mine is None else event_url(found, told.mine),
        "theirs_url": "" if told.theirs is None else event_url(other, told.theirs),
    }


# Branches inside the log --------------------------------------------------------------------------


def _inside(found: Session, is_asked: bool) -> dict[str, object]:
    if not is_asked and found.raw_bytes > SEARCHED_AT_ONCE:
        return {"branches": [], "branches_url": "?branches=1"}
    told = forks.inside(found)
    return {
        "is_tree": told.is_tree,
        "is_too_large": told.is_too_large,
        "branches": [_fork(found, told, number) for number in range(len(told.forks))],
    }


def _fork(found: Session, told: Rewinds, number: int) -> dict[str, object]:
    fork = told.forks[number]
    titles = told.titles or {}
    return {
        "seq": fork.seq,
        "url": event_url(found, fork.seq),
        "branches": [
            {
                "branch": branch,
                "url": event_url(found, branch.first),
                "title": titles.get(branch.first, ""),
            }
            for branch in fork.branches
        ],
    }
