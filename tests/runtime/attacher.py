"""Uses the database of a home until its input ends: prints the address, and the answer to SQL."""

import sys

import psycopg

from runtime import attach
from runtime.errors import Trouble


def main() -> None:
    try:
        address = attach.ensure()
    except Trouble as error:
        sys.exit(str(error))
    print(address, flush=True)
    for statement in sys.stdin:
        with psycopg.connect(address) as connection:
            cursor = connection.execute(statement.encode())
            print(cursor.fetchall() if cursor.description else "done", flush=True)


if __name__ == "__main__":
    main()
