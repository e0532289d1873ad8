"""What a thief of disk, database, broker and logs finds: no word of a session, no byte of a key."""

import base64
import io
import json
import logging
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session as BrowserSession
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from sessions_app import tasks
from sessions_app.models import Session, User, WorkspaceKey
from sessions_app.store import jobs, keys, tip
from sessions_app.vault import seal
from tests import build
from tests.faults import dump

pytestmark = pytest.mark.django_db(transaction=True)

LARGEST = 400 * 1024 * 1024
# Larger than what an upload holds in memory.
LARGE = 5 * 1024 * 1024


def forms(secret: bytes) -> list[bytes]:
    """How a secret might lie about: as it is, as wide text, in hex, in base64 at any offset."""
    text = secret.decode("latin-1")
    found = [secret, secret.lower(), text.encode("utf-16-le"), text.encode("utf-16-be")]
    found += [secret.hex().encode(), secret.hex().upper().encode()]
    for offset in range(3):
        # Without the first and last letters, which depend on the neighbours.
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.append(encode(b"\0" * offset + secret).rstrip(b"=")[4:-4])
    return found


class Planted:
    """A sentence nobody else would write, in every place a session has for words."""

    def __init__(self) -> None:
        self.word = f"canary{secrets.token_hex(8)}"

    def sentence(self, place: str) -> str:
        return f"The {self.word} sings of {place}"

    def log(self) -> bytes:
        call = {"id": "c1", "function": {"name": f"{self.word}_tool", "arguments": self._inner()}}
        return b"".join(
            (
                build.line("user", self.sentence("a prompt")),
                build.line("assistant", None, tool_calls=[call], model=self.word),
                build.line("tool", self.sentence("a result"), tool_call_id="c1", is_error=True),
                build.line("user", "x", **{self.word: self.sentence("an unknown field")}),
                f"not JSON: {self.sentence('an unreadable line')}\n".encode(),
                f'{{"cut": "{self.sentence("a line without end")}'.encode(),
            )
        )

    def _inner(self) -> str:
        return json.dumps({"path": f"/srv/{self.word}/x.py", "why": self.sentence("arguments")})


@pytest.fixture
def planted() -> Planted:
    return Planted()


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Every log record of the process, down to DEBUG."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield out
    root.setLevel(before)
    root.removeHandler(handler)


def test_nothing_at_rest_holds_a_word_or_a_key(
    planted: Planted,
    logged: io.StringIO,
    tmp_path: Path,
    settings: Settings,
    capfd: pytest.CaptureFixture[str],
) -> None:
    begun = time.time() - 1
    _use_everything(planted, tmp_path)
    with connection.cursor() as cursor:
        cursor.execute("CHECKPOINT")

    said = capfd.readouterr()
    places: dict[str, bytes] = {
        **dump.tables(),
        "bytes of the tables": b"\n".join(dump.columns_of_bytes()),
        "browser sessions": repr([s.get_decoded() for s in BrowserSession.objects.all()]).encode(),
        "log": logged.getvalue().encode(),
        "standard error": said.err.encode(),
    }
    wanted = [*forms(planted.word.encode()), *(f for key in _keys(settings) for f in forms(key))]
    for name, content in places.items():
        _holds_none(name, content, wanted)
    for path in _files(settings.HOME, begun, tmp_path):
        if path != settings.ROOT_KEY_FILE:
            _holds_none(str(path), _content(path), wanted)
    if settings.CELERY_BROKER_URL.startswith("filesystem"):
        messages = settings.BROKER_FOLDER / "messages"
        assert list(messages.iterdir()), "the broker must have had something to leak"


@pytest.mark.parametrize("before", [b"", b"a", b"ab", b"abc"])
def test_the_search_finds_a_secret_in_every_form(planted: Planted, before: bytes) -> None:
    secret = planted.word.encode()
    whole = before + secret + b" and more"
    told = planted.word
    for content in (
        whole,
        base64.b64encode(whole),
        base64.urlsafe_b64encode(whole),
        whole.hex().encode(),
        b"\\x" + whole.hex().upper().encode(),
        f"{before.decode()}{told} and more".encode("utf-16"),
    ):
        with pytest.raises(pytest.fail.Exception, match="place holds"):
            _holds_none("place", content, forms(secret))


