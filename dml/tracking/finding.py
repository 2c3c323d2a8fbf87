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
        raise ValueError(f"{uri}: no study was tracked here yet: run one first, such as make repro STUDY={study}")
    with quiet():
        client = mlflow.MlflowClient(tracking_uri=uri)
        experiment = client.get_experiment_by_name(EXPERIMENT)
        place = [experiment.experiment_id] if experiment else []
        runs = client.search_runs(place, "tags.`dml.kind` = 'study'", max_results=1000) if place else []
    found = next((run for run in runs if run.data.tags.get("dml.study") == study), None)
    if experiment is None or found is None:
        known = sorted(run.data.tags.get("dml.study", "") for run in runs)
        raise ValueError(f"study {study!r} has no run in MLflow at {uri}{suggestion(study, known)}")
    return FoundStudy(uri, experiment.experiment_id, found, VIEW_TAG + study in experiment.tags)
