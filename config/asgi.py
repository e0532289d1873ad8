"""What the ASGI server loads."""

import os
import warnings

from django.core.asgi import get_asgi_application

from config.bodies import BoundedBodies

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# WhiteNoise hands static files over as ordinary file iterators; Django reads them in a thread.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")

application = BoundedBodies(get_asgi_application())

# Needs the applications, which are there from here on.
from sessions_app.store import concordance  # noqa: E402

concordance.start()
