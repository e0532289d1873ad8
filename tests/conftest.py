"""The database of a worker is a copy, not migrated anew."""

import pytest

from tests import models


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    from django.db import connection

    connection.settings_dict["TEST"]["TEMPLATE"] = models.migrated()
