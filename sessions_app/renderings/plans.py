"""Lists of what is to be done."""

from sessions_app.domain.meanings import Plan
from sessions_app.renderings.pen import Pen
from sessions_app.renderings.shape import PartView, Steps, StepView

LONGEST = 400


def call(told: Plan, pen: Pen) -> list[PartView]:
    steps = tuple(StepView(text=step.text[:LONGEST], state=step.state.value) for step in told.steps)
    pen.takes(sum(len(step.text) + 80 for step in steps))
    return [Steps(steps=steps, note=told.note[:LONGEST])]
