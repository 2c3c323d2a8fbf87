"""A trial's record, a model, and the runs in MLflow, for the tests of tracking."""

import json

import mlflow
import numpy as np


def record(n=0, **changes):
    base = {
        "name": f"run-{n}",
        "status": "FINISHED",
        "params": {"loss": "triplet", "loss.margin": 0.1 * n, "none": None},
        "tags": {"dml.cell": "cell"},
        "curve": [[5, {"validation/fine/recall@1": 0.5}], [10, {"validation/fine/recall@1": 0.75}]],
        "metrics": {"objective": 0.75},
        "start": 1_700_000_000.0,
        "end": 1_700_000_010.0,
    }
    return {**base, **changes}


def runs(uri):
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("dml")
    return client, list(client.search_runs([experiment.experiment_id], max_results=1000))


def load(folder):
    """A model for tests: it multiplies what it gets by a number from its folder."""
    factor = json.loads((folder / "factor.json").read_text())
    return lambda images: (factor * images.reshape(len(images), -1)).astype(np.float32)
