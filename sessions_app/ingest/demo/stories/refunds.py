"""LED-412, the refund that was paid twice: three sessions, one repeated mistake."""

from sessions_app.ingest.demo.cast import LEDGER, PRIYA
from sessions_app.ingest.demo.story import Story

_SYSTEM = """§system
You are the pair programmer of the ledger-api team at Larkspur. Amounts are integers in cents. Never
write to production. Read HANDOFF.md at the start, write it at the end.
"""

_FIRST = (
    _SYSTEM
    + """§user
LED-412: four customers were refunded twice last week. Support says it is always after the payment
provider was slow. Can you find out how, and stop it? Start with ledger/refunds/retry.py.
§think
A refund request that times out may still have been carried out by the provider. If the retry sends
a second request without telling the provider that it is the same refund, both are paid.
§say
I will read the retry code first, then look at one of the four cases in the log.
§read ledger/refunds/retry.py
§work 20
§bash logs ledger-api --grep rf_20811 --since 8d
10:02:11 ledger-api INFO refund rf_20811 requested payment=pay_5512 amount_cents=1890
10:02:41 ledger-api WARN refund rf_20811 provider timeout after 30000 ms, attempt 1
10:02:43 ledger-api INFO refund rf_20811 sent, attempt 2
10:02:44 ledger-api INFO refund rf_20811 settled provider_ref=pr_77120
10:02:58 ledger-webhooks INFO provider event refund.settled provider_ref=pr_77119
§say
There it is. Attempt 1 timed out on our side but succeeded at the provider (`pr_77119`), attempt 2
was a new refund in their eyes (`pr_77120`). The customer got 37.80 instead of 18.90.

I will try to take a row lock for the whole exchange, so that nothing else can send the same refund.
§edit ledger/refunds/service.py
    refund = store.get_refund(refund_id)
===
    refund = store.get_refund(refund_id, for_update=True)
§bash! pytest -q tests/test_refunds.py tests/test_settlement.py
tests/test_refunds.py ..................... [ 58%]
tests/test_settlement.py ......F........ [100%]

E   psycopg.errors.DeadlockDetected: deadlock detected
E   DETAIL:  Process 4121 waits for ShareLock on transaction 99120; blocked by process 4119.
E   Process 4119 waits for ShareLock on transaction 99121; blocked by process 4121.

FAILED tests/test_settlement.py::test_settlement_and_refund_of_one_batch_run_together
1 failed, 35 passed in 6.41s

exit code 1
§think
Settlement locks the batch first and then its refunds; with my change a refund locks itself first
and then its batch. Turning the order around in settlement would hold every refund of a batch for
minutes.
§say
The row lock deadlocks with the settlement job: settlement takes batch, then refunds, and the refund
service now takes them in the other order. I am taking the lock out again.
§edit ledger/refunds/service.py
    refund = store.get_refund(refund_id, for_update=True)
===
    refund = store.get_refund(refund_id)
§work 18
§user
What about the database refusing the second one? A unique index should do it.
§say
Good idea, quick to try: a unique index on `(payment_id, amount_cents)`.
§write migrations/0042_unique_refund.sql
create unique index concurrently refunds_payment_amount
    on refunds (payment_id, amount_cents);
§bash! make migrate-test && pytest -q tests/test_refunds.py
applied 0042_unique_refund.sql
tests/test_refunds.py ..........F.......... [100%]

    first = refund(payment, cents=450, reason="notebook, returned")
>   second = refund(payment, cents=450, reason="second notebook, returned a week later")
E   psycopg.errors.UniqueViolation: duplicate key value violates unique constraint
E   "refunds_payment_amount"

FAILED tests/test_refunds.py::test_two_equal_partial_refunds_are_both_paid
1 failed, 20 passed in 3.02s

exit code 1
§say
That forbids something legitimate: a customer who bought two notebooks of 4.50 may return them in
different weeks, which is two equal refunds of one payment. The index cannot tell them from a retry.
I have removed migration 0042 again.
§bash git status --short && git log --oneline -2
e41c77a Name the refund in the error message
9be1d02 Log the refund id, not the whole object
§work 13
§user
OK. I have to leave. Write the handoff, we go on tomorrow.
§write HANDOFF.md
# Handoff: LED-412 refunds paid twice

## Goal
A refund is paid at most once, also when the provider times out.

## Done
- Cause found: a retry after a timeout is a *new* refund for the provider (rf_20811: pr_77119,
  pr_77120)
- Row lock in ledger/refunds/service.py tried and taken out (deadlock with settlement)

## Next step
Make the second attempt impossible, or recognisable.
§say
HANDOFF.md is written. The tree is clean; nothing is half applied.
"""
)

