#!/bin/sh
# Prints the newest Python on PATH that Recount runs on (3.11 to 3.14), able to make a venv.
# RECOUNT_PYTHON names one and skips the search.
set -u

suits() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
        >/dev/null 2>&1
}

for name in "${RECOUNT_PYTHON:-}" python3.14 python3.13 python3.12 python3.11 python3 python; do
    if [ -n "$name" ] && suits "$name"; then
        command -v "$name"
        exit 0
    fi
done

found=$(python3 --version 2>&1 || echo 'no python3')
cat >&2 <<END
Recount needs Python 3.11, 3.12, 3.13 or 3.14 with its venv module; found: $found.
  Debian, Ubuntu:  apt-get install python3 python3-venv
  Fedora:          dnf install python3
  macOS:           brew install python
Then run make again. RECOUNT_PYTHON=/path/to/python names one that is not on PATH.
END
exit 1
