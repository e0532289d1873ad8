"""What a worker does: take a job by its id, run its kind, say how it ended. Ids in, one call."""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast
from uuid import UUID

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.conf import settings
from django.db import DatabaseError, close_old_connections
from kombu.exceptions import OperationalError

from sessions_app.domain.errors import NotFound, RecountError
from sessions_app.ingest import demo, receipts
from sessions_app.ingest.pipeline import Ingest
from sessions_app.ingest.sources import held
from sessions_app.models.jobs import JobState
from sessions_app.store import jobs, sessions, tally, verify, write

log = logging.getLogger("recount.jobs")

BEAT_SECONDS = 5
# The next call goes on where this one stopped.
TALLY_SECONDS = 5


class Run:
    """A job in a worker's hands: what it is about, and how to say how far it is."""

    def __init__(self, claim: jobs.Claim) -> None:
        self.claim = claim

    @property
    def workspace_id(self) -> UUID:
        if self.claim.workspace_id is None:
            raise RecountError("the workspace of this job is gone")
        return self.claim.workspace_id

    def report(self, done: int, total: int, note: str = "") -> None:
        jobs.report(self.claim, done=done, total=total, note=note)


Handler = Callable[[Run], str]
KINDS: dict[str, Handler] = {}
LABELS: dict[str, str] = {}


def job_kind(name: str, label: str) -> Callable[[Handler], Handler]:
    """Register a handler. What it returns is the note the finished job shows."""

    def register(handler: Handler) -> Handler:
        KINDS[name] = handler
        LABELS[name] = label
        return handler

    return register


@shared_task(name="sessions_app.tasks.run_job")
def run_job(job_id: str) -> None:
    claim = jobs.claim(UUID(job_id))
    if claim is None:
        return
    with _kept_alive(claim):
        state, note, error = _outcome(claim)
    if state is not None and not jobs.finish(claim, state, note=note, error=error):
        log.warning("job %s: taken over by another worker before it ended here", claim.job_id)


def _outcome(claim: jobs.Claim) -> tuple[JobState | None, str, str]:
    handler = KINDS.get(claim.kind)
    if handler is None:
        return JobState.FAILED, "", f"This version knows no job of kind {claim.kind}."
    try:
        return JobState.DONE, handler(Run(claim)), ""
    except jobs.CancelAsked:
        return JobState.CANCELLED, "", ""
    except jobs.LeaseLost:
        return None, "", ""
    except RecountError as error:
        return JobState.FAILED, "", error.message
    except Exception as error:
        # The text of an unforeseen error may quote content: its type is enough for the page.
        log.exception("job %s (%s) failed", claim.job_id, claim.kind)
        name = type(error).__name__
        return JobState.FAILED, "", f"Unexpected {name}: see the worker's log."


@contextmanager
def _kept_alive(claim: jobs.Claim) -> Iterator[None]:
    """Renew the lease while the handler works, so that only a dead worker loses it."""
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(settings.JOB_LEASE_SECONDS / 3):
            try:
                jobs.renew(claim)
            except DatabaseError:
                log.warning("job %s: lease not renewed, the database does not answer", claim.job_id)
            close_old_connections()

    keeper = threading.Thread(target=renew, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()


@shared_task(name="sessions_app.tasks.sweep_jobs")
def sweep_jobs() -> None:
    """Beat calls this: what the broker lost is announced again, what died is revived."""
    jobs.beat("beat")
    revived = jobs.revive_lost()
    if revived:
        log.warning("%d jobs had lost their worker", revived)
    for job_id in jobs.to_announce():
        run_job.delay(str(job_id))


@shared_task(name="sessions_app.tasks.sweep_staging")
def sweep_staging() -> None:
    """Beat calls this: deliveries that wait although nobody works on them are taken up again."""
    again = receipts.sweep(jobs.clock())
    if again:
        log.warning("%d deliveries had been left waiting", again)


@shared_task(name="sessions_app.tasks.sweep_tallies")
def sweep_tallies() -> None:
    """Beat calls this: what was written is counted before somebody asks."""
    for workspace_id in tally.behind():
        tally.refresh(workspace_id, seconds=TALLY_SECONDS)


@shared_task(name="sessions_app.tasks.merge_index")
def merge_index() -> None:
    """Beat calls this: what came lately is made quick to search."""
    write.merge_index()


def announce() -> None:
    """Tell a worker about waiting jobs now; whatever goes wrong here the sweep makes good."""
    try:
        for job_id in jobs.to_announce():
            run_job.apply_async((str(job_id),), retry=False)
    except (OSError, OperationalError) as error:
        log.warning("broker does not answer (%s): the sweep will announce the job", error)


# The kinds of work --------------------------------------------------------------------------------


@job_kind("demo.load", "Load the demo workspace")
def load_demo(run: Run) -> str:
    now = jobs.clock()
    files = [file for file in demo.files(now) if file.kind == "log"]
    ingest = Ingest(run.workspace_id, now=now)
    for number, file in enumerate(files):
        run.report(number, len(files), file.path)
        ingest.source(held(file.data, path=file.path, machine=file.machine, project=file.project))
    run.report(len(files), len(files))
    return f"{len(files)} sessions"


@job_kind("verify.session", "Verify a session")
def verify_session(run: Run) -> str:
    session = sessions.by_uid(UUID(str(run.claim.arguments["session"])))
    run.report(0, 1)
    verdict = verify.session(session)
    sessions.keep_verdict(session, verdict.problem, verdict.bad_chunk, jobs.clock())
    run.report(1, 1)
    return "Sound" if verdict.is_sound else verdict.problem


@job_kind("verify.sessions", "Verify sessions")
def verify_sessions(run: Run) -> str:
    """One that is broken or gone keeps no other from being verified."""
    uids = [UUID(str(each)) for each in cast(list[object], run.claim.arguments["sessions"])]
    broken = 0
    for number, uid in enumerate(uids):
        run.report(number, len(uids))
        broken += not _is_sound(uid)
    run.report(len(uids), len(uids))
    return f"{broken} broken: see their records" if broken else f"{len(uids)} sound"


def _is_sound(uid: UUID) -> bool:
    try:
        session = sessions.by_uid(uid)
    except NotFound:
        return True
    verdict = verify.session(session)
    sessions.keep_verdict(session, verdict.problem, verdict.bad_chunk, jobs.clock())
    return verdict.is_sound


@job_kind("ingest.receipt", "Take in a delivery")
def take_in(run: Run) -> str:
    run.report(0, 1)
    said = receipts.work_off(UUID(str(run.claim.arguments["receipt"])), now=jobs.clock())
    run.report(1, 1)
    return said


# Signs of life of the worker itself ------------------------------------------------------------

_stopped = threading.Event()


@worker_ready.connect
def _begin_beating(**_: object) -> None:
    _stopped.clear()
    threading.Thread(target=_beat_on, daemon=True, name="pulse").start()


@worker_shutting_down.connect
def _stop_beating(**_: object) -> None:
    _stopped.set()


def _beat_on() -> None:
    name = f"worker {os.uname().nodename} {os.getpid()}"
    while True:
        try:
            jobs.beat(name)
        except DatabaseError:
            log.warning("no sign of life: the database does not answer")
        close_old_connections()
        if _stopped.wait(BEAT_SECONDS):
            return
