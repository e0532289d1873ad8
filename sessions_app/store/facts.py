"""The sealed facts of a session: title, source path, project, machine.

The json of the standard library, because a path may hold bytes that are not UTF-8 and arrive as
lone surrogates, which orjson refuses.
"""

import json
from dataclasses import asdict, dataclass
from uuid import UUID

from sessions_app.models import Session
from sessions_app.vault import seal
from sessions_app.vault.seal import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    title: str = ""
    path: str = ""
    project: str = ""
    machine: str = ""


def sealed(key: Key, facts: Facts, *, workspace_id: UUID, uid: UUID) -> bytes:
    return seal.seal(key, _place(workspace_id, uid), json.dumps(asdict(facts)).encode())


def opened(key: Key, row: Session) -> Facts:
    where = _place(row.workspace_id, row.uid)
    plain = seal.unseal(key, where, bytes(row.sealed_facts), name=f"facts of session {row.uid}")
    return Facts(**json.loads(plain))


def _place(workspace_id: UUID, uid: UUID) -> bytes:
    return seal.place("facts", str(workspace_id), str(uid))
