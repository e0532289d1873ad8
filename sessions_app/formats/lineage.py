"""The tree inside a log, for the formats that keep one: the id of a record and the one it follows.

No format of its own.
"""

from sessions_app.formats import json_lines

# By the name of the format: the fields, and whether only a prompt can begin a branch. Where several
# calls are made at once, their answers are children of one record without any going back.
TREES = {
    "claude-code": ("uuid", "parentUuid", True),
    "pi": ("id", "parentId", False),
    "openclaw": ("id", "parentId", False),
}
LONGEST_ID = 100


def has_tree(fmt: str) -> bool:
    return fmt in TREES


def begins_with_prompt(fmt: str) -> bool:
    return TREES[fmt][2]


def of(fmt: str, line: bytes) -> tuple[str, str] | None:
    """Never raises; None for a line that has no place in the tree."""
    own, parent, _ = TREES[fmt]
    record = json_lines.parse(line)
    if not isinstance(record, dict):
        return None
    ids = [record.get(name) for name in (own, parent)]
    if not isinstance(ids[0], str) or not ids[0] or record.get("isSidechain") is True:
        return None
    return ids[0][:LONGEST_ID], ids[1][:LONGEST_ID] if isinstance(ids[1], str) else ""
