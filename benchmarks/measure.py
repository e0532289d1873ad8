"""A figure with its limit. Most are ratios of two times taken in one run: seconds alone mean
nothing on a noisy machine."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    name: str
    value: float
    against: str
    limit: float
    is_at_least: bool
    detail: dict[str, float] = field(default_factory=dict)

    @property
    def is_kept(self) -> bool:
        return self.value >= self.limit if self.is_at_least else self.value <= self.limit

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


def peak_memory(pid: int) -> int:
    """Bytes a process held at the most so far; 0 once it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def processor_seconds(pid: int) -> float:
    """What a process and its threads have used so far, in user and kernel mode."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def table(figures: list[Figure]) -> str:
    rows = [("figure", "value", "limit", "", "against")]
    for f in figures:
        sign = "≥" if f.is_at_least else "≤"
        kept = "kept" if f.is_kept else "MISSED"
        rows.append((f.name, f"{f.value:.3f}", f"{sign} {f.limit:g}", kept, f.against))
    widths = [max(len(row[n]) for row in rows) for n in range(5)]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * w for w in widths))
    for f in figures:
        lines += [f"  {f.name}: {key} {value:,.2f}" for key, value in f.detail.items()]
    return "\n".join(lines)
