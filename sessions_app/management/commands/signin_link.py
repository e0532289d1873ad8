"""A link that signs somebody in once."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.urls import reverse
from django.utils import timezone

from sessions_app.actions import people
from sessions_app.domain.errors import NotFound
from sessions_app.management import console
from sessions_app.models import User


class Command(console.Command):
    help = "Print a single-use sign-in link, for the first admin or for --user."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--user", default="", help="user name; the first admin without it")

    def work(self, options: dict[str, Any]) -> None:
        user = _user(options["user"])
        now = timezone.now()
        token = people.new_link(user, now=now, lifetime=people.START_LINK)
        url = settings.BASE_URL + reverse("people:enter", args=[token])
        if options["json"]:
            until = now + people.START_LINK
            self.give({"url": url, "user": user.username, "expires_at": until.isoformat()})
        else:
            self.say(url)


def _user(name: str) -> User:
    if not name:
        return people.found_house()
    found = User.objects.filter(username=name, is_active=True).first()
    if found is None:
        raise NotFound(f"no active user “{name}”")
    return found
