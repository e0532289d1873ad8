"""The tree inside a log, for the formats that keep one: the id of a record and the one it follows;
and versions of one record, for the formats that write it again.

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
# Formats that write a record again in full whenever it changes, and the field that names it.
VERSIONS = {"gemini-log": "id"}
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


def version_of(fmt: str, line: bytes) -> str:
    """The name that all versions of a record share. Never raises; empty where there are none."""
    if fmt not in VERSIONS:
        return ""
    record = json_lines.parse(line)
    name = record.get(VERSIONS[fmt]) if isinstance(record, dict) and "type" in record else None
    return name[:LONGEST_ID] if isinstance(name, str) else ""
