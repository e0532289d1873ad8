"""Keys at rest: wrapped rows in, usable keys out. The root key itself never passes through here.

root key (provider) → workspace key, versioned → session key
                                               → index key of the workspace
"""

from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from django.conf import settings
from django.db import transaction

from sessions_app.domain.errors import IntegrityError, KeyUnavailable, NotFound, WrongKey
from sessions_app.models import Canary, SessionKey, Workspace, WorkspaceKey
from sessions_app.vault import root, seal
from sessions_app.vault.seal import Key
from sessions_app.vault.terms import Blinder

CANARY = Key(b"recount canary: is the key right")


@lru_cache(maxsize=1)
def provider() -> root.Provider:
    if settings.ROOT_KEY:
        return root.EnvironmentRoot(settings.ROOT_KEY)
    return root.FileRoot(settings.ROOT_KEY_FILE)


def prepare() -> str:
    """Start-up: check the canary, or on a fresh database make root key and canary.

    A database that knows a canary never gets a new key: a missing or wrong one is refused before
    anything is written.
    """
    known = Canary.objects.first()
    if known is not None:
        return _checked(known)
    if WorkspaceKey.objects.exists():
        raise KeyUnavailable(
            "the canary of the root key is gone although there are workspaces: restore the "
            "database from its backup. Nothing was written."
        )
    if not settings.ROOT_KEY and not settings.ROOT_KEY_FILE.exists():
        root.create_file(settings.ROOT_KEY_FILE)
    holder = provider()
    Canary.objects.bulk_create(
        [
            Canary(
                id=1,
                provider=holder.name,
                key_id=holder.key_id(),
                version=holder.current_version(),
                wrapped=holder.wrap(CANARY, b"canary"),
            )
        ],
        ignore_conflicts=True,
    )
    return _checked(Canary.objects.get())


def check() -> str:
    """The canary as it stands; writes nothing."""
    known = Canary.objects.first()
    if known is None:
        raise KeyUnavailable("no canary yet: run `make run` or `manage.py check_keys` once")
    return _checked(known)


def _checked(known: Canary) -> str:
    holder = provider()
    name = "canary of the root key"
    try:
        opened = holder.unwrap(bytes(known.wrapped), b"canary", version=known.version, name=name)
    except WrongKey:
        raise KeyUnavailable(
            f"the root key is not the one this database was written under: it knows key "
            f"{known.key_id} ({known.provider}), but key {holder.key_id()} ({holder.name}) "
            "was given. Nothing was written. Put the right key back."
        ) from None
    except IntegrityError as error:
        raise KeyUnavailable(f"{error.message}. Nothing was written.") from None
    if opened != CANARY:
        raise KeyUnavailable(f"{name}: opened to something else. Nothing was written.")
    return holder.health()


# Workspace keys ------------------------------------------------------------------------------


def new_workspace(name: str, *, is_demo: bool = False) -> Workspace:
    """A workspace is born with its first key and its index key."""
    workspace = Workspace(name=name, is_demo=is_demo)
    key = Key.fresh()
    where = seal.place("index-key", str(workspace.id))
    workspace.index_key = seal.seal(key, where, Key.fresh().secret)
    workspace.index_key_version = 1
    holder = provider()
    with transaction.atomic():
        workspace.save(force_insert=True)
        WorkspaceKey.objects.create(
            workspace=workspace,
            version=1,
            root_key_id=holder.key_id(),
            root_version=holder.current_version(),
            wrapped=holder.wrap(key, _owner(workspace.id, 1)),
        )
    return workspace


def _owner(workspace_id: UUID, version: int) -> bytes:
    return seal.place("workspace-key", str(workspace_id), version)


@lru_cache(maxsize=1024)
def workspace_key(workspace_id: UUID, version: int) -> Key:
    row = WorkspaceKey.objects.filter(workspace_id=workspace_id, version=version).first()
    name = f"key {version} of workspace {workspace_id}"
    if row is None:
        raise KeyUnavailable(f"{name}: not there")
    return provider().unwrap(
        bytes(row.wrapped), _owner(workspace_id, version), version=row.root_version, name=name
    )


@lru_cache(maxsize=1024)
def current_version(workspace_id: UUID) -> int:
    newest = WorkspaceKey.objects.filter(workspace_id=workspace_id).order_by("-version").first()
    if newest is None:
        raise KeyUnavailable(f"workspace {workspace_id}: it has no key")
    return newest.version


@lru_cache(maxsize=1024)
def index_key(workspace_id: UUID) -> Key:
    workspace = Workspace.objects.filter(id=workspace_id).first()
    if workspace is None:
        raise NotFound("no such workspace")
    key = workspace_key(workspace_id, workspace.index_key_version)
    where = seal.place("index-key", str(workspace_id))
    name = f"index key of workspace {workspace_id}"
    return Key(seal.unseal(key, where, bytes(workspace.index_key), name=name))


@lru_cache(maxsize=1024)
def key_for(workspace_id: UUID, purpose: str) -> Key:
    """For small sealed things of a workspace that belong to no session."""
    return Key(seal.derive(index_key(workspace_id), purpose))


@lru_cache(maxsize=16)
def blinder(workspace_id: UUID) -> Blinder:
    """Kept for the life of the process: it remembers the words it has hashed."""
    key = index_key(workspace_id)
    generations = Workspace.objects.filter(id=workspace_id)
    generation = generations.values_list("vocabulary_generation", flat=True).first()
    return Blinder(key, generation=generation or 0)


def forget_blinders() -> None:
    """What they have learned counts no longer."""
    blinder.cache_clear()


# Session keys --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedKey:
    key: Key
    version: int
    wrapped: bytes


def new_session_key(workspace_id: UUID, session_uid: UUID) -> WrappedKey:
    version = current_version(workspace_id)
    key = Key.fresh()
    where = _session_place(workspace_id, session_uid, version)
    wrapped = seal.seal(workspace_key(workspace_id, version), where, key.secret)
    return WrappedKey(key=key, version=version, wrapped=wrapped)


def _session_place(workspace_id: UUID, session_uid: UUID, version: int) -> bytes:
    return seal.place("session-key", str(workspace_id), str(session_uid), version)


def session_key(row: SessionKey, *, workspace_id: UUID, uid: UUID) -> Key:
    where = _session_place(workspace_id, uid, row.version)
    name = f"key of session {uid}"
    wrapping = workspace_key(workspace_id, row.version)
    return Key(seal.unseal(wrapping, where, bytes(row.wrapped), name=name))


def forget() -> None:
    """Drop every key from memory: after a rotation, a shred, or between tests."""
    for cached in (provider, workspace_key, current_version, index_key, key_for, blinder):
        cached.cache_clear()
    seal.forget()
