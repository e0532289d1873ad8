#!/bin/sh
# Fetches the vendored packages again, rebuilds what is built from them, and compares the
# sha384 of every result with the VENDOR.toml files. Developers only; needs npm and node.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-"$root/.venv/bin/python"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() { # package version: unpacks into $work/package
    mkdir "$work/$1"
    (cd "$work/$1" && npm pack --silent "$1@$2" >/dev/null && tar xzf ./*.tgz)
}

version() { # VENDOR.toml name
    "$python" - "$1" "$2" <<'PY'
import sys, tomllib
with open(sys.argv[1], "rb") as file:
    print(next(e["version"] for e in tomllib.load(file)["vendored"] if e["package"] == sys.argv[2]))
PY
}

fetch lucide-static "$(version "$root/static/vendor/VENDOR.toml" lucide-static)"
"$python" "$root/scripts/build_icons.py" "$work/lucide-static/package" "$root/static/icons/sprite.svg"
cp "$work/lucide-static/package/LICENSE" "$root/static/vendor/lucide-LICENSE.txt"

plot=$(version "$root/static/vendor/VENDOR.toml" uplot)
fetch uplot "$plot"
cp "$work/uplot/package/dist/uPlot.iife.min.js" "$root/static/vendor/uplot-$plot.min.js"
cp "$work/uplot/package/dist/uPlot.min.css" "$root/static/vendor/uplot-$plot.min.css"
cp "$work/uplot/package/LICENSE" "$root/static/vendor/uplot-LICENSE.txt"

fetch axe-core "$(version "$root/tests/vendor/VENDOR.toml" axe-core)"
cp "$work/axe-core/package/axe.min.js" "$root/tests/vendor/axe.min.js"
cp "$work/axe-core/package/LICENSE" "$root/tests/vendor/axe-LICENSE.txt"

"$python" -m pytest -q "$root/tests/web/test_templates_vendored.py"
