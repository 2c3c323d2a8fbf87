"""A study's picture, and the runs in MLflow, for the tests of tracking."""

import json
from dataclasses import replace

import mlflow
import numpy as np

from dml.tracking import Picture, Run

START = 1_700_000_000.0
CURVE = [(5, {"validation/fine/recall@1": 0.5}), (10, {"validation/fine/recall@1": 0.75})]


def study(**changes):
    return replace(Run("study", "study", start=START, seconds=60.0, metrics={"cells": 1.0}), **changes)


def cell(margin=0.2, score=0.5, parent=None, **changes):
    params = {"loss": "triplet", "rate": 0.1, "positives": None, "loss.margin": margin}
    metrics = {"objective.mean": score, "test/fine/recall@1.mean": score}
    tags = {"dml.cell": "digits|triplet"}
    base = Run(
        "cell", "triplet", parent or study(), start=START, seconds=10.0, tags=tags, params=params, metrics=metrics
    )
    return replace(base, **changes)


def trial(number=0, parent=None, **changes):
    parent = parent or cell()
    tags = {"dml.trial": f"digits|triplet|tune|{number}", "dml.key": f"key-{number}", "dml.cell": "digits|triplet"}
    base = Run("trial", f"triplet: trial {number}", parent, start=START, seconds=10.0, tags=tags, curve=CURVE)
    return replace(base, params={"loss.margin": 0.1 * number}, metrics={"objective": 0.75}, **changes)


def picture(*trials, of_cell=None, **changes):
    """A study of one cell with these trials, or with two."""
    of_cell = of_cell or cell(parent=study(**changes))
    trials = trials or (trial(0), trial(1))
    return Picture("study", [of_cell.parent, of_cell, *(replace(one, parent=of_cell) for one in trials)])


def runs(uri, kind=None):
    """The client, and the runs, of one kind or of all."""
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("dml").experiment_id
    found = client.search_runs([experiment], f"tags.`dml.kind` = '{kind}'" if kind else "", max_results=1000)
    return client, list(found)


def state(uri):
    """All that MLflow has of the runs that are not deleted, with the whole history of each metric."""
    client, found = runs(uri)
    return {
        run.info.run_id: (
            run.to_dictionary(),
            {
                name: [(m.step, m.value, m.timestamp) for m in client.get_metric_history(run.info.run_id, name)]
                for name in run.data.metrics
            },
        )
        for run in found
    }


def load(folder):
    """A model for tests: it multiplies what it gets by a number from its folder."""
    factor = json.loads((folder / "factor.json").read_text())
    return lambda images: (factor * images.reshape(len(images), -1)).astype(np.float32)
