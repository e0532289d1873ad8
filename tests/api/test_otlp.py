"""Exporters of OpenTelemetry: both encodings, sent twice, at once, and in bad faith."""

import gzip
import threading
import zlib
from typing import Any

import orjson
import pytest
from django.core.cache import cache
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from pytest_django.fixtures import Settings

from sessions_app.actions import tokens
from sessions_app.ingest import otlp
from sessions_app.models import Session, Usage, Workspace
from sessions_app.store import read, sessions, verify
from tests import build

pytestmark = pytest.mark.django_db

PROTOBUF, JSON = "application/x-protobuf", "application/json"
TRACE = bytes.fromhex("5b8efff798038103d269b633813fc60c")


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    cache.clear()


@pytest.fixture
def place() -> Workspace:
    return build.workspace()


@pytest.fixture
def token(place: Workspace) -> str:
    return tokens.create(place, name="box", user=build.member("ann", place))[1]


def post(token: str, body: bytes, kind: str = PROTOBUF, **headers: str) -> HttpResponse:
    named = {"Authorization": f"Bearer {token}", **headers}
    found: HttpResponse = Client().post("/v1/traces", data=body, content_type=kind, headers=named)  # type: ignore[assignment]
    return found


def text(value: str) -> AnyValue:
    return AnyValue(string_value=value)


def span(number: int, *, trace: bytes = TRACE, parent: int = 0, **told: AnyValue) -> Span:
    return Span(
        trace_id=trace,
        span_id=number.to_bytes(8, "big"),
        parent_span_id=parent.to_bytes(8, "big") if parent else b"",
        name="chat m",
        start_time_unix_nano=1_789_000_000_000_000_000,
        end_time_unix_nano=1_789_000_001_000_000_000,
        attributes=[
            KeyValue(key=key.replace("__", "."), value=value) for key, value in told.items()
        ],
    )


def request(*spans: Span, service: str = "shop", host: str = "") -> bytes:
    export = ExportTraceServiceRequest()
    group = export.resource_spans.add()
    group.resource.attributes.add(key="service.name", value=text(service))
    if host:
        group.resource.attributes.add(key="host.name", value=text(host))
    scoped = group.scope_spans.add()
    scoped.scope.name = "lib"
    scoped.spans.extend(spans)
    return bytes(export.SerializeToString())


def stored() -> list[Session]:
    return list(Session.objects.select_related("key", "workspace").order_by("id"))


def lines(session: Session) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in b"".join(read.stream(session)).splitlines()]


def test_spans_become_lines_of_a_session_named_by_their_trace(place: Workspace, token: str) -> None:
    asked = '[{"role":"user","parts":[{"type":"text","content":"What is my name?"}]}]'
    told = {"gen_ai__input__messages": text(asked), "gen_ai__operation__name": text("chat")}
    used = {"gen_ai__usage__input_tokens": AnyValue(int_value=7)}

    answer = post(token, request(span(1, **told, **used), span(2), host="h1"))

    assert (answer.status_code, answer["Content-Type"]) == (200, PROTOBUF)
    assert ExportTraceServiceResponse.FromString(answer.content) == ExportTraceServiceResponse()
    (session,) = stored()
    assert (session.workspace_id, session.format, session.events) == (place.id, "otel", 2)
    shown = sessions.shown(session, now=build.NOW)
    assert (shown.machine, shown.source_path) == ("h1", f"otlp/shop/{TRACE.hex()}")
    assert (shown.title, shown.project) == ("What is my name?", "shop")
    first, second = lines(session)
    assert first["resource"] == {"service.name": "shop", "host.name": "h1"}
    assert first["span"]["attributes"]["gen_ai.usage.input_tokens"] == 7
    assert second["span"]["spanId"] == "0000000000000002"
    assert Usage.objects.get().input == 7
    assert verify.session(session).problem == ""


