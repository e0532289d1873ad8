"""Compare what is on disk with what is in the record."""

import os
import sys
from pathlib import Path
from typing import Any

from django.utils import timezone

from sessions_app.ingest import reconcile
from sessions_app.ingest.reconcile import Compared
from sessions_app.management import console
from sessions_app.models.arrivals import FindingKind
from sessions_app.store import findings
from sessions_app.store.findings import FindingRow


class Command(console.Command):
    help = "Compare every watched source with the record. Exit code 1 if something is not ingested."

    def work(self, options: dict[str, Any]) -> None:
        now = timezone.now()
        tables = reconcile.everything(os.environ, Path.home(), now=now)
        unwatched = reconcile.unwatched(os.environ, Path.home())
        conflicts = findings.in_every_workspace(FindingKind.CONFLICT)
        if options["json"]:
            self.give(
                {
                    "at": now.isoformat(),
                    "roots": [_summary(table) for table in tables],
                    "unwatched": [{"agent": each.agent, "path": each.path} for each in unwatched],
                    "conflicts": [_conflict(row) for row in conflicts],
                }
            )
        else:
            for table in tables:
                self._tell(table)
            if not tables:
                self.say("Nothing is watched: add a source on the Sources page.")
            for each in unwatched:
                self.say(f"Not watched: {each.path} of {each.agent}")
            for row in conflicts:
                self.say(f"{row.label}: {row.path}\n  {row.message}")
        if not all(table.is_complete for table in tables):
            sys.exit(1)

    def _tell(self, table: Compared) -> None:
        self.say(f"{table.path}{'' if table.is_on else ' (switched off)'}")
        for _, label, number in table.cells:
            if number:
                self.say(f"  {label:<36} {number:>8,}")
        for file in table.files:
            if file.states & {*reconcile.NOT_ALL_IN, "endangered"}:
                self.say(f"  not all ingested: {file.path} {file.note}")


def _summary(table: Compared) -> dict[str, object]:
    return {
        "root": table.root_id,
        "path": table.path,
        "complete": table.is_complete,
        "bytes_behind": table.behind,
        "malformed_lines": table.malformed_lines,
        **table.counts,
    }


def _conflict(row: FindingRow) -> dict[str, object]:
    return {"session": row.session, "path": row.path, "message": row.message}
