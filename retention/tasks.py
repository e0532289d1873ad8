"""Retention's kinds of work, registered with the one runner."""

from retention.actions import demo
from sessions_app.models import Workspace
from sessions_app.tasks import Run, job_kind


@job_kind("demo.remove", "Remove the demo workspace")
def remove_demo(run: Run) -> str:
    # The job does not hang on the workspace it removes.
    workspace = Workspace.objects.filter(id=str(run.claim.arguments["workspace"])).first()
    if workspace is None:
        return "It was gone already"
    number = demo.remove(workspace, lambda done, total: run.report(done, total))
    return f"{number} demo sessions removed"
