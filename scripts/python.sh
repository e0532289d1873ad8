#!/bin/sh
# Prints the newest Python on PATH that Recount runs on (3.11 to 3.14), able to make a venv. Of
# several of one name an optimised build goes first: it reads logs a sixth faster.
# RECOUNT_PYTHON names one and skips the search.
set -u

suits() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
        >/dev/null 2>&1
}

# A distribution optimises its own build, whatever it says of it.
is_optimised() {
    "$1" -c 'import sys, sysconfig as s; sys.exit(sys.base_prefix != "/usr" and
        "--enable-optimizations" not in (s.get_config_var("CONFIG_ARGS") or ""))' >/dev/null 2>&1
}

# Of the programs of that name on PATH the first optimised one that suits, or else the first.
best() (
    first=
    IFS=:
    for folder in $PATH; do
        if [ -x "$folder/$1" ] && suits "$folder/$1"; then
            is_optimised "$folder/$1" && echo "$folder/$1" && exit
            first=${first:-$folder/$1}
        fi
    done
    echo "$first"
)

if [ -n "${RECOUNT_PYTHON:-}" ] && suits "$RECOUNT_PYTHON"; then
    command -v "$RECOUNT_PYTHON"
    exit 0
fi
for name in python3.14 python3.13 python3.12 python3.11 python3 python; do
    found=$(best "$name")
    if [ -n "$found" ]; then
        echo "$found"
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
