"""The missing hour and the long backfill: pi as a list and as a tree, a crash and what followed."""

from sessions_app.ingest.demo.cast import JONAS, NIGHTLY, PIPELINE
from sessions_app.ingest.demo.stories import longhaul
from sessions_app.ingest.demo.story import Story

_MISSING = """§user
Finance says fct_orders has fewer orders than the shop for some days. Find out which days and why.
§work 13
§bash psql -c "select day, shop, mart, shop - mart as missing from checks.orders_by_day where \
shop <> mart"
    day     | shop | mart | missing
------------+------+------+---------
 2025-03-30 | 1811 | 1742 |      69
 2024-03-31 | 1502 | 1449 |      53
 2024-10-27 | 1733 | 1733 |       0
(3 rows)
§say
Both days are the ones on which the clocks go forward. We lose the orders of one hour, once a year.
§think
The watermark is kept in local time. At 03:00 the local clock jumps; rows loaded between 02:00 and
03:00 UTC fall between two windows.
§read pipeline/load/watermark.py
   12\tdef next_window(last: datetime) -> Window:
   13\t    start = last.astimezone(LOCAL).replace(minute=0, second=0, tzinfo=None)
   14\t    return Window(start, start + timedelta(hours=1))
§say
Line 13 throws the zone away. `start + 1 hour` is then an hour that does not exist on that day.
§edit pipeline/load/watermark.py
    start = last.astimezone(LOCAL).replace(minute=0, second=0, tzinfo=None)
===
    start = last.astimezone(UTC).replace(minute=0, second=0)
§bash! pytest -q tests/test_watermark.py
tests/test_watermark.py .....F... [100%]

E   TypeError: can't compare offset-naive and offset-aware datetimes

FAILED tests/test_watermark.py::test_windows_touch_without_a_gap
1 failed, 8 passed in 0.61s

exit code 1
§say
The stored watermark is naive too. It needs a migration of one row: read as local, write as UTC.
§work 18
§bash pytest -q tests/test_watermark.py
tests/test_watermark.py ........... [100%]

11 passed in 0.66s
§user
Good. And the years before? We have the raw files since 2024.
§say
The raw rows are there, only the mart lacks them. A backfill day by day would bring them back; about
two years, so I would let it run unattended and check counts after each day.
"""

_DEDUPE = """§user
The backfill would load days again that are partly there. I need dim and fct to survive that. What
is the merge key?
§work 15
§say
`stg_orders` merges on `(order_id, updated_at)`. A day loaded twice gives two rows whenever the shop
touched the order in between.
§mark key
§user
Try merging on order_id alone, last one wins.
§edit models/staging/stg_orders.sql
    on s.order_id = t.order_id and s.updated_at = t.updated_at
===
    on s.order_id = t.order_id
§bash! pytest -q tests/test_dedupe.py
tests/test_dedupe.py ....F. [100%]

E   assert history('o-118') == ['paid', 'shipped', 'returned']
E   assert ['returned'] == ['paid', 'shipped', 'returned']

FAILED tests/test_dedupe.py::test_an_orders_history_is_kept
1 failed, 5 passed in 1.20s

exit code 1
§say
That flattens the history: fct_revenue_daily needs the three states of an order to book each on its
day. I would go back.
§back key
§user
Back then. Other idea: keep the key, but add the hash of the row, and skip equal hashes.
§work 11
§edit models/staging/stg_orders.sql
    on s.order_id = t.order_id and s.updated_at = t.updated_at
===
    on s.order_id = t.order_id and s.row_hash = t.row_hash
§bash pytest -q tests/test_dedupe.py
tests/test_dedupe.py ....... [100%]

7 passed in 1.31s
§say
History kept, and loading a day twice changes nothing. One more test says exactly that.
§compact
Goal: make staging survive a day being loaded twice. Merge key is now (order_id, row_hash). Merging
on order_id alone was tried and loses history
(tests/test_dedupe.py::test_an_orders_history_is_kept). Next: the backfill itself.
§trouble
overloaded_error: the service is temporarily overloaded, please retry
§work 9
§say
Ready for the backfill.
§mark ready
"""

_DEDUPE_END = """§user
Then let the nightly agent run it this weekend.
§say
I have put the plan into .agent/state.json: 305 days, oldest first, counts checked after each.
"""

