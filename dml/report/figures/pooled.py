"""Effects of choices with their intervals, and shares of variance: a row for each."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report.analysis.front import Kept
from dml.report.analysis.pooled import Effect
from dml.report.analysis.variance import Share
from dml.report.figures import style
from dml.report.labels import readable
from dml.report.page.numbers import rate as written


def effect_rows(effects: Sequence[Effect], axes: Sequence[str], rates: Sequence[float]) -> Figure:
    """A row of panels for each axis, a panel for each noise rate; levels in the order of the first rate's effects."""
    orders = {axis: _order(effects, axis, rates[0]) for axis in axes}
    heights = [len(order) + 1.2 for order in orders.values()]
    size = (1.9 + 2.3 * len(rates), 0.5 + 0.23 * sum(heights))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(
        len(axes), len(rates), squeeze=False, sharey="row", sharex=True, gridspec_kw={"height_ratios": heights}
    )
    for row, (axis, order) in zip(grid, orders.items(), strict=True):
        for panel, rate in zip(row, rates, strict=True):
            own = {e.level: e for e in effects if e.axis == axis and e.rate == rate}
            panel.axvline(0, color=style.MUTED, linewidth=1)
            for place, level in enumerate(order):
                s = own[level].summary
                colour = style.MUTED if not s.low * s.high > 0 else style.BLUE if s.mean > 0 else style.VERMILION
                _interval(panel, place, s.mean, s.low, s.high, colour)
            _rows(panel, [readable(level) for level in order])
        row[0].set_ylabel(readable(axis))
    for panel, rate in zip(grid[0], rates, strict=True):
        panel.set_title(f"{written(rate)} noise" if len(rates) > 1 else "")
    figure.supxlabel("effect in points, all else pooled", color=style.MUTED, fontsize=9)
    return figure


def share_rows(shares: Sequence[Share]) -> Figure:
    """A row for each term."""
    figure = Figure(figsize=(6.4, 0.7 + 0.24 * len(shares)), layout="constrained")
    panel = figure.subplots()
    for place, each in enumerate(shares):
        _interval(panel, place, 100 * each.share, 100 * each.low, 100 * each.high, style.BLUE)
    _rows(panel, [readable(each.term) for each in shares])
    panel.set_xlim(left=0)
    panel.set_xlabel("share of the variance between cells, in percent")
    return figure


def front_points(points: Sequence[Kept], rate: float, label: str) -> Figure:
    """Every method as a point; those of the front with their intervals, and their numbers where there is room."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    panel = figure.subplots()
    others = [(e.score.mean, e.share.mean) for e in points if not e.on_front]
    panel.plot(*zip(*others, strict=True), ".", color=style.CONTEXT, markersize=4) if others else None
    chosen = sorted((e for e in points if e.on_front), key=lambda e: -e.score.mean)
    panel.plot([e.score.mean for e in chosen], [e.share.mean for e in chosen], color=style.BLUE, linewidth=1)
    for each in chosen:
        x, y = each.score, each.share
        panel.plot([x.low, x.high], [y.mean, y.mean], color=style.BLUE, linewidth=1.3, alpha=0.6)
        panel.plot([x.mean, x.mean], [y.low, y.high], color=style.BLUE, linewidth=1.3, alpha=0.6)
        panel.plot(x.mean, y.mean, "o", color=style.BLUE, markersize=5)
    for place in _with_room(panel, [(e.score.mean, e.share.mean) for e in chosen]):
        at = chosen[place].score.mean, chosen[place].share.mean
        panel.annotate(str(place + 1), at, xytext=(5, 5), textcoords="offset points", weight="bold")
    panel.set_xlabel(f"{label}, at 0% noise, in percent")
    panel.set_ylabel(f"share kept at {written(rate)} noise, in percent")
    return figure


def _with_room(panel: Axes, points: Sequence[tuple[float, float]]) -> list[int]:
    """Which of the points can have a number beside them without two that overlap; earlier ones first."""
    (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
    width, height = 0.85 * 6.4 * 72, 0.85 * 4.2 * 72  # of the panel, about, in points
    kept: list[int] = []
    for place, (x, y) in enumerate(points):
        apart = (
            max(abs(x - points[i][0]) / (right - left) * width / 14, abs(y - points[i][1]) / (high - low) * height / 11)
            for i in kept
        )
        if all(distance >= 1 for distance in apart):
            kept.append(place)
    return kept


def _order(effects: Sequence[Effect], axis: str, rate: float) -> list[str]:
    own = [e for e in effects if e.axis == axis and e.rate == rate]
    return [e.level for e in sorted(own, key=lambda e: -e.summary.mean)]


def _interval(panel: Axes, place: int, mean: float, low: float, high: float, colour: str) -> None:
    if low == low:
        panel.plot([low, high], [place, place], color=colour, linewidth=2, solid_capstyle="butt")
    panel.plot(mean, place, "o", color=colour, markersize=4.5)


def _rows(panel: Axes, labels: Sequence[str]) -> None:
    panel.set_yticks(range(len(labels)), labels)
    panel.set_ylim(len(labels) - 0.4, -0.6)
    panel.xaxis.set_major_locator(MaxNLocator(4))
    panel.grid(visible=False, axis="y")
