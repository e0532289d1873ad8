"""Uploads: taken into the record in the request itself; nothing readable is left on disk."""

import tempfile
from typing import IO, BinaryIO, cast

from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from sessions_app.domain.errors import BadInput, RecountError
from sessions_app.ingest.pipeline import Ingest, Result
from sessions_app.ingest.sources import HeldFile
from sessions_app.web.access import current, ingest_only, signed_in
from sessions_app.web.respond import wants_json

IN_MEMORY = 2 * 1024 * 1024
MACHINE = "upload"
LONGEST_NAME = 200
FIRST_LINE = 4096


class NamelessFileHandler(FileUploadHandler):
    """Spools to a file that has no name, so that a crash leaves nothing to find."""

    spool: IO[bytes]

    def new_file(self, *args: object, **kwargs: object) -> None:
        super().new_file(*args, **kwargs)  # type: ignore[arg-type]
        self.spool = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        self.taken = 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:  # noqa: ARG002
        self.taken += len(raw_data)
        if self.taken > settings.UPLOAD_LIMIT * 1024 * 1024:
            raise StopUpload(connection_reset=True)
        self.spool.write(raw_data)

    def file_complete(self, file_size: int) -> "UploadedFile[bytes]":
        self.spool.seek(0)
        return UploadedFile(file=self.spool, name=self.file_name, size=file_size)


@require_POST
@signed_in
def upload(request: HttpRequest) -> HttpResponse:
    membership = current(request)
    ingest_only(membership)
    files = request.FILES.getlist("files")
    if not files:
        raise BadInput(
            f"No file arrived. One file may have {settings.UPLOAD_LIMIT:,} MB at the most; "
            "use `manage.py ingest` on the server for more."
        )
    ingest = Ingest(membership.workspace_id, now=timezone.now())
    results = [_one(ingest, file) for file in files]
    if wants_json(request):
        return JsonResponse({"results": results})
    # Messages may be kept with the browser's session, where a file's name has no business.
    taken = sum(result["state"] == "ingested" for result in results)
    refused = sum(result["state"] == "refused" for result in results)
    messages.info(request, f"{taken} of {len(results)} files taken, {refused} refused.")
    return redirect("sessions:list")


def _one(ingest: Ingest, file: "UploadedFile[bytes]") -> dict[str, object]:
    name = (file.name or "unnamed")[:LONGEST_NAME]
    source = HeldFile(
        machine=MACHINE,
        path=name,
        project="",
        size=file.size or 0,
        stream=cast(BinaryIO, file.file),
        identity=_first_line(file),
    )
    try:
        return _told(name, ingest.source(source))
    except RecountError as error:
        return _answer(name, "refused", error.message)


def _first_line(file: "UploadedFile[bytes]") -> str:
    """Two logs may share a name; a log that grew shares its first line with what it was."""
    head: bytes = file.read(FIRST_LINE).partition(b"\n")[0]
    file.seek(0)
    return head.hex()


def _told(name: str, result: Result) -> dict[str, object]:
    if result.state == "empty":
        return _answer(name, "refused", "The file is empty.")
    url = reverse("sessions:session", args=[result.uid])
    if result.state == "unchanged":
        return _answer(name, "unchanged", "Already in the record, nothing new in it.", url=url)
    said = f"{result.lines:,} lines taken"
    if result.unreadable:
        said += f", {result.unreadable:,} of them unreadable but kept"
    answer = _answer(name, "ingested", f"{said}.", url=url)
    return {**answer, "lines": result.lines, "unreadable": result.unreadable}


def _answer(name: str, state: str, message: str, *, url: str | None = None) -> dict[str, object]:
    return {
        "name": name,
        "state": state,
        "message": message,
        "url": url,
        "lines": 0,
        "unreadable": 0,
    }
