"""Writes static/css/syntax.css: Pygments token colours, xcode by day and github-dark by night."""

from pathlib import Path

from pygments.styles import get_style_by_name
from pygments.token import STANDARD_TYPES, Token, _TokenType

LIGHT, DARK = get_style_by_name("xcode"), get_style_by_name("github-dark")
HEADER = "/* Written by scripts/build_syntax.py. */\n@layer syntax {\n"


def colours(token: _TokenType) -> tuple[str, str]:
    return LIGHT.style_for_token(token)["color"] or "", DARK.style_for_token(token)["color"] or ""


def rules() -> dict[str, list[str]]:
    """Selectors by declaration, so that tokens of one colour share a rule."""
    plain = colours(Token)
    found: dict[str, list[str]] = {}
    for token, name in STANDARD_TYPES.items():
        pair = colours(token)
        if not name or pair == plain or name == "w":
            continue
        light, dark = (f"#{colour}" if colour else "var(--text)" for colour in pair)
        found.setdefault(f"color: light-dark({light}, {dark})", []).append(f".t-{name}")
    return found


def main() -> None:
    body = "".join(f"  {', '.join(names)} {{ {rule}; }}\n" for rule, names in rules().items())
    output = Path(__file__).resolve().parent.parent / "static/css/syntax.css"
    output.write_text(f"{HEADER}{body}}}\n")


if __name__ == "__main__":
    main()
