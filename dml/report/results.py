"""A study's results: the record that every section of a study's page is made from, and the arrays of its figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from dml import discovery
from dml.config import Study
from dml.config.for_use import has_user_labels
from dml.config.parts import is_told
from dml.evaluation import metrics
from dml.protocols import ClusteringMetric
from dml.report.labels import SETS, is_topline, level_label, metric_of, noise_name
from dml.report.methods import Method, method_of, setting_labels, shared_settings
from dml.report.verdicts import Verdict
from dml.snapshots.folder import arrays_in
from dml.snapshots.publishing import KEY_DIGITS
from dml.types import Cell, ScoreKey, value_text

Arrays = dict[str, np.ndarray]
EMBEDDINGS = "embeddings.npz"


@dataclass(frozen=True)
class FigureData:
    """The arrays of one study's figures.

    Parameters
    ----------
    snapshot : its arrays, by `<figure>/<key>/<set>/<field>`; None: they are computed.
    before : of the snapshot that a publication replaces, for trials that it reused: their files are not here.

    Attributes
    ----------
    computed : what has been computed so far, by the same names.
    """

    snapshot: Mapping[str, np.ndarray] | None = None
    before: Mapping[str, np.ndarray] = field(default_factory=dict)
    computed: Arrays = field(default_factory=dict)

    def of(self, figure: str, key: str, part: str, compute: Callable[[], Arrays]) -> Arrays:
        """The arrays of one figure for one trial and set, by field; none of a snapshot that lacks them."""
        place = f"{figure}/{key[:KEY_DIGITS]}/{part}/"
        if self.snapshot is None:
            arrays = compute() or _at(place, self.before)
            self.computed.update({place + name: array for name, array in arrays.items()})
            return arrays
        return _at(place, self.snapshot)

    def sets(self, figure: str, key: str) -> list[str]:
        """The sets for which a snapshot has arrays of a figure for a trial."""
        place = f"{figure}/{key[:KEY_DIGITS]}/"
        names = [name for name in self.snapshot or {} if name.startswith(place)]
        return list(dict.fromkeys(name.removeprefix(place).split("/")[0] for name in names))


def _at(place: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
    return {name.removeprefix(place): array for name, array in arrays.items() if name.startswith(place)}


@dataclass(frozen=True)
class Results:
    """One study, its trials and its summary. `dml.report.loading.load` reads them."""

    study: Study  # as it ran, with today's title, comparisons and report
    trials: pd.DataFrame  # `loading.COLUMNS`, and one float column per score key
    summary: Mapping[str, Any] = field(default_factory=dict)  # keys: `dml.sweep.progress.results.summarize`
    problem: str = ""  # why nothing, or not everything, can be shown
    store: Path | None = None  # contains `trials/<key>/`, which `embeddings` reads
    origin: str = ""  # of results from a snapshot: what says so, with its commit
    verdicts: Sequence[Verdict] = ()  # on claims; `dml.report.claims` makes them for all studies together
    figures: FigureData = field(default_factory=FigureData)  # what the figures of embeddings are drawn from

    @cached_property
    def analyses(self) -> dict[Any, Any]:
        """What `once` keeps. A record with other fields begins anew."""
        return {}

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """The study's cells by name, in the study's order."""
        return {cell.name: cell for cell in self.study.cells()}

    @cached_property
    def methods(self) -> dict[str, Method]:
        """The method of each cell. A loss shows the settings in which the study's variants of it differ."""
        labels = setting_labels(self.varied)
        shared = shared_settings(cell.loss for cell in self.cells.values())
        return {name: method_of(cell, labels, shared[cell.loss.name]) for name, cell in self.cells.items()}

    @cached_property
    def varied(self) -> list[str]:
        """The settings with several values among the cells that have them, in the study's order; `filter` is one."""
        values: dict[str, set[str]] = {}
        for cell in self.cells.values():
            for key, value in cell.further.items():
                values.setdefault(key, set()).add(value_text(value))
        if "filter" in values and any(cell.filter is None for cell in self.cells.values()):
            values["filter"].add("none")
        return [key for key, texts in values.items() if len(texts) > 1]

    @cached_property
    def conditions(self) -> list[tuple[str, str]]:
        """The (dataset, noise model) pairs of the study; toplines last."""
        pairs = dict.fromkeys((cell.dataset, cell.noise) for cell in self.cells.values())
        return sorted(pairs, key=lambda pair: is_topline(pair[1]))

    @cached_property
    def comparisons(self) -> list[tuple[str, str, float]]:
        """Dataset, noise model and rate of each set of cells that are compared with each other; toplines last."""
        groups = dict.fromkeys((cell.dataset, cell.noise, cell.rate) for cell in self.cells.values())
        return sorted(groups, key=lambda group: is_topline(group[1]))

    @cached_property
    def cells_by_method(self) -> dict[tuple[str, Method], dict[tuple[str, float], str]]:
        """By dataset and method, the cells at each noise model and rate."""
        cells: dict[tuple[str, Method], dict[tuple[str, float], str]] = {}
        for name, cell in self.cells.items():
            cells.setdefault((cell.dataset, self.methods[name]), {})[cell.noise, cell.rate] = name
        return cells

    def cells_of(self, dataset: str, noise: str, rate: float | None = None) -> list[str]:
        """The names of the cells of one condition, at one noise rate or at all."""
        cells = {name: c for name, c in self.cells.items() if (c.dataset, c.noise) == (dataset, noise)}
        return [name for name, c in cells.items() if rate is None or c.rate == rate]

    @cached_property
    def experiment(self) -> bool:
        """Whether the study's miner says of itself that it is no method, such as one that is told the true labels."""
        name = self.study.miner.name
        return name is not None and bool(getattr(discovery.find("dml.miners", name), "experiment", False))

    def rivals(self, dataset: str, noise: str, rate: float) -> list[str]:
        """`cells_of` a noise rate, without filters that leave nothing out: they are told that no label is wrong."""
        names = self.cells_of(dataset, noise, rate)
        plain = {self.methods[name] for name in names}
        told = {name for name in names if (part := self.cells[name].filter) is not None and is_told(part)}
        return [name for name in names if rate or not (name in told and self.methods[name].unfiltered in plain)]

    def rates(self, dataset: str, noise: str) -> list[float]:
        """The noise rates of one condition, ascending."""
        return sorted({self.cells[name].rate for name in self.cells_of(dataset, noise)})

    @cached_property
    def user_labels(self) -> bool:
        """Whether the labels are a user's own on all datasets, so that some may be wrong at rate 0."""
        return all(has_user_labels(self.study, dataset.label) for dataset in self.study.datasets)

    def level(self, noise: str, rate: float) -> str:
        """`20% noise`; of a user's own labels `as given`, or `as given, with a fifth more made wrong`."""
        return level_label(noise, rate, self.user_labels)

    def where(self, dataset: str, noise: str) -> str:
        """What a caption adds for several datasets or noise models: `, on cub200, uniform noise`."""
        datasets, models = ({pair[i] for pair in self.conditions} for i in (0, 1))
        on = f", on {dataset}" if len(datasets) > 1 else ""
        named = noise_name(noise) if any(self.rates(dataset, noise)) else "no added noise"
        return on + (f", {named}" if len(models) > 1 else "")

    @cached_property
    def confirmed(self) -> pd.DataFrame:
        """Finished trials of the confirm phase, one per cell, class split and seed, in this order."""
        rows = self.trials[(self.trials["phase"] == "confirm") & (self.trials["status"] == "finished")]
        return self._ordered(rows, "split", "seed").drop_duplicates(["cell", "split", "seed"], keep="last")

    @cached_property
    def tuned(self) -> pd.DataFrame:
        """All trials of the tune phase, in the order of cells, then class splits, then numbers."""
        return self._ordered(self.trials[self.trials["phase"] == "tune"], "split", "number")

    @cached_property
    def score_keys(self) -> list[str]:
        """The spelt `ScoreKey`s of the confirmed trials, in the study's order of sets and metrics.

        Not of metrics that asked for more clusters than there are images: then the embeddings do not matter.
        """
        sets, listed = [*self.study.evaluation.sets, *SETS], list(self.study.evaluation.metrics)
        scored = [key for key in self.confirmed if ScoreKey.is_spelt(key) and self.confirmed[key].notna().any()]
        scored = [key for key in scored if not self._is_blind(key)]

        def place(key: str) -> tuple[int, str, int, int, str]:
            score = ScoreKey.parse(key)
            level = "" if score.level == "fine" else score.level
            metric = score.metric if score.metric in listed else score.stem  # `nmi@30` follows `nmi`
            return _index(sets, score.set), level, _index(listed, metric), score.number or 0, score.metric

        return sorted(scored, key=place)

    def objective(self, dataset: str, part: str = "") -> str:
        """The score key of the study's objective on `part`, or on the first evaluated set: `test/fine/recall@1`."""
        return self.study.objective(dataset, part)

    @property
    def overlap(self) -> float:
        """Test classes for each training class where blocks are class splits, for `statistics.mean_variance`.

        No class is tested twice: n folds have 1 / (n - 1), other splits at most that; twice that if only half train.
        """
        halves = 2 if self.study.search.protocol == "train_val_test" else 1
        return halves / (self.study.splits - 1) if self.study.splits > 1 else 0.0

    def values(self, cell: str, key: str) -> pd.Series:
        """A cell's confirmed scores in percent, one for each block (`Study.blocks`), by which they are indexed.

        A block is a seed, or of several class splits a split, whose score is the mean over its seeds: only splits test
        other classes, and their spread contains that of test classes and seeds (`overlap`).
        """
        return _scores_by_cell(self, key).get(cell, pd.Series(dtype=float))

    def confirmed_of(self, cell: str) -> pd.DataFrame:
        """A cell's rows of `confirmed`."""
        return _rows_by_cell(self, "confirm").get(cell, self.confirmed.iloc[:0])

    def logged(self, cell: str) -> list[dict[str, Any]]:
        """What a cell's confirmed trials logged, in the order of seeds."""
        return [parsed(text) or {} for text in self.confirmed_of(cell)["diagnostics"]]

    def tuned_of(self, cell: str) -> pd.DataFrame:
        """A cell's rows of `tuned`."""
        return _rows_by_cell(self, "tune").get(cell, self.tuned.iloc[:0])

    def embedded(self, cell: str, figure: str = "") -> str | None:
        """The key of the cell's first confirmed trial with embeddings, or of a snapshot with arrays for this figure."""
        keys = self.confirmed_of(cell)["key"].astype(str)
        if self.figures.snapshot is not None:
            return next((key for key in keys if self.figures.sets(figure, key)), None)
        return next((key for key in keys if self.store is not None and self._file(key, EMBEDDINGS).is_file()), None)

    def embeddings(self, key: str) -> dict[str, np.ndarray]:
        """What a trial saved, and nothing if it saved none.

        `embeddings` (n, D), `labels_fine` and `labels_coarse` (n,), and `set` (n,), which names each row's set.
        """
        return arrays_in(self._file(key, EMBEDDINGS))

    def classes(self, key: str) -> dict[str, np.ndarray]:
        """Each class's scores that a trial saved: `<set>/<level>/<metric>`, `/queries` and `/class`. Often empty."""
        return arrays_in(self._file(key, "classes.npz"))

    def missing(self) -> dict[str, int]:
        """For each incomplete cell, how many of its confirmations have not finished."""
        done = self.confirmed.groupby("cell").size()
        lacking = {name: len(self.study.seeds) * self.study.splits - int(done.get(name, 0)) for name in self.cells}
        return {name: count for name, count in lacking.items() if count > 0}

    @cached_property
    def failures(self) -> pd.DataFrame:
        """The failed trials: cell, phase, number, seed, error (the whole text) and headline (its last line)."""
        failed = self.trials[self.trials["status"] == "failed"]
        columns = ["key", "cell", "phase", "number", "seed", "error"]
        frame = failed[columns].sort_values(["cell", "phase", "number", "seed", "key"]).reset_index(drop=True)
        frame["error"] = frame["error"].fillna("no message was kept").astype(str)
        frame["headline"] = [error.strip().rpartition("\n")[2].strip() for error in frame["error"]]
        return frame

    def _file(self, key: str, name: str) -> Path:
        return (self.store or Path()) / "trials" / key / name

    def _is_blind(self, key: str) -> bool:
        """Whether a metric with its own number of clusters is the same in all trials of each dataset."""
        name = metric_of(key)
        part = metrics.build(name) if name in self.study.evaluation.metrics else None
        if not isinstance(part, ClusteringMetric) or not part.more_clusters:
            return False
        datasets = self.confirmed["cell"].map({cell: self.cells[cell].dataset for cell in self.cells})
        scores = self.confirmed[key].dropna().astype(float).round(6).groupby(datasets)
        return bool((scores.size() > 1).all() and (scores.nunique() == 1).all())

    def _ordered(self, rows: pd.DataFrame, *by: str) -> pd.DataFrame:
        order = {name: i for i, name in enumerate(self.cells)}
        rows = rows.assign(_order=rows["cell"].map(order)).dropna(subset="_order")
        return rows.sort_values(["_order", *by, "key"], kind="stable").drop(columns="_order")


