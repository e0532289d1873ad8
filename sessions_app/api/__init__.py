"""The API of sessions, search, jobs and deliveries. Schemas stay here, the store answers."""

from ninja import Router

from sessions_app.api import exports, findings, ingest, jobs, search, sessions, usage

router = Router()
router.add_router("", search.router)
router.add_router("", sessions.router)
router.add_router("", exports.router)
router.add_router("", jobs.router)
router.add_router("", findings.router)
router.add_router("", ingest.router)
router.add_router("", usage.router)
