"""Search from a terminal: the same results as the page and the API."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.utils import timezone

from sessions_app.domain import searchquery
from sessions_app.domain.errors import BadInput
from sessions_app.management import console
from sessions_app.store import answers, search, told
from sessions_app.store.search import Found, Hit, Results


class Command(console.Command):
    help = "Find events by words, phrases and filters, grouped by session, the newest first."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("query", help='like: "connection refused" tool:Bash -test')
        parser.add_argument("--workspace", default="", metavar="NAME", help="name or id")
        parser.add_argument("--limit", type=int, default=search.PAGE, help="sessions to show")
        parser.add_argument("--after", default="", metavar="CURSOR", help="go on from here")

    def work(self, options: dict[str, Any]) -> None:
        if options["limit"] < 1:
            raise BadInput("--limit is at least 1")
        place = console.workspace_named(options["workspace"])
        query = searchquery.parse(options["query"].replace("\0", " "))
        found = self._all(place.id, query, options)
        if options["json"]:
            self.give(told.results(found, query))
            return
        for each in query.bad:
            self.say(f"{each.text}: {each.message}")
        for session in found.found:
            self._show(session)
        self._tell(found)

    def _all(
        self, workspace_id: UUID, query: searchquery.Query, options: dict[str, Any]
    ) -> Results:
        """One page may end at its limits before it is full: here nobody waits for a page."""
        found: tuple[Found, ...] = ()
        cursor = options["after"]
        while True:
            page = answers.page(
                workspace_id,
                query,
                now=timezone.now(),
                cursor=cursor,
                size=options["limit"] - len(found),
            )
            found += page.found
            if page.older is None or len(found) >= options["limit"]:
                return replace(page, found=found)
            cursor = page.older

    def _show(self, found: Found) -> None:
        row = found.session
        self.say(f"{row.title}  [{row.project or '-'}, {row.agent}, {row.id}]")
        for hit in found.hits:
            self.say(f"  {hit.seq:>7}  {_where(hit)}  {''.join(p.text for p in hit.pieces)}")
        if found.more:
            self.say(f"           {'' if found.is_all else 'at least '}{found.more} more")

    def _tell(self, found: Results) -> None:
        if not found.found:
            self.say("Nothing found.")
        for each in found.shortened:
            self.say(f"{each}* begins many words: only the shortest were looked for")
        if found.older:
            self.say(f"More: --after {found.older}")


def _where(hit: Hit) -> str:
    return " ".join(filter(None, (hit.role, hit.tool, "error" * hit.is_error)))
