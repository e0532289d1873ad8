"""Components: what they write, and the rules every template keeps."""

import gzip
import re
from pathlib import Path

import pytest
from django import forms
from django.template import Context, Template
from django.template.loader import get_template
from django.test import override_settings

from sessions_app.templatetags import charts, samples, ui

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted((ROOT / "templates").rglob("*.html"))
BANNED = {
    "inline style": r"\sstyle\s*=",
    "inline handler": r"\son[a-z]+\s*=",
    "hx-on": r"\bhx-on\b",
    "evaluated values": r"[\"']js:",
    "trigger filter": r"hx-trigger=\"[^\"]*\[",
    "inline script": r"<script(?![^>]*\ssrc=)",
    "style element": r"<style\b",
    "address of another host": r"(?:src|href)=\"(?:https?:)?//",
    "unescaped value": r"\|\s*safe\b|autoescape\s+off",
}


def render(source: str, **context: object) -> str:
    return Template("{% load charts show ui %}" + source).render(Context(context))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "templates")))
def test_a_template_keeps_the_strict_policy(page: Path) -> None:
    text = page.read_text()
    assert {rule for rule, pattern in BANNED.items() if re.search(pattern, text)} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "templates")))
def test_a_template_compiles(page: Path) -> None:
    get_template(str(page.relative_to(ROOT / "templates")))


def _scripts(text: str) -> list[str]:
    return re.findall(r"js/[\w-]+\.js", text)


EVERYWHERE = _scripts((ROOT / "templates/base.html").read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "templates")))
def test_no_page_loads_more_than_14_kb_of_scripts_as_they_are_sent(page: Path) -> None:
    loaded = {*EVERYWHERE, *_scripts(page.read_text())}
    sizes = [len(gzip.compress((ROOT / "static" / name).read_bytes())) for name in loaded]
    assert sum(sizes) < 14_000


def test_scripts_import_nothing_and_evaluate_nothing() -> None:
    for script in (ROOT / "static/js").glob("*.js"):
        assert not re.search(r"^\s*import\b|\beval\(", script.read_text(), re.M), script.name


def test_a_status_is_a_word_and_not_only_a_colour() -> None:
    assert render('{% status "failed" %}') == '<span class="status is-err">Failed</span>'
    assert render('{% status "never heard of" %}').endswith(">Never heard of</span>")


def test_a_badge_shows_hidden_characters_and_escapes() -> None:
    shown = render("{% badge text %}", text="<b>\u202e")
    assert "&lt;b&gt;" in shown
    assert "U+202E" in shown


def test_an_icon_is_hidden_from_assistive_tools_unless_it_has_a_label() -> None:
    assert 'aria-hidden="true"' in render('{% icon "x" %}')
    assert 'role="img" aria-label="Close"' in render('{% icon "x" "Close" %}')


def test_a_hash_is_short_to_read_and_whole_to_copy() -> None:
    shown = render("{% hash value %}", value="ab" * 32)
    assert ">abababababab<" in shown
    assert f'data-text="{"ab" * 32}"' in shown
    assert "not known" in render("{% hash value %}", value=None)


def test_a_field_is_tied_to_its_help_and_its_errors() -> None:
    class Form(forms.Form):
        name = forms.CharField(help_text="As others see it.")

    shown = render("{% field form.name %}", form=Form({}))
    assert 'aria-describedby="id_name_helptext id_name_error"' in shown
    assert 'id="id_name_helptext"' in shown
    assert 'id="id_name_error"' in shown
    assert 'aria-invalid="true"' in shown


def test_a_sorted_header_says_its_direction() -> None:
    shown = render('{% sort_header "Events" "?sort=events" "descending" %}')
    assert 'aria-sort="descending"' in shown
    assert 'aria-sort="none"' in render('{% sort_header "Events" "?sort=events" %}')


def test_a_json_tree_escapes_keys_and_cuts_what_is_large_or_deep() -> None:
    deep: object = "end"
    for _ in range(100):
        deep = {"<k>": deep}
    assert "<k>" not in ui.json_tree(deep)
    assert "800 more" in ui.json_tree(list(range(1000)))


def test_a_histogram_has_a_table_with_the_same_numbers() -> None:
    shown = charts.histogram([("Mon", 3), ("Tue", 1200)], "Events")
    assert '<th scope="row">Tue</th><td>1,200</td>' in shown
    assert shown.count("<rect") == 2
    assert "nothing to show" in charts.histogram([], "Events")


def test_a_small_bar_beside_a_large_one_is_still_seen() -> None:
    assert 'height="1.5"' in charts.histogram([("a", 1), ("b", 1_000_000)], "Events")


def test_a_sparkline_says_its_numbers_in_words() -> None:
    assert 'aria-label="Errors: 1 to 3, peak 9"' in charts.sparkline([1, 9, 3], "Errors")
    assert charts.sparkline([], "Errors") == ""


def test_an_event_is_an_article_whose_body_htmx_never_reads() -> None:
    page = get_template("sessions/_events.html").render({"events": samples.events(), "total": 8})
    assert page.count("<article") == page.count("hx-disable") == 8
    assert 'id="e1"' in page
    assert 'aria-setsize="8"' in page


def test_hostile_parts_of_an_event_stay_text() -> None:
    event = samples.events()[0]
    attack = '<img src=x onerror=alert(1)>"\u202e'
    event |= {"label": attack, "tool": attack, "model": attack}
    event |= {"gist": attack, "chips": [{"text": attack, "tone": "quiet"}], "marks": [attack]}
    texts = dict.fromkeys(("label", "note", "text", "name", "gist", "link", "value"), attack)
    change = {"path": attack, "verb": "changed", "html": "", "added": 1, "removed": 1}
    event["parts"] = [
        texts
        | {"kind": kind, "html": "", "numbers": "1", "changes": [change], "fields": [(attack,) * 2]}
        | {"steps": [{"text": attack, "state": "done"}], "parts": [texts], "url": "picture"}
        | {"links": [{"title": attack, "url": "", "address": attack}], "alt": attack}
        for kind in (
            *("prose", "thought", "code", "source", "diff", "steps", "fields", "links", "tree"),
            *("tool", "remark", "odd"),
        )
    ]
    page = get_template("sessions/_events.html").render({"events": [event]})
    assert "<img" not in page
    assert "\u202e" not in page


@override_settings(
    STORAGES={
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}
    },
    STATIC_ROOT="no-such-folder",
)
@pytest.mark.parametrize("page", ["400", "403", "403_csrf", "404", "409", "429", "500", "trouble"])
def test_an_error_page_needs_no_context_no_database_and_no_manifest(page: str) -> None:
    shown = get_template(f"{page}.html").render()
    assert shown.count("<h1>") == 1
    assert 'href="/"' in shown


def test_an_error_page_shows_the_sentence_it_was_given() -> None:
    shown = get_template("409.html").render({"message": "<held>", "status": 409})
    assert "&lt;held&gt;" in shown
