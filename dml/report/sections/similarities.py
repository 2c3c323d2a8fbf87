"""Similarities of positive and negative pairs before and after training (poster of Ustinova & Lempitsky 2016).

How far the similarities of positive and negative pairs overlap (poster of Ustinova & Lempitsky 2016).

Histograms of similarities before and after training (poster of Ustinova & Lempitsky 2016).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report import figures
from dml.report.analysis.embedded_cells import Shown, kept, level_of, sets_of, shown, vectors
from dml.report.analysis.intervals import summary_of
from dml.report.figures import across
from dml.report.labels import SETS, Texts
from dml.report.page.blocks import Block, Column, Drawing, Folded, Table
from dml.report.results import Arrays, Results
from dml.report.sections._rows import absent, asked, described, describing_columns, interval_note, named

SEED = 0
PAIRS = 100_000  # of each kind, at most
BINS = 100
PER_BIN = 50  # pairs of the rarer kind, below which there are fewer bins for the overlap
CHUNK = 10_000  # pairs whose embeddings are in memory at the same time
VERSION = 1  # raised when the numbers change, so that kept ones are not used


@dataclass(frozen=True)
class Overlap:
    """The similarities of one network on one set, as histograms and two numbers."""

    positive: np.ndarray  # (BINS,): the share of positive pairs in each bin
    negative: np.ndarray  # (BINS,)
    edges: np.ndarray  # (BINS + 1,): of similarities, or of minus the distances
    reverse: float  # the probability of reverse order
    area: float  # the common area


def measure(points: np.ndarray, labels: np.ndarray, cosine: bool, seed: int, folder: Path | None = None) -> Overlap:
    """Measure points (n, D) with labels (n,); the arguments are those of `similarities`.

    Parameters
    ----------
    folder : keeps the result, see `dml.report.analysis.embedded_cells`.
    """

    def compute() -> np.ndarray:
        positive, negative = similarities(points, labels, cosine, seed)
        edges = bins(cosine, positive, negative)
        numbers = [reverse_order(positive, negative), overlap(positive, negative)]
        return np.concatenate([shares(positive, edges), shares(negative, edges), edges, numbers])

    what = f"similarities {VERSION}, cosine {cosine}, seed {seed}, {PAIRS} pairs, {BINS} bins, {PER_BIN} in each"
    found = kept(folder, compute, what, points, labels)
    return Overlap(found[:BINS], found[BINS : 2 * BINS], found[2 * BINS : -2], float(found[-2]), float(found[-1]))


def similarities(
    points: np.ndarray, labels: np.ndarray, cosine: bool, seed: int, most: int = PAIRS
) -> tuple[np.ndarray, np.ndarray]:
    """Similarities of positive pairs (p,) and of negative pairs (q,), float64: larger is more similar.

    Parameters
    ----------
    points : (n, D) float, of unit length if `cosine`.
    labels : (n,) int.
    cosine : cosine similarities; otherwise minus the Euclidean distance.
    most : of each kind; of more pairs, as many random ones are drawn, with replacement.
    """
    draw = np.random.default_rng(seed)
    values = []
    for first, second in (positive_pairs(labels, most, draw), negative_pairs(labels, most, draw)):
        found = np.empty(len(first))
        for start in range(0, len(first), CHUNK):
            part = slice(start, start + CHUNK)
            a, b = points[first[part]], points[second[part]]
            found[part] = np.einsum("ij,ij->i", a, b) if cosine else -np.linalg.norm(a - b, axis=1)
        values.append(found)
    return values[0], values[1]


def positive_pairs(labels: np.ndarray, most: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two different points of one class, (p,) each; every pair once if there are at most `most`."""
    order = np.argsort(labels, kind="stable")
    _, starts, sizes = np.unique(labels[order], return_index=True, return_counts=True)
    numbers = sizes * (sizes - 1) // 2
    if numbers.sum() <= most:
        inside = [np.triu_indices(size, 1) for size in sizes]
        first, second = (
            np.concatenate([start + pair[i] for start, pair in zip(starts, inside, strict=True)]) for i in (0, 1)
        )
    else:
        chosen = draw.choice(len(sizes), most, p=numbers / numbers.sum())
        first = draw.integers(sizes[chosen])
        second = (first + draw.integers(1, sizes[chosen])) % sizes[chosen]
        first, second = starts[chosen] + first, starts[chosen] + second
    return order[first], order[second]


