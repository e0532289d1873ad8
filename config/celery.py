"""The Celery app: it carries ids of job rows and nothing else."""

import os
from pathlib import Path

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


def prepared_folders(options: dict[str, object]) -> None:
    """The file-backed broker expects its folders to be there."""
    for name in ("data_folder_in", "control_folder"):
        if folder := options.get(name):
            # Each level by itself: `parents=True` would give the upper ones the default mode.
            for level in (*reversed(Path(str(folder)).parents[:2]), Path(str(folder))):
                level.mkdir(mode=0o700, exist_ok=True)


app = Celery("recount")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
prepared_folders(app.conf.broker_transport_options or {})
