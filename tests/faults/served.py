"""A house with a web server and a worker, and those who come to it over HTTP."""

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

from runtime import health, parts
from tests.faults.databases import ROOT, House
from tests.faults.test_brokers import works_with
from tests.jobs.test_workers import Works, end
from tests.runtime.house import eventually, free_port

PATIENCE = 30
HOST = "127.0.0.1"


class Answer(NamedTuple):
    status: int
    # Seconds after which the sender shall come again, if it was told to.
    after: str
    told: dict[str, Any]


class Sender:
    """Another machine with a token."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token

    def send(self, path: str, data: bytes, offset: int = 0) -> Answer:
        more = {
            "X-Recount-Machine": "box",
            "X-Recount-Path": quote(path),
            "X-Recount-Offset": str(offset),
            "Content-Type": "application/x-ndjson",
        }
        return self._asked("POST", "", data, more)

    def receipt(self, number: str) -> dict[str, Any]:
        return self._asked("GET", f"/receipts/{number}", None, {}).told

    def _asked(self, method: str, where: str, data: bytes | None, more: dict[str, str]) -> Answer:
        link = http.client.HTTPConnection(HOST, self._port, timeout=PATIENCE)
        headers = {"Authorization": f"Bearer {self._token}", **more}
        with contextlib.closing(link):
            link.request(method, f"/api/v1/ingest{where}", data, headers)
            answer = link.getresponse()
            text = answer.read()
            after = answer.getheader("Retry-After", "")
            return Answer(answer.status, after, json.loads(text) if text[:1] == b"{" else {})


class Shown(NamedTuple):
    status: int
    after: str
    text: str


class Admin:
    """A person at the pages, without a browser."""

    def __init__(self, house: House, port: int) -> None:
        self._url = f"http://{HOST}:{port}"
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()))
        self._text(house.told("signin_link")["url"])

    def _text(self, url: str, data: bytes | None = None) -> str:
        with self._opener.open(url, data, timeout=PATIENCE) as answer:
            text: str = answer.read().decode()
            return text

    def page(self, path: str) -> str:
        return self._text(self._url + path)

    def asked(self, path: str, data: bytes | None = None, /, **headers: str) -> Shown:
        """Whatever the answer is."""
        request = Request(self._url + path, data, headers)
        try:
            answer = self._opener.open(request, timeout=PATIENCE)
        except HTTPError as error:
            answer = error
        with answer:
            after = answer.headers.get("Retry-After", "")
            return Shown(answer.status, after, answer.read().decode())

    def upload(self, name: str, data: bytes) -> list[dict[str, Any]]:
        """What became of a file that was dropped on the page."""
        token = self._csrf("/")
        edge = "edge-of-a-part"
        body = b"".join(
            (
                f"--{edge}\r\nContent-Disposition: form-data; ".encode(),
                f'name="csrfmiddlewaretoken"\r\n\r\n{token}\r\n--{edge}\r\n'.encode(),
                f'Content-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode(),
                data,
                f"\r\n--{edge}--\r\n".encode(),
            )
        )
        kind = f"multipart/form-data; boundary={edge}"
        sent = {"Accept": "application/json", "Content-Type": kind}
        results: list[dict[str, Any]] = json.loads(self.asked("/upload", body, **sent).text)[
            "results"
        ]
        return results

    def _csrf(self, form: str) -> str:
        shown = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.page(form))
        assert shown, f"no form at {form}"
        return shown[1]

    def post(self, form: str, to: str = "", /, **fields: str) -> str:
        """Fill in a form of that page; it is sent there, or where it says."""
        told = {"csrfmiddlewaretoken": self._csrf(form), **fields}
        return self._text(self._url + (to or form), urlencode(told).encode())

    def token(self, name: str) -> str:
        made = re.search(r"rct_[\w-]+", self.post("/machines/", action="create", name=name))
        assert made
        return made[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A house whose pages are open. Workers and watchers are started by the tests."""

    works: Works
    port: int
    web: "subprocess.Popen[bytes]"
    admin: Admin

    @property
    def house(self) -> House:
        return self.works.house

    def sender(self, name: str) -> Sender:
        return Sender(self.port, self.admin.token(name))

    def with_settings(self, **more: str) -> Works:
        """The same house for parts that are started with other settings."""
        house = replace(self.house, extra={**self.house.extra, **more})
        return replace(self.works, house=house)


@contextlib.contextmanager
def site(home: Path, **more: str) -> Iterator[Site]:
    port = free_port()
    static = str(Path(os.environ["RECOUNT_HOME"]) / "static")
    shared = {"PORT": str(port), "RECOUNT_STATIC_ROOT": static, **more}
    with works_with("filesystem://", home, **shared) as works, web(works.house, port) as process:
        admin = Admin(works.house, port)
        yield Site(works=works, port=port, web=process, admin=admin)
        assert process.poll() is None, (works.house.home / "web.log").read_text()


@contextlib.contextmanager
def web(house: House, port: int) -> Iterator["subprocess.Popen[bytes]"]:
    """The web part as `make run` starts it."""
    part = parts.web(sys.executable, host=HOST, port=port)
    log = house.home / "web.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            part.command,
            cwd=ROOT,
            env={**house.environment, **part.environment},
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        assert eventually(lambda: _answers(port), PATIENCE), log.read_text()
        yield process
    finally:
        end(process)


def _answers(port: int) -> bool:
    told = health.ask(HOST, port, f"http://{HOST}:{port}")
    return told.ok or bool(told.checks)
