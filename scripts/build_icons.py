"""Builds static/icons/sprite.svg from an unpacked lucide-static package.

Usage: python scripts/build_icons.py PACKAGE_DIR [OUTPUT]
"""

import re
import sys
from pathlib import Path

ICONS = """
archive arrow-down arrow-left arrow-right binary bot braces brain check chevron-down chevron-left
chevron-right chevron-up chevrons-up-down circle-alert circle-check circle-stop circle-x clock
copy database download eye-off file-text folder git-fork hash house image inbox info key-round
keyboard link list-checks lock log-in log-out message-square monitor moon pin plus refresh-cw
scroll-text search settings shield-alert shield-check sparkles sun terminal trash-2
triangle-alert upload user user-plus users wrench x
"""

# The mark of Recount: a tally of five, drawn for this project.
MARK = '<path d="M5 4v16M10 4v16M15 4v16M20 4v16M2 17 23 7"/>'

STROKE = (
    'viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" '
    'stroke-linecap="round" stroke-linejoin="round"'
)
SHAPE = re.compile(r"<(?:path|circle|rect|line|polyline|polygon|ellipse)\b[^>]*/>")
SAFE = re.compile(r'[\w<>/="\s.,#-]+')


def shapes(source: str) -> str:
    """Only drawing elements survive, so a changed package cannot smuggle in anything else."""
    found = "".join(
        re.sub(r"\s+", " ", shape).replace(" />", "/>") for shape in SHAPE.findall(source)
    )
    if not found or not SAFE.fullmatch(found):
        raise SystemExit("unexpected content in an icon")
    return found


def symbol(name: str, drawing: str) -> str:
    return f'<symbol id="{name}" {STROKE}>{drawing}</symbol>'


def sprite(package: Path) -> str:
    symbols = [symbol("recount", MARK)]
    symbols += [
        symbol(n, shapes((package / "icons" / f"{n}.svg").read_text())) for n in ICONS.split()
    ]
    body = "\n".join(symbols)
    return f'<svg xmlns="http://www.w3.org/2000/svg">\n{body}\n</svg>\n'


def main() -> None:
    package = Path(sys.argv[1])
    root = Path(__file__).resolve().parent.parent
    output = Path(sys.argv[2]) if len(sys.argv) > 2 else root / "static/icons/sprite.svg"
    output.write_text(sprite(package))


if __name__ == "__main__":
    main()
