"""The palette: sessions, pages and actions by name, and the way to the search."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from sessions_app.domain import rooms
from sessions_app.models import Session
from sessions_app.models.people import Theme
from sessions_app.store import people, selection, sessions, visits
from sessions_app.web import respond
from sessions_app.web.access import current, may_ingest, person, signed_in

MOST_SESSIONS = 8
MOST_RECENT = 10
LONGEST_QUERY = 200
# Below this, most names have the letters: what was open last is the better guess.
FEWEST_LETTERS = 3
SEARCH = "/search"
THEMES = {
    Theme.LIGHT: ("light", "sun"),
    Theme.DARK: ("dark", "moon"),
    Theme.AUTO: ("system", "monitor"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    label: str
    url: str
    icon: str
    note: str = ""
    key: str = ""
    # What else it is called; looked at, not shown.
    words: str = ""
    # The id of a button of the page that does it, and of a dialog that opens.
    press: str = ""
    opens: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    title: str
    items: tuple[Item, ...]


@require_safe
@signed_in
def palette(request: HttpRequest) -> HttpResponse:
    text = " ".join(request.GET.get("q", "")[:LONGEST_QUERY].split())
    context: dict[str, object] = {"query": text, "groups": _numbered(_groups(request, text))}
    return respond.either(request, "palette/page.html", "palette/_options.html", context)


def _groups(request: HttpRequest, text: str) -> list[Group]:
    """The one with the nearest name goes first; the search is always last."""
    if len(text) < FEWEST_LETTERS:
        names = Group(title="Recent sessions", items=tuple(_recent(request, text)))
    else:
        names = Group(title="Sessions", items=tuple(_sessions(request, text)))
    pages = Group(title="Pages", items=_matching(text, _pages()))
    actions = Group(title="Actions", items=_matching(text, _actions(request)))
    found = sorted([names, pages, actions], key=lambda group: _nearest(group, text))
    return [*found, Group(title="Search", items=tuple(_search(text)))]


def _nearest(group: Group, text: str) -> int:
    return min((_rank(item, text) for item in group.items), default=0)


def _rank(item: Item, text: str) -> int:
    """How near its label is to the text; what only its other words say comes last."""
    label, wanted = item.label.casefold(), text.casefold()
    return 0 if label.startswith(wanted) else 1 if wanted in label else 2


def _numbered(groups: Iterable[Group]) -> list[Group]:
    """Each item by a number of its own, and no group without items."""
    counted = 0
    out = []
    for group in groups:
        items = [replace(item, number=counted + at) for at, item in enumerate(group.items)]
        counted += len(items)
        out += [replace(group, items=tuple(items))] if items else []
    return out


def _recent(request: HttpRequest, text: str) -> Iterator[Item]:
    words = text.casefold().split()
    for row in visits.recent(person(request), current(request).workspace, most=MOST_RECENT):
        if selection.is_named(row, words):
            yield _session(row, "clock")


def _sessions(request: HttpRequest, text: str) -> Iterator[Item]:
    for row in selection.named(current(request).workspace, text, most=MOST_SESSIONS):
        yield _session(row, "scroll-text")


def _session(row: Session, icon: str) -> Item:
    shown = sessions.shown(row, now=timezone.now())
    url = reverse("sessions:session", args=[row.uid])
    return Item(label=shown.title, url=url, icon=icon, note=shown.project)


def _pages() -> Iterator[Item]:
    for room in rooms.ROOMS:
        url = reverse(room.view)
        yield Item(label=room.label, url=url, icon=room.icon, key=room.key, words=room.words)


def _actions(request: HttpRequest) -> Iterator[Item]:
    profile = reverse("people:profile")
    if may_ingest(current(request)):
        url = reverse("sessions:welcome")
        yield Item(label="Add sessions", url=url, icon="upload", words="ingest import files new")
    for theme, (name, icon) in THEMES.items():
        if theme != person(request).theme:
            label = f"Switch to the {name} theme"
            yield Item(label=label, url=profile, icon=icon, press=f"theme-{theme}", words="colour")
    for member in people.memberships_of(person(request)):
        if member.workspace_id != current(request).workspace_id:
            label, press = f"Switch to {member.workspace.name}", f"switch-{member.workspace_id}"
            yield Item(label=label, url=profile, icon="users", press=press, words="workspace")
    label = "Keyboard shortcuts"
    yield Item(label=label, url=profile, icon="keyboard", opens="keys", key="?", words="help keys")
    yield Item(label="Sign out", url=profile, icon="log-out", press="sign-out", words="leave")


def _matching(text: str, items: Iterable[Item]) -> tuple[Item, ...]:
    """Those that have all the words, the nearest first."""
    found = [item for item in items if _has(item, text.casefold().split())]
    return tuple(sorted(found, key=lambda item: _rank(item, text)))


def _has(item: Item, words: list[str]) -> bool:
    told = f"{item.label} {item.words}".casefold()
    return all(word in told for word in words)


def _search(text: str) -> Iterator[Item]:
    if not text:
        return
    try:
        resolve(SEARCH)
    except Resolver404:
        return
    url = f"{SEARCH}?{urlencode({'q': text})}"
    yield Item(label=f"Search for “{text}”", url=url, icon="search", note="in all sessions")
