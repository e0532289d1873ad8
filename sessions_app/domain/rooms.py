"""The rooms of the house and the keys that work in them: one table for the navigation, the palette
and the sheet of keys.

A key acts on the element of the page that has it as `data-key`, or in the script that is named. A
test holds templates and scripts against this table.
"""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A page that stands in the navigation, the palette, or both."""

    view: str
    label: str
    icon: str
    # Which app or page is current when this entry is; empty: only the palette knows it.
    section: str = ""
    key: str = ""
    # The name in the context of a number that asks for attention.
    number: str = ""
    # What else people call it.
    words: str = ""


ROOMS = (
    Room(
        section="sessions",
        view="sessions:list",
        label="Sessions",
        icon="scroll-text",
        key="g s",
        words="home list logs transcripts",
    ),
    Room(
        section="search",
        view="search:page",
        label="Search",
        icon="search",
        key="g f",
        words="find words text regular expression",
    ),
    Room(
        section="usage",
        view="usage:page",
        label="Usage",
        icon="hash",
        key="g u",
        words="tokens cost money spending",
    ),
    Room(
        section="projects",
        view="projects:list",
        label="Projects",
        icon="braces",
        key="g p",
        words="repositories folders",
    ),
    Room(section="agents", view="agents:list", label="Agents", icon="bot", key="g a"),
    Room(section="tools", view="tools:list", label="Tools", icon="wrench", key="g t"),
    Room(section="jobs", view="jobs:list", label="Jobs", icon="list-checks", key="g j"),
    Room(
        section="roots",
        view="roots:list",
        label="Sources",
        icon="folder",
        key="g o",
        number="alerts",
        words="folders watched findings",
    ),
    Room(
        section="machines",
        view="machines:list",
        label="Machines",
        icon="monitor",
        key="g h",
        words="tokens shipper hosts",
    ),
    Room(
        section="members",
        view="people:members",
        label="Members",
        icon="users",
        key="g m",
        words="people roles team",
    ),
    Room(
        view="roots:reconcile",
        label="Compare sources with the record",
        icon="shield-check",
        words="reconcile missing",
    ),
    Room(
        view="sessions:exports",
        label="Export sessions",
        icon="download",
        words="download html markdown csv jsonl",
    ),
    Room(
        view="people:profile",
        label="Profile",
        icon="user",
        words="settings password theme shortcuts name",
    ),
)


class Place(StrEnum):
    EVERYWHERE = "Everywhere"
    LIST = "List"
    TRANSCRIPT = "Transcript"
    TIMELINE = "Timeline"
    RAW = "Raw line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """`keys` that belong together are told together: a pair moves both ways."""

    keys: tuple[str, ...]
    words: str
    place: Place = Place.EVERYWHERE
    # The file in static/js that acts on it, where no element of a page has it as `data-key`.
    by: str = ""


# Browsers know these without being told.
NATIVE = frozenset({"Enter", "Esc"})


KEYS = (
    Key(keys=("Ctrl+K",), words="Search or go to anything; ⌘ K on a Mac"),
    *(Key(keys=(room.key,), words=f"Go to the {room.label.lower()}") for room in ROOMS if room.key),
    Key(keys=("?",), words="This sheet", by="keys.js"),
    Key(keys=("Esc",), words="Close what is open"),
    Key(keys=("j", "k"), words="Next and previous row", place=Place.LIST, by="keys.js"),
    Key(keys=("Enter", "o"), words="Open the row", place=Place.LIST, by="keys.js"),
    Key(keys=("/",), words="To the field that filters and searches", place=Place.LIST),
    Key(
        keys=("x", "X"),
        words="Select the row, or all rows up to it",
        place=Place.LIST,
        by="session-rows.js",
    ),
    Key(keys=("j", "k"), words="Next and previous event", place=Place.TRANSCRIPT, by="keys.js"),
    *(
        Key(keys=keys, words=words, place=Place.TRANSCRIPT, by="log-tools.js")
        for keys, words in (
            (("J", "K"), "Next and previous prompt"),
            (("e", "E"), "Next and previous error"),
            (("l",), "Another density"),
            (("t",), "Open and fold the thinking"),
        )
    ),
    Key(keys=("/",), words="Find in this session", place=Place.TRANSCRIPT),
    Key(keys=("n", "N"), words="Next and previous hit", place=Place.TRANSCRIPT),
    Key(keys=("[", "]"), words="Newer and older session of the list", place=Place.TRANSCRIPT),
    Key(keys=("u",), words="Back to the list, where you were", place=Place.TRANSCRIPT),
    *(
        Key(keys=keys, words=words, place=Place.TIMELINE)
        for keys, words in (
            (("w", "s"), "Zoom in and out"),
            (("a", "d"), "Earlier and later"),
            (("f",), "Show the selection, or all"),
            ((",", "."), "Previous and next event of the lane"),
        )
    ),
    Key(keys=("j", "k"), words="Next and previous line", place=Place.RAW),
)


def sheet() -> list[tuple[Place, list[Key]]]:
    """By place, and only places that have keys."""
    grouped = [(place, [key for key in KEYS if key.place is place]) for place in Place]
    return [(place, keys) for place, keys in grouped if keys]
