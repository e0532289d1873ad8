"""Keys, webhooks and the night of INC-27: forks, a report that was put off, an incident."""

from sessions_app.ingest.demo.cast import LEDGER, PRIYA
from sessions_app.ingest.demo.story import Story

_KEYS = """§system
You are the pair programmer of the ledger-api team at Larkspur. Amounts are integers in cents.
§user
LED-419: where do we keep idempotency keys? The provider forgets them after 24 hours, our slowest
retry comes after 72. Show me how it is now, then I want to try both ways.
§work 18
§say
Today nothing is kept: `ledger/idempotency/keys.py` derives the key and forgets it. Two ways:

1. A table `idempotency_keys(key primary key, result jsonb, created_at)`, written in the transaction
   of the refund. One more row per refund, swept after 96 hours.
2. Redis with an expiry of 96 hours. No sweeping, but a key may be written while the refund's
   transaction rolls back.
§mark both
"""

_TABLE = """§user
Try the table first.
§write migrations/0043_idempotency_keys.sql
create table idempotency_keys (
    key text primary key,
    refund_id text not null references refunds (id),
    result jsonb,
    created_at timestamptz not null default now()
);
§work 20
§bash pytest -q
........................................................................ [ 49%]
..........................................................................[100%]
146 passed in 27.12s
§say
The table works, 146 tests pass. It costs 0.4 ms per refund on the test machine, and a crash between
the two writes cannot happen because there is only one transaction.
§user
Take this one. Write the decision down.
§write docs/decisions/0007-idempotency-keys.md
# Idempotency keys live in Postgres

One transaction with the refund; swept after 96 hours. Redis was tried in a branch of the same
session: a rolled-back refund left its key behind and blocked the honest retry.
§say
Decision 0007 is written.
"""

_REDIS = """§wait 35
§user
And now the other way, from the same point: Redis with expiry.
§work 13
§edit ledger/idempotency/keys.py
def remember(key: str, result: Result) -> None: ...
===
def remember(key: str, result: Result) -> None:
    redis.set(f"idem:{key}", result.to_json(), ex=96 * 3600, nx=True)
§bash! pytest -q tests/test_refund_retries.py
tests/test_refund_retries.py ....F.. [100%]

>   assert provider.paid() == [1890]
E   assert [] == [1890]

FAILED tests/test_refund_retries.py::test_a_rolled_back_refund_can_be_tried_again
1 failed, 6 passed in 2.40s

exit code 1
§say
As feared: the refund's transaction rolled back, the key stayed in Redis, and the honest retry was
taken for a duplicate. The customer would get nothing. It can be repaired with a second key state,
but then Redis has become a database. I would keep the table.
"""

_WEBHOOKS = """§user
The provider moves us to webhook payload v3 next month: `subscription.id` becomes `subscription_id`,
and events may come more than once. Have a helper go through every handler first and tell us which
ones are safe to run twice.
§think
A survey of nine handlers is independent work; a helper can do it while I read the new payload
description.
§agent webhook-survey
Nine handlers read. Seven are safe to run twice: they set a state and return early if it is set.

Not safe:
- `charge.disputed` adds a ledger entry each time (two entries for one dispute)
- `payout.paid` starts the transfer to the seller each time. Nothing stops a second delivery.

The second one moves money.
§say
The helper found two handlers that are not safe to run twice: `charge.disputed` and `payout.paid`.
The second starts a transfer each time it runs.
§user
`payout.paid` has never come twice in two years. Do the renaming and the dispute, I will make a
ticket for the payout (LED-431).
§work 26
§edit ledger/webhooks/receive.py
    subscription = payload["subscription"]["id"]
===
    subscription = payload["subscription_id"]
§work 11
§bash pytest -q tests/test_webhooks.py
tests/test_webhooks.py .......................................... [100%]

42 passed in 5.77s
§mark renamed
"""

_WEBHOOKS_END = """§say
Both v3 fields are renamed and a dispute is recorded once. `payout.paid` is unchanged (LED-431).
§work 18
§user
Good, ship it.
§bash git push && gh pr create --fill
https://git.larkspur.example/ledger-api/pulls/326
§say
Pull request 326 is open. Reminder in its description: LED-431 is not part of it.
"""

