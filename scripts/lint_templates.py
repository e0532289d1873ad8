"""Finds in templates and tags what the content policy would block or what skips escaping."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
# Files that may turn text into markup by hand: they escape what they are given and have tests.
MAY_MARK_SAFE = frozenset(
    {
        "sessions_app/templatetags/rendering.py",
        "sessions_app/templatetags/show.py",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    pattern: re.Pattern[str]
    advice: str


def rule(pattern: str, advice: str) -> Rule:
    return Rule(pattern=re.compile(pattern, re.IGNORECASE | re.DOTALL), advice=advice)


TEMPLATE_RULES = (
    rule(r"""<[^<>]*?\sstyle\s*=""", "no style attribute: use a class"),
    rule(r"<style\b", "no style element: put it into static/css"),
    rule(r"""\shx-on[:\-\w]*\s*=""", "no hx-on: listen in static/js"),
    rule(r"""\son[a-z]+\s*=\s*["'{]""", "no on… handler: listen in static/js"),
    rule(r"""=\s*["']\s*(?:js|javascript):""", "no js: value: the policy forbids eval"),
    rule(r"<script\b(?![^>]*\ssrc\s*=)", "no inline script: load a file of static/js"),
    rule(r"""\shx-trigger\s*=\s*(?:"[^"]*\[|'[^']*\[)""", "no filter in hx-trigger: it needs eval"),
    rule(r"\|\s*safe(?:seq)?\b", "no |safe: return safe markup from a tested tag"),
    rule(r"\{%\s*autoescape\s+off", "no autoescape off"),
)
PYTHON_RULES = (
    rule(
        # A literal is as safe as the template it could have stood in.
        r"""\b(?:mark_safe|SafeString)\s*\((?!\s*(?:"[^"]*"|'[^']*')\s*\))""",
        "no mark_safe here: use format_html or a tested tag",
    ),
)
COMMENTS = re.compile(r"\{#.*?#\}|\{%\s*comment\b.*?\{%\s*endcomment\s*%\}|<!--.*?-->", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    line: int
    text: str
    advice: str


def in_template(text: str) -> list[Finding]:
    return list(_find(COMMENTS.sub(_blank, text), TEMPLATE_RULES))


def in_python(text: str) -> list[Finding]:
    return list(_find(text, PYTHON_RULES))


def _blank(comment: re.Match[str]) -> str:
    """Keep the line breaks, so that the numbers of the lines below stay right."""
    return "\n" * comment[0].count("\n")


def _find(text: str, rules: tuple[Rule, ...]) -> Iterator[Finding]:
    for each in rules:
        for match in each.pattern.finditer(text):
            shown = " ".join(match[0].split())[:60]
            line = text.count("\n", 0, match.end()) + 1
            yield Finding(line=line, text=shown, advice=each.advice)


def in_project(project: Path) -> Iterator[str]:
    """Return one `file:line: advice` per finding."""
    for path in sorted(project.glob("templates/**/*.html")):
        yield from _said(project, path, in_template(path.read_text(encoding="utf-8")))
    for folder in ("config", "retention", "sessions_app"):
        for path in sorted(project.glob(f"{folder}/**/*.py")):
            if str(path.relative_to(project)) not in MAY_MARK_SAFE:
                yield from _said(project, path, in_python(path.read_text(encoding="utf-8")))


def _said(project: Path, path: Path, findings: list[Finding]) -> Iterator[str]:
    for each in findings:
        yield f"{path.relative_to(project)}:{each.line}: {each.advice} ({each.text})"


def main() -> int:
    findings = list(in_project(PROJECT))
    print("\n".join(findings) or "Templates keep the rules.")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
