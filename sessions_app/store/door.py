"""Who comes with a cookie: the visit that is kept, the person it is of and the workspaces this
person is in, asked of the database with one question for each request.

It is Django's engine of visits in everything else. Whose a visit was the last time is remembered,
so that the question can be asked before the answer is read. What was remembered is never the
answer.
"""

from collections import OrderedDict
from threading import Lock
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.utils import timezone

from sessions_app.models import User
from sessions_app.store import prepared

MOST = 10_000


class _Remembered:
    """Visits by their keys: as they were kept and what that says. The last used at the end."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[str, tuple[str, dict[str, str]]] = OrderedDict()

    def get(self, key: str) -> tuple[str, dict[str, str]]:
        with self._lock:
            found = self._known.get(key, ("", {}))
            if key in self._known:
                self._known.move_to_end(key)
            return found

    def put(self, key: str, data: str, told: dict[str, str]) -> None:
        with self._lock:
            self._known[key] = (data, told)
            while len(self._known) > MOST:
                self._known.popitem(last=False)


_remembered = _Remembered()


class SessionStore(db.SessionStore):
    # The person the visit names, as their row is at this moment. Whether it may name them, the gate
    # has to see.
    person: User | None = None

    def load(self) -> dict[str, Any]:
        key = self.session_key or ""
        known, said = _remembered.get(key)
        found = prepared.rows(_ASKED, [_number(said), key, timezone.now()])
        if not found:
            self._session_key = None
            return {}
        ((data, workspaces, *columns),) = found
        told: dict[str, Any] = dict(said) if data == known else self.decode(data)
        if data != known and all(isinstance(each, str) for each in told.values()):
            _remembered.put(key, data, dict(told))
        if columns[0] is not None and columns[0] == _number(told):
            self.person = User.from_db("default", _FIELDS, columns)
            self.person.workspaces_at_hand = workspaces
        return told


def _number(told: dict[str, Any]) -> int | None:
    named = str(told.get(SESSION_KEY, ""))
    return int(named) if named.isascii() and named.isdigit() else None


_COLUMNS = User._meta.concrete_fields
_FIELDS = [each.attname for each in _COLUMNS]
_ASKED = """
    SELECT v.session_data,
           ARRAY(SELECT m.workspace_id FROM sessions_app_membership m WHERE m.user_id = u.id),
           PERSON
    FROM django_session v LEFT JOIN sessions_app_user u ON u.id = %s
    WHERE v.session_key = %s AND v.expire_date > %s
""".replace("PERSON", ", ".join(f"u.{each.column}" for each in _COLUMNS))
