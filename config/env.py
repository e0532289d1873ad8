"""Typed reading of the environment: every variable is declared once, with what it means.

`DECLARED` is compared with docs/configuration.md by a test, so a variable without a description
in the handbook cannot be merged.
"""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path


class MissingSetting(Exception):
    """A value that must not have a default in production mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    name: str
    default: str
    meaning: str


DECLARED: dict[str, Variable] = {}

TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off", ""}


def text(name: str, default: str, meaning: str) -> str:
    DECLARED[name] = Variable(name=name, default=default, meaning=meaning)
    return os.environ.get(name, "").strip() or default


def flag(name: str, default: bool, meaning: str) -> bool:
    word = text(name, "1" if default else "0", meaning).lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise MissingSetting(f"{name} must be one of 1, 0, true, false, yes, no, on, off: got {word!r}")


def number(name: str, default: int, meaning: str, *, least: int = 0) -> int:
    word = text(name, str(default), meaning)
    try:
        value = int(word)
    except ValueError:
        raise MissingSetting(f"{name} must be a whole number: got {word!r}") from None
    if value < least:
        raise MissingSetting(f"{name} must be at least {least}: got {value}")
    return value


def words(name: str, default: list[str], meaning: str) -> list[str]:
    return [w.strip() for w in text(name, ",".join(default), meaning).split(",") if w.strip()]


def secret(name: str, meaning: str, *, production: bool, file: Path) -> str:
    """A secret from the environment; outside production, one made once and kept beside the data."""
    given = text(name, "", meaning)
    if given:
        return given
    if production:
        raise MissingSetting(f"{name} must be set in production mode: {meaning}")
    return made_once(file)


def made_once(file: Path) -> str:
    """Two processes may start together: the one whose link() wins decides, the other reads."""
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(secrets.token_urlsafe(64))
        try:
            os.link(draft, file)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return file.read_text().strip()