def test_the_search_looks_into_the_files_of_the_database(
    tmp_path: Path, settings: Settings
) -> None:
    begun = time.time() - 1
    word = f"plain{secrets.token_hex(8)}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE leak AS SELECT '{word}' AS word")
        cursor.execute("CHECKPOINT")
    try:
        found = [f for f in _files(settings.HOME, begun, tmp_path) if word.encode() in _content(f)]
        assert word.encode() in b"".join(dump.tables().values())
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE leak")
    if "/tmp/" in os.environ["DATABASE_URL"].replace("%2F", "/"):
        assert found, "the data folder of the embedded server is within reach"


def _use_everything(planted: Planted, tmp_path: Path) -> None:
    """Take sessions in by every door, look at every page, let jobs run and fail."""
    keys.prepare()
    call_command("signin_link", stdout=io.StringIO())
    folder = tmp_path / f"project-{planted.word}"
    folder.mkdir()
    (folder / f"{planted.word}.jsonl").write_bytes(planted.log())
    (folder / f"{planted.word}-link.jsonl").symlink_to("/etc/passwd")
    call_command("ingest", str(folder), stdout=io.StringIO())
    client = Client()
    client.force_login(User.objects.get(username="admin"))
    _upload(client, planted)
    for session in Session.objects.all():
        _look(client, session, planted)
    session = Session.objects.order_by("id")[0]
    client.post(reverse("sessions:verify", args=[session.uid]))
    _break(session)
    about: dict[str, object] = {"session": str(session.uid)}
    job = jobs.add("verify.session", workspace_id=None, user=None, arguments=about)
    tasks.announce()
    tasks.run_job(str(job.id))


def _upload(client: Client, planted: Planted) -> None:
    large = planted.log() * (LARGE // len(planted.log()))
    files = [_named(f"{planted.word}-large.jsonl", large)]
    answer = client.post(
        reverse("sessions:upload"), {"files": files}, headers={"accept": "application/json"}
    )
    assert answer.json()["results"][0]["state"] == "ingested"
    # Without the script: what was done is told on the next page, which is never asked for.
    many = [_named(f"{planted.word}-{n}.jsonl", planted.log()) for n in range(40)]
    client.post(reverse("sessions:upload"), {"files": many})


def _named(name: str, data: bytes) -> io.BytesIO:
    file = io.BytesIO(data)
    file.name = name
    return file


def _look(client: Client, session: Session, planted: Planted) -> None:
    for page in ("session", "events", "raw", "record", "export"):
        answer = client.get(reverse(f"sessions:{page}", args=[session.uid]))
        assert answer.status_code < 500, page
        whole = b"".join(answer) if answer.streaming else answer.content
        if page in ("session", "export"):
            assert planted.word.encode() in whole


def _break(session: Session) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE sessions_app_chunk SET hash = previous WHERE session_id = %s", [session.id]
        )


def _keys(settings: Settings) -> Iterator[bytes]:
    """Every key there is, and what is derived from it."""
    root = base64.b64decode(settings.ROOT_KEY_FILE.read_text().split()[2])
    found = [seal.Key(root)]
    for row in WorkspaceKey.objects.all():
        found.append(keys.workspace_key(row.workspace_id, row.version))
        found.append(keys.index_key(row.workspace_id))
    found += [tip.owner_of(row).key for row in Session.objects.select_related("key")[:5]]
    for key in found:
        yield key.secret
        yield from (seal.derive(key, purpose) for purpose in ("content", "terms", "head"))


def _files(home: Path, begun: float, own: Path) -> Iterator[Path]:
    """All of the home, and whatever else was written below the temporary folder meanwhile: the
    data of the test's Postgres, spool files, what a library leaves behind."""
    for top in (home, Path(os.environ.get("TMPDIR", "/tmp"))):
        for folder, _, names in os.walk(top):
            if own in (Path(folder), *Path(folder).parents):
                continue
            for name in names:
                path = Path(folder) / name
                if top == home or _is_recent(path, begun):
                    yield path


def _is_recent(path: Path, begun: float) -> bool:
    try:
        facts = path.lstat()
    except OSError:
        return False
    # Not followed: a link in a shared temporary folder may lead where this account cannot look.
    is_file = stat.S_ISREG(facts.st_mode)
    return is_file and facts.st_mtime >= begun and facts.st_size <= LARGEST


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""


def _holds_none(name: str, content: bytes, wanted: list[bytes]) -> None:
    for form in wanted:
        # Not `assert form not in content`: a failure would print megabytes.
        if form in content:
            pytest.fail(f"{name} holds {form[:60]!r}")
