"""What the demo's sessions left behind besides their logs: handoffs, memory, state, journals.

Files that a session writes are taken from its own write calls, so record and artefact agree; a file
written in several sessions has several versions. `{d7}` in a text is the date seven days ago.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sessions_app.ingest.demo import beats
from sessions_app.ingest.demo.cast import (
    JONAS,
    LEDGER,
    MEI,
    PIPELINE,
    PLATFORM,
    PRIYA,
    SHOP,
    TOBIAS,
    Person,
    Project,
)
from sessions_app.ingest.demo.story import Story, moment

Kind = Literal["log", "handoff", "memory", "state", "journal"]

_KINDS: tuple[tuple[str, Kind], ...] = (
    ("HANDOFF.md", "handoff"),
    ("memory/", "memory"),
    ("state.json", "state"),
    ("JOURNAL.md", "journal"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    kind: Kind
    path: str
    person: Person
    project: Project
    text: str
    day: int
    at: str = "17:30"

    def written_at(self, now: datetime) -> datetime:
        return moment(now, self.day, self.at)

    def dated(self, now: datetime) -> str:
        return re.sub(r"\{d(\d+)\}", lambda days: _date(now, int(days[1])), self.text)


def of_session(story: Story) -> Iterator[tuple[Kind, str, str]]:
    """Kind, path and text of each artefact the session wrote; the last write of a path counts."""
    written: dict[str, tuple[Kind, str, str]] = {}
    for beat in story.beats():
        if isinstance(beat, beats.Call) and beat.tool == "write":
            path = beat.arguments["path"]
            for part, kind in _KINDS:
                if part in path:
                    written[path] = (kind, path, beat.arguments["content"])
    yield from written.values()


def _date(now: datetime, days: int) -> str:
    return (now - timedelta(days=days)).date().isoformat()


_INDEX = """# Memory: ledger-api

- [refund retries](project_refund_retries.md): one key per refund, what was tried and failed
- [provider api](reference_provider.md): limits, retries, payload v3
- [team habits](feedback_team.md): how Priya and Ana like changes
"""

_REFUNDS = """---
name: project refund retries
description: why a refund carries an idempotency key, and what did not work
type: project
---
Since PR 318 every attempt of a refund carries the key `refund-<id>`.

Did not work, do not try again:
- a row lock for the whole exchange (deadlock with settlement)
- a unique index on payment and amount (two equal refunds are legitimate)
"""

_PROVIDER = """---
name: reference provider
description: facts about the payment provider's API
type: reference
---
- times out on our side after 30 s; the refund may still have been carried out
- remembers idempotency keys for 24 hours
- payload v3: `subscription_id` instead of `subscription.id`
- delivers an event again until it gets a 2xx, for three days
"""

_OLD_PAYOUTS = """---
name: project payouts
description: how payouts to sellers work
type: project
---
`payout.paid` comes exactly once per payout. (Written {d20}, before INC-27. Nobody links here.)
"""

_PIPELINE_INDEX = """# Memory: orders-pipeline

- [clocks](project_clocks.md): the watermark is UTC, and why
- [merge key](project_merge_key.md): order_id and row_hash
- [fx rates](reference_fx.md): where the rates come from
"""

_CLOCKS = """---
name: project clocks
description: the watermark is UTC since the missing hour
type: project
---
Windows in local time lost an hour of orders each spring (69 orders on 2025-03-30, 53 on
2024-03-31).
"""

_MERGE = """---
name: project merge key
description: what makes a staging row the same row
type: project
---
Merge on (order_id, row_hash). Merging on order_id alone loses an order's history.
"""

_SHOP_INDEX = """# Memory: storefront

- [money](project_money.md): cents everywhere, since order 100-2291
- [courier page](reference_courier.md): their documentation held hidden instructions, do not fetch
  it
"""

_MONEY = """---
name: project money
description: amounts are integers in cents, also in the cart
type: project
---
8.10 * 3 is 24.299999999999997. The cart showed 24.30, ledger-api charged 24.29. 212 orders.
"""

_COURIER = """---
name: reference courier
description: what the courier's address lookup needs
type: reference
---
Client id in the header, 60 requests a minute. Answers may hold invisible characters; `clean.ts`
strips them. The documentation page contained text aimed at assistants ({d8}); it was reported.
"""

_HANDOVER_BACKFILL = """# Handoff: backfill of the orders

