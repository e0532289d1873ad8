"""The same commands on a Postgres that somebody else runs."""

from pathlib import Path

from tests import build, outside
from tests.faults import databases


def test_a_record_is_kept_and_given_back_by_an_outside_postgres(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(build.log(3_000)[:-7])
    with databases.house_outside(tmp_path / "home", outside.postgres_url()) as house:
        taken = house.told("ingest", str(log))

        assert taken["states"] == {"ingested": 1}
        assert taken["lines"] == 3_000
        assert house.told("ingest", str(log))["states"] == {"unchanged": 1}
        assert house.told("verify")["sound"] == 1
        assert house.told("reproject", "--all")["sessions"][0]["events"] == 3_000
        assert house.exported(tmp_path / "out") == {str(log): log.read_bytes()}
