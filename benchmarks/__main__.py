"""`make bench`: figures beside their limits, printed and written to benchmarks/latest.json.

With DATABASE_URL set the figures are taken on that server, which must hold nothing else; else on
an embedded Postgres of their own with fsync on.
"""

import argparse
import contextlib
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import Figure, table

LATEST = Path(__file__).parent / "latest.json"
BENCHES = ("ingest", "resync", "memory", "watch", "live", "listing", "session", "search")


def main() -> int:
    wanted = _arguments()
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="recount-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        _environment(stack, folder)

        # Django reads its settings on import, so they must be complete by now.
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        kept = [_judged(name, run(folder)) for name, run in _chosen(wanted).items()]
    return 0 if all(kept) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--only", type=_names, default=list(BENCHES), help=f"some of {','.join(BENCHES)}"
    )
    parser.add_argument("--mb", type=_sizes, default=[300, 3000], help="sizes of the corpus")
    parser.add_argument("--peers", action="store_true", help="compare with agentsview")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(BENCHES):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}")
    return names


def _sizes(text: str) -> list[int]:
    return [int(size) for size in text.split(",")]


def _chosen(wanted: argparse.Namespace) -> dict[str, Callable[[Path], list[Figure]]]:
    from benchmarks import ingest, listing, live, memory, resync, search, session, watch

    known: dict[str, Callable[[Path], list[Figure]]] = {
        "ingest": lambda folder: ingest.run(folder, sizes=wanted.mb, with_peers=wanted.peers),
        "resync": resync.run,
        "memory": memory.run,
        "watch": watch.run,
        "live": live.run,
        "session": session.run,
        "listing": listing.run,
        "search": lambda folder: search.run(folder, sizes=wanted.mb, with_peers=wanted.peers),
    }
    return {name: known[name] for name in wanted.only}


def _environment(stack: contextlib.ExitStack, folder: Path) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["RECOUNT_HOME"] = str(folder / "home")
    os.environ.setdefault("RECOUNT_LOG_LEVEL", "WARNING")
    if not os.environ.get("DATABASE_URL"):
        from runtime import postgres

        os.environ["DATABASE_URL"] = stack.enter_context(postgres.temporary(fsync=True))


def _judged(name: str, figures: list[Figure]) -> bool:
    print(table(figures), flush=True)
    report = json.loads(LATEST.read_text()) if LATEST.exists() else {}
    report[name] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "figures": [figure.as_json() for figure in figures],
    }
    LATEST.write_text(json.dumps(report, indent=2) + "\n")
    return all(figure.is_kept for figure in figures)


if __name__ == "__main__":
    sys.exit(main())
