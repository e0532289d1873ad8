"""All sessions of the demo, project by project."""

from sessions_app.ingest.demo.stories import pipeline, platform, refunds, shop, webhooks

STORIES = (
    *refunds.STORIES,
    *webhooks.STORIES,
    *pipeline.STORIES,
    *shop.STORIES,
    *platform.STORIES,
)
