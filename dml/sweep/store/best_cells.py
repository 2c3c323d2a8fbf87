"""The best cells in a table of trials: of one dataset and one noise level, by their validation scores."""

from __future__ import annotations

import pandas as pd

from dml.config.for_use import BY_OPTION, dataset_for_use, levels_for_use
from dml.sweep.store.trials import FINISHED
from dml.types import NoiseLevel


def cells_for_use(
    trials: pd.DataFrame, study: str, dataset: str | None = None, noise: str | None = None, how: str = BY_OPTION
) -> pd.DataFrame:
    """The finished trials of a dataset whose labels are as given, or at another noise level.

    Parameters
    ----------
    trials : all of the study, as in `trials.parquet`.
    dataset, noise, how : as `dml.config.for_use` takes them.

    Raises
    ------
    ValueError : the study has no such trials, or several datasets or levels; with the choices.
    """
    own = trials[trials["dataset"] == dataset_for_use(trials["dataset"], dataset, study, how)]
    levels = [NoiseLevel(*pair) for pair in zip(own["noise"], own["rate"], strict=True)]
    chosen = levels_for_use(levels, noise, study, how)
    own = own[[level in chosen for level in levels]]
    return own[own["status"] == FINISHED]


def validation_scores(trials: pd.DataFrame) -> pd.Series:
    """By cell: the objective of its best tuning trial, the mean over class splits, the highest first.

    Parameters
    ----------
    trials : finished ones of one dataset at one noise level.
    """
    tuned = trials[(trials["phase"] == "tune") & trials["objective"].notna()]
    split = tuned["split"] if "split" in tuned else pd.Series(0, tuned.index)
    best = tuned["objective"].groupby([tuned["cell"], split], sort=False).max()
    return best.groupby(level=0, sort=False).mean().sort_values(ascending=False, kind="stable")