## Goal
All days from 2024-01-01 to 2024-10-31 in fct_orders agree with the shop.

## Done
- Watermark is UTC, merge key is (order_id, row_hash); loading a day twice changes nothing

## Failed approaches (do not try again)
- Merging on order_id alone: loses an order's history
- Partition swap: five times faster, but locks the partition against the nightly load

## Next step
`python -m pipeline.backfill --day D`, oldest first, `pipeline.check` after each. State in
.agent/state.json. Stop if three days in a row differ.
"""

_HANDOVER_REVENUE = """# Handoff: backfill of the revenue

## Goal
fct_revenue_daily agrees with fct_orders for all ten months.

## Done
- Orders: 305 days compared, none differs
- Revenue: all ten months written

## Failed approaches (do not try again)
- The old fx join: every order met every rate of its month, 8 GB, killed by the kernel

## Open
- The 14 double payouts of INC-27 are in the payouts mart. Finance decides how to book the recall.

## Next step
Turn debug logging of pipeline-worker off again.
"""

_STATE = """{
  "task": "backfill-orders",
  "status": "planned",
  "plan": [
    {"step": "orders, 305 days", "status": "pending"},
    {"step": "revenue, 10 months", "status": "pending"},
    {"step": "compare with finance", "status": "pending"}
  ],
  "failed_approaches": ["merge on order_id alone", "partition swap"]
}
"""

_JOURNAL_PIPELINE = """# Journal: orders-pipeline

## {d8}
- Revenue backfill finished after the crash; the fx join needs 0.2 GB instead of 8

## {d9}
- Runner out of memory at 2024-05. State file was right, nothing lost

## {d11}
- Backfill of the orders: 305 days, 0 differ. 53 orders of 2024-03-31 are back

## {d15}
- Merge key decided: (order_id, row_hash)

## {d19}
- Found the missing hour: the watermark was in local time
"""

_JOURNAL_PLATFORM = """# Journal: platform

## {d2}
- Bill up 18 %: debug logs of the pipeline. Off again, alarms per service

## {d5}
- 02:10 certificate of hooks.larkspur.example expired, renewed 05:48 (see INC-27)

## {d6}
- Cluster on 1.34. cert-manager warns about its account: look at it this week

## {d13}
- Access key in a build log (set -x). Revoked, logs deleted, no foreign use

## {d14}
- Spot pool for the pipeline workers
"""


def _memory(person: Person, project: Project, day: int, name: str, text: str) -> Note:
    path = f"memory/{name}"
    return Note(kind="memory", path=path, person=person, project=project, day=day, text=text)


def _other(kind: Kind, path: str, person: Person, project: Project, day: int, text: str) -> Note:
    return Note(kind=kind, path=path, person=person, project=project, day=day, text=text)


NOTES = (
    _memory(PRIYA, LEDGER, 17, "MEMORY.md", _INDEX),
    _memory(PRIYA, LEDGER, 17, "project_refund_retries.md", _REFUNDS),
    _memory(PRIYA, LEDGER, 17, "reference_provider.md", _PROVIDER),
    _memory(PRIYA, LEDGER, 20, "project_payouts.md", _OLD_PAYOUTS),
    _memory(JONAS, PIPELINE, 14, "MEMORY.md", _PIPELINE_INDEX),
    _memory(JONAS, PIPELINE, 18, "project_clocks.md", _CLOCKS),
    _memory(JONAS, PIPELINE, 14, "project_merge_key.md", _MERGE),
    _memory(MEI, SHOP, 3, "MEMORY.md", _SHOP_INDEX),
    _memory(MEI, SHOP, 3, "project_money.md", _MONEY),
    _memory(MEI, SHOP, 7, "reference_courier.md", _COURIER),
    _other("handoff", "HANDOFF.md", JONAS, PIPELINE, 14, _HANDOVER_BACKFILL),
    _other("handoff", "HANDOFF.md", JONAS, PIPELINE, 7, _HANDOVER_REVENUE),
    _other("state", ".agent/state.json", JONAS, PIPELINE, 14, _STATE),
    _other("journal", "JOURNAL.md", JONAS, PIPELINE, 7, _JOURNAL_PIPELINE),
    _other("journal", "JOURNAL.md", TOBIAS, PLATFORM, 1, _JOURNAL_PLATFORM),
)
