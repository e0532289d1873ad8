"""The files of a session."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from sessions_app.domain import fileindex as pure
from sessions_app.domain.fileindex import File, Index
from sessions_app.models import Session
from sessions_app.store import fileindex, sessions
from sessions_app.web import filepage, respond
from sessions_app.web.access import person, signed_in
from sessions_app.web.filepage import SECONDS, event_url, name_of, query
from sessions_app.web.query import number

PAGE = 80
# The page comes at once, with what is known by then; whoever waits for more is worked for longer.
AT_ONCE = 0.02

KINDS = {"": "All", "changed": "Changed", "read": "Only read"}
SORTS = {"": "First touched", "path": "Path", "last": "Last touched", "most": "Most changed"}


@require_safe
@signed_in
def listed(request: HttpRequest, uid: UUID) -> HttpResponse:
    """All files; with `?file=` the page of one of them."""
    found = sessions.session_for(person(request), uid)
    is_waiting = request.GET.get("file") or request.GET.get("wait")
    index = fileindex.of(found, seconds=SECONDS if is_waiting else AT_ONCE)
    if request.GET.get("file"):
        return filepage.page(request, found, index)
    context = {
        **filepage.subject(found),
        **filepage.progress(found, index),
        **_list(request, found, index),
    }
    return respond.either(request, "sessions/files.html", "sessions/_files.html", context)


# The list -----------------------------------------------------------------------------------------


def _list(request: HttpRequest, found: Session, index: Index) -> dict[str, object]:
    every = pure.files(index, sessions.facts_of(found).cwd)
    text, kind = request.GET.get("q", "")[:200], request.GET.get("show", "")
    order = request.GET.get("sort", "")
    chosen = _ordered([file for file in every if _is_asked_for(file, text, kind)], order)
    start = number(request, "start") // PAGE * PAGE
    asked = {"q": text, "show": kind, "sort": order}
    return {
        "files": [_row(found, file) for file in chosen[start : start + PAGE]],
        "count": len(chosen),
        "total": len(every),
        "changed": sum(bool(file.changes) for file in every),
        "added": sum(file.added for file in every),
        "removed": sum(file.removed for file in every),
        "is_floor": not all(file.is_removed_known for file in every),
        "q": text,
        "kinds": [(key, name, key == kind) for key, name in KINDS.items()],
        "sorts": [(key, name, key == order) for key, name in SORTS.items()],
        "again": query(**asked, start=start, wait=1),
        "previous_files": query(**asked, start=start - PAGE) if start else None,
        "next_files": query(**asked, start=start + PAGE) if start + PAGE < len(chosen) else None,
    }


def _is_asked_for(file: File, text: str, kind: str) -> bool:
    if text and text.casefold() not in file.path.casefold():
        return False
    return kind not in ("changed", "read") or bool(file.changes) == (kind == "changed")


def _ordered(chosen: list[File], order: str) -> list[File]:
    if order == "path":
        return sorted(chosen, key=lambda file: file.name.casefold())
    if order == "last":
        return sorted(chosen, key=lambda file: -file.last)
    if order == "most":
        return sorted(chosen, key=lambda file: -(file.added + file.removed))
    return chosen


def _row(found: Session, file: File) -> dict[str, object]:
    folder, _, base = file.name.replace("\\", "/").rpartition("/")
    return {
        "file": file,
        "folder": f"{folder}/" if folder else "",
        "base": base or file.name,
        "url": query(file=name_of(found, file.path)),
        "is_floor": not file.is_removed_known,
        "first_url": event_url(found, file.first),
        "last_url": event_url(found, file.last),
    }
