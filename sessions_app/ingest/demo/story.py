"""One demo session: who, where, when and the screenplay; and the clock that runs through it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from sessions_app.ingest.demo import beats
from sessions_app.ingest.demo.cast import Person, Project
from sessions_app.ingest.demo.chance import between, seeded, uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    title: str
    agent: str
    person: Person
    project: Project
    day: int
    at: str
    script: str
    model: str = "claude-sonnet-4-5"
    branch: str = "main"
    fork_of: str = ""
    helper_of: str = ""
    version: int = 3
    bare: bool = False
    cut: bool = False

    @property
    def seed(self) -> str:
        """A fork draws the same chances as its origin, so that their beginnings are equal."""
        return self.fork_of or self.title

    @property
    def session(self) -> str:
        return session_id(self.helper_of or self.title)

    @property
    def folder(self) -> str:
        return f"{self.person.home}/src/{self.project.name}"

    def beats(self) -> Iterator[beats.Beat]:
        return beats.parse(self.script, self.project, seeded(f"{self.seed}: work"))

    def ids(self) -> Random:
        return seeded(f"{self.seed}: ids")

    def clock(self, now: datetime) -> "Clock":
        return Clock(moment(now, self.day, self.at), seeded(f"{self.seed}: clock"))


class Clock:
    def __init__(self, start: datetime, rng: Random) -> None:
        self.now = start
        self._rng = rng

    def after(self, low: int, high: int) -> str:
        """Lets some seconds pass and tells the time."""
        self.now += timedelta(milliseconds=between(self._rng, low * 1000, high * 1000))
        return self.stamp

    def skip(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @property
    def stamp(self) -> str:
        return self.now.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"

    @property
    def epoch_ms(self) -> int:
        return int(self.now.timestamp() * 1000)


def moment(now: datetime, day: int, at: str) -> datetime:
    """`at` o'clock on a day before now's day; on day 0, that long before now."""
    hour, minute = map(int, at.split(":"))
    if day == 0:
        return now - timedelta(hours=hour, minutes=minute)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=day) + timedelta(hours=hour, minutes=minute)


def session_id(title: str) -> str:
    return uuid(seeded(f"{title}: session"))


def agent_id(title: str) -> str:
    return f"a{seeded(f'{title}: agent').getrandbits(64):016x}"
