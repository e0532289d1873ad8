"""Uploads: taken into the record in the request itself; nothing readable is left on disk."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from typing import IO, BinaryIO, cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from sessions_app.domain import hostile
from sessions_app.domain.errors import BadInput
from sessions_app.ingest.archives import member_path
from sessions_app.ingest.uploads import Taken, Upload
from sessions_app.web.access import current, ingest_only, signed_in
from sessions_app.web.respond import in_steps, wants_json

IN_MEMORY = 2 * 1024 * 1024
LONGEST_NAME = 200
NDJSON = "application/x-ndjson"
WORDS = {
    "ingested": "added",
    "unchanged": "already in the record",
    "unknown": "of no known format",
    "refused": "refused",
}


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
def upload(request: HttpRequest) -> HttpResponseBase:
    membership = current(request)
    ingest_only(membership)
    files = request.FILES.getlist("files")
    if not files:
        raise BadInput(
            f"No file arrived. One file may have {settings.UPLOAD_LIMIT:,} MB at the most; "
            "use `manage.py ingest` on the server for more."
        )
    results = _results(membership.workspace_id, files, request.POST.getlist("paths"))
    if request.headers.get("Accept", "").startswith(NDJSON):
        return _streamed(request, results)
    if wants_json(request):
        return JsonResponse({"results": list(results)})
    return _told_on_the_next_page(request, Counter(str(result["state"]) for result in results))


def _results(
    workspace_id: UUID, files: list["UploadedFile[bytes]"], paths: list[str]
) -> Iterator[dict[str, object]]:
    """The field of a file carries a bare name. Where the sender knows the path inside the folder
    that was dropped, it comes in a field of its own."""
    limit = settings.UPLOAD_LIMIT * 1024 * 1024
    taker = Upload(workspace_id, now=timezone.now(), limit=limit)
    given = paths if len(paths) == len(files) else [file.name or "unnamed" for file in files]
    for file, path in zip(files, given, strict=True):
        try:
            kept = member_path(path)
        except BadInput as error:
            yield _answer(path[:LONGEST_NAME], "refused", error.message)
            continue
        for taken in taker.file(cast(BinaryIO, file.file), kept):
            yield _told(taken)


def _streamed(request: HttpRequest, results: Iterator[dict[str, object]]) -> HttpResponseBase:
    """A line for each result as it is there: an archive of thousands takes its time."""
    lines = (json.dumps(result).encode() + b"\n" for result in results)
    return StreamingHttpResponse(
        in_steps(request, lines), content_type=NDJSON, headers={"X-Accel-Buffering": "no"}
    )


def _told_on_the_next_page(request: HttpRequest, states: "Counter[str]") -> HttpResponse:
    """Messages may be kept with the browser's session, where a file's name has no business."""
    said = ", ".join(f"{number} {WORDS[state]}" for state, number in states.items())
    messages.info(request, f"Upload finished: {said}.")
    return redirect("sessions:list")


def _told(taken: Taken) -> dict[str, object]:
    result = taken.result
    url = reverse("sessions:session", args=[result.uid]) if result.uid else None
    state, message = _said(taken)
    answer = _answer(result.path, state, message, url=url, archive=taken.archive)
    return {**answer, "lines": result.lines, "unreadable": result.unreadable}


def _said(taken: Taken) -> tuple[str, str]:
    result = taken.result
    match result.state:
        case "empty":
            return "refused", "The file is empty."
        case "failed" | "died":
            return "refused", result.message
        case "unknown":
            return "unknown", "Not a log of a known format: not taken."
        case "unchanged" if taken.known_as:
            return "unchanged", f"Already in the record as {taken.known_as}."
        case "unchanged":
            return "unchanged", "Already in the record, nothing new in it."
    said = f"{result.lines:,} lines taken"
    if result.unreadable:
        said += f", {result.unreadable:,} of them unreadable but kept"
    return "ingested", f"{said}."


def _answer(
    name: str, state: str, message: str, *, url: str | None = None, archive: str = ""
) -> dict[str, object]:
    return {
        "name": hostile.plain(name),
        "archive": archive,
        "state": state,
        "message": hostile.plain(message),
        "url": url,
        "lines": 0,
        "unreadable": 0,
    }
