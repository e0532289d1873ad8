"""Who asks, in which workspace, and may they: one gate for every page."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast
from uuid import UUID

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.middleware import AuthenticationMiddleware, get_user
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.crypto import constant_time_compare
from django.utils.functional import SimpleLazyObject

from sessions_app.domain.errors import Forbidden, NotFound
from sessions_app.models import Membership, User
from sessions_app.models.people import Role
from sessions_app.store import people
from sessions_app.store.door import SessionStore

BACKEND = "django.contrib.auth.backends.ModelBackend"

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]

MAY_INGEST = {Role.CURATOR, Role.ADMIN}
CHOSEN = "workspace"


class Gate(AuthenticationMiddleware):
    """Says who asks. A person who came along with their visit is let in by what Django looks at,
    too; about whoever is not, Django is asked."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        found = SimpleLazyObject(lambda: _at_hand(request) or get_user(request))
        request.user = cast(User, found)


def _at_hand(request: HttpRequest) -> User | None:
    visit = cast(SessionStore, request.session)
    backend, sealed = visit.get(auth.BACKEND_SESSION_KEY), visit.get(auth.HASH_SESSION_KEY)
    found = visit.person
    is_known = backend == BACKEND and backend in settings.AUTHENTICATION_BACKENDS
    if found is None or not found.is_active or not is_known or not sealed:
        return None
    is_sealed = constant_time_compare(sealed, found.get_session_auth_hash())
    return found if is_sealed else None


def signed_in(view: View[P]) -> View[P]:
    """Pages for people; a fragment asked for by a signed-out browser reloads into the sign-in."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        if getattr(request, "htmx", False):
            return HttpResponse(status=401, headers={"HX-Refresh": "true"})
        if request.headers.get("Accept", "").startswith("application/json"):
            return HttpResponse(status=401)
        return redirect_to_login(request.get_full_path())

    return guarded


def person(request: HttpRequest) -> User:
    return cast(User, request.user)


def current(request: HttpRequest) -> Membership:
    """The membership the person works in: the one chosen, else their first."""
    kept = getattr(request, "recount_membership", None)
    if isinstance(kept, Membership):
        return kept
    mine = people.memberships_of(person(request))
    if not mine:
        raise NotFound("You are not a member of any workspace yet: ask an admin to add you.")
    chosen = request.session.get(CHOSEN)
    found = next((m for m in mine if str(m.workspace_id) == chosen), mine[0])
    request.recount_membership = found  # type: ignore[attr-defined]
    return found


def choose(request: HttpRequest, workspace_id: UUID) -> None:
    request.session[CHOSEN] = str(workspace_id)
    if hasattr(request, "recount_membership"):
        del request.recount_membership


def may_ingest(membership: Membership) -> bool:
    return membership.role in MAY_INGEST


def admin_only(membership: Membership) -> None:
    if membership.role != Role.ADMIN:
        raise Forbidden("Only an admin of this workspace may do that.")


def ingest_only(membership: Membership) -> None:
    if not may_ingest(membership):
        raise Forbidden("Adding sessions takes the role of curator or admin in this workspace.")
