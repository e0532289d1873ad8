"""What the ASGI server loads."""

import os
import warnings

import django

from config.bodies import BoundedBodies

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# WhiteNoise hands static files over as ordinary file iterators; Django reads them in a thread.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")

django.setup(set_prefix=False)

# These need the applications, which are there from here on.
from config.handler import Handler  # noqa: E402
from sessions_app.store import coverage  # noqa: E402

application = BoundedBodies(Handler())
coverage.start()
