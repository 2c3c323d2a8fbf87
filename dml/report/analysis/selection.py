"""Which dataset, noise model and score of a study a user selects."""

from __future__ import annotations

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
    known = list(dict.fromkeys(results.cells[name].dataset for name in results.confirmed["cell"]))
    return _one_of(known, asked, "dataset", results.study.name)


def noise_of(results: Results, dataset: str, asked: str | None) -> str:
    """The noise model that was asked for; None: the only one with results on the dataset. Toplines do not count.

    Raises
    ------
    ValueError : as `dataset_of`.
    """
    cells = [results.cells[name] for name in dict.fromkeys(results.confirmed["cell"])]
    known = list(dict.fromkeys(c.noise for c in cells if c.dataset == dataset and not is_topline(c.noise)))
    if not known:
        raise ValueError(f"study {results.study.name!r} has only toplines, which leave samples out: no noise to choose")
    return _one_of(known, asked, "noise", results.study.name)


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


def _one_of(known: list[str], asked: str | None, what: str, study: str) -> str:
    if asked is None and len(known) == 1:
        return known[0]
    if asked is None:
        raise ValueError(f"{what}: study {study!r} has several, choose one with --{what}: {', '.join(known)}")
    if asked not in known:
        raise ValueError(f"{what}: study {study!r} has no results of {asked!r}{suggestion(asked, known)}")
    return asked
