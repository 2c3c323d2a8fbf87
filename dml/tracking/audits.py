"""The audit of a study's labels as a run of its own, with the tag `dml.kind` = `audit`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dml.tracking.names import metric_name, parameters
from dml.tracking.tracker import ENVIRONMENT
from dml.tracking.view import default_uri

LARGEST = 64 * 2**20  # bytes of an artifact; larger ones stay on disk only


def log_audit(
    study: str,
    digest: str,
    settings: Mapping[str, Any],
    metrics: Mapping[str, float],
    artifacts: Sequence[Path],
    uri: str | None = None,
) -> str:
    """Log an audit. The same audit logged again, as after a review, updates its run.

    Never raises: an audit is complete without MLflow.

    Parameters
    ----------
    digest : of the audited vectors and labels.
    settings : parameters of the run, may be nested.
    artifacts : files.
    uri : MLflow's backend; None: `MLFLOW_TRACKING_URI`, or SQLite in the working directory.

    Returns
    -------
    Why the audit is not in MLflow; empty if it is.
    """
    uri = uri or default_uri()
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import mlflow  # takes seconds, and reads the variables above
    from mlflow.entities import Metric, Param

    from dml.tracking.runs import open_experiment
    from dml.tracking.sending import quiet

    tags = {"dml.study": study, "dml.kind": "audit", "dml.audit": digest}
    wanted = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
    try:
        with quiet():
            client = mlflow.MlflowClient(tracking_uri=uri)
            experiment = open_experiment(client, uri)
            known = {name: value for name, value in parameters(settings).items() if value}
            found = [r for r in client.search_runs([experiment], wanted) if r.data.params == known]
            run = found[0].info if found else client.create_run(experiment, run_name=f"audit {study}", tags=tags).info
            at = run.start_time
            client.log_batch(
                run.run_id,
                metrics=[Metric(metric_name(name), float(value), at, 0) for name, value in metrics.items()],
                params=[] if found else [Param(name, value) for name, value in known.items()],
            )
            for path in artifacts:
                if path.stat().st_size <= LARGEST:
                    client.log_artifact(run.run_id, str(path))
            client.set_terminated(run.run_id)
    except Exception as error:
        return f"MLflow at {uri}: {(str(error).strip().splitlines() or [type(error).__name__])[0][:300]}"
    return ""
