"""Jobs as rows: claimed once, alive by their lease, cancelled, retried, put aside."""

import threading
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connections
from django.db.models.functions import Now
from pytest_django.fixtures import Settings

from sessions_app import tasks
from sessions_app.domain.errors import BrokenRecord, Refused
from sessions_app.models import Job
from sessions_app.models.jobs import JobState
from sessions_app.store import jobs
from sessions_app.tasks import Run
from tests import build

pytestmark = pytest.mark.django_db


def queued(kind: str = "test.rows") -> Job:
    return jobs.add(kind, workspace_id=None, user=None, arguments={"n": 1})


def claimed(job: Job) -> jobs.Claim:
    claim = jobs.claim(job.id)
    assert claim is not None
    return claim


def state(job: Job) -> str:
    return Job.objects.get(id=job.id).state


def expire(job: Job) -> None:
    Job.objects.filter(id=job.id).update(lease_until=Now() - timedelta(seconds=1))


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> Callable[[tasks.Handler], None]:
    """Give the kind of these tests something to do."""
    return lambda handler: monkeypatch.setitem(tasks.KINDS, "test.rows", handler)


# Claim and lease ------------------------------------------------------------------------------


def test_a_job_is_claimed_once() -> None:
    job = queued()

    claim = claimed(job)

    assert (claim.attempts, claim.arguments, claim.kind) == (1, {"n": 1}, "test.rows")
    assert jobs.claim(job.id) is None
    assert jobs.claim(uuid4()) is None
    assert state(job) == JobState.RUNNING


@pytest.mark.django_db(transaction=True)
def test_of_many_claims_at_once_one_wins() -> None:
    job = queued()
    together = threading.Barrier(8)
    won: list[jobs.Claim] = []

    def run() -> None:
        together.wait()
        claim = jobs.claim(job.id)
        if claim:
            won.append(claim)
        connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(won) == 1
    assert Job.objects.get().attempts == 1


def test_progress_is_kept_and_renews_the_lease() -> None:
    job = queued()
    claim = claimed(job)
    expire(job)

    jobs.report(claim, done=3, total=9, note="x" * 500)

    row = Job.objects.get()
    assert (row.done, row.total, row.note) == (3, 9, "x" * 200)
    assert row.lease_until is not None
    assert row.lease_until > jobs.clock()
    assert jobs.revive_lost() == 0


def test_a_worker_whose_lease_was_taken_over_writes_no_more() -> None:
    job = queued()
    first = claimed(job)
    expire(job)
    assert jobs.revive_lost() == 1
    second = claimed(job)

    with pytest.raises(jobs.LeaseLost):
        jobs.report(first, done=1, total=1, note="late")
    assert not jobs.renew(first)
    assert not jobs.finish(first, JobState.DONE, note="late")
    assert jobs.finish(second, JobState.DONE, note="in time")
    assert Job.objects.get().note == "in time"


def test_a_silent_job_is_revived_and_quarantined_after_its_last_attempt(
    settings: Settings,
) -> None:
    settings.JOB_ATTEMPTS = 3
    job = queued()
    for attempt in (1, 2, 3):
        assert claimed(job).attempts == attempt
        assert state(job) == JobState.RUNNING
        expire(job)
        assert jobs.revive_lost() == 1

    row = Job.objects.get()
    assert row.state == JobState.QUARANTINED
    assert "died every time" in row.error
    assert jobs.claim(job.id) is None
    assert jobs.revive_lost() == 0
    assert jobs.to_announce() == []


def test_a_job_with_a_living_lease_is_left_alone() -> None:
    job = queued()
    claimed(job)

    assert jobs.revive_lost() == 0
    assert state(job) == JobState.RUNNING


# Announcing -----------------------------------------------------------------------------------


def test_a_waiting_job_is_announced_once_and_again_only_when_its_message_must_be_lost() -> None:
    job = queued()

    assert jobs.to_announce() == [job.id]
    assert jobs.to_announce() == []
    Job.objects.update(enqueued_at=Now() - jobs.ANNOUNCE_AGAIN - timedelta(seconds=1))
    assert jobs.to_announce() == [job.id]


def test_a_revived_job_is_announced_at_once() -> None:
    job = queued()
    jobs.to_announce()
    claimed(job)
    expire(job)
    jobs.revive_lost()

    assert jobs.to_announce() == [job.id]


def test_a_broker_that_does_not_answer_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("connection refused")

    monkeypatch.setattr(tasks.run_job, "apply_async", refuse)
    job = queued()

    tasks.announce()

    assert state(job) == JobState.QUEUED


# Cancel and retry -----------------------------------------------------------------------------


