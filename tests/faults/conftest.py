"""One house with open pages for all tests that come to it over HTTP."""

from collections.abc import Iterator

import pytest

from tests.faults import served
from tests.faults.served import Site

STAGING_MEGABYTES = 20


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("site") / "home"
    with served.site(home, RECOUNT_STAGING_MB=str(STAGING_MEGABYTES)) as made:
        yield made
