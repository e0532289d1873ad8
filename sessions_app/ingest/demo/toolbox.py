"""Everyday tool calls of a demo session: reading, searching, testing, querying, looking at logs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from sessions_app.ingest.demo.cast import PLATFORM, Project
from sessions_app.ingest.demo.chance import below, between, pick
from sessions_app.ingest.demo.sourcecode import numbered, source

_SUBJECTS = (
    "Keep the audit row when a {noun} is closed twice",
    "Name the {noun} in the error message",
    "Drop the unused {noun} cache",
    "Add a test for an empty {noun}",
    "Move {noun} limits to settings",
    "Log the {noun} id, not the whole object",
    "Bump the {noun} timeout to 30 s",
    "Revert 'Batch {noun} writes': it reordered them",
)
_EVENTS = (
    "{noun} accepted",
    "{noun} already known, skipped",
    "{noun} queued for retry",
    "{noun} written",
    "slow query on {noun}s",
    "lock wait on {noun}s",
    "{noun} closed",
)
_REMARKS = {
    "read": (
        "Reading {path} first.",
        "Next {path}; it is called from two places.",
        "I want to see the whole of {path} before I change a line of it.",
        "{path} again, with the new question in mind.",
        "How does {path} handle the empty case?",
        "Opening {path}.",
    ),
    "grep": (
        "Who else uses `{pattern}`?",
        "Looking for `{pattern}` across the project.",
        "Let me find every place that touches `{pattern}`.",
        "One search for `{pattern}`, to be sure nothing else depends on it.",
    ),
    "tests": (
        "Running the tests that cover this.",
        "Tests before the next change.",
        "Does that still pass?",
        "A quick run to see where we stand.",
    ),
    "history": (
        "When did this change last, and why?",
        "The history may explain the odd branch.",
        "Checking who wrote this and with what in mind.",
    ),
    "logs": (
        "The log of that service should say whether it was retried.",
        "Looking at the last hour.",
        "Let me compare this with what the service wrote.",
    ),
    "query": (
        "Counting is quicker than guessing.",
        "What does the table say?",
        "Numbers by state, for comparison.",
    ),
    "plan": (
        "A plan only, nothing is applied.",
        "Planning again after the change.",
        "What would change right now?",
    ),
    "pods": (
        "Listing what is running.",
        "Are all of them ready?",
        "State of the namespace, before and after.",
    ),
}
_AUTHORS = ("Priya Raman", "Jonas Weber", "Mei Castellanos", "Tobias Okafor", "Ana Lindqvist")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    tool: str
    arguments: dict[str, str]
    output: str
    failed: bool = False
    remark: str = ""


def steps(project: Project, rng: Random, count: int) -> Iterator[Step]:
    makers = _PLATFORM if project is PLATFORM else _CODE
    for _ in range(count):
        kind, make = pick(rng, makers)
        step = make(project, rng)
        remark = pick(rng, _REMARKS[kind]).format(**step.arguments) if below(rng, 5) > 1 else ""
        yield replace(step, remark=remark)


def _read(project: Project, rng: Random) -> Step:
    path = pick(rng, project.paths)
    lines = source(path).split("\n")
    first = below(rng, max(1, len(lines) - 40))
    part = "\n".join(lines[first : first + between(rng, 30, 120)])
    return Step(tool="read", arguments={"path": path}, output=numbered(part, first + 1))


def _grep(project: Project, rng: Random) -> Step:
    noun = pick(rng, project.nouns)
    found = [
        f"{path}:{number}:{line}"
        for path in project.paths
        for number, line in enumerate(source(path).split("\n"), 1)
        if noun in line
    ]
    output = "\n".join(found[: between(rng, 6, 40)]) or "no matches"
    return Step(tool="grep", arguments={"pattern": noun}, output=output)


def _tests(project: Project, rng: Random) -> Step:
    paths = [path for path in project.paths if path.startswith("tests/")] or ["tests"]
    path, seconds = pick(rng, paths), between(rng, 12, 900) / 100
    if not below(rng, 9):
        return _failing(project, rng, path, seconds)
    dots = "." * between(rng, 14, 60)
    output = f"{path} {dots} [100%]\n\n{len(dots)} passed in {seconds:.2f}s"
    return Step(tool="bash", arguments={"command": f"{project.tests} {path}"}, output=output)


def _failing(project: Project, rng: Random, path: str, seconds: float) -> Step:
    noun, passed = pick(rng, project.nouns), between(rng, 8, 40)
    got = between(rng, 2, 9)
    output = (
        f"{path} {'.' * passed}F [100%]\n\n"
        f"    {noun} = build.{noun}(state='pending')\n"
        f">   assert len(written_{noun}s()) == 1\n"
        f"E   assert {got} == 1\n\n"
        f"FAILED {path}::test_one_{noun}_is_written - assert {got} == 1\n"
        f"1 failed, {passed} passed in {seconds:.2f}s\n\nexit code 1"
    )
    arguments = {"command": f"{project.tests} {path}"}
    return Step(tool="bash", arguments=arguments, output=output, failed=True)


def _history(project: Project, rng: Random) -> Step:
    lines = [
        f"{rng.getrandbits(28):07x} {pick(rng, _AUTHORS):<16}"
        f" {pick(rng, _SUBJECTS).format(noun=pick(rng, project.nouns))}"
        for _ in range(between(rng, 6, 18))
    ]
    command = f"git log --format='%h %an %s' -- {pick(rng, project.paths)}"
    return Step(tool="bash", arguments={"command": command}, output="\n".join(lines))


def _logs(project: Project, rng: Random) -> Step:
    service, hour, minute = pick(rng, project.services), below(rng, 24), below(rng, 50)
    lines = [
        f"{hour:02d}:{minute + n // 9:02d}:{(n * 7) % 60:02d} {service} "
        f"{'WARN' if not below(rng, 8) else 'INFO'} "
        f"{pick(rng, _EVENTS).format(noun=pick(rng, project.nouns))} "
        f"id={rng.getrandbits(40):010x} ms={between(rng, 1, 900)}"
        for n in range(between(rng, 12, 45))
    ]
    command = f"logs {service} --since 1h --tail {len(lines)}"
    return Step(tool="bash", arguments={"command": command}, output="\n".join(lines))


def _query(project: Project, rng: Random) -> Step:
    rows = [
        f" {state:<10} | {rng.getrandbits(15):>8} | {rng.getrandbits(22) / 100:>12.2f}"
        for state in ("pending", "settled", "failed", "queued", "held")[: between(rng, 3, 5)]
    ]
    head = f" {'state':<10} | {'count':>8} | {'amount':>12}\n{'-' * 12}+{'-' * 10}+{'-' * 14}"
    sql = f"select state, count(*), sum(amount) from {project.table} group by 1"  # noqa: S608
    output = "\n".join([head, *rows, f"({len(rows)} rows)"])
    return Step(tool="bash", arguments={"command": f'psql -c "{sql}"'}, output=output)


def _plan(project: Project, rng: Random) -> Step:
    nouns = [pick(rng, project.nouns) for _ in range(between(rng, 2, 6))]
    parts = [
        f"  # cloud_{noun}.main will be updated in-place\n"
        f'  ~ resource "cloud_{noun}" "main" {{\n'
        f'        id   = "{noun}-{rng.getrandbits(24):06x}"\n'
        f"      ~ size = {between(rng, 1, 4)} -> {between(rng, 5, 9)}\n    }}"
        for noun in nouns
    ]
    end = f"\nPlan: 0 to add, {len(nouns)} to change, 0 to destroy."
    return Step(
        tool="bash", arguments={"command": "terraform plan"}, output="\n\n".join(parts) + end
    )


def _pods(project: Project, rng: Random) -> Step:
    names = ("ledger-api", "storefront-web", "pipeline-worker", *project.services)
    rows = [
        f"{pick(rng, names)}-{rng.getrandbits(32):08x}   1/1   Running   {below(rng, 3)}"
        f"   {between(rng, 1, 40)}d"
        for _ in range(between(rng, 6, 20))
    ]
    head = "NAME                          READY STATUS    RESTARTS AGE"
    command = f"kubectl get pods -n {pick(rng, ('shop', 'payments', 'data', 'ingress'))}"
    return Step(tool="bash", arguments={"command": command}, output="\n".join([head, *rows]))


Maker = tuple[str, Callable[[Project, Random], Step]]
_CODE: tuple[Maker, ...] = (
    *[("read", _read)] * 3,
    *[("grep", _grep)] * 2,
    *[("tests", _tests)] * 2,
    ("history", _history),
    ("logs", _logs),
    ("query", _query),
)
_PLATFORM: tuple[Maker, ...] = (
    *[("read", _read)] * 2,
    ("grep", _grep),
    *[("plan", _plan)] * 2,
    *[("pods", _pods)] * 2,
    ("logs", _logs),
    ("history", _history),
)
