"""By what sessions are told apart in a list: names that a panel can show, and marks."""

import re
from enum import IntEnum

MOST_WORDS = 30


class Facet(IntEnum):
    """A kind of name. Numbers are a stored format: never renumber."""

    AGENT = 1
    PROJECT = 2
    MACHINE = 3
    MODEL = 4
    TOOL = 5
    BRANCH = 6
    FORMAT = 7
    USER = 8

    @property
    def key(self) -> str:
        """What a query calls it."""
        return self.name.lower()


BY_KEY = {facet.key: facet for facet in Facet}

_WORD = re.compile(r"\w+")


def words(title: str) -> list[str]:
    """The words of a title, each once, as they are compared."""
    return list(dict.fromkeys(_WORD.findall(title.casefold())))[:MOST_WORDS]