_INBOX = """§wait 180
§user
Side question, in a fork so that the pull request stays small: what would an inbox table look like,
so that no handler ever sees an event twice?
§work 20
§write migrations/0044_webhook_inbox.sql
create table webhook_inbox (
    event_id text primary key,
    received_at timestamptz not null default now(),
    handled_at timestamptz
);
§say
A delivery would be one insert `on conflict do nothing`; the handlers run from the table. That makes
every handler safe at once, including `payout.paid`. About a day of work. I have left the migration
in the branch `webhook-inbox`, unapplied.
§user
Nice. Not this sprint.
"""

_SURVEY = """§user
Read every handler in ledger/webhooks and report which are safe to run twice with the same event.
Only read, change nothing.
§grep @handles(
ledger/webhooks/receive.py:31:@handles("charge.succeeded")
ledger/webhooks/receive.py:52:@handles("charge.failed")
ledger/webhooks/receive.py:70:@handles("charge.disputed")
ledger/webhooks/receive.py:96:@handles("refund.settled")
ledger/webhooks/receive.py:118:@handles("refund.failed")
ledger/webhooks/dispatch.py:20:@handles("subscription.renewed")
ledger/webhooks/dispatch.py:44:@handles("subscription.cancelled")
ledger/webhooks/dispatch.py:61:@handles("payout.created")
ledger/webhooks/dispatch.py:83:@handles("payout.paid")
§work 20
§read ledger/webhooks/dispatch.py
   83\t@handles("payout.paid")
   84\tdef payout_paid(event: Event) -> None:
   85\t    payout = store.get_payout(event.data["payout_id"])
   86\t    bank.transfer(payout.seller_account, payout.amount_cents)
   87\t    payout.state = "paid"
   88\t    store.save_payout(payout)
§say
Nine handlers read. Seven are safe to run twice: they set a state and return early if it is set.

Not safe:
- `charge.disputed` adds a ledger entry each time (two entries for one dispute)
- `payout.paid` starts the transfer to the seller each time. Nothing stops a second delivery.

The second one moves money.
"""

_INCIDENT = """§system
You are on call with the ledger-api team. Read only, unless a person says otherwise in this session.
§user
INC-27. Sellers say they were paid twice this morning. Tobias fixed an expired certificate on the
ingress at 05:48, the calls began at 06:10. Help me find out how many and why.
§think
An expired certificate means the provider could not deliver webhooks; after the repair it would
deliver all of them again. If some had in fact arrived before, a handler that is not safe to run
twice runs twice.
§bash psql -c "select count(*), count(distinct payout_id) from transfers where created_at::date = \
current_date"
 count | count
-------+-------
    61 |    47
(1 row)
§say
61 transfers for 47 payouts: 14 sellers were paid twice. Now the deliveries.
§bash logs ledger-webhooks --grep payout.paid --since 3h --tail 8
05:49:02 ledger-webhooks INFO event ev_90117 payout.paid payout=po_3310 delivery=2
05:49:02 ledger-webhooks INFO event ev_90118 payout.paid payout=po_3311 delivery=2
05:49:03 ledger-webhooks INFO event ev_90121 payout.paid payout=po_3314 delivery=3
05:49:03 ledger-webhooks INFO event ev_90124 payout.paid payout=po_3316 delivery=2
05:49:04 ledger-webhooks INFO event ev_90125 payout.paid payout=po_3318 delivery=2
05:49:05 ledger-webhooks INFO event ev_90130 payout.paid payout=po_3321 delivery=2
05:49:05 ledger-webhooks INFO event ev_90131 payout.paid payout=po_3322 delivery=2
05:49:06 ledger-webhooks INFO event ev_90133 payout.paid payout=po_3324 delivery=2
§say
`delivery=2`: within twenty seconds of the certificate being renewed the provider delivered
everything again that it had not been able to confirm. For 14 payouts we had handled the first
delivery and only the *answer* was lost. `payout.paid` then started a second transfer.

This is the handler the survey of last week named as unsafe (LED-431).
§user
I know. I wrote the ticket. How do we stop it right now?
§say
The smallest safe change: return early when the payout's state is already `paid`. The state is saved
after the transfer, so I would also swap those two lines and let a failed transfer raise an alert.
§work 18
§wait 41
§user
Do it, I review here.
§edit ledger/webhooks/dispatch.py
    payout = store.get_payout(event.data["payout_id"])
    bank.transfer(payout.seller_account, payout.amount_cents)
    payout.state = "paid"
    store.save_payout(payout)
===
    payout = store.get_payout(event.data["payout_id"], for_update=True)
    if payout.state == "paid":
        return
    payout.state = "paid"
    store.save_payout(payout)
    bank.transfer(payout.seller_account, payout.amount_cents)
§bash pytest -q tests/test_webhooks.py
tests/test_webhooks.py ............................................ [100%]

44 passed in 5.91s
§user
Deployed at 07:31. I call the bank about the fourteen. Back in the afternoon.
§wait 372
§user
Back. The bank recalled 12 of the 14, two sellers will send it back themselves. Please check that
nothing came twice since the deploy.
§bash psql -c "select count(*), count(distinct payout_id) from transfers where created_at > \
current_date + time '07:31'"
 count | count
-------+-------
    38 |    38
(1 row)
§work 13
§say
38 transfers, 38 payouts: no duplicates since the deploy. For the review: timeline, the fourteen
payout ids and both log excerpts are in incidents/INC-27.md.
§write incidents/INC-27.md
# INC-27: fourteen sellers paid twice

- 02:10 the certificate of the ingress expires; webhooks of the provider fail
- 05:48 certificate renewed
- 05:49 the provider delivers again; `payout.paid` runs a second time for 14 payouts
- 06:10 first call of a seller
- 07:31 handler returns early when a payout is already paid

Known before: the survey of the webhook handlers named `payout.paid` as unsafe. It became LED-431
and waited.
§say
Written. I have not assigned causes beyond what the logs show.
"""

