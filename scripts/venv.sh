#!/bin/sh
# Makes .venv match a lock file. Usage: scripts/venv.sh requirements.txt
set -eu
cd "$(dirname "$0")/.."

# A venv that still runs is kept with its own Python; a broken one needs a new Python to be made.
if .venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
    exec .venv/bin/python scripts/venv.py "$1"
fi
python=$(sh scripts/python.sh)
exec "$python" scripts/venv.py "$1"
