"""The benchmark's corpus: always the same bytes, and close enough to real logs to measure with."""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import zstandard

from benchmarks import corpus, pools


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("corpus")
    corpus.write(place, megabytes=12)
    return place


@pytest.fixture(scope="module")
def raw(folder: Path) -> list[bytes]:
    return [line for file in sorted(folder.rglob("*.jsonl")) for line in file.open("rb")]


@pytest.fixture(scope="module")
def records(raw: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in raw]


def test_a_session_is_the_same_bytes_on_every_machine_and_python() -> None:
    digest = hashlib.sha256(b"".join(corpus.lines(7))).hexdigest()
    assert digest == "1e7b1fdbe5e6368667c93f536754a23a688c07f508e47221f90e77c0b4bb8e08"


def test_another_seed_is_another_session() -> None:
    assert next(corpus.lines(1)) != next(corpus.lines(2))


def test_it_says_what_it_wrote(tmp_path: Path) -> None:
    made = corpus.write(tmp_path, megabytes=1, seed=3)
    files = list(tmp_path.rglob("*.jsonl"))
    data = [file.read_bytes() for file in files]
    assert made.files == len(files)
    assert made.lines == sum(text.count(b"\n") for text in data)
    assert made.bytes == sum(map(len, data))
    assert 1_000_000 <= made.bytes < 1_100_000


def test_one_large_log_is_whole_lines(tmp_path: Path) -> None:
    made = corpus.single(tmp_path / "one.jsonl", megabytes=2)
    data = (tmp_path / "one.jsonl").read_bytes()
    assert made.bytes == len(data) >= 2_000_000
    assert made.lines == data.count(b"\n")
    assert data.endswith(b"}\n")


def test_many_logs_are_as_many_as_were_asked_for(tmp_path: Path) -> None:
    made = corpus.many(tmp_path, files=70)
    files = list(tmp_path.rglob("*.jsonl"))
    assert made.files == len(files) == 70
    assert made.bytes == sum(file.stat().st_size for file in files)


def test_lines_have_the_average_length_of_the_design(raw: list[bytes]) -> None:
    assert 1_100 < sum(map(len, raw)) / len(raw) < 1_400


def test_pieces_of_a_chunks_size_compress_like_real_logs(folder: Path) -> None:
    squeeze = zstandard.ZstdCompressor(level=3).compress
    before = after = 0
    for file in folder.rglob("*.jsonl"):
        data = file.read_bytes()
        before += len(data)
        after += sum(len(squeeze(data[at : at + 65536])) for at in range(0, len(data), 65536))
    assert 0.193 * 0.8 < after / before < 0.193 * 1.2


def test_sessions_are_small_and_large() -> None:
    sizes = [corpus._Session(seed).left for seed in range(400)]
    assert min(sizes) >= corpus.SMALLEST
    assert sum(size < 50_000 for size in sizes) > 20
    assert sum(size > 2_000_000 for size in sizes) > 20
    assert max(sizes) <= corpus.LARGEST


def test_most_bytes_are_results_of_tools(raw: list[bytes], records: list[dict[str, Any]]) -> None:
    weight: Counter[str] = Counter()
    for line, record in zip(raw, records, strict=True):
        weight["result" if "toolUseResult" in record else record["type"]] += len(line)
    assert weight.most_common(1)[0][0] == "result"
    assert weight["result"] > 0.4 * weight.total()


def test_every_kind_of_record_occurs(records: list[dict[str, Any]]) -> None:
    kinds = {record["type"] for record in records}
    assert kinds == {
        "assistant", "file-history-snapshot", "progress", "summary", "system", "user",
    }  # fmt: skip


def test_every_parent_is_an_earlier_record(records: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for record in records:
        parent = record.get("parentUuid")
        assert parent is None or parent in seen
        seen.add(record.get("uuid", ""))


def test_every_result_answers_a_call(records: list[dict[str, Any]]) -> None:
    called: set[str] = set()
    for record in records:
        blocks = record.get("message", {}).get("content", [])
        for block in blocks if isinstance(blocks, list) else []:
            if block["type"] == "tool_use":
                called.add(block["id"])
            if block["type"] == "tool_result":
                assert block["tool_use_id"] in called


def test_words_follow_zipf_and_are_about_a_hundred_thousand() -> None:
    words = pools.vocabulary()
    assert len(set(words)) == len(words) == 131_072
    lines = (*pools.code_lines(), *pools.log_lines(), *pools.sentences())
    counts = Counter(re.findall(rb"[a-z0-9_./-]+", b" ".join(lines).lower()))
    assert 70_000 < len(counts) < 130_000
    ranked = sorted(counts.values(), reverse=True)
    assert 4 < ranked[99] / ranked[999] < 25
    assert sum(b"/" in word for word in counts) > 5_000
    assert sum(b"_" in word for word in counts) > 10_000