_SECOND = (
    _SYSTEM
    + """§user
Morning. Go on with LED-412, the handoff has everything.
§read HANDOFF.md
# Handoff: LED-412 refunds paid twice

## Goal
A refund is paid at most once, also when the provider times out.

## Done
- Cause found: a retry after a timeout is a *new* refund for the provider (rf_20811: pr_77119,
  pr_77120)
- Row lock in ledger/refunds/service.py tried and taken out (deadlock with settlement)

## Next step
Make the second attempt impossible, or recognisable.
§think
"Make the second attempt impossible." The database can do that: a unique index on payment and amount
would reject a duplicate. Nothing in the handoff speaks against it.
§say
The handoff says: make the second attempt impossible. The strongest place for that is the database,
so I will add a unique index on `(payment_id, amount_cents)` and handle the violation as "already
refunded".
§work 22
§write migrations/0042_refunds_once.sql
create unique index concurrently refunds_once
    on refunds (payment_id, amount_cents);
§edit ledger/refunds/service.py
    store.save_refund(refund)
===
    try:
        store.save_refund(refund)
    except UniqueViolation:
        return store.find_refund(refund.payment_id, refund.amount_cents)
§bash! make migrate-test && pytest -q tests/test_refunds.py
applied 0042_refunds_once.sql
tests/test_refunds.py ..........F.......... [100%]

>   assert [r.amount_cents for r in refunds_of(payment)] == [450, 450]
E   assert [450] == [450, 450]

FAILED tests/test_refunds.py::test_two_equal_partial_refunds_are_both_paid
1 failed, 20 passed in 3.11s

exit code 1
§say
One test fails: two equal partial refunds of the same payment are both legitimate, and the index
keeps only one. I could add the reason to the index…
§user
Stop. We did exactly this yesterday, with the same test, forty minutes of it. Did the handoff not
say so?
§think
The handoff has no section on what failed besides the row lock. I should say so plainly, and write
it down this time.
§say
It did not. The handoff names the row lock, but not the unique index, and its next step reads like
an invitation to it. I have removed the migration and the change to the service, and I am adding
*Failed approaches* to HANDOFF.md now, before anything else.
§bash git checkout ledger/refunds/service.py && rm migrations/0042_refunds_once.sql && git status -s

§write HANDOFF.md
# Handoff: LED-412 refunds paid twice

## Goal
A refund is paid at most once, also when the provider times out.

## State
Tree clean, no migration pending. Cause known: a retry after a timeout is a *new* refund for the
provider (rf_20811: pr_77119 and pr_77120).

## Failed approaches (do not try again)
- Row lock for the whole exchange: `DeadlockDetected` in
  tests/test_settlement.py::test_settlement_and_refund_of_one_batch_run_together
- Unique index on (payment_id, amount_cents): fails
  tests/test_refunds.py::test_two_equal_partial_refunds_are_both_paid. Two equal refunds of one
  payment are legitimate. Tried twice.

## Next step
Send the provider an `Idempotency-Key` made from the refund's own id. Their API supports it since
v3.
§work 15
§say
Done. The next session starts from the idempotency key, with both dead ends written down.
"""
)

_THIRD = (
    _SYSTEM
    + """§user
LED-412, third time lucky. Read the handoff including the failed approaches.
§read HANDOFF.md
## Failed approaches (do not try again)
- Row lock for the whole exchange: `DeadlockDetected`
- Unique index on (payment_id, amount_cents): two equal refunds of one payment are legitimate. Tried
  twice.

## Next step
Send the provider an `Idempotency-Key` made from the refund's own id.
§say
Understood: no row lock, no unique index. The key has to be the same for every attempt of one refund
and different for two refunds, and `refund.id` is exactly that.
§work 26
§read ledger/idempotency/keys.py
§edit ledger/refunds/retry.py
        response = provider.post("/refunds", body)
===
        response = provider.post("/refunds", body, idempotency_key=f"refund-{refund.id}")
§write tests/test_refund_retries.py
def test_a_refund_that_timed_out_is_paid_once(provider: FakeProvider) -> None:
    provider.answers_after(seconds=31)
    refund = build.refund(cents=1890)
    retry.send(refund)
    assert provider.paid() == [1890]


def test_two_equal_refunds_have_different_keys(provider: FakeProvider) -> None:
    retry.send(build.refund(cents=450))
    retry.send(build.refund(cents=450))
    assert provider.paid() == [450, 450]
§bash pytest -q
........................................................................ [ 51%]
...................................................................      [100%]
139 passed in 24.80s
§say
139 passed, both new tests among them, and the two that stopped the earlier attempts.
§work 22
§user
Lovely. Open the pull request and update the handoff. What is left?
§bash gh pr create --title "Pay a refund once: idempotency key per refund (LED-412)" --fill
https://git.larkspur.example/ledger-api/pulls/318
§write HANDOFF.md
# Handoff: LED-412 refunds paid twice

## Done
- Idempotency key `refund-<id>` on every attempt (PR 318), 139 tests pass

## Failed approaches (do not try again)
- Row lock (deadlock with settlement)
- Unique index on (payment_id, amount_cents) (two equal refunds are legitimate)

## Open
- Keys live only at the provider, for 24 hours. Do we need to keep them ourselves? (LED-419)

## Next step
Decide LED-419: table in Postgres or Redis with expiry.
§say
Pull request 318 is open. What is left is LED-419: the provider forgets keys after 24 hours, our
retries can come later than that. The handoff says so.
"""
)

STORIES = (
    Story(
        title="led-412-refunds-1",
        agent="chat",
        person=PRIYA,
        project=LEDGER,
        day=20,
        at="13:40",
        script=_FIRST,
    ),
    Story(
        title="led-412-refunds-2",
        agent="chat",
        person=PRIYA,
        project=LEDGER,
        day=19,
        at="08:52",
        script=_SECOND,
    ),
    Story(
        title="led-412-refunds-3",
        agent="chat",
        person=PRIYA,
        project=LEDGER,
        day=18,
        at="09:15",
        script=_THIRD,
        branch="led-412",
    ),
)
