"""`make bench`: figures as ratios taken in one run, printed and written to benchmarks/latest.json.

Option: --mb N (size of the corpus, default 300). With DATABASE_URL set the figures are taken on
that server, else on an embedded Postgres of their own with fsync on.
"""

import argparse
import contextlib
import json
import os
import platform
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import Figure, table


def main() -> int:
    wanted = _arguments()
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="recount-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        _environment(stack, folder)

        # Django reads its settings on import, so they must be complete by now.
        import django

        django.setup()
        from benchmarks import append

        figures = append.run(folder / "corpus", megabytes=wanted.mb)
    print(table(figures))
    _written(figures, wanted.mb)
    return 0 if all(figure.is_kept for figure in figures) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--mb", type=int, default=300)
    return parser.parse_args()


def _environment(stack: contextlib.ExitStack, folder: Path) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["RECOUNT_HOME"] = str(folder / "home")
    os.environ.setdefault("RECOUNT_LOG_LEVEL", "WARNING")
    if not os.environ.get("DATABASE_URL"):
        from runtime import postgres

        os.environ["DATABASE_URL"] = stack.enter_context(postgres.temporary(fsync=True))


def _written(figures: list[Figure], megabytes: int) -> None:
    target = Path(__file__).parent / "latest.json"
    report = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "corpus_mb": megabytes,
        "figures": [figure.as_json() for figure in figures],
    }
    target.write_text(json.dumps(report, indent=2) + "\n")
    print("written to benchmarks/latest.json")


if __name__ == "__main__":
    sys.exit(main())
