"""Whose home folder a path lies in: the account an agent worked for, where its log names a path."""

import re

_HOME = re.compile(
    r"(?://\?/)?(?:[A-Z]:|/mnt/[A-Z]|/private|/export|/var)?/(?:home|Users)/([^/]+)", re.IGNORECASE
)
_ROOT = re.compile(r"/(?:private/var/)?(root)(?=/|\Z)")
# Folders beside the homes that belong to nobody.
_NOBODY = frozenset({"shared", "public", "default", "all users"})


def owner(path: str) -> str:
    """Empty where the path lies in no home."""
    spelled = path.replace("\\", "/")
    found = _HOME.match(spelled) or _ROOT.match(spelled)
    if found is None or found[1].casefold() in _NOBODY:
        return ""
    return found[1]


def keeper(path: str) -> str:
    """Of a log: only what lies in a hidden folder of a home was put there by the account's own
    agent. A log anywhere else may have been copied by somebody."""
    name = owner(path)
    spelled = path.replace("\\", "/")
    return name if name and f"/{name}/." in spelled else ""
