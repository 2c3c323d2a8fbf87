"""Which dataset, noise model and score of a study a user selects."""

from __future__ import annotations

from dml.config.for_use import as_given, dataset_for_use, levels_for_use, makes_noise
from dml.discovery import suggestion
from dml.report.labels import is_topline
from dml.report.results import Results
from dml.types import VALIDATION, ScoreKey


def dataset_of(results: Results, asked: str | None) -> str:
    """The dataset that was asked for; None: the only one with results.

    Raises
    ------
    ValueError : there are no results, or several, or not of this one; with the choices.
    """
    if results.confirmed.empty:
        study = results.study.name
        raise ValueError(
            f"study {study!r} has no finished trials. {results.problem} Run it: dml run {study}".replace("  ", " ")
        )
    datasets = (results.cells[name].dataset for name in results.confirmed["cell"])
    return dataset_for_use(datasets, asked, results.study.name)


def noise_of(results: Results, dataset: str, asked: str | None, rate: float | None) -> tuple[str, float | None]:
    """The noise that is asked for, and its rate where that is decided. Toplines do not count.

    Without a rate it is that of the level that models for use are of (`dml.config.for_use`).

    Parameters
    ----------
    asked : a noise of the study, or a level (`uniform-0.2`); None: labels as given, or with a rate its only noise.
    rate : the share of wrong labels that is asked for; None: none.

    Raises
    ------
    ValueError : as `dml.config.for_use.levels_for_use`, there are several noises for a rate, or a level has a rate too.
    """
    study = results.study.name
    levels = [c.noise_level for c in results.cells.values() if c.dataset == dataset and not is_topline(c.noise)]
    if not levels:
        raise ValueError(f"study {study!r} has only toplines, which leave samples out: no noise to choose")
    if rate is None:
        return levels_for_use(levels, asked, study)[0]
    if asked in [str(level) for level in levels]:
        raise ValueError(
            f"noise: {asked} says how many labels were made wrong: leave --rate out, or name only the noise"
        )
    given = [level.noise for level in as_given(levels) if not makes_noise(level.noise)]
    known = list(dict.fromkeys(level.noise for level in levels))
    noise = (given or known)[0] if asked is None and (given or len(known) == 1) else asked
    if noise is None:
        raise ValueError(f"noise: study {study!r} has several: choose one with --noise: {', '.join(known)}")
    if noise not in known:
        raise ValueError(f"noise: study {study!r} has no results of {noise!r}{suggestion(noise, known)}")
    return noise, None


def score_of(results: Results, dataset: str, asked: str | None) -> str:
    """The key of the score that was asked for: a key, or a metric on the set and level of the objective; None: that.

    Raises
    ------
    ValueError : the dataset has no such score; with the choices.
    """
    objective = results.objective(dataset)
    if asked is None:
        return objective
    key = asked if ScoreKey.is_spelt(asked) else str(ScoreKey.parse(objective)._replace(metric=asked))
    cells = {name for name, cell in results.cells.items() if cell.dataset == dataset}
    known = [
        own
        for own in results.score_keys
        if ScoreKey.parse(own).set != VALIDATION and any(len(results.values(name, own)) for name in cells)
    ]
    if key not in known:
        raise ValueError(f"score: study {results.study.name!r} has no {asked!r}{suggestion(key, known)}")
    return key
