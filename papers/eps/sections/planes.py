"""Two-dimensional embeddings of each method, of its first seed (figure 2 of Levi et al. 2021)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dml.counting import counted
from dml.report import figures
from dml.report.figures import grid_of, short_label
from dml.report.labels import Texts, metric_label, metric_of
from dml.report.numbers import percent
from dml.report.page.blocks import Block, Drawing
from dml.report.results import Arrays, Results

say = Texts(__file__)

POINTS = 2500  # per panel, at most
PANELS = 12  # per dataset, at most
COLUMNS = 4  # methods in a row, at most
TITLE = 36  # letters in a line of a panel's title
FEW = 10  # classes that are named by a numeral
SETS = {"test": "new classes", "seen": "training classes", "train": "training images"}
COLOURS = (
    *(figures.BLUE, figures.VERMILION, figures.GREEN, figures.PURPLE, figures.OCHRE, figures.VIOLET),
    *(colour for colour, _ in figures.LOOKS[6:]),
)


class Planes:
    """Each method's embeddings as points in the plane, of one noise model and rate."""

    anchor, title, key_figure = "planes", "Embeddings in the plane", True

    def applies(self, results: Results) -> bool:
        """Two dimensions, and at least one trial saved its embeddings."""
        return bool(trials_by_dataset(results))

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset: a panel per method and evaluated set."""
        by_dataset = trials_by_dataset(results)
        for dataset, trials in by_dataset.items():
            most = max(1, PANELS // len(results.study.evaluation.sets))
            keys = dict(list(trials.items())[:most])
            frame = _frame(results, keys)
            few = frame["class"].nunique() <= FEW
            numerals = "; the numerals are at the medians of the classes" if few else ""
            left_out = counted(len(trials) - len(keys), "cell")
            note = "First seed of each method" + (f"; {left_out} not shown." if len(trials) > len(keys) else ".")
            cell = results.cells[next(iter(keys))]
            where = results.where(dataset, cell.noise)
            if len({c.rate for c in results.cells.values()}) > 1:
                where += f", {results.level(*cell.noise_level)}"
            caption = say("figure", where=where, numerals=numerals, points=f"{POINTS:,}", note=note)
            name = "planes" if len(by_dataset) == 1 else f"planes-{dataset}"
            yield Drawing(name, panels(frame, few, _scores(results, keys)), frame, say("alt"), caption)


def trials_by_dataset(results: Results) -> dict[str, dict[str, str]]:
    """By dataset, the cells with two dimensions at its first noise model and rate, and the key of the trial of each."""
    keys: dict[str, dict[str, str]] = {}
    levels: dict[str, tuple[str, float]] = {}
    for name, cell in results.cells.items():
        if results.study.training_of(cell).embedding_size != 2:
            continue
        if levels.setdefault(cell.dataset, cell.noise_level) == cell.noise_level:
            key = results.embedded(name, "planes")
            keys.setdefault(cell.dataset, {}).update({} if key is None else {name: key})
    return {dataset: trials for dataset, trials in keys.items() if trials}


def panels(frame: pd.DataFrame, numerals: bool, below: Mapping[tuple[str, str], str]) -> Figure:
    """A column for each method, and below each other its sets; with more than `COLUMNS` methods, again below."""
    methods, sets = frame["method"].unique(), list(frame["set"].unique())
    columns = -(-len(methods) // -(-len(methods) // COLUMNS))  # rows are as full as each other
    rows = -(-len(methods) // columns) * len(sets)
    figure = Figure(figsize=(3.9 * columns, 0.4 + 3.6 * rows), layout="constrained")
    grid = grid_of(figure, 0, rows, columns)
    for i, title in enumerate(methods):
        row, column = divmod(i, columns)
        for j, name in enumerate(sets):
            axes = grid[row * len(sets) + j, column]
            _scatter(axes, frame[(frame["method"] == title) & (frame["set"] == name)], numerals)
            axes.set_xlabel(below.get((title, name), ""))
            if column == 0:
                axes.set_ylabel(name)
            if j == 0:
                axes.set_title(textwrap.fill(title, TITLE))
    return figure


def _scatter(axes: Axes, points: pd.DataFrame, numerals: bool) -> None:
    axes.set_axis_on()
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(visible=True, color=figures.GRID)
    axes.set_aspect("equal", adjustable="datalim")
    axes.grid(visible=False)
    for (index, label), each in points.groupby(["colour", "class"]):
        colour = COLOURS[index % len(COLOURS)]
        axes.plot(each["x"], each["y"], ".", color=colour, markersize=2.2, alpha=0.6, rasterized=True)
        if numerals:
            x, y = each[["x", "y"]].median()
            text = axes.text(x, y, str(label), color=colour, fontsize=12, weight="bold", ha="center", va="center")
            text.set_path_effects([patheffects.withStroke(linewidth=3, foreground=figures.PAPER)])


def _sets(results: Results, keys: Mapping[str, str]) -> list[str]:
    """The sets of the trials' embeddings, new classes last."""
    sets: set[str] = set()
    for key in keys.values():
        saved = results.figures.sets("planes", key) if results.figures.snapshot is not None else ()
        sets.update(saved or map(str, np.unique(results.embeddings(key)["set"])))
    return [part for part in reversed(SETS) if part in sets]


def _frame(results: Results, keys: Mapping[str, str]) -> pd.DataFrame:
    """One row per point that is shown."""
    frames = []
    for name, key in keys.items():
        for part in _sets(results, keys):
            arrays = _points(results, key, part)
            x, y = arrays["points"].astype(np.float32).T
            row = {"method": short_label(results, results.methods[name]), "set": SETS[part]}
            frames.append(pd.DataFrame(row | {"x": x, "y": y, "class": arrays["labels"]}))
    frame = pd.concat(frames, ignore_index=True)
    return frame.assign(colour=frame["class"].rank(method="dense").astype(int) - 1)


def _points(results: Results, key: str, part: str) -> Arrays:
    """Every so many-th point of a set: `points` float16 (n, 2) and `labels` int (n,)."""

    def compute() -> Arrays:
        content = results.embeddings(key)
        chosen = np.flatnonzero(content["set"] == part)
        chosen = chosen[:: max(1, -(-len(chosen) // POINTS))]
        labels = content["labels_fine"][chosen].astype(np.int32)
        return {"points": content["embeddings"][chosen].astype(np.float16), "labels": labels}

    arrays = results.figures.of("planes", key, part, compute)
    return arrays or {"points": np.empty((0, 2)), "labels": np.empty(0, dtype=int)}


def _scores(results: Results, keys: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """The objectives of the trials that are shown, by method and set."""
    scores = {}
    for name, key in keys.items():
        row = results.confirmed[results.confirmed["key"] == key]
        for part in _sets(results, keys):
            score = results.objective(results.cells[name].dataset, part)
            if score in row and row[score].notna().any():
                value = percent(100 * float(row[score].iloc[0]))
                method = short_label(results, results.methods[name])
                scores[method, SETS[part]] = f"{metric_label(metric_of(score))} {value} %"
    return scores
