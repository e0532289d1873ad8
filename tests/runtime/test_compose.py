"""docker-compose and the image run the same commands as `make run`."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from runtime import parts, postgres
from tests.runtime.house import PROJECT


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    text = (PROJECT / "docker-compose.yml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


@pytest.mark.parametrize("part", parts.every("python", host="0.0.0.0", port=8000))  # noqa: S104
def test_a_part_has_the_command_of_make_run(compose: dict[str, Any], part: parts.Part) -> None:
    service = compose["services"][part.name]
    assert tuple(service["command"]) == part.command
    assert service["environment"].items() >= part.environment.items()


def test_the_one_shot_service_prepares_as_make_run_does(compose: dict[str, Any]) -> None:
    migrate = compose["services"]["migrate"]
    assert migrate["command"] == ["python", *parts.PREPARE]
    assert migrate["restart"] == "no"
    for name in ("web", "worker", "beat", "watcher"):
        condition = compose["services"][name]["depends_on"]["migrate"]["condition"]
        assert condition == "service_completed_successfully"


def test_no_secret_has_a_default(compose: dict[str, Any]) -> None:
    required = re.compile(r"\$\{\w+:\?")
    found = 0
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"SECRET|PASSWORD|ACCESS_KEY|DATABASE_URL", name):
                assert required.search(value), name
                found += 1
    assert found >= 8


def test_every_server_tells_its_health_and_keeps_its_data_in_a_volume(
    compose: dict[str, Any],
) -> None:
    for name in ("web", "postgres", "valkey", "archive"):
        assert compose["services"][name]["healthcheck"]["test"]
    mounted = {
        entry.split(":")[0]
        for service in compose["services"].values()
        for entry in service.get("volumes", [])
    }
    assert mounted == set(compose["volumes"]) == {"keys", "staging", "database", "archive"}


def test_postgres_in_a_container_logs_as_little_as_the_embedded_one(
    compose: dict[str, Any],
) -> None:
    options = compose["services"]["postgres"]["command"][2::2]
    told = dict(option.split("=") for option in options)
    # That server knows a quick way to compress its log, which the embedded one does not.
    assert told.pop("wal_compression") == "lz4"
    assert told.items() <= postgres.SETTINGS.items()
    assert "log_min_messages=log" in options


def test_the_image_is_not_root_and_starts_the_web_part() -> None:
    lines = (PROJECT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert "USER recount" in lines
    assert not [line for line in lines[lines.index("USER recount") :] if line.startswith("RUN")]
    command = next(line.removeprefix("CMD ") for line in lines if line.startswith("CMD "))
    web = parts.web("python", host="0.0.0.0", port=8000)  # noqa: S104
    assert tuple(json.loads(command)) == web.command
    assert any("--require-hashes" in line for line in lines)


def test_the_image_is_built_from_named_folders_only() -> None:
    ignored = (PROJECT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    dockerfile = (PROJECT / "Dockerfile").read_text(encoding="utf-8")
    copied = re.findall(r"^COPY (\S+) ", dockerfile, re.MULTILINE)
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    assert {name for name in copied if not name.startswith("--")} == allowed