def test_json_is_taken_as_well_as_protobuf_and_gives_the_same_line(token: str) -> None:
    values = ArrayValue(values=[text("a"), AnyValue(int_value=2**40), AnyValue(bool_value=True)])
    post(token, request(span(1, list=AnyValue(array_value=values))))
    wrapped = [{"stringValue": "a"}, {"intValue": str(2**40)}, {"boolValue": True}]
    sent = {
        "traceId": "5B8EFFF798038103D269B633813FC60D",
        "spanId": "0000000000000001",
        "name": "chat m",
        "startTimeUnixNano": "1789000000000000000",
        "endTimeUnixNano": "1789000001000000000",
        "attributes": [{"key": "list", "value": {"arrayValue": {"values": wrapped}}}],
    }
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    scoped = {"scope": {"name": "lib"}, "spans": [sent]}
    body = {"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}

    answer = post(token, orjson.dumps(body), JSON)

    assert (answer.status_code, answer["Content-Type"], answer.content) == (200, JSON, b"{}")
    by_protobuf, by_json = ((lines(session))[0] for session in stored())
    by_json["span"]["traceId"] = by_protobuf["span"]["traceId"]
    assert by_json == by_protobuf


def test_what_is_sent_again_is_kept_once(token: str) -> None:
    first, second = request(span(1), span(2)), request(span(2), span(3), span(3))

    for body in (first, first, second, second, first):
        assert post(token, body).status_code == 200

    (session,) = stored()
    assert [line["span"]["spanId"][-1] for line in lines(session)] == ["1", "2", "3"]
    assert session.generation == 1


def test_spans_of_a_conversation_are_together_whatever_their_trace(token: str) -> None:
    other = bytes.fromhex("5b8efff798038103d269b633813fc60d")
    named = {"gen_ai__conversation__id": text("conv/1")}

    post(token, request(span(1, parent=2), span(2, parent=3), span(3, **named)))
    post(token, request(span(1, trace=other, **named), span(9, trace=other)))

    (session,) = stored()
    shown = sessions.shown(session, now=build.NOW)
    assert shown.source_path == "otlp/shop/conv_1"
    assert session.events == 5


def test_of_two_conversations_in_a_trace_each_span_is_in_that_of_its_parents(token: str) -> None:
    one, two = ({"gen_ai__conversation__id": text(name)} for name in ("one", "two"))

    post(token, request(span(1, **one), span(2, **two), span(3, parent=2), span(4)))

    paths = {sessions.shown(s, now=build.NOW).source_path: s.events for s in stored()}
    assert paths == {"otlp/shop/one": 1, "otlp/shop/two": 2, f"otlp/shop/{TRACE.hex()}": 1}


def test_parents_that_go_round_in_a_circle_end(token: str) -> None:
    assert post(token, request(span(1, parent=2), span(2, parent=1))).status_code == 200
    assert stored()[0].events == 2


def test_gzip_is_unpacked(token: str) -> None:
    body = gzip.compress(request(span(1)))

    assert post(token, body, **{"Content-Encoding": "gzip"}).status_code == 200
    assert stored()[0].events == 1


def test_a_bomb_is_refused_before_it_goes_off(token: str) -> None:
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join(packer.compress(bytes(2**20)) for _ in range(200)) + packer.flush()
    assert len(bomb) < 300_000

    answer = post(token, bomb, **{"Content-Encoding": "gzip"})

    assert answer.status_code == 413
    assert stored() == []


def test_a_request_of_too_many_values_is_refused(token: str) -> None:
    many = AnyValue(array_value=ArrayValue(values=[AnyValue()] * (otlp.MOST_VALUES + 1)))

    assert post(token, request(span(1, many=many))).status_code == 413


def test_a_body_that_is_too_large_is_refused(token: str) -> None:
    assert post(token, bytes(otlp.MOST_BYTES + 1)).status_code == 413


@pytest.mark.parametrize(
    ("body", "kind", "headers", "status"),
    [
        (b"\xff\xff", PROTOBUF, {}, 400),
        (b"{", JSON, {}, 400),
        (b"[]", JSON, {}, 400),
        (b'{"resourceSpans":7}', JSON, {}, 400),
        (b"not gzip", PROTOBUF, {"Content-Encoding": "gzip"}, 400),
        (gzip.compress(b"x" * 99, mtime=0)[:-4], PROTOBUF, {"Content-Encoding": "gzip"}, 400),
        (b"", PROTOBUF, {"Content-Encoding": "br"}, 415),
        (b"", "text/plain", {}, 415),
    ],
)
def test_what_cannot_be_read_is_refused_for_good(
    token: str, body: bytes, kind: str, headers: dict[str, str], status: int
) -> None:
    answer = post(token, body, kind, **headers)

    assert answer.status_code == status
    assert "Retry-After" not in answer
    assert stored() == []


def test_a_request_without_spans_is_none_of_that(token: str) -> None:
    assert post(token, request()).status_code == 200
    assert post(token, b"{}", JSON).status_code == 200


def test_spans_without_ids_are_told_of_and_the_others_kept(token: str) -> None:
    nameless = span(1)
    nameless.trace_id = bytes(16)
    answer = post(token, request(nameless, span(2)))

    told = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert (answer.status_code, told.rejected_spans) == (200, 1)
    assert told.error_message
    assert stored()[0].events == 1


def test_spans_without_ids_are_told_of_in_json(token: str) -> None:
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x"}]}]}]}

    told = orjson.loads(post(token, orjson.dumps(body), JSON).content)["partialSuccess"]

    assert told["rejectedSpans"] == "1"


@pytest.mark.parametrize("text", ["", "Bearer x", "Bearer rct_" + "x" * 43, "Basic abc"])
def test_without_a_valid_token_nothing_is_taken(text: str) -> None:
    answer = Client().post(
        "/v1/traces", data=request(span(1)), content_type=PROTOBUF, headers={"Authorization": text}
    )

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert b"token" in answer.content
    assert stored() == []


def test_a_signed_in_person_is_no_exporter() -> None:
    people = build.workspace()
    client = Client()
    client.force_login(
        build.member("ann", people), backend="django.contrib.auth.backends.ModelBackend"
    )

    assert client.post("/v1/traces", data=b"", content_type=PROTOBUF).status_code == 401
    assert client.get("/v1/traces").status_code == 405


def test_names_of_a_sender_do_not_reach_into_another_place(token: str) -> None:
    post(token, request(span(1), service="../../etc/" + "x" * 1000, host="a/b\0c"))

    shown = sessions.shown(stored()[0], now=build.NOW)
    assert shown.source_path.count("/") == 2
    assert (shown.machine, len(shown.source_path) < 300) == ("a_bc", True)


@pytest.mark.django_db(transaction=True)
def test_two_exporters_at_once_lose_and_double_nothing() -> None:
    place = build.workspace()
    token = tokens.create(place, name="box", user=build.member("ann", place))[1]
    bodies = [request(*(span(n) for n in range(lo, lo + 12))) for lo in (1, 7)]
    statuses: list[int] = []

    def send(body: bytes) -> None:
        for _ in range(3):
            statuses.append(post(token, body).status_code)
        connection.close()

    threads = [threading.Thread(target=send, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses == [200] * 6
    (session,) = stored()
    found = [line["span"]["spanId"] for line in lines(session)]
    assert sorted(found) == [f"{n:016x}" for n in range(1, 19)]
    assert verify.session(session).problem == ""


def test_a_token_has_one_share_of_a_minute_for_spans_and_deliveries(
    token: str, settings: Settings
) -> None:
    settings.INGEST_RATE = 1
    for number in range(1, 17):
        assert post(token, request(span(number))).status_code == 200
    answer = post(token, request(span(17)))
    assert answer.status_code == 429
    assert 1 <= int(answer["Retry-After"]) <= 60
    asked = Client().get(
        "/api/v1/ingest/offset",
        {"machine": "box", "path": "/a"},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert asked.status_code == 429
