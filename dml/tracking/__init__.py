"""Runs in MLflow: a picture of results, which a sync draws again and again until it is complete."""

import os

for _name, _value in {  # MLflow reads these when it is imported
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # the next sync tries again
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}.items():
    os.environ.setdefault(_name, _value)
