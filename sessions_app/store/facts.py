"""The sealed facts of a session: what it is called, where it comes from, what is in force at its
end.

The json of the standard library, because a path may hold bytes that are not UTF-8 and arrive as
lone surrogates, which orjson refuses.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from sessions_app.domain import homes
from sessions_app.models import Session
from sessions_app.vault import seal
from sessions_app.vault.seal import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    title: str = ""
    # 0: taken from the first prompt. A name the log gives outranks it.
    title_rank: int = 0
    path: str = ""
    # As somebody said; `project_of` finds a name where nobody did.
    project: str = ""
    machine: str = ""
    # Of the first record that names one.
    cwd: str = ""
    # Of the last.
    branch: str = ""
    version: str = ""
    model: str = ""
    turn: str = ""
    # The last answer that was named inside a turn, and that turn.
    answer: str = ""
    answer_turn: str = ""
    # The first id the log gives itself.
    native: str = ""
    # A message was read: what comes later no longer says what kind of session it is.
    has_spoken: bool = False
    is_subagent: bool = False
    # How the log stands at its end, and the calls that wait for their results.
    ending: int = 0
    open_calls: tuple[str, ...] = ()
    # Names and flags that some line of it has shown.
    tools: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    seen: int = 0
    is_forked: bool = False
    # All of this as it was before an incomplete last line, which will be read again.
    whole: dict[str, Any] | None = None

    def before_tail(self) -> "Facts":
        return Facts(**self.whole) if self.whole else self


def project_of(facts: Facts) -> str:
    """What somebody said, or the folder the agent worked in, or the folder of the log."""
    if facts.project:
        return facts.project
    worked_in = facts.cwd.rstrip("/\\").replace("\\", "/")
    return worked_in.rpartition("/")[2] or facts.path.rpartition("/")[0].rpartition("/")[2]


def user_of(facts: Facts) -> str:
    """The account whose home the agent worked in, or keeps its logs in."""
    return homes.owner(facts.cwd) or homes.keeper(facts.path)


def sealed(key: Key, facts: Facts, *, workspace_id: UUID, uid: UUID) -> bytes:
    return seal.seal(key, _place(workspace_id, uid), json.dumps(asdict(facts)).encode())


def opened(key: Key, row: Session) -> Facts:
    where = _place(row.workspace_id, row.uid)
    plain = seal.unseal(key, where, bytes(row.sealed_facts), name=f"facts of session {row.uid}")
    return Facts(**json.loads(plain))


def _place(workspace_id: UUID, uid: UUID) -> bytes:
    return seal.place("facts", str(workspace_id), str(uid))
