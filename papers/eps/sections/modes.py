"""How many modes of a class have the least expected risk with easy positives (Levi et al. 2021, section 4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from dml.report.sections import TheoryVerdict
from papers.eps.theory import modes
from papers.series import Series, draw
from papers.verdict_statements import stated

CHANCES = (0.6, 0.75, 0.9)  # p of the figure
ALL_CHANCES = (0.55, 0.6, 0.75, 0.9, 0.95)
SAMPLES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
SHOWN = 256
LOSSES = ("triplet", "margin")


class Modes:
    """With easy positives small modes are best, and every collapsed class is beaten."""

    anchor, title = "modes", "How many modes easy positives prefer"

    def content(self) -> Iterator[Block | None]:
        """A verdict, a figure and a table."""
        yield Paragraph(
            "Two groups, each split into equal modes, with the best distances between modes and between groups, and "
            "the best beta; the dimension has room for them. One mode is the collapsed class. No modes are in the "
            "data: the preference comes from the loss."
        )
        yield stated(self.verdicts(), ("No minimiser has a collapsed class",))
        caption = (
            f"Left: expected triplet risk of one anchor against the samples in a mode, n = {SHOWN}; the last point is "
            "the collapsed class. Right: the best number of samples in a mode (powers of 2) against n; the margin "
            "loss wants pairs, whatever n and p."
        )
        alt = "Expected risk against the size of modes, and the best size against the number of samples."
        yield Drawing("modes", *_figure(), alt, caption)
        yield _table()

    def verdicts(self) -> list[TheoryVerdict]:
        """Collapse is beaten if a lower bound for any collapsed class is above what modes attain."""
        return [_verdict()]


def _sizes(n: int) -> list[int]:
    return [2**k for k in range(n.bit_length() - 1)]


@cache
def _risks(loss: str, n: int, p: float) -> np.ndarray:
    """The least risk of one anchor, in alphas, for modes of 1, 2, 4, ... n / 2 samples."""
    best = modes.best_triplet if loss == "triplet" else modes.best_margin
    return np.array([best(modes.blocks(n, 2, p, size), 1.0) for size in _sizes(n)])


def _best(loss: str, n: int, p: float) -> int:
    """The best number of samples in a mode."""
    return _sizes(n)[int(_risks(loss, n, p).argmin())]


@cache
def _beaten_from(loss: str, p: float) -> int | None:
    """The least n of SAMPLES from which no embedding with a collapsed class has the least risk."""
    least = None
    for n in reversed(SAMPLES):
        if modes.collapsed_at_least(n, 2, p, 1.0, loss) <= n * _risks(loss, n, p).min() * (1 + 1e-9):
            break
        least = n
    return least


@cache
def _verdict() -> TheoryVerdict:
    beaten = {loss: [_beaten_from(loss, p) for p in ALL_CHANCES] for loss in LOSSES}
    most = SAMPLES[-1]
    sizes = [_best("triplet", SHOWN, p) for p in CHANCES]
    three = modes.best_margin(modes.blocks(96, 3, 0.6, 32), 1.0), modes.best_margin(modes.blocks(96, 3, 0.6, 2), 1.0)
    holds = all(n is not None for samples in beaten.values() for n in samples)
    finding = (
        "A lower bound for every embedding with a collapsed class is above the risk of small modes from n = "
        f"{_texts(beaten['triplet'])} (triplet) and {_texts(beaten['margin'])} (margin, any beta) up to n = {most}, "
        f"for p = {_texts(ALL_CHANCES)} and two labels. At n = {SHOWN} the triplet loss is best with modes of "
        f"{_texts(sizes)} samples (p = {_texts(CHANCES)}), the margin loss with pairs: the modes that EPS makes are "
        "not those of the data."
    )
    if three[0] <= three[1] * (1 + 1e-6):
        finding += (
            " Exception: with three labels and p = 0.6, beta = -alpha and one point for all samples are as good for "
            f"the margin loss as pairs (risk {three[0]:.3f} and {three[1]:.3f} alpha)."
        )
    return TheoryVerdict("eps-no-collapse-minimiser", "confirmed" if holds else "undecided", finding)


def _texts(values: object) -> str:
    return ", ".join(str(value) for value in values)  # type: ignore[attr-defined]


def _table() -> Table:
    rows = [
        {
            "loss": loss,
            "p": p,
            "n": n,
            "size": _best(loss, n, p),
            "best": _risks(loss, n, p).min(),
            "collapsed": _risks(loss, n, p)[-1],
            "bound": modes.collapsed_at_least(n, 2, p, 1.0, loss) / n,
        }
        for loss in LOSSES
        for p in CHANCES
        for n in (16, 64, 256, 1024, 4096)
    ]
    columns = (
        Column("loss", "Loss", "name"),
        Column("p", "p", "number", "probability of a right label"),
        Column("n", "Samples", "count"),
        Column("size", "Best mode", "count", "samples in a mode with which the risk is least"),
        Column("best", "Its risk", "number"),
        Column("collapsed", "Risk, all classes collapsed", "number", "at the best distance between classes, and beta"),
        Column("bound", "Bound for any collapsed class", "number", "no embedding with a collapsed class has less risk"),
    )
    note = "Expected risk in alphas, per anchor. Sizes are powers of 2."
    return Table("modes", "Best modes", note, columns, pd.DataFrame(rows))


def _figure() -> tuple[Figure, pd.DataFrame]:
    figure = Figure(figsize=(8.2, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    risk, size, series = f"triplet risk, {SHOWN} samples", "best samples in a mode", []
    for p, shade in zip(CHANCES, figures.THREE, strict=True):
        risks, best, name = _risks("triplet", SHOWN, p), [_best("triplet", n, p) for n in SAMPLES], f"p = {p:g}"
        ring = {"color": shade, "markersize": 9, "markerfacecolor": "none", "label": ""}
        series.append(Series(risk, name, _sizes(SHOWN), risks, "o-", color=shade))
        series.append(Series(risk, f"least, {name}", _sizes(SHOWN)[int(risks.argmin())], risks.min(), "o", **ring))
        series.append(Series(size, f"triplet, {name}", SAMPLES, best, "o-", color=shade))
    best = [_best("margin", n, CHANCES[0]) for n in SAMPLES]
    frame = draw((left, right), [*series, Series(size, "margin, all p", SAMPLES, best, "s--", color=figures.INK)])
    for axes, ticks in ((left, (1, 4, 16, 64)), (right, (16, 64, 256, 1024, 4096))):
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
    left.set_yscale("log")
    left.set_yticks([5, 10, 20, 50], ["5", "10", "20", "50"])
    left.minorticks_off()
    left.set_xlabel("samples in a mode")
    left.set_ylabel("risk of an anchor (alpha)")
    right.set_yscale("log", base=2)
    right.set_yticks([2, 4, 8, 16, 32, 64], ["2", "4", "8", "16", "32", "64"])
    right.set_xlabel("samples")
    right.legend(frameon=False, fontsize=8)
    left.legend(frameon=False, fontsize=8)
    return figure, frame
