#!/usr/bin/env python
"""Django's command line; commands that need the database find it running or start it."""

import os
import sys

from runtime import attach
from runtime.errors import Trouble


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        if attach.wanted(sys.argv[1:]):
            attach.ensure()
    except Trouble as error:
        sys.exit(str(error))

    # Imported late: an embedded database that does not start needs no Django to say so.
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
