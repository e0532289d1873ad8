#!/usr/bin/env python
"""Django's command line; commands that need the database find it running or start it."""

import json
import os
import sys

from config.database import BadDatabaseUrl
from config.env import MissingSetting
from runtime import attach
from runtime.errors import Trouble


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        if attach.wanted(sys.argv[1:]):
            attach.ensure()
    except Trouble as error:
        _give_up(error)

    # Imported late: an embedded database that does not start needs no Django to say so.
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except (MissingSetting, BadDatabaseUrl) as error:
        _give_up(error)


def _give_up(error: Exception) -> None:
    if "--json" in sys.argv:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
    sys.exit(str(error))


if __name__ == "__main__":
    main()
