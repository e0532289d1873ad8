"""A figure is a ratio with a limit: seconds alone mean nothing on a noisy machine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    name: str
    ratio: float
    against: str
    limit: float
    is_at_least: bool
    detail: dict[str, float] = field(default_factory=dict)

    @property
    def is_kept(self) -> bool:
        return self.ratio >= self.limit if self.is_at_least else self.ratio <= self.limit

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "is_kept": self.is_kept}


@dataclass(slots=True)
class Watch:
    seconds: float = 0.0


@contextmanager
def timed() -> Iterator[Watch]:
    watch = Watch()
    begun = time.perf_counter()
    yield watch
    watch.seconds = time.perf_counter() - begun


def table(figures: list[Figure]) -> str:
    rows = [("figure", "ratio", "limit", "", "against")]
    for f in figures:
        sign = "≥" if f.is_at_least else "≤"
        kept = "kept" if f.is_kept else "MISSED"
        rows.append((f.name, f"{f.ratio:.3f}", f"{sign} {f.limit:g}", kept, f.against))
    widths = [max(len(row[n]) for row in rows) for n in range(5)]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * w for w in widths))
    for f in figures:
        lines += [f"  {f.name}: {key} {value:,.2f}" for key, value in f.detail.items()]
    return "\n".join(lines)
