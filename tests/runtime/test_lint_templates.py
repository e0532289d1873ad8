"""What the template lint finds and what it lets pass."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.house import PROJECT

LINT: dict[str, Any] = runpy.run_path(str(PROJECT / "scripts" / "lint_templates.py"))


@pytest.mark.parametrize(
    "text",
    [
        '<p style="color: red">',
        "<p\n  style='color: red'>",
        "<style>p {}</style>",
        '<a hx-on:click="go()">',
        '<a hx-on--after-request="go()">',
        '<button onclick="go()">',
        "<body onload='go()'>",
        '<a href="javascript:go()">',
        "<a hx-vals='js:{now: Date.now()}'>",
        "<script>go()</script>",
        '<script type="module">go()</script>',
        "<div hx-trigger=\"keyup[key=='Enter']\">",
        "{{ text|safe }}",
        "{{ text | safe }}",
        "{% autoescape off %}",
    ],
)
def test_what_the_policy_forbids_is_found(text: str) -> None:
    assert LINT["in_template"](text)


@pytest.mark.parametrize(
    "text",
    [
        '<p class="style">how to style="this" is told in prose</p>',
        '<script src="/static/js/app.js" defer></script>',
        '<script type="module" src="{% static "js/app.js" %}"></script>',
        '<div hx-trigger="keyup changed delay:200ms">',
        '<div hx-get="{% url "jobs:rows" %}" hx-trigger="every 2s">',
        '{# <p style="x"> #}',
        "{% comment %}<script>go()</script>{% endcomment %}",
        "{{ text|safe_name }}",
        '<option value="on">',
    ],
)
def test_what_is_allowed_is_left_alone(text: str) -> None:
    assert LINT["in_template"](text) == []


def test_a_finding_names_file_line_and_advice(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "a.html").write_text("{#\n#}\n<p>\n{{ text|safe }}\n")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "a.py").write_text("x = mark_safe(text)\ny = mark_safe('<b>')\n")
    first, second = LINT["in_project"](tmp_path)
    assert first.startswith("templates/a.html:4: no |safe")
    assert second.startswith("config/a.py:1: no mark_safe")


def test_files_that_may_mark_text_safe_exist() -> None:
    assert [name for name in LINT["MAY_MARK_SAFE"] if not (PROJECT / name).is_file()] == []
