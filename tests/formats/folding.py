"""What a session's readings add up to, folded as the store folds them."""

from collections.abc import Iterable
from pathlib import Path

from sessions_app.domain.events import Notes, Reading, Scope, TieKind, Usage
from sessions_app.formats import Format
from tests import build

COUNTERS = ("input", "output", "cache_read", "cache_write", "reasoning")


def files(folder: str) -> list[Path]:
    place = build.SHARED / folder
    return sorted(place.iterdir()) if place.is_dir() else []


def readings(fmt: Format, path: Path) -> list[Reading]:
    lines = path.read_bytes().splitlines(keepends=True)
    return [fmt.read(line) for line in lines]


def answers(fmt: Format, paths: Iterable[Path]) -> dict[str, Usage]:
    """Largest counters of every answer, by the key that names it."""
    found: dict[str, dict[str, int]] = {}
    models: dict[str, Usage] = {}
    for path in paths:
        for key, usage in _named(readings(fmt, path)):
            most = found.setdefault(key, dict.fromkeys((*COUNTERS, "reported"), 0))
            for name in most:
                most[name] = max(most[name], getattr(usage, name) or 0)
            models[key] = usage
    return {
        key: Usage(key=key, model=models[key].model, **most)  # type: ignore[arg-type]
        for key, most in found.items()
    }


def _named(lines: list[Reading]) -> Iterable[tuple[str, Usage]]:
    own = turn = last = last_turn = ""
    for reading in lines:
        notes = reading.notes or Notes()
        own = own or next((tie.id for tie in notes.ties if tie.kind is TieKind.SELF), "")
        turn = notes.turn or turn
        for usage in notes.usage:
            if usage.scope is Scope.CORPUS:
                yield usage.key, usage
            elif usage.scope is Scope.TURN:
                last_turn = last_turn if usage.key == last else turn
                last = usage.key
                yield f"{last_turn or own} {usage.key}", usage
            else:
                yield f"{own} {usage.key}", usage


def total(found: dict[str, Usage]) -> dict[str, int]:
    return {name: sum(getattr(usage, name) for usage in found.values()) for name in COUNTERS}