_LEARNINGS = """§system
You keep the memory of the ledger-api team: MEMORY.md and the files it links. Short, true, dated.
§user
After the INC-27 review: please put what we learned into memory. Three things at most.
§read memory/MEMORY.md
# Memory: ledger-api

- [refund retries](project_refund_retries.md): one key per refund, what was tried and failed
- [provider api](reference_provider.md): limits, retries, payload v3
- [team habits](feedback_team.md): how Priya and Ana like changes
§work 11
§say
Three entries, each with where it comes from:

1. A webhook may come twice, also after years of coming once. A handler that moves money checks
   state first (INC-27).
2. A finding of a survey that moves money is not put off without a date (LED-431).
3. A handoff without *Failed approaches* costs the next session the same forty minutes (LED-412).
§write memory/project_webhooks.md
---
name: project webhooks
description: which handlers are safe to run twice, and why it matters
type: project
---
All nine handlers are safe to run twice since INC-27. New ones get the test
`test_every_handler_survives_a_second_delivery`.
§write memory/MEMORY.md
# Memory: ledger-api

- [refund retries](project_refund_retries.md): one key per refund, what was tried and failed
- [webhooks](project_webhooks.md): all handlers survive a second delivery since INC-27
- [provider api](reference_provider.md): limits, retries, payload v3
- [team habits](feedback_team.md): how Priya and Ana like changes
§work 9
§say
Memory is up to date: one new file, one new line in the index.
"""


def _story(title: str, agent: str, day: int, at: str, script: str, **more: str) -> Story:
    return Story(
        title=title,
        agent=agent,
        person=PRIYA,
        project=LEDGER,
        day=day,
        at=at,
        script=script,
        branch=more.get("branch", "main"),
        fork_of=more.get("fork_of", ""),
        helper_of=more.get("helper_of", ""),
        model=more.get("model", "claude-sonnet-4-5"),
    )


_OPUS = "claude-opus-4-5-20251101"

STORIES = (
    _story("led-419-keys", "chat", 16, "10:05", _KEYS + _TABLE),
    _story("led-419-keys-redis", "chat", 16, "10:05", _KEYS + _REDIS, fork_of="led-419-keys"),
    _story("webhooks-v3", "claude-code", 12, "09:30", _WEBHOOKS + _WEBHOOKS_END, model=_OPUS),
    _story("webhook-survey", "claude-code", 12, "09:33", _SURVEY, helper_of="webhooks-v3"),
    _story(
        "webhooks-inbox",
        "claude-code",
        12,
        "09:30",
        _WEBHOOKS + _INBOX,
        fork_of="webhooks-v3",
        model=_OPUS,
    ),
    _story("inc-27-double-payouts", "chat", 5, "06:24", _INCIDENT),
    _story("inc-27-learnings", "chat", 0, "00:40", _LEARNINGS),
)
