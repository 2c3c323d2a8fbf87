"""Whether classes have covariances with equal eigenvalues (section 2 of the supplement of Vasudeva et al. 2021).

The eigenvalues of class covariances after PCA to three dimensions, and what chance alone makes of them.

Vasudeva et al. 2021 (LoOp), section 2 of the supplement: PCA of each class by itself, so the eigenvalues are the
largest ones of the class's covariance. The paper calls their spread over classes small without saying how large it is
if all classes have the same distribution. The null here: each class is a sample, of its own size, of one Gaussian.

Only eigenvalues are compared, so classes may be turned against each other. The pooled covariance of turned classes is
rounder than that of each, so the Gaussian's eigenvalues are found by simulation instead: they are rescaled until its
samples have the same mean eigenvalues as the classes.

Eigenvalues of class covariances beside those of samples of one Gaussian (supplement of Vasudeva et al. 2021).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dml.report import figures
from dml.report.analysis.embedded_cells import Shown, kept, level_of, sets_of, shown, vectors
from dml.report.figures import WIDTH, across, grid_of
from dml.report.labels import SETS, Texts
from dml.report.page.blocks import Block, Column, Drawing, Folded, Paragraph, Table
from dml.report.results import Arrays, Results
from dml.report.sections._rows import absent, asked, described, describing_columns, named

SEED = 0
DIMENSIONS = 3
ROUNDS = 25  # of rescaling
STEP, DAMPING = 8.0, 0.7  # largest factor of a round, and the power of it that is taken
REPEATS = 20  # data sets drawn from the Gaussian
LEAST = 4  # images of a class; fewer span less than three dimensions
CLASSES = 100  # at most
VERSION = 1  # raised when the numbers of the null change, so that kept ones are not used


@dataclass(frozen=True)
class Eigenvalues:
    """Eigenvalues of K classes and of their counterparts drawn from one Gaussian; d = 3, or D if that is smaller."""

    classes: np.ndarray  # (K, d), descending
    sizes: np.ndarray  # (K,): images
    null: np.ndarray  # (REPEATS, K, d)

    @property
    def variation(self) -> np.ndarray:
        """The coefficient of variation over classes, (d,)."""
        return variation(self.classes)

    @property
    def null_variation(self) -> np.ndarray:
        """The same of each data set that was drawn, (REPEATS, d)."""
        return variation(self.null)


def spectrum(points: np.ndarray, labels: np.ndarray, seed: int, folder: Path | None = None) -> Eigenvalues | None:
    """Compare the classes of points (n, D) with samples of one Gaussian; None with fewer than two classes.

    Of more than `CLASSES` classes of at least `LEAST` points, random ones are taken.

    Parameters
    ----------
    folder : keeps the eigenvalues of the drawn samples, see `dml.report.analysis.embedded_cells`.
    """
    draw = np.random.default_rng(seed)
    known, sizes = np.unique(labels, return_counts=True)
    chosen = np.sort(draw.permutation(known[sizes >= LEAST])[:CLASSES])
    if len(chosen) < 2:
        return None
    members = [points[labels == label].astype(np.float64) for label in chosen]
    found = [eigenvalues(own[None])[0] for own in members]
    counts = np.array([len(own) for own in members])
    width = min(DIMENSIONS, points.shape[1])

    def simulated() -> np.ndarray:
        scales = _fitted(_pooled(members), found, counts, draw)
        return np.stack([_padded(_drawn(scales, counts, draw), width) for _ in range(REPEATS)])

    what = f"spectrum {VERSION}, {ROUNDS} rounds, {REPEATS} repeats, {LEAST} to a class, seed {seed}"
    return Eigenvalues(_padded(found, width), counts, kept(folder, simulated, what, *members))


def eigenvalues(samples: np.ndarray) -> np.ndarray:
    """Those of the covariance of each sample, descending: (m, n, D) -> (m, min(n, D)). Divides by n - 1."""
    centred = samples - samples.mean(axis=1, keepdims=True)
    wide = samples.shape[1] < samples.shape[2]  # the Gram matrix is smaller, with the same eigenvalues
    across = np.swapaxes(centred, 1, 2)
    products = centred @ across if wide else across @ centred
    return np.maximum(np.linalg.eigvalsh(products)[:, ::-1], 0.0) / (samples.shape[1] - 1)


def variation(values: np.ndarray) -> np.ndarray:
    """Standard deviation over mean, over the classes: (..., K, d) -> (..., d)."""
    mean = values.mean(axis=-2)
    return np.divide(values.std(axis=-2, ddof=1), mean, out=np.full(mean.shape, np.nan), where=mean > 0)


def _fitted(scales: np.ndarray, found: list[np.ndarray], counts: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Eigenvalues (D,) of a Gaussian whose samples have the mean eigenvalues of the classes."""
    width = len(scales)
    wanted = _padded(found, width).mean(axis=0)
    seen = min(width, int(counts.max()) - 1)  # a sample of n points has no more than n - 1
    for _ in range(ROUNDS):
        drawn = _padded(_drawn(scales, counts, draw), width).mean(axis=0)
        ratios = np.ones(width)
        ratios[:seen] = wanted[:seen] / np.maximum(drawn[:seen], 1e-30)
        ratios[seen:] = ratios[seen - 1]
        # Sorted, since a largest scale in another place would be changed by the ratio of a smaller one, and diverge.
        scales = np.sort(scales * np.clip(ratios, 1 / STEP, STEP) ** DAMPING)[::-1]
        scales *= wanted.sum() / max(float(scales.sum()), 1e-30)  # what samples have on average
    return scales


