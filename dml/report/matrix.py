"""One score of very many methods at one noise rate: a square each, where a row or a panel each would fill pages."""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dml.report import style
from dml.report.results import Results, readable

SQUARE = 0.21  # inches
FAINTEST = 0.06  # the opacity of the lowest score


def matrix(results: Results, dataset: str, noise: str, rate: float, key: str) -> Figure | None:
    """A row per loss, a block per way of choosing negatives, in it a column per way of choosing positives.

    The darker, the higher the mean over seeds; the frame marks the highest one. A cross marks a cell of which no seed
    finished.
    """
    scores: dict[tuple[str, str, str], float] = {}
    for name, cell in results.cells.items():
        if (cell.dataset, cell.noise, cell.rate) == (dataset, noise, rate):
            method, values = results.methods[name], results.values(name, key)
            scores[method.loss, method.positives, method.negatives] = float(np.mean(values)) if len(values) else np.nan
    known = np.array([value for value in scores.values() if np.isfinite(value)])
    if not len(known):
        return None
    losses = list(dict.fromkeys(loss for loss, _, _ in scores))
    blocks: dict[str, list[str]] = {}
    for _, positives, negatives in scores:
        if positives not in blocks.setdefault(negatives, []):
            blocks[negatives].append(positives)
    blocks = dict(sorted(blocks.items(), key=lambda block: not block[0]))  # losses without mining stand last
    widths = [len(columns) for columns in blocks.values()]
    left = 0.3 + 0.062 * max(len(readable(loss)) for loss in losses)
    top, foot, gap = 0.5, 1.3, 0.13
    width = left + SQUARE * sum(widths) + gap * len(blocks) + 0.35
    height = top + SQUARE * len(losses) + foot
    figure = Figure(figsize=(width, height))
    at = left
    low, high = known.min(), known.max()
    for number, (negatives, columns) in enumerate(blocks.items()):
        span = (at / width, foot / height, SQUARE * len(columns) / width, SQUARE * len(losses) / height)
        axes = figure.add_axes(span)
        at += SQUARE * len(columns) + gap
        for y, loss in enumerate(losses):
            for x, positives in enumerate(columns):
                value = scores.get((loss, positives, negatives))
                if value is None:
                    continue
                if np.isnan(value):
                    axes.plot(x, y, "x", color=style.MUTED, markersize=4)
                    continue
                share = (value - low) / (high - low) if high > low else 1.0
                best = value == high
                axes.add_patch(
                    Rectangle(
                        (x - 0.46, y - 0.46),
                        0.92,
                        0.92,
                        facecolor=(style.BLUE, FAINTEST + (1 - FAINTEST) * share),
                        edgecolor=style.INK if best else "none",
                        linewidth=1.6 if best else 0,
                    )
                )
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(losses) - 0.5, -0.5)
        axes.set_xticks(range(len(columns)), [readable(c) if c else "" for c in columns], rotation=90, fontsize=7.5)
        axes.set_yticks(range(len(losses)), [readable(loss) for loss in losses] if number == 0 else [], fontsize=8)
        title = readable(negatives) if negatives else "no mining"
        axes.set_title("\n".join(textwrap.wrap(title, max(6, 2 * len(columns)))), fontsize=8)
        axes.grid(visible=False)
        for side in axes.spines.values():
            side.set_visible(False)
    ends = f"faintest {low:.1f}%, darkest {high:.1f}%"
    figure.text(0.08 / width, 0.1 / height, f"blocks: negatives; columns: positives; {ends}", color=style.MUTED)
    return figure
