"""The API of sessions and jobs. Schemas stay here; every answer comes from the store."""

from ninja import Router

from sessions_app.api import jobs, sessions

router = Router()
router.add_router("", sessions.router)
router.add_router("", jobs.router)
