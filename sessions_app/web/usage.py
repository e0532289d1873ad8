"""What the workspace used: a chart along time, the same numbers as a table, and as a file."""

from dataclasses import dataclass
from typing import TypeVar

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from sessions_app.domain import cells
from sessions_app.domain.errors import BadInput
from sessions_app.domain.spending import By, Measure
from sessions_app.store import spending as store
from sessions_app.store.spending import Only
from sessions_app.web import ranges, respond
from sessions_app.web import spending as shown
from sessions_app.web.access import current, signed_in
from sessions_app.web.columns import address, forget, sheet
from sessions_app.web.ranges import Range

LONGEST_NAME = 80
Choice = TypeVar("Choice", By, Measure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    range: Range
    by: By
    measure: Measure
    only: Only


@require_safe
@signed_in
def page(request: HttpRequest) -> HttpResponse:
    asked = _asked(request)
    forget(request, by=By.MODEL, of=Measure.TOKENS)
    workspace_id = current(request).workspace_id
    found = store.report(workspace_id, asked.range.days, by=asked.by, only=asked.only)
    rows = shown.rows(request, found, asked.measure)
    context = {
        "asked": asked,
        "report": found,
        "total": found.total(),
        "sheet": sheet(
            request,
            rows,
            shown.columns(found),
            default="-name" if asked.by is By.DAY else f"-{asked.measure}",
            own=lambda row: row.mark,
        ),
        "chart": shown.chart(found, asked.range.days, asked.measure),
        "ways": [(by.value, label, by is asked.by) for by, label in shown.BY.items()],
        "measures": [(m.value, label, m is asked.measure) for m, label in shown.MEASURES.items()],
        "chips": _chips(request, store.named(workspace_id, asked.only)),
        "has_logged": found.total().reported is not None,
        "title": f"Usage by {found.step if asked.by is By.DAY else asked.by}, {asked.range.label}",
        "csv_url": f"{request.path}csv{address(request, after=None).removeprefix(request.path)}",
        "ever_url": address(request, **{"from": None, "to": None, "range": ranges.EVER}),
    }
    answer = respond.either(request, "usage/page.html", "usage/_usage.html", context)
    # What a form sends is longer than what it means.
    answer["HX-Push-Url"] = address(request)
    return answer


@require_safe
@signed_in
def as_csv(request: HttpRequest) -> HttpResponse:
    """One line a day and value, whatever steps the chart goes in."""
    asked = _asked(request)
    found = store.by_day(
        current(request).workspace_id, asked.range.days, by=asked.by, only=asked.only
    )
    lines = [cells.row(line) for line in shown.table(found)]
    name = f"usage-by-{asked.by}-{timezone.now():%Y-%m-%d}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse("".join(lines), content_type="text/csv; charset=utf-8", headers=headers)


def _asked(request: HttpRequest) -> Asked:
    return Asked(
        range=ranges.asked(request, timezone.now().date()),
        by=_one_of(By, request.GET.get("by", "") or By.MODEL, "by"),
        measure=_one_of(Measure, request.GET.get("of", "") or Measure.TOKENS, "of"),
        only=Only(
            agent=_name(request, "agent"),
            model=_name(request, "model"),
            project=_term(request, "project"),
            machine=_term(request, "machine"),
            user=_term(request, "user"),
        ),
    )


def _one_of(kind: type[Choice], text: str, name: str) -> Choice:
    try:
        return kind(text)
    except ValueError:
        raise BadInput(f"“{name}” is one of {', '.join(kind)}.") from None


def _name(request: HttpRequest, name: str) -> str | None:
    return request.GET.get(name, "")[:LONGEST_NAME].replace("\0", "") or None


def _term(request: HttpRequest, name: str) -> int | None:
    """Names of projects, machines and users are sealed: an address holds a number instead."""
    text = request.GET.get(name, "")
    if not text:
        return None
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 10 or int(digits) > 2**31:
        raise BadInput(f"“{name}” must be the number of a {name}.")
    return int(text)


def _chips(request: HttpRequest, named: dict[str, str]) -> list[dict[str, str]]:
    return [
        {
            "key": key,
            "value": request.GET[key],
            "name": name,
            "url": address(request, **{key: None, "after": None}),
        }
        for key, name in named.items()
    ]
