"""The handbook says what the code says: settings, commands, routes, storeys and links agree."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

import config.settings  # noqa: F401 - declares the variables
from config import env
from config.api import api

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS.rglob("*.md")])
LOCKS = sorted(ROOT.glob("requirements*.txt"))
# Read by scripts and the test run, not by the settings.
BESIDE_SETTINGS = {"RECOUNT_PYTHON", "RECOUNT_CHROMIUM", "RECOUNT_REQUIRE_ALL", "NO_COLOR"}

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+\s+(.+?)\s*$", re.MULTILINE)
FORBIDDEN = re.compile(
    r"pypi\.org|pythonhosted|registry\.npmjs|deb\.debian\.org|(?<![\w.])/(?:work|tmp|root|opt)/",
    re.IGNORECASE,
)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def settings_rows() -> set[str]:
    """First cells of the tables of docs/configuration.md, up to the section on docker-compose."""
    text = (DOCS / "configuration.md").read_text().split("## docker-compose")[0]
    return set(re.findall(r"^\| `([A-Z][A-Z0-9_]+)` \|", text, re.MULTILINE))


def test_every_declared_variable_has_a_row_in_the_configuration_page() -> None:
    assert set(env.DECLARED) <= settings_rows()


def test_every_row_of_the_configuration_page_is_a_variable_that_something_reads() -> None:
    assert settings_rows() - set(env.DECLARED) == BESIDE_SETTINGS


@pytest.mark.parametrize("name", sorted(BESIDE_SETTINGS))
def test_a_variable_beside_the_settings_is_read_by_a_script_or_the_runtime(name: str) -> None:
    places = [ROOT / ".ci" / "run", *ROOT.glob("scripts/*"), *ROOT.glob("runtime/*.py")]
    assert any(name in path.read_text() for path in places if path.is_file())


def commands() -> list[str]:
    folder = ROOT / "sessions_app" / "management" / "commands"
    return sorted(path.stem for path in folder.glob("[!_]*.py"))


@pytest.mark.parametrize("command", commands())
def test_a_command_is_described_in_operations(command: str) -> None:
    assert re.search(rf"\| `manage\.py {command}\b", (DOCS / "operations.md").read_text())


def test_the_routes_of_the_api_page_are_those_of_the_openapi_document() -> None:
    known = {
        (method.upper(), path)
        for path, operations in api.get_openapi_schema()["paths"].items()
        for method in operations
    }
    text = (DOCS / "api.md").read_text()
    rows = re.findall(r"^\| `([A-Z]+) (/api/v1/\S*)` \|", text, re.MULTILINE)
    assert set(rows) == known


def links(page: Path) -> Iterator[str]:
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if not re.match(r"[a-z]+:", target):
            yield unquote(target)


def anchors(page: Path) -> set[str]:
    """Headings as links to them are spelled: lower case, punctuation dropped, spaces as dashes."""
    found = HEADING.findall(FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in found}


@pytest.mark.parametrize("file", PAGES, ids=named)
def test_every_relative_link_leads_somewhere(file: Path) -> None:
    for link in links(file):
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        assert target.exists(), f"{named(file)}: {link}"
        assert not anchor or anchor in anchors(target), f"{named(file)}: {link}"


@pytest.mark.parametrize("file", [*PAGES, *LOCKS], ids=named)
def test_no_page_or_lock_names_a_package_host_or_a_machine_path(file: Path) -> None:
    found = FORBIDDEN.search(file.read_text())
    assert found is None, f"{named(file)}: {found}"


def layers(container: str) -> list[set[str]]:
    """Storeys from top to bottom as import-linter holds them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    kept = next(c for c in contracts if c.get("containers") == [container])
    return [{name.strip() for name in row.split("|")} for row in kept["layers"]]


def test_the_storeys_of_the_architecture_page_are_the_layers_of_the_contract() -> None:
    text = (DOCS / "architecture.md").read_text().split("<!-- storeys of sessions_app -->")[1]
    rows = text.split("\n\n")[0].strip().splitlines()[2:]
    first_cells = [re.split(r"(?<!\\)\|", row)[1] for row in rows]
    assert [set(re.findall(r"`(\w+)`", cell)) for cell in first_cells] == layers("sessions_app")


def test_the_picture_in_the_readme_has_the_same_storeys_in_the_same_order() -> None:
    drawing = (ROOT / "README.md").read_text().split("═ sessions_app ═")[1].split("```")[0]
    rows = [re.split(r"\s{2,}", row.strip())[0] for row in drawing.splitlines()]
    drawn = [set(re.findall(r"[a-z]+", row)) for row in rows if re.match(r"[a-z]", row)]
    assert drawn == layers("sessions_app")


def test_every_format_has_a_page_with_evidence() -> None:
    modules = {p.stem for p in (ROOT / "sessions_app" / "formats").glob("[!_]*.py")}
    shared = {"blocks", "chat", "documents", "fields", "json_lines", "otlp", "responses", "shape"}
    shared |= {"bundled", "file_deals", "lineage", "patches", "pictures", "shown_files"}
    for name in modules - shared - {"unknown"}:
        assert "## Evidence" in (DOCS / "formats" / f"{name}.md").read_text()


def test_every_decision_is_in_the_list_of_decisions() -> None:
    records = {path.name for path in (DOCS / "decisions").glob("[0-9]*.md")}
    assert set(links(DOCS / "decisions" / "README.md")) == records
