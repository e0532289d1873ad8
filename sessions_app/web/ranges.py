"""Which days a page is about: one of a few usual stretches, or from one day to another."""

from dataclasses import dataclass
from datetime import date

from django.http import HttpRequest

from sessions_app.domain import calendar
from sessions_app.domain.calendar import Days
from sessions_app.web.columns import address, forget

EVER = "all"
LABELS = {"7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "1 year", EVER: "All time"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    label: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    days: Days
    # Empty where days were named.
    preset: str
    choices: list[Choice]

    @property
    def from_value(self) -> str:
        return self.days.first.isoformat() if self.days.first else ""

    @property
    def to_value(self) -> str:
        return self.days.last.isoformat() if self.days.last else ""

    @property
    def label(self) -> str:
        first, last = self.days.first, self.days.last
        if first is None and last is None:
            return "all time"
        if first is None or last is None:
            return f"since {_said(first)}" if first else f"until {_said(last)}"
        return _said(first) if first == last else f"{_said(first)} to {_said(last)}"


def _said(day: date | None) -> str:
    return f"{day.day} {day:%b} {day.year}" if day else ""


def asked(request: HttpRequest, today: date) -> Range:
    """A form sends the days of a usual stretch along with its name: then the name counts, so that
    the page is about the same stretch tomorrow. The address is left with one of the two."""
    first = calendar.read_day(request.GET.get("from", ""), "from")
    last = calendar.read_day(request.GET.get("to", ""), "to")
    days, preset = calendar.between(first, last), request.GET.get("range", "")
    if preset not in calendar.USUAL:
        preset = calendar.DEFAULT
    usual = calendar.usual(preset, today)
    if days not in (calendar.EVER, usual):
        preset = ""
    forget(request, *(("from", "to") if preset else ("range",)), range=calendar.DEFAULT)
    choices = [_choice(request, name, preset) for name in calendar.USUAL]
    return Range(days=usual if preset else days, preset=preset, choices=choices)


def _choice(request: HttpRequest, name: str, preset: str) -> Choice:
    changes = {"from": None, "to": None, "after": None}
    kept = None if name == calendar.DEFAULT else name
    return Choice(
        label=LABELS[name],
        url=address(request, **changes, range=kept),
        is_current=name == preset,
    )