def parsed(value: Any) -> Any:
    """The value of a JSON column; None if it is empty or broken."""
    if not isinstance(value, str) or not value:
        return None
    try:
        return json.loads(value)
    except ValueError:
        return None


def _index(values: list[str], value: str) -> int:
    return values.index(value) if value in values else len(values)


Analysis = TypeVar("Analysis")
P = ParamSpec("P")


def once(analysis: Callable[Concatenate[Results, P], Analysis]) -> Callable[Concatenate[Results, P], Analysis]:
    """The analysis, made at its first call for each record of results, which keeps it. Nobody may change it."""

    @wraps(analysis)
    def cached(results: Results, *args: P.args, **kwargs: P.kwargs) -> Analysis:
        name = (analysis.__module__, analysis.__qualname__, args)
        if name not in results.analyses:
            results.analyses[name] = analysis(results, *args, **kwargs)
        return results.analyses[name]

    return cached


@once
def _scores_by_cell(results: Results, key: str) -> dict[str, pd.Series]:
    rows = results.confirmed
    if key not in rows:
        return {}
    rows, several = rows[rows[key].notna()], results.study.splits > 1
    percent = 100 * rows.set_index("split" if several else "seed")[key].astype(float)
    scores = percent.groupby(rows["cell"].to_numpy(), sort=False)
    return {str(name): values.groupby(level=0).mean() if several else values for name, values in scores}


@once
def _rows_by_cell(results: Results, phase: str) -> dict[str, pd.DataFrame]:
    """Of all cells at once: filters per cell would be slow."""
    rows = results.confirmed if phase == "confirm" else results.tuned
    return {str(name): group for name, group in rows.groupby("cell", sort=False, observed=True)}