def test_a_waiting_job_is_cancelled_at_once() -> None:
    job = queued()

    jobs.ask_cancel(job)

    assert state(job) == JobState.CANCELLED
    assert jobs.claim(job.id) is None


def test_a_running_job_stops_at_its_next_report(
    kind: Callable[[tasks.Handler], None],
) -> None:
    job = queued()
    seen: list[int] = []

    def handler(run: Run) -> str:
        for step in range(5):
            run.report(step, 5)
            seen.append(step)
            if step == 1:
                jobs.ask_cancel(job)
        return "never"

    kind(handler)
    tasks.run_job(str(job.id))

    assert seen == [0, 1]
    assert state(job) == JobState.CANCELLED


def test_a_cancel_outlives_the_worker_that_did_not_see_it(
    kind: Callable[[tasks.Handler], None],
) -> None:
    job = queued()
    claimed(job)
    jobs.ask_cancel(job)
    expire(job)
    jobs.revive_lost()
    kind(lambda run: run.report(0, 1) or "never")  # type: ignore[func-returns-value]

    tasks.run_job(str(job.id))

    assert state(job) == JobState.CANCELLED


def test_a_job_that_ended_is_not_cancelled() -> None:
    job = queued()
    jobs.finish(claimed(job), JobState.DONE)

    with pytest.raises(Refused, match="already ended"):
        jobs.ask_cancel(job)


@pytest.mark.parametrize("ended", [JobState.FAILED, JobState.CANCELLED, JobState.QUARANTINED])
def test_a_job_that_ended_badly_starts_afresh(ended: JobState) -> None:
    job = queued()
    claim = claimed(job)
    jobs.report(claim, done=3, total=4, note="half")
    jobs.finish(claim, ended, error="bad luck")

    jobs.again(job)

    row = Job.objects.get()
    assert (row.state, row.attempts, row.done, row.note, row.error) == ("queued", 0, 0, "", "")
    assert jobs.to_announce() == [job.id]


@pytest.mark.parametrize("open_state", [JobState.QUEUED, JobState.RUNNING, JobState.DONE])
def test_a_job_that_is_open_or_done_is_not_tried_again(open_state: JobState) -> None:
    job = queued()
    Job.objects.update(state=open_state)

    with pytest.raises(Refused):
        jobs.again(job)


# How it ends ----------------------------------------------------------------------------------


def test_a_doubled_message_runs_once(kind: Callable[[tasks.Handler], None]) -> None:
    job = queued()
    runs: list[Run] = []
    kind(lambda run: runs.append(run) or "once")  # type: ignore[func-returns-value]

    for _ in range(3):
        tasks.run_job(str(job.id))

    assert len(runs) == 1
    assert (state(job), Job.objects.get().note) == (JobState.DONE, "once")


def test_an_unforeseen_error_is_told_without_its_words(
    kind: Callable[[tasks.Handler], None],
) -> None:
    job = queued()

    def handler(run: Run) -> str:
        raise ValueError("the words of a person")

    kind(handler)
    tasks.run_job(str(job.id))

    row = Job.objects.get()
    assert row.state == JobState.FAILED
    assert "ValueError" in row.error
    assert "person" not in row.error


def test_an_error_of_the_house_is_told_as_it_is(kind: Callable[[tasks.Handler], None]) -> None:
    job = queued()

    def handler(run: Run) -> str:
        raise BrokenRecord("chunk 3 is missing")

    kind(handler)
    tasks.run_job(str(job.id))

    assert Job.objects.get().error == "chunk 3 is missing"


def test_a_kind_nobody_knows_fails_by_name() -> None:
    job = queued("test.unknown")

    tasks.run_job(str(job.id))

    assert "test.unknown" in Job.objects.get().error


def test_verifying_as_a_job_keeps_its_verdict() -> None:
    session = build.session(build.workspace())
    arguments: dict[str, object] = {"session": str(session.uid)}
    job = jobs.add("verify.session", workspace_id=None, user=None, arguments=arguments)

    tasks.run_job(str(job.id))

    session.refresh_from_db()
    assert (state(job), Job.objects.get().note) == (JobState.DONE, "Sound")
    assert (session.problem, session.verified_at is None) == ("", False)


@pytest.mark.django_db(transaction=True)
def test_the_lease_is_renewed_while_a_handler_is_silent(
    kind: Callable[[tasks.Handler], None], settings: Settings
) -> None:
    settings.JOB_LEASE_SECONDS = 1
    job = queued()
    quiet = threading.Event()

    def handler(run: Run) -> str:
        quiet.wait(1.5)
        return str(jobs.revive_lost())

    kind(handler)
    tasks.run_job(str(job.id))

    assert (state(job), Job.objects.get().note) == (JobState.DONE, "0")
