"""The long session of the demo: an unattended backfill of 305 days, about two thousand events."""

from datetime import date, timedelta
from random import Random

from sessions_app.ingest.demo.chance import below, between, pick, seeded

DAYS = 305
_FIRST = date(2024, 1, 1)
_SUMMER = date(2024, 3, 31)

_OPENING = """§system
You are the nightly agent of orders-pipeline. Backfill day by day, check the counts after each day,
stop if three days in a row differ. Do not page anyone before six.
§user
Backfill 2024-01-01 to 2024-10-31, oldest first. Plan and progress are in .agent/state.json. Jonas
"""
_NOTES = (
    "Counts agree.",
    "Same number on both sides. Next.",
    "No difference.",
    "Agrees with the shop.",
    "Fine.",
)
_LATE = (
    "A few orders of this day were changed after midnight; they belong to the next day's load.",
    "The difference is returns that were booked late. Loading the day again settles it.",
    "The shop's export for this day came in two files; the second is there now.",
)


def script() -> str:
    rng = seeded("longhaul")
    parts = [_OPENING, "§work 4\n"]
    for number in range(DAYS):
        parts += _day(rng, _FIRST + timedelta(days=number))
        if number % 30 == 29:
            parts.append(_progress(number + 1))
    return "".join([*parts, _CLOSING])


def _day(rng: Random, day: date) -> list[str]:
    orders = between(rng, 1200, 1900)
    parts = [_load(rng, day, orders)]
    if day == _SUMMER:
        parts.append(_CLOCK_CHANGE)
    elif not below(rng, 11):
        parts.append(_late(rng, day, orders))
    else:
        parts.append(_check(day, orders, orders))
        parts.append(f"§say\n{day}: {pick(rng, _NOTES)}\n")
    parts.append("§work 1\n" if below(rng, 3) else "")
    return parts


def _load(rng: Random, day: date, orders: int) -> str:
    hours = "\n".join(
        f"  {day} {hour:02d}:00Z  read {orders // 24 + below(rng, 30):>4}  new {below(rng, 9):>3}"
        f"  same {orders // 24:>4}  {between(rng, 90, 900):>4} ms"
        for hour in range(0, 24, 3)
    )
    return (
        f"§bash python -m pipeline.backfill --day {day}\n"
        f"backfill {day}\n{hours}\n"
        f"merged {orders} orders in {between(rng, 14, 29)}.{below(rng, 10)} s\n"
    )


def _check(day: date, shop: int, mart: int) -> str:
    return f"§bash python -m pipeline.check --day {day}\nshop {shop}  mart {mart}\n"


def _late(rng: Random, day: date, orders: int) -> str:
    missing = between(rng, 1, 9)
    return (
        f"§bash! python -m pipeline.check --day {day}\n"
        f"shop {orders}  mart {orders - missing}\ndiffers by {missing}\n\nexit code 1\n"
        f"§say\n{day} differs by {missing}. {pick(rng, _LATE)}\n"
        + _load(rng, day, orders)
        + _check(day, orders, orders)
    )


def _progress(done: int) -> str:
    state = f'{{"task": "backfill-orders", "days_done": {done}, "days": {DAYS}}}'
    said = f"{done} of {DAYS} days are done, state is saved."
    return f"§write .agent/state.json\n{state}\n§say\n{said}\n"


_CLOCK_CHANGE = """§bash python -m pipeline.check --day 2024-03-31
shop 1502  mart 1502
§say
2024-03-31 is one of the two days that lacked an hour: 1449 before, 1502 now. The 53 orders are
back.
"""

_CLOSING = """§bash python -m pipeline.check --from 2024-01-01 --to 2024-10-31
305 days compared, 0 differ
§say
Done: 305 days, none differs. 53 orders of 2024-03-31 came back; the rest of the differences were
late changes and settled on a second load. The revenue marts still have the old numbers and come
next.
"""
