"""The settings of the house with a queue of its own: brokers outside are shared with others."""

import os

from config.settings import *  # noqa: F403

CELERY_TASK_DEFAULT_QUEUE = os.environ["TEST_QUEUE"]
