"""Finds a study's run in MLflow, for what reads it or adds to it after the sweep."""

from __future__ import annotations

from typing import NamedTuple

import mlflow
from mlflow.entities import Run

from dml.discovery import suggestion
from dml.tracking.runs import EXPERIMENT
from dml.tracking.sending import quiet
from dml.tracking.view import VIEW_TAG, default_uri, is_missing


class FoundStudy(NamedTuple):
    """A study's run."""

    uri: str  # of MLflow's backend
    experiment: str  # id
    run: Run
    has_view: bool  # whether the UI has a view of its cells


def find_study(study: str, uri: str | None = None) -> FoundStudy:
    """The run of a study.

    Raises
    ------
    ValueError : the study has no run in MLflow; the message lists those that have one.
    """
    uri = uri or default_uri()
    if is_missing(uri):
        raise ValueError(f"{uri}: no study was tracked here yet: run one first, such as dml run {study}")
    found = find_studies(uri)
    if study not in found:
        raise ValueError(f"study {study!r} has no run in MLflow at {uri}{suggestion(study, found)}")
    return found[study]


def find_studies(uri: str | None = None) -> dict[str, FoundStudy]:
    """The runs of all studies by name, the latest first; empty if nothing was tracked.

    Raises
    ------
    ConnectionError : MLflow's backend does not answer, or refuses.
    """
    uri = uri or default_uri()
    if is_missing(uri):
        return {}
    try:
        with quiet():
            client = mlflow.MlflowClient(tracking_uri=uri)
            experiment = client.get_experiment_by_name(EXPERIMENT)
            if experiment is None:
                return {}
            runs = client.search_runs([experiment.experiment_id], "tags.`dml.kind` = 'study'", max_results=1000)
    except mlflow.exceptions.MlflowException as error:
        raise ConnectionError(f"MLflow at {uri}: {str(error).strip().splitlines()[0][:300]}") from error
    by_name = {run.data.tags["dml.study"]: run for run in reversed(runs)}  # of two, the one that sweeps use: the first
    return {
        name: FoundStudy(uri, experiment.experiment_id, run, VIEW_TAG + name in experiment.tags)
        for name, run in reversed(by_name.items())
    }