def _pooled(members: list[np.ndarray]) -> np.ndarray:
    """The eigenvalues (D,) of the mean covariance within classes, none of them 0."""
    centred = np.concatenate([own - own.mean(axis=0) for own in members])
    values = np.linalg.eigvalsh(centred.T @ centred)[::-1] / max(1, len(centred) - len(members))
    return np.maximum(values, 1e-6 * max(float(values[0]), 1e-30))


def _drawn(scales: np.ndarray, counts: np.ndarray, draw: np.random.Generator) -> list[np.ndarray]:
    """The eigenvalues of one sample for each class, in the order of the classes."""
    found: list[np.ndarray] = [np.empty(0)] * len(counts)
    for size in np.unique(counts):
        places = np.flatnonzero(counts == size)
        for part in np.array_split(places, -(-len(places) * int(size) * len(scales) // 5_000_000)):
            samples = draw.standard_normal((len(part), size, len(scales))) * np.sqrt(scales)
            for place, values in zip(part, eigenvalues(samples), strict=True):
                found[place] = values
    return found


def _padded(values: list[np.ndarray], width: int) -> np.ndarray:
    """(K, width), with zeros for the eigenvalues that a small class does not have."""
    padded = np.zeros((len(values), width))
    for row, own in zip(padded, values, strict=True):
        row[: min(width, len(own))] = own[:width]
    return padded


COLUMNS = 3  # methods in a row, at most
LOOKS = {"classes": (-0.17, figures.BLUE, "o"), "samples of one Gaussian": (0.17, figures.MUTED, "D")}
"""How far from the tick, colour and marker."""


def eigenvalue_figure(frame: pd.DataFrame, unit: str) -> Figure:
    """A panel for each method: the eigenvalues of each class as dots, mean and standard deviation as a bar.

    Parameters
    ----------
    frame : method, series (`classes` or `samples of one Gaussian`), eigenvalue (1, 2, ...) and value.
    """
    methods = frame["method"].unique()
    columns = across(len(methods), COLUMNS)
    rows = -(-len(methods) // columns)
    figure = Figure(figsize=(0.8 + 2.9 * columns, 0.9 + 2.3 * rows), layout="constrained")
    grid = grid_of(figure, len(methods), rows, columns)
    for axes, (title, method) in zip(grid.flat, frame.groupby("method", sort=False), strict=False):
        axes.set_title(textwrap.fill(title, WIDTH))
        for label, (shift, colour, marker) in LOOKS.items():
            _strip(axes, method[method["series"] == label], shift, colour, marker, label)
        numbers = method["eigenvalue"].unique()
        axes.set_xticks(numbers, [str(i) for i in numbers])
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.set_ylim(bottom=0)
        axes.grid(visible=False, axis="x")
        axes.margins(x=0.2)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False, fontsize=8.5)
    figure.supxlabel("eigenvalue of the class covariance", color=figures.MUTED, fontsize=9)
    figure.supylabel(unit, color=figures.MUTED, fontsize=9)
    return figure


def _strip(axes: Axes, own: pd.DataFrame, shift: float, colour: str, marker: str, label: str) -> None:
    """Dots around each tick, moved by `shift`, with their mean and standard deviation."""
    found = own.groupby("eigenvalue")["value"]
    for i, values in found:
        jitter = np.linspace(-0.09, 0.09, len(values)) if len(values) > 1 else np.zeros(1)
        axes.plot(i + shift + jitter, values, marker, color=colour, markersize=2.6, alpha=0.5, markeredgewidth=0)
    mean, std = found.mean(), found.std()
    axes.errorbar(mean.index + shift, mean, std, fmt=marker, color=colour, label=label, capsize=4, linewidth=1.6)


say = Texts(__file__)

SCALE = 100  # eigenvalues are shown times 100, as in the paper
RANGE = (2.5, 97.5)  # percentiles of the null


class Spectrum:
    """Eigenvalues of class covariances, beside those that chance gives."""

    anchor, title = "spectrum", "Shapes of classes"

    def applies(self, results: Results) -> bool:
        """The study asks for it."""
        return asked(results, "spectrum")

    def content(self, results: Results) -> Iterator[Block | None]:
        """What is compared; a figure for each dataset and set, all but the first set folded; a table."""
        found = shown(results, "spectrum")
        if not found:
            yield absent()
            return
        yield Paragraph(say("question"))
        rows: list[dict[str, Any]] = []
        for each in found:
            for place, part in enumerate(sets_of(results, each)):
                drawing, own = _measured(results, each, part)
                yield drawing if place == 0 else Folded(f"Shapes: {SETS.get(part, part)}", (drawing,))
                rows += own
        if rows:
            yield _table(results, pd.DataFrame(rows))


def _measured(results: Results, of: Shown, part: str) -> tuple[Drawing | None, list[dict[str, Any]]]:
    """The figure of one set, and the rows of its table."""
    spectra: dict[str, Eigenvalues] = {}
    for name, key in of.keys.items():
        made = _spectrum(results, of, name, key, part)
        if made is not None:
            spectra[name] = made
    if not spectra:
        return None, []
    frame = pd.concat([_values(results, of, name, part, made) for name, made in spectra.items()], ignore_index=True)
    figure = eigenvalue_figure(frame, f"eigenvalue x {SCALE}")
    classes = max(len(made.classes) for made in spectra.values())
    caption = say(
        "figure",
        scale=SCALE,
        set=SETS.get(part, part),
        where=of.where,
        classes=classes,
        least=LEAST,
        note=of.note,
    )
    drawing = Drawing(f"spectrum-{of.dataset}-{part}", figure, frame, say("alt"), caption)
    return drawing, [row for name, made in spectra.items() for row in _rows(results, of, name, part, made)]


def _values(results: Results, of: Shown, name: str, part: str, made: Eigenvalues) -> pd.DataFrame:
    """One row for each eigenvalue of each class, and of each of their counterparts."""
    rows = named(results, of, name, part)
    return pd.concat(
        pd.DataFrame(rows | {"series": series, "eigenvalue": i + 1, "value": own})
        for series, values in zip(LOOKS, (made.classes, made.null[0]), strict=True)
        for i, own in enumerate(values.T)
    )


def _spectrum(results: Results, of: Shown, name: str, key: str, part: str) -> Eigenvalues | None:
    def compute() -> Arrays:
        content = results.embeddings(key)
        rows = content["set"] == part
        points = vectors(results, name, content)[rows] * np.sqrt(SCALE)
        labels = content[f"labels_{level_of(results, of.dataset)}"][rows]
        made = spectrum(points, labels, SEED, results.kept)
        if made is None:
            return {}
        classes, null = made.classes.astype(np.float32), made.null.astype(np.float16)
        return {"classes": classes, "sizes": made.sizes.astype(np.int32), "null": null}

    found = results.figures.of("spectrum", key, part, compute)
    return Eigenvalues(found["classes"], found["sizes"], found["null"].astype(np.float32)) if found else None


def _rows(results: Results, of: Shown, name: str, part: str, made: Eigenvalues) -> Iterator[dict[str, Any]]:
    """One row for each eigenvalue."""
    for i in range(made.classes.shape[1]):
        own, null = made.classes[:, i], made.null_variation[:, i]
        low, high = np.percentile(null, RANGE)
        yield described(results, of, name, part) | {
            "eigenvalue": i + 1,
            "mean": float(own.mean()),
            "std": float(own.std(ddof=1)),
            "variation": float(made.variation[i]),
            "null": float(null.mean()),
            "null low": float(low),
            "null high": float(high),
            "says": "more than chance" if made.variation[i] > high else "no more than chance",
            "classes": len(made.classes),
            "images": float(np.median(made.sizes)),
        }


def _table(results: Results, frame: pd.DataFrame) -> Table:
    columns = (
        *describing_columns(results),
        Column("eigenvalue", "Eigenvalue", "count"),
        Column("mean", f"Mean x {SCALE}", "number"),
        Column("std", "Std", "number", "over classes"),
        Column("variation", "Variation", "rate", "standard deviation over mean"),
        Column("null", "Of one Gaussian", "rate_interval", "the same of samples of one Gaussian, with its 95% range"),
        Column("says", "Classes differ"),
    )
    caption = say("table", repeats=REPEATS, images=int(frame["images"].min()))
    return Table("spectrum", "Variation of the eigenvalues over classes", caption, columns, frame)