def negative_pairs(labels: np.ndarray, most: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two points of different classes, (q,) each; every pair once if there are at most `most`."""
    sizes = np.unique(labels, return_counts=True)[1]
    if (len(labels) ** 2 - (sizes**2).sum()) // 2 <= most:
        first, second = np.nonzero(np.triu(labels[:, None] != labels[None, :]))
        return first, second
    found: list[np.ndarray] = []
    while sum(pairs.shape[1] for pairs in found) < most:
        pairs = draw.integers(len(labels), size=(2, most))
        found.append(pairs[:, labels[pairs[0]] != labels[pairs[1]]])
    first, second = np.concatenate(found, axis=1)[:, :most]
    return first, second


def reverse_order(positive: np.ndarray, negative: np.ndarray) -> float:
    """The share of (positive, negative) pairs of pairs in which the negative is more similar; a tie counts half.

    NaN if there is no positive or no negative pair.
    """
    if not len(positive) or not len(negative):
        return float("nan")
    positive = np.sort(positive)
    below, up_to = (np.searchsorted(positive, negative, side) for side in ("left", "right"))
    return float((below + up_to).sum() / (2 * len(positive) * len(negative)))


def shares(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The share of the values in each bin, (B,); values beyond the outer edges count in the outer bins."""
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    return counts / max(1, len(values))


def bins(cosine: bool, *values: np.ndarray) -> np.ndarray:
    """Edges (B + 1,) for all values: from -1 to 1 for cosines, else from the smallest value to 0."""
    low = -1.0 if cosine else min((float(found.min()) for found in values if len(found)), default=-1.0)
    return np.linspace(min(low, -1e-12), 1.0 if cosine else 0.0, BINS + 1)


def overlap(positive: np.ndarray, negative: np.ndarray) -> float:
    """The common area of the two densities: 0 if they are apart, 1 if they are equal; NaN without pairs.

    The area does not change if all values are stretched, so it is taken from bins with equally many values of both
    kinds. Bins of equal width would be too wide for an untrained network, whose similarities are all almost 1.
    """
    if not len(positive) or not len(negative):
        return float("nan")
    count = int(np.clip(min(len(positive), len(negative)) // PER_BIN, 2, BINS))
    both = np.concatenate([np.quantile(values, np.linspace(0, 1, 1001)) for values in (positive, negative)])
    edges = np.unique(np.quantile(both, np.linspace(0, 1, count + 1)))
    if len(edges) < 2:
        return 1.0
    return float(np.minimum(shares(positive, edges), shares(negative, edges)).sum())


COLUMNS = 3  # methods in a row, at most
LOOKS = {"positive": (figures.BLUE, ""), "negative": (figures.VERMILION, "////")}


def similarity_histograms(frame: pd.DataFrame, below: str) -> Figure:
    """A column for each method, a row for each moment: `before training`, `after training`.

    Parameters
    ----------
    frame : method, moment, pairs (`positive` or `negative`), from, to, share, reverse and overlap (of the moment).
    below : the label of the horizontal axis.
    """
    methods, moments = frame["method"].unique(), list(frame["moment"].unique())
    columns = across(len(methods), COLUMNS)
    rows = -(-len(methods) // columns) * len(moments)
    figure = Figure(figsize=(0.6 + 3.0 * columns, 0.9 + 1.75 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for i, title in enumerate(methods):
        row, column = divmod(i, columns)
        for j, moment in enumerate(moments):
            axes = grid[row * len(moments) + j, column]
            axes.set_axis_on()
            _panel(axes, frame[(frame["method"] == title) & (frame["moment"] == moment)])
            if j == 0:
                axes.set_title(textwrap.fill(title, 38))
            if column == 0:
                axes.set_ylabel(moment)
    handles = [
        grid[0, 0].fill_between([], [], color=colour, hatch=hatch, alpha=0.45, label=f"{kind} pairs")
        for kind, (colour, hatch) in LOOKS.items()
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2, frameon=False, fontsize=8.5)
    figure.supxlabel(below, color=figures.MUTED, fontsize=9)
    return figure


def _panel(axes: Axes, found: pd.DataFrame) -> None:
    for pairs, (colour, hatch) in LOOKS.items():
        own = found[found["pairs"] == pairs]
        shares, edges = own["share"], [*own["from"], own["to"].iloc[-1]]
        axes.stairs(shares, edges, fill=True, facecolor=colour, alpha=0.3, linewidth=0)
        axes.stairs(shares, edges, fill=True, facecolor="none", edgecolor=colour, hatch=hatch, linewidth=0)
        axes.stairs(shares, edges, color=colour, linewidth=1.2)
    axes.set_yticks([])
    axes.set_ylim(bottom=0)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    text = f"reverse order {found['reverse'].iloc[0]:.1%}\noverlap {found['overlap'].iloc[0]:.1%}"
    axes.text(0.02, 0.97, text, transform=axes.transAxes, va="top", fontsize=8, color=figures.INK)


say = Texts(__file__)

MOMENTS = {"before training": True, "after training": False}  # whether embeddings are those of the start


class Similarities:
    """Histograms, and how far they overlap."""

    anchor, title = "similarities", "Similar pairs, before and after training"

    def applies(self, results: Results) -> bool:
        """The study asks for it."""
        return asked(results, "similarities")

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset and set, all but the first set folded; a table for all seeds."""
        found = shown(results, "similarities")
        if not found:
            yield absent()
        rows = []
        for each in found:
            for place, part in enumerate(sets_of(results, each)):
                drawing = _drawing(results, each, part)
                yield drawing if place == 0 else Folded(f"Similarities: {SETS.get(part, part)}", (drawing,))
                rows += [_row(results, each, name, part) for name in each.keys]
        if rows:
            yield _table(results, pd.DataFrame(rows))


def _drawing(results: Results, of: Shown, part: str) -> Drawing:
    cosine = _cosine(results, of)
    frames = []
    for moment, start in MOMENTS.items():
        found = {name: _measured(results, name, key, part, start, cosine) for name, key in of.keys.items()}
        if all(found.values()):
            frames += [_shares(results, of, name, part, moment, each, cosine) for name, each in found.items() if each]
    frame = pd.concat(frames, ignore_index=True)
    what = "cosine similarity" if cosine else "Euclidean distance"
    figure = similarity_histograms(frame, f"{what} of two images")
    pairs = f"{PAIRS:,}"
    caption = say("figure", set=SETS.get(part, part), where=of.where, pairs=pairs, note=of.note)
    return Drawing(f"similarities-{of.dataset}-{part}", figure, frame, say("alt"), caption)


def _shares(
    results: Results, of: Shown, name: str, part: str, moment: str, found: Overlap, cosine: bool
) -> pd.DataFrame:
    """One row for each bin of each kind of pairs."""
    edges = found.edges if cosine else -found.edges  # minus the distances
    about = named(results, of, name, part) | {"moment": moment, "reverse": found.reverse, "overlap": found.area}
    bins, shares = {"from": edges[:-1], "to": edges[1:]}, {"positive": found.positive, "negative": found.negative}
    return pd.concat(pd.DataFrame(about | {"pairs": kind} | bins | {"share": own}) for kind, own in shares.items())


def _row(results: Results, of: Shown, name: str, part: str) -> dict[str, object]:
    """One row of the table: a cell on one set, over the seeds that kept their embeddings."""
    trials = results.confirmed_of(name)
    values: dict[str, list[float]] = {}
    cosine = results.study.training_of(results.cells[name]).normalize
    for key in trials["key"].astype(str):
        for moment, start in MOMENTS.items():
            found = _measured(results, name, key, part, start, cosine)
            if found is not None and np.isfinite(found.reverse):
                values.setdefault(f"reverse {moment}", []).append(100 * found.reverse)
                values.setdefault(f"overlap {moment}", []).append(100 * found.area)
    row: dict[str, object] = described(results, of, name, part)
    for measure in ("reverse", "overlap"):
        for moment in MOMENTS:
            row |= summary_of(values.get(f"{measure} {moment}", []), f"{measure} {moment}", overlap=results.overlap)
    return row


def _table(results: Results, frame: pd.DataFrame) -> Table:
    columns = [*describing_columns(results)]
    for measure, label in (("reverse", "Reverse order"), ("overlap", "Overlap")):
        columns += [Column(f"{measure} {moment}", f"{label}, {moment.split()[0]}", "score") for moment in MOMENTS]
    caption = say("table", shown=interval_note(results))
    return Table("similarities", "Reverse order and overlap", caption, tuple(columns), frame)


def _measured(results: Results, name: str, key: str, part: str, start: bool, cosine: bool) -> Overlap | None:
    """A trial's similarities on one set; None if it kept no such embeddings."""

    def compute() -> Arrays:
        content = results.embeddings(key, start=start)
        if not content:
            return {}
        rows = content["set"] == part
        labels = content[f"labels_{level_of(results, results.cells[name].dataset)}"][rows]
        points = vectors(results, name, content)[rows]
        measured = measure(points, labels, cosine, SEED, results.kept)
        return {of + field: np.asarray(value, dtype=np.float32) for field, value in vars(measured).items()}

    of = ("start " if start else "") + ("" if cosine else "distance ")
    found = results.figures.of("similarities", key, part, compute)
    if of + "reverse" not in found:
        return None
    positive, negative, edges = (found[of + field] for field in ("positive", "negative", "edges"))
    return Overlap(positive, negative, edges, float(found[of + "reverse"]), float(found[of + "area"]))


def _cosine(results: Results, of: Shown) -> bool:
    """Whether cosines are drawn: unless a shown method does not normalise its embeddings."""
    return all(results.study.training_of(results.cells[name]).normalize for name in of.keys)
