"""The settings of the house with a queue of its own: brokers outside are shared with others."""

import os

from config.settings import *  # noqa: F403
from config.settings import (
    CELERY_BEAT_SCHEDULE,
    CELERY_BROKER_TRANSPORT_OPTIONS,
    CELERY_BROKER_URL,
)

CELERY_TASK_DEFAULT_QUEUE = os.environ["TEST_QUEUE"]
# A test waits for what the sweep makes good: it comes more often than in earnest.
CELERY_BEAT_MAX_LOOP_INTERVAL = 0.2  # type: ignore[assignment]
CELERY_BEAT_SCHEDULE = {
    **CELERY_BEAT_SCHEDULE,
    "sweep-jobs": {**CELERY_BEAT_SCHEDULE["sweep-jobs"], "schedule": 0.5},
}
if CELERY_BROKER_URL.startswith("filesystem:"):
    # How often a worker looks into the folder.
    CELERY_BROKER_TRANSPORT_OPTIONS = {**CELERY_BROKER_TRANSPORT_OPTIONS, "polling_interval": 0.1}
if seconds := os.environ.get("TEST_VISIBILITY_SECONDS"):
    # A message that is not done with by then is handed out again.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": int(seconds)}
