"""Charts over the turns of a session, as paths whose unit is a bar."""

from collections.abc import Sequence
from dataclasses import dataclass

HEIGHT = 100
# An amount that nobody knows is drawn as a stub of this height, not as nothing.
UNKNOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    look: str
    label: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    bars: int
    layers: tuple[Layer, ...]
    peak: float


Amounts = Sequence[float | None]


def stacked(layers: Sequence[tuple[str, str, Amounts]], top: float | None = None) -> Chart:
    """Bars standing on each other; `top` is the amount as high as the chart, the highest bar's
    if not given."""
    count = len(layers[0][2])
    peak = max((sum(amounts[n] or 0 for _, _, amounts in layers) for n in range(count)), default=0)
    scale = HEIGHT / (top or peak or 1)
    ground = [0.0] * count
    drawn = []
    for look, label, amounts in layers:
        drawn.append(Layer(look=look, label=label, path=_bars(amounts, ground, scale)))
        ground = [below + (amounts[n] or 0) for n, below in enumerate(ground)]
    return Chart(bars=max(count, 1), layers=tuple(drawn), peak=peak)


def _bars(amounts: Amounts, ground: Sequence[float], scale: float) -> str:
    return "".join(
        _bar(n, ground[n] * scale, amount * scale) for n, amount in enumerate(amounts) if amount
    )


def _bar(number: int, below: float, tall: float) -> str:
    # One token among millions is still seen.
    tall = max(tall, 0.7)
    return f"M{number}.08 {HEIGHT - below:.1f}v-{tall:.1f}h.84v{tall:.1f}z"


def stubs(is_unknown: Sequence[bool], label: str) -> Layer:
    path = "".join(_bar(n, 0, UNKNOWN) for n, unknown in enumerate(is_unknown) if unknown)
    return Layer(look="unknown", label=label, path=path)


def line(points: Sequence[tuple[float, int]], peak: int) -> tuple[str, str]:
    """A line and the area below it, over a width of 1,000."""
    corners = " ".join(
        f"{x * 1000:.0f},{HEIGHT - amount / peak * HEIGHT:.1f}" for x, amount in points
    )
    return f"M{corners}", f"M{corners} 1000,{HEIGHT} 0,{HEIGHT}z"