_DEDUPE_FORK = """§wait 64
§user
Before that, in a fork: would partition swap be faster than merge? Load into a shadow table, swap.
§work 13
§bash python -m pipeline.backfill --day 2024-03-31 --swap --dry-run
shadow table built in 3.9 s, swap in 0.02 s (merge: 21.4 s)
§say
Five times faster. But a swap needs the partition locked against the nightly load, and dim_customer
reads it. I would keep the merge for this backfill and write the swap down as an idea.
"""

_CRASH = """§system
You are the nightly agent of orders-pipeline. Work through .agent/state.json, one step at a time.
§user
Go on with the revenue marts: convert the backfilled orders to euros, month by month.
§bash cat .agent/state.json
{"task": "backfill-revenue", "months_done": 3, "months": 10, "next": "2024-04"}
§say
Three months are done. I take 2024-04.
§work 35
§bash python -m pipeline.transform.fx --month 2024-04
joined 48,112 orders with 30 daily rates, wrote 48,112 rows (4.1 GB peak)
§say
2024-04 done, but 4.1 GB for 48,000 orders is a lot. The join seems to hold every rate for every
row.
§work 13
§bash python -m pipeline.transform.fx --month 2024-05
joining 51,870 orders with 31 daily rates ... 6.8 GB ... 7.6 GB
"""

_AFTER_CRASH = """§system
You are the nightly agent of orders-pipeline. Work through .agent/state.json, one step at a time.
§user
Your last session ended in the middle of a line, the runner was out of memory. Find out where you
were.
§bash cat .agent/state.json
{"task": "backfill-revenue", "months_done": 4, "months": 10, "next": "2024-05",
 "note": "fx join peaked at 4.1 GB for 2024-04"}
§bash dmesg | tail -2
[88121.40] oom-kill: task=python pid=22190 total-vm:8388608kB
[88121.41] Out of memory: Killed process 22190 (python)
§say
The state file says four months are done and 2024-05 is next; the kernel killed the fx join at 8 GB.
The month before had already warned of it. I read the join before I start it again.
§read pipeline/transform/fx.py
   22\tdef to_euros(orders: Frame, rates: Frame) -> Frame:
   23\t    # every order meets every rate of its month, then the right day is kept
   24\t    pairs = orders.join(rates, on="month")
   25\t    return pairs.filter(pairs.day == pairs.rate_day)
§edit pipeline/transform/fx.py
    pairs = orders.join(rates, on="month")
    return pairs.filter(pairs.day == pairs.rate_day)
===
    return orders.join(rates, left_on="day", right_on="rate_day")
§bash python -m pipeline.transform.fx --month 2024-05
joined 51,870 orders with 31 daily rates, wrote 51,870 rows (0.2 GB peak)
§work 31
§write .agent/state.json
{"task": "backfill-revenue", "months_done": 10, "months": 10, "next": null}
§say
All ten months are written; the peak is 0.2 GB. The join multiplied each order by the days of its
month; it now joins on the day. Nothing was lost by the crash: 2024-05 had written no row.
"""

STORIES = (
    Story(
        title="missing-hour",
        agent="pi",
        person=JONAS,
        project=PIPELINE,
        day=19,
        at="11:20",
        script=_MISSING,
        version=1,
    ),
    Story(
        title="merge-key",
        agent="pi",
        person=JONAS,
        project=PIPELINE,
        day=15,
        at="13:05",
        script=_DEDUPE + _DEDUPE_END,
    ),
    Story(
        title="merge-key-swap",
        agent="pi",
        person=JONAS,
        project=PIPELINE,
        day=15,
        at="13:05",
        script=_DEDUPE + _DEDUPE_FORK,
        fork_of="merge-key",
    ),
    Story(
        title="backfill-orders",
        agent="chat",
        person=NIGHTLY,
        project=PIPELINE,
        day=11,
        at="01:00",
        script=longhaul.script(),
    ),
    Story(
        title="backfill-revenue-1",
        agent="chat",
        person=NIGHTLY,
        project=PIPELINE,
        day=9,
        at="01:00",
        script=_CRASH,
        cut=True,
    ),
    Story(
        title="backfill-revenue-2",
        agent="chat",
        person=NIGHTLY,
        project=PIPELINE,
        day=8,
        at="07:45",
        script=_AFTER_CRASH,
    ),
)
